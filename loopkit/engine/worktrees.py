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
from ..store import atomic
from ..store.loop import writes
from . import trees
from .checkpoints import REFS, converted, snapshot
from .git import LONG_SECONDS, git, paths, repository, under_way, unfiltered, word
from .git import head as head_of
from .scratch import scratch

#: Their folder within the loop's, and where their branches are.
FOLDER, BRANCHES = "worktrees", "loopkit/"
#: Worktrees of one task's name that may lie there at once.
MOST = 99

#: What worktrees begin with. base: a commit · left_out: files that are not in it, `path (why)`.
Start = namedtuple("Start", "base left_out")
#: path: relative to the loop's folder · base: its first commit · tree: of its files as made.
Made = namedtuple("Made", "path branch base tree")
#: there: whether it is a worktree · branch: "" if none · head: its commit · tree: of its files ·
#: changed: paths that are neither as it began nor merged.
Standing = namedtuple("Standing", "there branch head tree changed")


def start(project: str, env: dict, excluded: str, message: str) -> Start:
    """Where new worktrees begin: HEAD, or a commit of the working files where they differ from it,
    as they do where a filter converts them: none of the repository's programs is run for ours.
    excluded: an absolute path to leave out."""
    check_calm(project, env)
    trees.check_version(project, env)
    head = head_of(project, env)
    if head is not None and not _dirty(project, env) and not _filtered(project, env):
        return Start(head, ())
    taken = snapshot(project, env, [excluded])
    tree = trees.whole(taken.place, taken.tree, env)
    return Start(trees.commit(project, tree, head, message, env), taken.left_out)


def check_calm(project: str, env: dict) -> None:
    """Raise Refused in the middle of a merge, a rebase or the like."""
    what = under_way(repository(project, env))
    if what is not None:
        raise Refused(f"{what} is under way in {project}", "end it first, with git")


def make(project: str, folder: str, task: str, start: Start, tree: str, env: dict) -> Made:
    """Make a worktree of a task on a new branch, under a free name in the loop's folder. tree: that
    of a worktree made from the same start before, "" for the first. No hook of the repository runs.
    Raises Unavailable, GitFault, Late, Damaged."""
    _prepare(folder)
    known = _registered(project, env)
    loop = os.path.basename(folder)
    for number in range(1, MOST + 1):
        name = task if number == 1 else f"{task}-{number}"
        path, branch = os.path.join(folder, FOLDER, name), f"{BRANCHES}{loop}/{name}"
        taken = os.path.lexists(path) or os.path.realpath(path) in known
        if taken or _exists(project, branch, env):
            continue
        _add(project, path, branch, start.base, env)
        tree = tree or snapshot(same(project, path, env), env).tree
        _hold(project, path, start.base, tree, env)
        return Made(f"{FOLDER}/{name}", branch, start.base, tree)
    what = f"{MOST} worktrees of {task} lie in {folder}"
    raise Refused(what, "remove them: loopkit worktree remove --clean")


def _add(project: str, path: str, branch: str, base: str, env: dict) -> None:
    ours = base != head_of(project, env)
    command = "worktree add -q --no-track" + (" --no-checkout" if ours else "")
    try:
        plain = unfiltered(project, env)
        git(project, plain, command, "-b", branch, path, base, seconds=LONG_SECONDS)
        if ours:
            _check_out(path, base, env)
    except LoopError:
        with contextlib.suppress(LoopError):  # git may have done so itself
            git(project, unfiltered(project, env), "worktree remove --force", path)
        with contextlib.suppress(LoopError):
            git(project, env, "update-ref -d", f"refs/heads/{branch}", base)
        raise


def same(project: str, path: str, env: dict) -> str:
    """The project's folder in a worktree, made if missing. Raises GitFault, Damaged."""
    part = repository(project, env).part
    folder = os.path.join(path, part) if part else path
    with writes(folder):
        os.makedirs(folder, exist_ok=True)
    return folder


def _check_out(path: str, base: str, env: dict) -> None:
    """Check out a commit of ours, whose files are as they were: without filters and conversions."""
    own = repository(path, env)
    with writes(path):
        with scratch(own, env) as run:
            run("read-tree --reset -u", base, seconds=LONG_SECONDS)
            shutil.copyfile(os.path.join(run.folder, "index"), os.path.join(own.folder, "index"))


def _hold(project: str, path: str, base: str, tree: str, env: dict) -> None:
    """Keep the tree that a merge begins with, where no commit holds it (converted line ends)."""
    if trees.tree_of(project, base, env) != tree:
        sha = trees.commit(project, tree, base, "as it began", env)
        git(project, env, "update-ref", _ref(path), sha)


