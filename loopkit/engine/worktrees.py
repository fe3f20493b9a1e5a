"""Git worktrees for tasks: made beside each other, read as trees, removed without force.

They lie in the loop's folder: what is found by looking upwards (node_modules, settings of tools) is
found from there as well, an agent needs no leave for folders outside the project, and test runners
and linters pass `.loop` by, since its name begins with a dot and nothing in it is tracked. The few
that look into such folders all the same need to be told.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import namedtuple

from ..core.journal.errors import LoopError, Refused
from ..store import atomic, inside
from ..store.loop import unwritable
from . import checkpoints
from .checkpoints import git
from .workshop import workshop

#: Their folder within the loop's, and where their branches are.
FOLDER, BRANCHES = "worktrees", "loopkit/"
#: Worktrees of one task's name that may lie there at once.
MOST = 99

#: What worktrees begin with. base: a commit · left_out: files that are not in it, `path (why)`.
Start = namedtuple("Start", "base left_out")
#: path: relative to the loop's folder · branch · base: a commit · tree: of its files as they were
#: made.
Made = namedtuple("Made", "path branch base tree")
#: How a worktree stands. there: whether it is one · branch: "" if none · head: its commit · tree:
#: of its files · changed: paths that are neither as it began nor merged.
Standing = namedtuple("Standing", "there branch head tree changed")


def start(project: str, environment: dict, apart: str, message: str) -> Start:
    """Where new worktrees begin: HEAD, or a commit of the working files as they are where these
    differ from it.

    apart: an absolute path that is left out. Raises Unavailable, GitFault, Late.
    """
    check_calm(project, environment)
    checkpoints.check_version(project, environment)
    head = checkpoints.head(project, environment)
    if head is not None and not _dirty(project, environment):
        return Start(head, ())
    snapshot = checkpoints.snapshot(project, environment, [apart])
    tree = checkpoints.whole(snapshot.place, snapshot.tree, environment)
    return Start(checkpoints.commit(project, tree, head, message, environment), snapshot.left_out)


def check_calm(project: str, environment: dict) -> None:
    """Raises Refused in the middle of a merge, a rebase or the like: files are the person's alone
    then."""
    what = checkpoints.under_way(checkpoints.repository(project, environment))
    if what is not None:
        raise Refused(f"{what} is under way in {project}", "end it first, with git")


def make(project: str, folder: str, task: str, start: Start, tree: str, environment: dict) -> Made:
    """A worktree of a task on a branch of its own, under a free name in the loop's folder.

    tree: that of a worktree made from the same start before, "" for the first. No hook of the
    repository runs. Raises Unavailable, GitFault, Late, Damaged.
    """
    _prepare(folder)
    known = _registered(project, environment)
    loop = os.path.basename(folder)
    for number in range(1, MOST + 1):
        name = task if number == 1 else f"{task}-{number}"
        path, branch = os.path.join(folder, FOLDER, name), f"{BRANCHES}{loop}/{name}"
        if (
            os.path.lexists(path)
            or os.path.realpath(path) in known
            or _branch(project, branch, environment)
        ):
            continue
        ours = start.base != checkpoints.head(project, environment)
        try:
            git(
                project,
                "worktree",
                "add",
                "-q",
                "--no-track",
                *(["--no-checkout"] if ours else []),
                "-b",
                branch,
                path,
                start.base,
                environment=environment,
                seconds=checkpoints.LONG_SECONDS,
            )
            if ours:
                _lay_out(path, start.base, environment)
        except LoopError:
            for words in (
                ("worktree", "remove", "--force", path),
                ("update-ref", "-d", f"refs/heads/{branch}", start.base),
            ):
                with contextlib.suppress(LoopError):  # git may have done so itself
                    git(project, *words, environment=environment)
            raise
        tree = tree or checkpoints.snapshot(same(project, path, environment), environment).tree
        _hold(project, path, start.base, tree, environment)
        return Made(f"{FOLDER}/{name}", branch, start.base, tree)
    raise Refused(
        f"{MOST} worktrees of {task} lie in {folder}",
        "remove them: loopkit worktree remove --clean",
    )


def same(project: str, path: str, environment: dict) -> str:
    """The project's folder in the worktree at `path`: all of it, or the part that the project is.
    It is made where the worktree lacks it. Raises Unavailable, GitFault, Late, Damaged."""
    part = checkpoints.repository(project, environment).part
    folder = os.path.join(path, part) if part else path
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    return folder


def _lay_out(path: str, base: str, environment: dict) -> None:
    """The files of a commit of ours, which holds them as they are: no filter and no conversion has
    a part in it."""
    own = checkpoints.repository(path, environment)
    try:
        with workshop(own, environment) as run:
            run("read-tree", "--reset", "-u", base, seconds=checkpoints.LONG_SECONDS)
            shutil.copyfile(os.path.join(run.folder, "index"), os.path.join(own.folder, "index"))
    except OSError as error:
        raise unwritable(path, error) from None


def _hold(project: str, path: str, base: str, tree: str, environment: dict) -> None:
    """Keep the tree that a merge begins with, where no commit holds it (line ends were converted):
    git forgets such ones."""
    if checkpoints.tree_of(project, base, environment) != tree:
        sha = checkpoints.commit(project, tree, base, "as it began", environment)
        git(project, "update-ref", _ref(path), sha, environment=environment)


def _ref(path: str) -> str:
    loop, _, name = path.split(os.sep)[-3:]
    return f"{checkpoints.REFS}{loop}/{FOLDER}/{name}"


def _prepare(folder: str) -> None:
    """The folder of the worktrees; all in it is ignored, or each would show as a repository within
    the repository."""
    where = os.path.join(folder, FOLDER)
    try:
        inside.check(os.path.dirname(folder), where)
        os.makedirs(where, exist_ok=True)
        ignore = os.path.join(where, ".gitignore")
        if not os.path.exists(ignore):
            atomic.write(ignore, b"*\n")
    except OSError as error:
        raise unwritable(where, error) from None


def _dirty(project: str, environment: dict) -> bool:
    return any(
        ".loop" not in os.fsdecode(one[3:]).split("/") for one in _status(project, environment)
    )


def _branch(project: str, branch: str, environment: dict) -> str:
    """The commit of a branch; "" where there is none."""
    name = f"refs/heads/{branch}"
    said = git(
        project, "rev-parse", "--verify", "-q", name, environment=environment, answers=(0, 1, 128)
    )
    return said.decode("ascii", "replace").strip()


def _registered(project: str, environment: dict) -> dict[str, str]:
    """{path: branch} of all worktrees that the repository knows, also of those whose folder is
    gone."""
    said = git(project, "worktree", "list", "--porcelain", "-z", environment=environment).split(
        b"\0"
    )
    found, path = {}, ""
    for one in map(os.fsdecode, said):
        if one.startswith("worktree "):
            path = os.path.realpath(one[9:])
            found[path] = ""
        elif one.startswith("branch refs/heads/"):
            found[path] = one[18:]
    return found


# -- looking


def touched(path: str, base: str, environment: dict) -> list[str]:
    """Paths in `.loop/` that a worktree has otherwise than the commit it began with; nobody but
    loopkit writes there."""
    return [name for name in _differing(path, base, environment) if ".loop" in name.split("/")]


def outside(project: str, path: str, base: str, environment: dict) -> list[str]:
    """Paths beside the project that a worktree of its repository has otherwise than the commit it
    began with."""
    prefix = checkpoints.repository(project, environment).prefix
    found = _differing(path, base, environment) if prefix else []
    return [name for name in found if not name.startswith(prefix)]


def _differing(path: str, base: str, environment: dict) -> list[str]:
    """Paths that a worktree has otherwise than the commit it began with."""
    said = git(
        path,
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
        base,
        environment=environment,
        seconds=checkpoints.LONG_SECONDS,
    )
    found = {os.fsdecode(one) for one in said.split(b"\0") if one}
    found |= {os.fsdecode(one[3:]) for one in _status(path, environment) if one.startswith(b"??")}
    return sorted(found)


def _status(path: str, environment: dict) -> list[bytes]:
    """What is not committed in a folder of a working tree: `XY path` each, untracked files
    included."""
    said = git(
        path,
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=all",
        "--",
        ".",
        environment=environment,
        seconds=checkpoints.LONG_SECONDS,
    )
    return [one for one in said.split(b"\0") if one]


def began(path: str, base: str, environment: dict) -> str:
    """The commit at which the work in a worktree begins: `base`, or where its history leaves that
    of `base`."""
    said = git(path, "merge-base", base, "HEAD", environment=environment, answers=(0, 1, 128))
    return said.decode("ascii", "replace").strip() or "a commit without a common history"


def commit_of(project: str, name: str, environment: dict) -> str:
    """The whole id of a commit as somebody wrote it. Raises Refused where there is none."""
    word = name.strip()
    said = b""
    if word and not word.startswith("-"):
        asked = ("rev-parse", "--verify", "-q", "--end-of-options", word + "^{commit}")
        said = git(project, *asked, environment=environment, answers=(0, 1, 128))
    if not said:
        raise Refused(
            f"there is no commit {name[:60]!r}", "give the commit that the work began with"
        )
    return said.decode("ascii", "replace").strip()


def standing(project: str, path: str, base: str, known: tuple, environment: dict) -> Standing:
    """How a worktree stands; known: trees that hold nothing of its own (as it began, as it was
    merged).

    base: the commit it began with, "" where nobody noted it: then only a worktree whose files are
    all committed, in a commit that another branch or HEAD has too, holds nothing of its own.
    """
    branch = _registered(project, environment).get(os.path.realpath(path))
    if branch is None or not is_one(project, path, environment):
        return Standing(False, branch or "", "", "", _files(path))
    head = checkpoints.head(path, environment) or ""
    snapshot = checkpoints.snapshot(same(project, path, environment), environment)
    tree = snapshot.tree
    own = [one for one in snapshot.left_out if not one.endswith("(a submodule)")]
    if base:
        own += touched(path, base, environment) + outside(project, path, base, environment)
    if known:
        if tree not in known:
            own += [one for _, one in checkpoints.changed(path, known[-1], tree, environment)]
    else:
        own += [os.fsdecode(one[3:]) for one in _status(path, environment)]
        if not _shared(project, head, branch, environment):
            own.append(f"commits of {branch or head[:12]}")
    return Standing(True, branch, head, tree, own)


def is_one(project: str, path: str, environment: dict) -> bool:
    """Whether a folder is a worktree of the project's repository still: in one that has lost its
    `.git`, git would look upwards and act on the project's own tree, index and branch. Raises
    Unavailable where the project has no repository."""
    main = checkpoints.repository(project, environment)
    try:
        own = checkpoints.repository(path, environment)
    except LoopError:
        return False
    common, folder = os.path.realpath(main.common), os.path.realpath(own.folder)
    return own.top == os.path.realpath(path) and os.path.realpath(own.common) == common != folder


def _shared(project: str, head: str, branch: str, environment: dict) -> bool:
    """Whether a commit, or the one before it where loopkit made it, is in another branch too."""
    said = git(project, "log", "-1", "--format=%an%n%P", head, environment=environment).decode(
        "utf-8", "replace"
    )
    author, _, parents = said.strip().partition("\n")
    looked = parents.split()[:1] if author == "loopkit" else [head]
    if author == "loopkit" and not looked:
        return True
    for one in looked:
        found = (
            git(
                project,
                "for-each-ref",
                "--contains",
                one,
                "--format=%(refname)",
                environment=environment,
            )
            .decode("utf-8", "replace")
            .split()
        )
        if any(name != f"refs/heads/{branch}" for name in found):
            return True
    return False


def _files(path: str) -> list[str]:
    """What lies in a folder that is no worktree any more."""
    found = []
    for top, folders, names in os.walk(path):
        found += [os.path.relpath(os.path.join(top, one), path) for one in names]
        if len(found) > MOST:
            folders.clear()
    return sorted(one for one in found if one != ".git")


def lying(folder: str) -> list[str]:
    """Paths, relative to the loop's folder, of all that lies among its worktrees."""
    if os.path.islink(os.path.join(folder, FOLDER)):  # what lies elsewhere is none of ours
        return []
    try:
        with os.scandir(os.path.join(folder, FOLDER)) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [f"{FOLDER}/{one}" for one in sorted(names)]


