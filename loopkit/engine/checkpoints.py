"""Trees of a project's working files, taken with git through an index of their own, and put back file by file.

Nothing of the person's repository is touched but its objects and `refs/loopkit/`. A tree is taken in a git folder of
our own that shares the repository's objects and has none of its settings: so no filter, hook, helper or monitor runs,
nothing prompts, and what is stored are the bytes of each file, whatever conversions the repository asks for.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..core.errors import Damaged, Refused
from . import process

#: tree: its object id · left_out: what is not in it, `path (why)` · place: where it was taken · plain: the checksum of the
#: person's index if every entry of it holds a file's own bytes and belongs to the tree, else None.
Snapshot = namedtuple("Snapshot", "tree left_out place plain")
#: paths: what was written or deleted · left: what was not touched though the trees differ there, `path (why)`.
Restored = namedtuple("Restored", "paths left")
#: tree: what two trees come to · conflicts: paths that contradict each other; then the tree is of no use.
Merged = namedtuple("Merged", "tree conflicts")
#: Where a project's repository is: root of the working tree, its git folder, the folder that all working trees share, the
#: commit that HEAD names or None.
Repository = namedtuple("Repository", "top folder common head")

#: Seconds that one call of git may take, and one that reads or hashes many files.
SECONDS, LONG_SECONDS = 60.0, 300.0
#: The first git that merges trees by themselves.
MERGES = (2, 38)
#: Bytes of an untracked file at most.
LARGEST = 100_000_000
#: Where checkpoints are kept: `refs/loopkit/<loop>/<number>`.
REFS = "refs/loopkit/"

_LINK, _MODULE, _RUN = "120000", b"160000", "100755"
#: Nothing of git's that runs programs, waits for somebody or writes what was not asked for.
_QUIET = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    *("-c", "core.hooksPath=" + os.devnull),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.logAllRefUpdates=false"),
    *("-c", "gc.auto=0"),
    *("-c", "credential.helper="),
    *("-c", "protocol.allow=never"),
)
_NOBODY = ("loopkit", "loopkit@localhost")
_PREFIX, _IGNORE = "loopkit-", ".gitignore"
#: Settings of the repository that a tree depends on; none of them runs anything in our hands.
_SETTINGS = (
    r"^(core\.(filemode|symlinks|ignorecase|precomposeunicode|sharedrepository|excludesfile)"
    r"|extensions\.objectformat|filter\..*\.(clean|process))$"
)
#: An object's id.
_ID = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
#: A row of `ls-files -v -s --debug -z`.
_ROW = re.compile(rb"(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]+)\0(?:.*\n){4}  size: (\d+)\t.*\n")
#: Names of operations in progress, and the file or folder that git keeps meanwhile.
_UNDER_WAY = (
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)
#: Seconds after which a workshop was left behind by a process that died.
_LEFT_BEHIND = 3600


class Unavailable(Refused):
    """There is no repository with working files here, or no git: no checkpoint can be made. Exit 1."""


class GitFault(Damaged):
    """git said no to something that has to work. Exit 3."""


class Late(GitFault):
    """git did not end in time. Exit 3."""


def git(
    project: str,
    *arguments: str,
    environment: dict[str, str],
    given: bytes = b"",
    seconds: float | None = None,
    answers: tuple = (0,),
    output: Any = subprocess.PIPE,
) -> bytes:
    """What `git arguments…` prints in `project`, with nothing that could prompt or run a program of somebody's.

    given: its standard input · seconds: a time limit, SECONDS unless given; then its whole process group is ended ·
    answers: exit codes that are no fault · output: a file that takes what it prints.

    Raises Unavailable without git, Late out of time, GitFault where it fails.
    """
    return _call(project, arguments, _surroundings(environment), given, seconds, answers, output)


def _call(
    folder: str,
    arguments: tuple,
    environment: dict[str, str],
    given: bytes = b"",
    seconds: float | None = None,
    answers: tuple = (0,),
    output: Any = subprocess.PIPE,
) -> bytes:
    with _Call(folder, arguments, environment, given, seconds, output) as call:
        return call.end(answers)


class _Call:
    """One call of git, begun; whatever is still running when it is left is ended with its whole group."""

    def __init__(
        self,
        folder: str,
        arguments: tuple,
        environment: dict[str, str],
        given: bytes = b"",
        seconds: float | None = None,
        output: Any = subprocess.PIPE,
    ) -> None:
        self.folder, self.said = folder, f"git {arguments[0]}"
        self.limit = SECONDS if seconds is None else seconds
        try:
            with _source(given) as source:
                self.child = subprocess.Popen(
                    ["git", *_QUIET, *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=source,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except FileNotFoundError:
            if not os.path.isdir(folder):
                raise Unavailable(f"there is no folder {folder}") from None
            raise Unavailable("checkpoints need git, and none is found", "install git to have them") from None
        except OSError as error:
            raise GitFault(
                f"cannot start git in {folder}: {error.strerror}", "make room, or see loopkit doctor"
            ) from None

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *given: object) -> None:
        if self.child.poll() is None:
            process.end_group(self.child, 1.0)
        for pipe in (self.child.stdout, self.child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def end(self, answers: tuple = (0,)) -> bytes:
        """What it printed, once it has ended. Raises Late, GitFault for an exit code that is none of `answers`."""
        try:
            out, err = self.child.communicate(None, self.limit)
        except subprocess.TimeoutExpired:
            raise Late(
                f"{self.said} did not end within {self.limit:g} s and was stopped", f"try it in {self.folder}"
            ) from None
        if self.child.returncode not in answers:
            first = next((row for row in err.decode("utf-8", "replace").splitlines() if row.strip()), "no word why")
            raise GitFault(f"{self.said} fails in {self.folder}: {first[:300]}", "see git status there")
        return out or b""


@contextlib.contextmanager
def _source(given: bytes) -> Iterator[Any]:
    """Standard input: nothing, or a file, since much would pass slowly through a pipe and could get stuck in it."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