def _ref(path: str) -> str:
    loop, _, name = path.split(os.sep)[-3:]
    return f"{REFS}{loop}/{FOLDER}/{name}"


def _prepare(folder: str) -> None:
    """Make the folder of the worktrees, and have git ignore what is in it."""
    target = os.path.join(folder, FOLDER)
    with writes(target):
        atomic.check_inside(os.path.dirname(folder), target)
        os.makedirs(target, exist_ok=True)
        ignore = os.path.join(target, ".gitignore")
        if not os.path.exists(ignore):
            atomic.write(ignore, b"*\n")


def _dirty(project: str, env: dict) -> bool:
    return any(".loop" not in path.split("/") for _, path in _status(project, env))


def _filtered(project: str, env: dict) -> bool:
    """Whether a filter that the settings name converts any tracked file."""
    if unfiltered(project, env) is env:
        return False
    names = git(project, env, "ls-files -z").split(b"\0")[:-1]
    return bool(converted(repository(project, env), env, names))


def _exists(project: str, branch: str, env: dict) -> bool:
    name = f"refs/heads/{branch}"
    return bool(git(project, env, "rev-parse --verify -q", name, answers=(0, 1, 128)))


def _registered(project: str, env: dict) -> dict[str, str]:
    """{path: branch} of all worktrees that the repository knows, even without a folder."""
    found, path = {}, ""
    for row in paths(git(project, env, "worktree list --porcelain -z")):
        if row.startswith("worktree "):
            path = os.path.realpath(row[9:])
            found[path] = ""
        elif row.startswith("branch refs/heads/"):
            found[path] = row[18:]
    return found


def branches(project: str, env: dict) -> list[str]:
    """The branches of ours; none without a repository."""
    with contextlib.suppress(LoopError):
        command = "for-each-ref --format=%(refname:short)"
        return [*map(os.fsdecode, git(project, env, command, f"refs/heads/{BRANCHES}").split())]
    return []


# -- looking


def touched(path: str, base: str, env: dict) -> list[str]:
    """Paths in `.loop/`, where only loopkit writes, that differ from a worktree's start."""
    return [name for name in _differing(path, base, env) if ".loop" in name.split("/")]


def outside(project: str, path: str, base: str, env: dict) -> list[str]:
    """Paths beside the project where a worktree differs from the commit it began with."""
    prefix = repository(project, env).prefix
    names = _differing(path, base, env) if prefix else []
    return [name for name in names if not name.startswith(prefix)]


def _differing(path: str, base: str, env: dict) -> list[str]:
    command = "diff --name-only -z --no-renames --no-ext-diff --no-textconv"
    env = unfiltered(path, env)
    output = git(path, env, command, "--ignore-submodules=all", base, seconds=LONG_SECONDS)
    untracked = [name for status, name in _status(path, env) if status == "??"]
    return sorted({*paths(output), *untracked})


def _status(folder: str, env: dict) -> list[tuple[str, str]]:
    """(XY, path) of what is not committed in a folder, untracked files included."""
    command = "status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all"
    plain = unfiltered(folder, env)
    rows = paths(git(folder, plain, command, "--", ".", seconds=LONG_SECONDS))
    return [(row[:2], row[3:]) for row in rows]


def began(path: str, base: str, env: dict) -> str:
    """The commit at which the work begins: `base`, or where its history leaves that of `base`."""
    common = word(git(path, env, "merge-base", base, "HEAD", answers=(0, 1, 128)))
    return common or "a commit without a common history"


def commit_of(project: str, name: str, env: dict) -> str:
    """The whole id of a commit as somebody wrote it. Raises Refused where there is none."""
    name, sha = name.strip(), ""
    if name and not name.startswith("-"):
        command = "rev-parse --verify -q --end-of-options"
        sha = word(git(project, env, command, name + "^{commit}", answers=(0, 1, 128)))
    if not sha:
        what = f"there is no commit {name[:60]!r}"
        raise Refused(what, "give the commit that the work began with")
    return sha