# -- removing


def remove(project: str, path: str, found: Standing, environment: dict) -> None:
    """Remove a worktree that holds nothing of its own, and its branch where that is so as well;
    nothing is forced.

    What was merged without ever being committed is committed on its branch first, so that git sees
    a clean worktree; if anything changes meanwhile, git itself refuses. Raises Unavailable,
    GitFault, Late.
    """
    if not found.there:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        if os.path.realpath(path) in _registered(
            project, environment
        ):  # of the person's, some may be away for a while
            git(project, "worktree", "remove", path, environment=environment)
        return
    head = found.head
    if _status(path, environment):
        git(path, "add", "-A", environment=environment, seconds=checkpoints.LONG_SECONDS)
        tree = git(path, "write-tree", environment=environment).decode("ascii").strip()
        head = checkpoints.commit(path, tree, head or None, "as it was merged", environment)
        if not found.branch.startswith(BRANCHES):  # a branch of somebody else's stays where it is
            git(path, "update-ref", "--no-deref", "HEAD", head, environment=environment)
        git(path, "reset", "-q", "--mixed", head, environment=environment)
    git(project, "worktree", "remove", path, environment=environment)
    git(project, "update-ref", "-d", _ref(path), environment=environment)
    if found.branch.startswith(BRANCHES):
        git(
            project, "update-ref", "-d", f"refs/heads/{found.branch}", head, environment=environment
        )


def moved(project: str, paths: list[str], environment: dict) -> None:
    """Tell the repository that worktrees lie elsewhere now. Raises Unavailable, GitFault, Late."""
    if paths:
        git(project, "worktree", "repair", *paths, environment=environment)