#: What of git's variables says how a repository is found.
_KEPT = frozenset(("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"))


def _surroundings(environment: dict[str, str], settings: bool = True) -> dict[str, str]:
    """An environment in which git speaks English, asks nobody, signs as us and takes no folder from whoever runs us.

    settings: with those that the environment itself gives to git.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name in _KEPT or settings and name.startswith("GIT_CONFIG")
    }
    author, mail = _NOBODY
    return kept | {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": mail,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }


def repository(project: str, environment: dict[str, str]) -> Repository:
    """The repository whose working tree holds `project`. Raises Unavailable with the reason, GitFault, Late."""
    here = os.path.realpath(project)
    asked = ("--is-inside-work-tree", "--is-bare-repository", "--show-cdup", "--absolute-git-dir", "--git-common-dir")
    commit = ("--revs-only", "HEAD^{commit}")
    said = git(here, "rev-parse", *asked, *commit, environment=environment, answers=(0, 128))
    rows = said.split(b"\n")[:-1]
    if len(rows) < 3 or rows[0] != b"true":
        raise _none(here, rows, environment)
    commits = [row for row in rows[len(asked) :] if _ID.fullmatch(row)]
    if len(rows) != len(asked) + len(commits) or len(commits) > 1:  # a line break in one of the names
        rows[2:] = [git(here, "rev-parse", one, environment=environment)[:-1] for one in asked[2:]]
        rows += git(here, "rev-parse", *commit, environment=environment).split(b"\n")[:-1]
    up, folder, common = (os.fsdecode(one) for one in rows[2:5])
    top = os.path.normpath(os.path.join(here, up))
    head = rows[5].decode("ascii", "replace") if len(rows) > 5 else None
    return Repository(top, folder, os.path.normpath(os.path.join(here, common)), head)


def _none(here: str, rows: list[bytes], environment: dict[str, str]) -> Unavailable:
    if len(rows) > 1 and rows[1] == b"true":
        return Unavailable(f"{here} is a bare repository, without working files", "checkpoints are not available")
    if rows:
        return Unavailable(f"{here} lies inside a git folder", "checkpoints are not available")
    try:
        git(here, "rev-parse", "--git-dir", environment=environment)
    except GitFault as error:
        if "not a git repository (or any" not in error.what:
            return Unavailable(error.what, "checkpoints are not available")
    return Unavailable(f"{here} is in no git repository", "checkpoints are not available; git init makes one")


def head(project: str, environment: dict[str, str]) -> str | None:
    """The commit that HEAD names; None where there is none yet."""
    return repository(project, environment).head


def under_way(place: Repository) -> str | None:
    """What the person has begun in the repository and not ended, such as `a merge`; None if nothing."""
    for name, what in _UNDER_WAY:
        if os.path.lexists(os.path.join(place.folder, name)):
            return what
    return None


def place_of(place: Repository) -> str:
    """Which of the repository's working trees it is: "." for the main one."""
    return os.path.relpath(os.path.realpath(place.folder), os.path.realpath(place.common))