def standing(project: str, path: str, base: str, known: tuple, env: dict) -> Standing:
    """What a worktree holds; known: trees that hold nothing of its own (as it began, as it was
    merged). base: the commit it began with, "" where nobody noted it: then only a worktree whose
    files are all committed, in a commit that another branch or HEAD has too, holds nothing of its
    own."""
    branch = _registered(project, env).get(os.path.realpath(path))
    if branch is None or not is_one(project, path, env):
        return Standing(False, branch or "", "", "", _files(path))
    head = head_of(path, env) or ""
    taken = snapshot(same(project, path, env), env)
    changed = [entry for entry in taken.left_out if not entry.endswith("(a submodule)")]
    if base:
        changed += touched(path, base, env) + outside(project, path, base, env)
    if not known:
        changed += [name for _, name in _status(path, env)]
        if not _shared(project, head, branch, env):
            changed.append(f"commits of {branch or head[:12]}")
    elif taken.tree not in known:
        changed += [name for _, name in trees.changed(path, known[-1], taken.tree, env)]
    return Standing(True, branch, head, taken.tree, changed)


def is_one(project: str, path: str, env: dict) -> bool:
    """Whether a folder still is a worktree of the project's repository: in one that has lost its
    `.git`, git would look upwards and act on the project's own tree, index and branch. Raises
    Unavailable where the project has no repository."""
    main = repository(project, env)
    try:
        own = repository(path, env)
    except LoopError:
        return False
    common, folder = os.path.realpath(main.common), os.path.realpath(own.folder)
    return own.top == os.path.realpath(path) and os.path.realpath(own.common) == common != folder


def _shared(project: str, head: str, branch: str, env: dict) -> bool:
    """Whether a commit, or the one before it where loopkit made it, is in another branch too."""
    output = git(project, env, "log -1 --format=%an%n%P", head).decode("utf-8", "replace")
    author, _, parents = output.strip().partition("\n")
    if author == "loopkit" and not parents.split():
        return True
    commit = parents.split()[0] if author == "loopkit" else head
    refs = git(project, env, "for-each-ref --format=%(refname) --contains", commit).split()
    return any(os.fsdecode(ref) != f"refs/heads/{branch}" for ref in refs)


def _files(path: str) -> list[str]:
    """The files in a folder that no longer is a worktree."""
    files = []
    for top, folders, names in os.walk(path):
        files += [os.path.relpath(os.path.join(top, name), path) for name in names]
        if len(files) > MOST:
            folders.clear()
    return sorted(name for name in files if name != ".git")


def lying(folder: str) -> list[str]:
    """Paths, relative to the loop's folder, of the folders among its worktrees."""
    if os.path.islink(os.path.join(folder, FOLDER)):  # what lies elsewhere is none of ours
        return []
    try:
        with os.scandir(os.path.join(folder, FOLDER)) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [f"{FOLDER}/{name}" for name in names]


# -- removing


def remove(project: str, path: str, found: Standing, made: str, env: dict) -> str:
    """Remove a worktree that holds nothing of its own, and branches of ours where they hold nothing
    either; nothing is forced. What was merged without ever being committed is committed on its
    branch first, so that git sees a clean worktree; if anything changes meanwhile, git itself
    refuses. made: the branch that it was made with, which its agent may have left, "" if nobody
    noted it; gives it where it stays, for commits that nothing else has."""
    env = unfiltered(project, env)
    head, ours = found.head, found.branch.startswith(BRANCHES)
    if not found.there:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        # of the person's, some may be away for a while
        if os.path.realpath(path) in _registered(project, env):
            git(project, env, "worktree remove", path)
        return _drop(project, made, head, env)
    if _status(path, env):
        git(path, env, "add -A", seconds=LONG_SECONDS)
        tree = word(git(path, env, "write-tree"))
        head = trees.commit(path, tree, head or None, "as it was merged", env)
        if not ours:  # a branch of somebody else's stays where it is
            git(path, env, "update-ref --no-deref HEAD", head)
        git(path, env, "reset -q --mixed", head)
    git(project, env, "worktree remove", path)
    git(project, env, "update-ref -d", _ref(path))
    if ours:
        git(project, env, "update-ref -d", f"refs/heads/{found.branch}", head)
    return _drop(project, made, head, env)


def _drop(project: str, branch: str, taken: str, env: dict) -> str:
    """Remove a branch of ours that holds nothing which `taken`, another branch or HEAD has not;
    gives it where it stays."""
    if branch not in branches(project, env) or branch in _registered(project, env).values():
        return ""
    head = commit_of(project, f"refs/heads/{branch}", env)
    common = taken and word(git(project, env, "merge-base", head, taken, answers=(0, 1)))
    if common != head and not _shared(project, head, branch, env):
        return branch
    git(project, env, "update-ref -d", f"refs/heads/{branch}", head)
    return ""


def moved(project: str, names: list[str], env: dict) -> None:
    """Tell the repository where worktrees lie now."""
    if names:
        git(project, env, "worktree repair", *names)