# -- taking a tree


def snapshot(
    project: str, environment: dict[str, str], apart: Iterable[str] = (), plain: str | None = None
) -> Snapshot:
    """The working files as a tree: tracked and untracked ones, without ignored files and whatever is named `.loop`.

    apart: absolute paths that are left out too · plain: what an earlier snapshot gave, which saves looking through the same
    index once more. Untracked files over LARGEST, repositories in the repository and files
    that cannot be read are left out and named. Raises Unavailable, GitFault, Late.
    """
    place = repository(project, environment)
    apart = [os.path.relpath(os.path.realpath(one), place.top) for one in apart]
    try:
        return _taken(place, environment, apart, plain)
    except Late:
        raise
    except GitFault:  # a file may have changed while it was read
        return _taken(place, environment, apart, plain)
    except OSError as error:
        raise GitFault(f"cannot make a checkpoint: {error.filename or place.folder}: {error.strerror}") from None


def _taken(place: Repository, environment: dict[str, str], apart: list[str], plain: str | None) -> Snapshot:
    def ours(path: bytes) -> bool:
        if not apart and b".loop" not in path:
            return False
        name = os.fsdecode(path)
        return ".loop" in name.split("/") or _within(name, apart)

    left = []
    settings = _settings(place, environment)
    with _workshop(place, environment, settings) as run:
        filters = any(name.startswith("filter.") for name in settings)
        known = _checksum(os.path.join(run.folder, "index"))
        if filters or known is None or known != plain:
            rows = _ROW.findall(run("ls-files", "-v", "-s", "--debug", "-z"))
            again = _to_read_again(place, run, rows)
            if filters or _has_attributes(place, rows):
                unlike = _converted(place, environment, [row[4] for row in rows])
                filters = filters or bool(unlike)
                again |= unlike
            entries = []
            for tag, mode, name, stage, path, _ in rows:
                if ours(path):
                    entries.append(b"0 %s\t%s" % (b"0" * len(name), path))
                elif mode == _MODULE:
                    left.append(f"{os.fsdecode(path)} (a submodule)")
                elif stage == b"0" and path in again:
                    entries.append(b"%s %s 0\t%s" % (mode, name, path))  # such an entry has no times: it is read again
                if tag != b"H":
                    known = None
            if entries:
                run("update-index", "-z", "--index-info", given=b"\0".join(entries) + b"\0")
            if entries or left or filters:
                known = None
        gone, wanted = [], []
        # both only look, so side by side
        with (
            run.begun("diff-files", "-z", "--name-status", "--ignore-submodules=all") as one,
            run.begun("ls-files", "-o", "-z", "--exclude-standard", "--exclude=.loop") as other,
        ):
            changes, untracked = one.end().split(b"\0"), other.end().split(b"\0")
        for status, path in zip(changes[::2], changes[1::2], strict=False):
            if status == b"D":
                gone.append(path)
            elif os.path.lexists(os.path.join(os.fsencode(place.top), path)) and not _readable(place.top, path):
                left.append(f"{os.fsdecode(path)} (unreadable)")
            else:
                wanted.append(path)
        fresh = []
        for path in untracked:
            if not path or ours(path.rstrip(b"/")):
                continue
            why = _unfit(place.top, path)
            if why:
                left.append(f"{os.fsdecode(path.rstrip(b'/'))} ({why})")
            else:
                fresh.append(path)
        if gone:
            run("update-index", "-z", "--force-remove", "--stdin", given=b"\0".join(gone) + b"\0")
        if fresh or wanted:  # what is new first: it may take the place of what was
            feed = b"\0".join([*fresh, *wanted]) + b"\0"
            run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=feed, seconds=LONG_SECONDS)
        tree = run("write-tree", "--missing-ok").decode().strip()
    return Snapshot(tree, tuple(sorted(left)), place, known)


def _checksum(index: str) -> str | None:
    """The checksum that an index ends with; None where it has none."""
    try:
        with open(index, "rb") as file:
            file.seek(-20, os.SEEK_END)  # of a longer one this much is as good
            found = file.read(20)
    except OSError:
        return None
    return found.hex() if any(found) else None


def _to_read_again(place: Repository, run: _Workshop, rows: list[tuple]) -> set[bytes]:
    """Paths whose index entry may hold other bytes than the file though their times agree: line ends or an encoding were
    converted, which shows in the size, or the person asked git not to look."""
    top = os.fsencode(place.top)
    names = list(dict.fromkeys([row[2] for row in rows if row[1] != _MODULE]))
    sizes: dict[bytes, bytes] = {}
    if names:
        said = run("cat-file", "--batch-check=%(objectsize)", given=b"\n".join(names) + b"\n")
        sizes = dict(zip(names, said.split(b"\n"), strict=False))
    again = set()
    for tag, mode, name, _, path, size in rows:
        if mode == _MODULE:
            continue
        there = sizes.get(name, b"")
        if tag != b"H" and (tag.islower() or tag == b"S" and os.path.lexists(os.path.join(top, path))):
            again.add(path)
        elif there != size and (not there.isdigit() or int(there) & 0xFFFFFFFF != int(size)):  # as the index has it
            again.add(path)
    return again


def _has_attributes(place: Repository, rows: list[tuple]) -> bool:
    """Whether the repository says what its files are."""
    if any(row[4].endswith(b".gitattributes") for row in rows):
        return True
    return os.path.exists(os.path.join(place.common, "info", "attributes"))


def _converted(place: Repository, environment: dict[str, str], paths: list[bytes]) -> set[bytes]:
    """Paths that a filter or an encoding of the repository's applies to; either may keep a file's size."""
    if not paths:
        return set()
    said = git(
        place.top, "check-attr", "-z", "--stdin", "filter", "working-tree-encoding",
        environment=environment, given=b"\0".join(paths) + b"\0",
    ).split(b"\0")  # fmt: skip
    plain = (b"unspecified", b"unset", b"set", b"")
    return {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in plain}


def _readable(top: str, path: bytes) -> bool:
    full = os.path.join(os.fsencode(top), path)
    return os.path.islink(full) or os.access(full, os.R_OK)


def _unfit(top: str, path: bytes) -> str:
    """Why an untracked path is left out; "" if it is not."""
    if path.endswith(b"/"):
        return "a repository of its own"
    try:
        state = os.lstat(os.path.join(os.fsencode(top), path))
    except OSError:
        return ""  # gone meanwhile: update-index passes over it
    if stat.S_ISREG(state.st_mode) and state.st_size > LARGEST:
        return f"{state.st_size / 1e6:,.0f} MB"
    return "" if _readable(top, path) else "unreadable"


class _Workshop:
    """`run("write-tree")` calls git with a git folder of ours, `folder`, for a working tree, `top`."""

    def __init__(self, folder: str, top: str, environment: dict[str, str]) -> None:
        self.folder, self.top, self.environment = folder, top, environment

    def __call__(
        self, *arguments: str, given: bytes = b"", seconds: float | None = None, answers: tuple = (0,)
    ) -> bytes:
        return _call(self.top, arguments, self.environment, given, seconds, answers)

    def begun(self, *arguments: str) -> _Call:
        """A call that has begun."""
        return _Call(self.top, arguments, self.environment)


@contextlib.contextmanager
def _workshop(
    place: Repository, environment: dict[str, str], settings: dict[str, str] | None = None
) -> Iterator[_Workshop]:
    """`git` in a git folder of our own: the repository's objects, a copy of its index, nothing else of it."""
    _sweep(place.folder)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place.folder, ignore_cleanup_errors=True) as own:
        for name in ("refs", "info"):
            os.mkdir(os.path.join(own, name))
        _write(own, "HEAD", "ref: refs/heads/none\n")
        _write(own, "config", _config(place, environment, settings or _settings(place, environment)))
        _write(own, "info/attributes", "* -text -ident -filter !eol !crlf !working-tree-encoding\n")
        with contextlib.suppress(OSError):
            shutil.copyfile(os.path.join(place.common, "info", "exclude"), os.path.join(own, "info", "exclude"))
        with os.scandir(place.folder) as found:
            for one in found:
                if one.name.startswith("sharedindex."):
                    os.symlink(one.path, os.path.join(own, one.name))
        with contextlib.suppress(FileNotFoundError):  # nothing was ever added: there is no index
            # copy2 keeps its time: an entry as young as the index is looked at closely
            shutil.copy2(os.path.join(place.folder, "index"), os.path.join(own, "index"))
        surroundings = _surroundings(environment, settings=False) | {
            "HOME": own,
            "XDG_CONFIG_HOME": own,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": own,
            "GIT_WORK_TREE": place.top,
            "GIT_INDEX_FILE": os.path.join(own, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(place.common, "objects"),
        }

        yield _Workshop(own, place.top, surroundings)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _settings(place: Repository, environment: dict[str, str]) -> dict[str, str]:
    """The repository's settings that _SETTINGS names."""
    said = git(place.top, "config", "-z", "--get-regexp", _SETTINGS, environment=environment, answers=(0, 1))
    rows = (os.fsdecode(row).partition("\n") for row in said.split(b"\0")[:-1])
    return {name: value for name, _, value in rows}


def _config(place: Repository, environment: dict[str, str], settings: dict[str, str]) -> str:
    """The settings of our git folder: those of the repository that say what a file is here, and what is ignored."""
    rows = {name: value for name, value in settings.items() if name.startswith("core.")}
    kind, ignored = settings.get("extensions.objectformat"), rows.pop("core.excludesfile", None)
    if ignored is None:
        base = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", ""), ".config")
        ignored = os.path.join(base, "git", "ignore")
    elif ignored.startswith("~/"):
        ignored = os.path.join(environment.get("HOME", ""), ignored[2:])
    elif ignored.startswith("~"):
        ignored = os.path.expanduser(ignored)
    rows |= {
        "core.excludesfile": os.path.join(place.top, ignored),
        "core.bare": "false",
        "core.untrackedcache": "false",
    }
    lines = ["[core]", f"repositoryformatversion = {1 if kind else 0}"]
    lines += [f"{name[5:]} = {_quoted(value)}" for name, value in rows.items()]
    if kind:
        lines += ["[extensions]", f"objectFormat = {_quoted(kind)}"]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def _sweep(folder: str) -> None:
    """Remove what a process that died left in a git folder."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith(_PREFIX) and abs(time.time() - os.lstat(path).st_mtime) > _LEFT_BEHIND:
                shutil.rmtree(path, ignore_errors=True)


# -- keeping a tree


def commit(project: str, tree: str, parent: str | None, message: str, environment: dict[str, str]) -> str:
    """A commit of a tree, by nobody in particular, unsigned; gives its id. Raises Unavailable, GitFault, Late."""
    words = ["-p", parent] if parent else []
    text = message.replace("\0", " ").encode("utf-8", "replace")
    return git(project, "commit-tree", tree, *words, "-F", "-", environment=environment, given=text).decode().strip()


def keep(project: str, loop: str, number: int, sha: str, environment: dict[str, str]) -> bool:
    """Put a commit on `refs/loopkit/<loop>/<number>`; False where that is taken. Raises Unavailable, GitFault, Late."""
    name = f"{REFS}{loop}/{number}"
    try:
        git(project, "update-ref", "--no-deref", name, sha, "0" * len(sha), environment=environment)
    except Late:
        raise
    except GitFault:
        if not git(project, "rev-parse", "--verify", "-q", name, environment=environment, answers=(0, 1, 128)):
            raise
        return False
    return True


def highest(project: str, loop: str, environment: dict[str, str]) -> int:
    """The highest number that a ref of a loop has; 0 without one. Raises Unavailable, GitFault, Late."""
    said = git(project, "for-each-ref", "--format=%(refname)", f"{REFS}{loop}/", environment=environment)
    numbers = [row.rpartition(b"/")[2] for row in said.splitlines()]
    return max((int(one) for one in numbers if one.isdigit()), default=0)


def changed(project: str, before: str, after: str, environment: dict[str, str]) -> list[tuple[str, str]]:
    """What differs between two trees, submodules apart: (A, M, T or D, path), in the order of paths."""
    return [(one.status, one.path) for one in _differences(project, before, after, environment)]


def committed(project: str, before: str | None, after: str, environment: dict[str, str]) -> set[str]:
    """Paths that differ between two commits; all of `after` where `before` is None or no longer there."""
    if before is not None and not _there(project, before, environment):
        before = None
    if before is None:
        said = git(project, "ls-tree", "-r", "-z", "--name-only", "--full-tree", after, environment=environment)
        return {os.fsdecode(one) for one in said.split(b"\0") if one}
    return {path for _, path in changed(project, before, after, environment)}


def check_there(project: str, tree: str, number: int, environment: dict[str, str]) -> None:
    """Raises GitFault where a checkpoint's tree is no longer in the repository."""
    if not _there(project, tree, environment):
        raise GitFault(f"the tree of checkpoint {number} is no longer in the repository", "choose another checkpoint")


def _there(project: str, name: str, environment: dict[str, str]) -> bool:
    said = git(
        project, "cat-file", "--batch-check=%(objecttype)", environment=environment, given=name.encode() + b"\n"
    )  # fmt: skip
    return said.strip() in (b"commit", b"tree")


_Difference = namedtuple("_Difference", "status old_mode old mode new path")


def _differences(project: str, before: str, after: str, environment: dict[str, str]) -> list[_Difference]:
    if before == after:
        return []
    said = git(
        project, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after,
        environment=environment, seconds=LONG_SECONDS,
    ).split(b"\0")  # fmt: skip
    found = []
    for row, path in zip(said[::2], said[1::2], strict=False):
        old_mode, mode, old, new, status = row.decode("ascii").lstrip(":").split(" ")
        if _MODULE.decode() not in (old_mode, mode):
            found.append(_Difference(status[:1], old_mode, old, mode, new, os.fsdecode(path)))
    return found


# -- two trees that began as one


def merged(project: str, base: str, ours: str, theirs: str, environment: dict[str, str]) -> Merged:
    """What two trees come to that both began as `base`: file by file, line by line; no file of the person is read or
    written, and no merge driver runs. Raises Unavailable, also where git is too old, GitFault, Late."""
    place = repository(project, environment)
    check_version(project, environment)
    root = commit(project, base, None, "base", environment)
    sides = [commit(project, tree, root, "side", environment) for tree in (ours, theirs)]
    with _workshop(place, environment) as run:
        said = run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides,
                   seconds=LONG_SECONDS, answers=(0, 1)).split(b"\0")  # fmt: skip
    return Merged(said[0].decode("ascii", "replace"), sorted({os.fsdecode(one) for one in said[1:] if one}))


def check_version(project: str, environment: dict[str, str]) -> None:
    """Raises Unavailable where git cannot merge trees."""
    said = git(project, "version", environment=environment).decode("ascii", "replace").strip()
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < MERGES:
        wanted = ".".join(map(str, MERGES))
        raise Unavailable(
            f"worktrees need git {wanted} or newer, this is {said[:40]}", "without them: loopkit wave next"
        )


# -- putting a tree back


def restore(
    project: str,
    before: str,
    after: str,
    environment: dict[str, str],
    spare: Iterable[str] = (),
    made: Iterable[str] = (),
) -> Restored:
    """Take the working files from tree `before`, which they are in, to tree `after`: only paths where these differ.

    A file that is not as `before` has it, or that `before` does not know, is left as it is and named; so is what lies
    behind a symbolic link, what `after` ignores, and what is, or lies in, one of `spare`: these were left out of it.
    made: paths that are ours to delete, ignored or not: the restore that is undone has made them. Folders that become
    empty are removed. Everything that will be written is laid ready first, so that a full disk changes nothing.

    Raises Unavailable, GitFault, Late and Damaged before anything was changed.
    """
    place = repository(project, environment)
    rows = _differences(project, before, after, environment)
    if not rows:
        return Restored([], [])
    try:
        gone = [row.path for row in rows if row.status == "D"]
        reasons = {path: "left out of the checkpoint" for path in gone if _within(path, spare)}
        if gone and any(os.path.basename(row.path) == _IGNORE for row in rows):
            ignored = _ignored(place, environment, after, gone).difference(made)
            reasons |= dict.fromkeys(ignored, "ignored in the checkpoint")
        _sweep(place.folder)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place.folder, ignore_cleanup_errors=True) as stage:
            writes = [row for row in rows if row.status != "D"]
            ready = _laid_ready(project, stage, writes, environment)
            acting = _Restoring(place.top, _obeys_modes(place, environment))
            acting.left += [f"{path} ({why})" for path, why in reasons.items()]
            return acting.run([row for row in rows if row.path not in reasons], ready)
    except OSError as error:
        raise Damaged(f"cannot write {error.filename or place.folder}: {error.strerror}", "make room") from None


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in folders)


def _ignored(place: Repository, environment: dict[str, str], tree: str, paths: list[str]) -> set[str]:
    """Those of these paths that the .gitignore files of a tree ignore and that are not tracked now."""
    listed = git(place.top, "ls-tree", "-r", "-z", "--full-tree", tree, environment=environment).split(b"\0")[:-1]
    with _workshop(place, environment) as run:
        rules = os.path.join(run.folder, "rules")
        os.mkdir(rules)
        for row in listed:
            head, _, path = row.partition(b"\t")
            mode, _, name = head.split(b" ")
            if os.path.basename(path) == os.fsencode(_IGNORE) and mode.startswith(b"100"):
                target = os.path.join(rules, os.fsdecode(path))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(run("cat-file", "blob", name.decode("ascii")))
        there = _Workshop(run.folder, rules, {**run.environment, "GIT_WORK_TREE": rules})
        feed = b"\0".join(b"./" + os.fsencode(one) for one in paths) + b"\0"  # so that none is taken for a pattern
        said = there("check-ignore", "-z", "--stdin", given=feed, answers=(0, 1))
    return {os.fsdecode(one[2:]) for one in said.split(b"\0") if one}


def _obeys_modes(place: Repository, environment: dict[str, str]) -> bool:
    said = git(
        place.top, "config", "--type=bool", "core.fileMode", environment=environment, answers=(0, 1, 128)
    )  # fmt: skip
    return said.strip() != b"false"


def _laid_ready(project: str, stage: str, rows: list[_Difference], environment: dict[str, str]) -> dict[str, str]:
    """The contents of these rows' new objects as files in the folder `stage`: {object id: path}. OSError, GitFault."""
    names = list(dict.fromkeys(row.new for row in rows))
    ready: dict[str, str] = {}
    if not names:
        return ready
    heap = os.path.join(stage, "heap")
    with open(heap, "w+b") as file:
        git(
            project, "cat-file", "--batch", environment=environment, given="\n".join(names).encode() + b"\n",
            seconds=LONG_SECONDS, output=file,
        )  # fmt: skip
        file.seek(0)
        for name in names:
            words = file.readline().split()
            if len(words) != 3 or words[0].decode() != name:
                raise GitFault(f"object {name} of the checkpoint is gone", "it cannot be restored whole")
            ready[name] = os.path.join(stage, name)
            with open(ready[name], "wb") as target:
                left = int(words[2])
                while left:
                    piece = file.read(min(left, 1 << 20))
                    if not piece:
                        raise GitFault(f"object {name} of the checkpoint is cut short", "it cannot be restored whole")
                    target.write(piece)
                    left -= len(piece)
            file.read(1)
    os.unlink(heap)
    return ready


class _Restoring:
    """One restore of files below `top`: what was done, and what was left."""

    def __init__(self, top: str, modes: bool) -> None:
        self.top = top
        self.modes = modes  # whether the right to run a file means something here
        self.paths: list[str] = []
        self.left: list[str] = []
        self.real: set[str] = set()  # folders below the top that are no links
        self.uses: Counter[str] = Counter()  # how many files still need an object

    def run(self, rows: list[_Difference], ready: dict[str, str]) -> Restored:
        self.uses.update(row.new for row in rows if row.status != "D" and row.mode != _LINK)
        needed = {above for row in rows if row.status != "D" for above in _above(row.path)}
        emptied: set[str] = set()
        for row in rows:
            if row.status == "D" and self._try(row, self._delete):
                emptied.update(above for above in _above(row.path) if above not in needed)
        for folder in sorted(emptied, key=len, reverse=True):
            with contextlib.suppress(OSError):  # whatever else lies in it keeps it
                os.rmdir(os.path.join(self.top, folder))
            self.real.discard(folder)
        for row in rows:
            if row.status != "D":
                self._try(row, lambda one: self._put(one, ready[one.new]))
        return Restored(sorted(self.paths), sorted(self.left))

    def _try(self, row: _Difference, act: Callable[[_Difference], str | None]) -> bool:
        try:
            why = act(row)
            if why is None:  # it is so already
                return True
        except OSError as error:
            why = error.strerror or "cannot be written"
        if why:
            self.left.append(f"{row.path} ({why})")
        else:
            self.paths.append(row.path)
        return not why

    def _delete(self, row: _Difference) -> str | None:
        if not self._inside(row.path, make=False):
            return "behind a link"
        full = os.path.join(self.top, row.path)
        if not os.path.lexists(full):
            return None
        if not self._is(full, row.old_mode, row.old):
            return "changed meanwhile"
        os.unlink(full)
        return ""

    def _put(self, row: _Difference, ready: str) -> str | None:
        if not self._inside(row.path, make=True):
            return "behind a link, or another file is in its way"
        full = os.path.join(self.top, row.path)
        there = os.path.lexists(full)
        if there and self._is(full, row.mode, row.new):
            return None
        if row.status == "A" and there:
            return "a file that is in no checkpoint is in its way"
        if row.status != "A" and not there:
            return "gone meanwhile"
        if there and not self._is(full, row.old_mode, row.old):
            return "changed meanwhile"
        if row.mode == _LINK:
            self._link(ready, full)
        else:
            self._file(row.new, ready, full, row.mode == _RUN)
        return ""

    def _link(self, ready: str, full: str) -> None:
        with open(ready, "rb") as file:
            target = file.read()
        made = f"{ready}.{len(self.paths)}.link"
        os.symlink(target, os.fsencode(made))
        self._move(made, full)

    def _file(self, name: str, ready: str, full: str, run: bool) -> None:
        """`ready` in place of whatever `full` is; of a file that was there it keeps who may read and write."""
        made = ready
        self.uses[name] -= 1
        if self.uses[name]:  # another file has the same content
            made = f"{ready}.{len(self.paths)}.copy"
            shutil.copyfile(ready, made)
        try:
            old = os.lstat(full)
            mode = stat.S_IMODE(old.st_mode) if stat.S_ISREG(old.st_mode) else None
        except FileNotFoundError:
            mode = None
        if mode is None:
            mode = stat.S_IMODE(os.stat(made).st_mode)
        if self.modes:
            mode = mode | (mode & 0o444) >> 2 if run else mode & ~0o111
        os.chmod(made, mode)
        self._move(made, full)

    def _move(self, made: str, full: str) -> None:
        try:
            os.replace(made, full)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            beside = f"{full}.{os.getpid()}.tmp"  # the git folder lies on another disk
            shutil.copy2(made, beside, follow_symlinks=False)
            os.replace(beside, full)

    def _inside(self, path: str, make: bool) -> bool:
        """Whether all folders above a path are folders and no links; with `make`, missing ones are made."""
        for folder in reversed(_above(path)):
            if folder in self.real:
                continue
            full = os.path.join(self.top, folder)
            try:
                state = os.lstat(full)
            except FileNotFoundError:
                if not make:
                    return True  # then there is nothing to delete
                os.mkdir(full)
            else:
                if not stat.S_ISDIR(state.st_mode):
                    return False
            self.real.add(folder)
        return True

    def _is(self, full: str, mode: str, name: str) -> bool:
        """Whether what lies there is the object of that mode and id."""
        state = os.lstat(full)
        if mode == _LINK:
            if not stat.S_ISLNK(state.st_mode):
                return False
            target = os.readlink(os.fsencode(full))
            return _id(name, len(target), [target]) == name
        if not stat.S_ISREG(state.st_mode):
            return False
        if self.modes and bool(state.st_mode & stat.S_IXUSR) != (mode == _RUN):
            return False
        with open(full, "rb") as file:
            return _id(name, state.st_size, iter(lambda: file.read(1 << 20), b"")) == name


def _above(path: str) -> list[str]:
    """The folders above a path, the nearest first."""
    found = []
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


def _id(like: str, size: int, pieces: Iterable[bytes]) -> str:
    """The object id of a file's content, by the hash that `like` was made with."""
    digest = (hashlib.sha256 if len(like) == 64 else hashlib.sha1)(b"blob %d\0" % size)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
