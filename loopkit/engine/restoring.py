"""Taking working files from one tree to another, path by path, and nothing that was not kept
before."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable

from ..core.journal.errors import Damaged
from .git import LONG_SECONDS, GitFault, Repository, git, repository
from .trees import LINK, RUN, Difference, differences
from .workshop import PREFIX, Workshop, sweep, workshop

#: rows: the differences to be carried out · left: {path: why} of what is not touched though the
#: trees differ there.
Plan = namedtuple("Plan", "rows left")
#: paths: what was written or deleted · left: what was not touched though the trees differ there,
#: `path (why)`.
Restored = namedtuple("Restored", "paths left")
#: Why a file is left as it is.
LEFT_OUT, IGNORED = "left out of the checkpoint", "ignored"
_IGNORE = ".gitignore"


def within(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one."""
    return any(path == one or path.startswith(one + "/") for one in folders)


def planned(
    project: str, before: str, after: str, environment: dict[str, str], spare: Iterable[str] = ()
) -> Plan:
    """What `restore` would do: only paths where the trees differ, without what it leaves as it is.

    Left is what would be made or deleted and is, or lies in, one of `spare`: these were left out of
    one of the trees. Left is also each path that git does not track and ignores: as things are now,
    or by the .gitignore files of either tree, so that the way back leaves the same. Raises
    Unavailable, GitFault, Late.
    """
    rows, spare = differences(project, before, after, environment), tuple(spare)
    left = {row.path: LEFT_OUT for row in rows if row.status in "AD" and within(row.path, spare)}
    paths = [row.path for row in rows if row.path not in left]
    if paths:
        trees = [before, after] if any(os.path.basename(path) == _IGNORE for path in paths) else []
        left |= dict.fromkeys(
            _ignored(repository(project, environment), environment, trees, paths), IGNORED
        )
    return Plan([row for row in rows if row.path not in left], left)


def restore(
    project: str, before: str, after: str, environment: dict[str, str], spare: Iterable[str] = ()
) -> Restored:
    """Take the working files from tree `before`, which they are in, to tree `after`, as `planned`.

    A file that is not as `before` has it, or that `before` does not know, is left as it is and
    named; so is what lies behind a symbolic link. Folders that become empty are removed, except the
    one that we stand in, as git does. Everything that will be written is laid ready first, so that
    a full disk changes nothing.

    Raises Unavailable, GitFault, Late and Damaged before anything was changed.
    """
    place = repository(project, environment)
    try:
        plan = planned(project, before, after, environment, spare)
        left = [f"{path} ({why})" for path, why in plan.left.items()]
        if not plan.rows:
            return Restored([], sorted(left))
        sweep(place.folder)
        with tempfile.TemporaryDirectory(
            prefix=PREFIX, dir=place.folder, ignore_cleanup_errors=True
        ) as stage:
            names = [row.new for row in plan.rows if row.status != "D"]
            ready = _laid_ready(project, stage, names, environment)
            acting = _Restoring(place.project, _obeys_modes(place, environment))
            acting.left += left
            return acting.run(plan.rows, ready)
    except OSError as error:
        raise Damaged(
            f"cannot write {error.filename or place.folder}: {error.strerror}", "make room"
        ) from None


# -- what is ignored


def _ignored(
    place: Repository, environment: dict[str, str], trees: list[str], paths: list[str]
) -> set[str]:
    """Those of these paths that the index does not hold and that are ignored: by the .gitignore
    files as they lie there, or by those of one of these trees; by the repository's and the person's
    own lists beside each, and for a part of it by the .gitignore files above."""
    prefix, paths = place.prefix, [place.prefix + path for path in paths]
    found: set[str] = set()
    folders = {"", *(above for path in paths for above in _above(path))}
    with workshop(place, environment) as run:
        there = _rules_there(place.top, folders)
        outer = {path: file for path, file in there.items() if not path.startswith(prefix)}
        sources = [there]
        for tree in trees:
            rules = _rules_of(place.top, tree, folders, prefix, run.folder, environment)
            sources.append({**outer, **rules} if prefix else rules)
        for number, rules in enumerate(sources):
            look = _ruled(run, f"rules-{number}", rules)
            feed = b"".join(
                b"./" + os.fsencode(path) + b"\0" for path in paths
            )  # so that none is taken for a pattern
            said = look("check-ignore", "-z", "--stdin", "--no-index", given=feed, answers=(0, 1))
            found.update(os.fsdecode(path[2:]) for path in said.split(b"\0") if path)
        if found:
            found.difference_update(
                map(os.fsdecode, run("ls-files", "-z", *place.paths).split(b"\0"))
            )
    return {path[len(prefix) :] for path in found}


def _rules_there(top: str, folders: Iterable[str]) -> dict[str, str]:
    """The .gitignore files of these folders that git would read: {path from the top: the file
    itself}."""
    found = {}
    for folder in folders:
        path = os.path.join(folder, _IGNORE)
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.lstat(os.path.join(top, path)).st_mode):
                found[path] = os.path.join(top, path)
    return found


def _rules_of(
    top: str, tree: str, folders: set[str], prefix: str, stage: str, environment: dict[str, str]
) -> dict[str, str]:
    """The .gitignore files of these folders in a tree, whose paths begin with `prefix` in the
    repository: {path: a file in `stage` with its content}."""
    names = {}
    listed = git(top, "ls-tree", "-r", "-z", "--full-tree", tree, environment=environment).split(
        b"\0"
    )[:-1]
    for row in listed:
        head, _, name = row.partition(b"\t")
        path = prefix + os.fsdecode(name)
        mode, _, object_id = head.decode("ascii").split(" ")
        if (
            os.path.basename(path) == _IGNORE
            and mode.startswith("100")
            and os.path.dirname(path) in folders
        ):
            names[path] = object_id
    ready = _laid_ready(top, stage, list(names.values()), environment)
    return {path: ready[object_id] for path, object_id in names.items()}


def _ruled(run: Workshop, name: str, rules: dict[str, str]) -> Workshop:
    """A workshop whose working tree, a new folder in it, holds nothing but these files."""
    top = os.path.join(run.folder, name)
    os.mkdir(top)
    for path, source in rules.items():
        target = os.path.join(top, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with contextlib.suppress(PermissionError):  # git passes over one that cannot be read
            shutil.copyfile(source, target)
    return Workshop(run.folder, top, {**run.environment, "GIT_WORK_TREE": top})


# -- carrying it out


def _obeys_modes(place: Repository, environment: dict[str, str]) -> bool:
    said = git(
        place.top,
        "config",
        "--type=bool",
        "core.fileMode",
        environment=environment,
        answers=(0, 1, 128),
    )
    return said.strip() != b"false"


def _laid_ready(
    project: str, stage: str, names: list[str], environment: dict[str, str]
) -> dict[str, str]:
    """The contents of these objects as files in the folder `stage`: {object id: path}. OSError,
    GitFault."""
    names = list(dict.fromkeys(names))
    ready: dict[str, str] = {}
    if not names:
        return ready
    heap = os.path.join(stage, "heap")
    with open(heap, "w+b") as file:
        git(
            project,
            "cat-file",
            "--batch",
            environment=environment,
            given="\n".join(names).encode() + b"\n",
            seconds=LONG_SECONDS,
            output=file,
        )
        file.seek(0)
        for name in names:
            words = file.readline().split()
            if len(words) != 3 or words[0].decode() != name:
                raise GitFault(
                    f"object {name} of the checkpoint is gone", "it cannot be restored whole"
                )
            ready[name] = os.path.join(stage, name)
            with open(ready[name], "wb") as target:
                left = int(words[2])
                while left:
                    piece = file.read(min(left, 1 << 20))
                    if not piece:
                        raise GitFault(
                            f"object {name} of the checkpoint is cut short",
                            "it cannot be restored whole",
                        )
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

    def run(self, rows: list[Difference], ready: dict[str, str]) -> Restored:
        self.uses.update(row.new for row in rows if row.status != "D" and row.mode != LINK)
        needed = {above for row in rows if row.status != "D" for above in _above(row.path)}
        needed.update(self._here())
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

    def _here(self) -> list[str]:
        """The folder that we stand in and those above it: without it no further call would
        begin."""
        try:
            here = os.path.relpath(os.getcwd(), self.top)
        except OSError:
            return []
        return [here, *_above(here)]

    def _try(self, row: Difference, act: Callable[[Difference], str | None]) -> bool:
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

    def _delete(self, row: Difference) -> str | None:
        if not self._inside(row.path, make=False):
            return "behind a link"
        full = os.path.join(self.top, row.path)
        if not os.path.lexists(full):
            return None
        if not self._is(full, row.old_mode, row.old):
            return "changed meanwhile"
        os.unlink(full)
        return ""

    def _put(self, row: Difference, ready: str) -> str | None:
        if not self._inside(row.path, make=True):
            return "behind a link, or another file is in its way"
        full = os.path.join(self.top, row.path)
        there = os.path.lexists(full) and not self._cleared(row.path)
        if there and self._is(full, row.mode, row.new):
            return None
        if row.status == "A" and there:
            return "a file that is in no checkpoint is in its way"
        if row.status != "A" and not there:
            return "gone meanwhile"
        if there and not self._is(full, row.old_mode, row.old):
            return "changed meanwhile"
        if row.mode == LINK:
            self._link(ready, full)
        else:
            self._file(row.new, ready, full, row.mode == RUN)
        return ""

    def _cleared(self, path: str) -> bool:
        """Whether there was nothing but a folder without a file; it is gone."""
        full = os.path.join(self.top, path)
        if os.path.islink(full) or not os.path.isdir(full):
            return False
        folders = list(os.walk(full, topdown=False))
        for folder, inner, files in folders:
            if files or any(os.path.islink(os.path.join(folder, one)) for one in inner):
                return False
        for folder, _, _ in folders:
            os.rmdir(folder)
        self.real = {one for one in self.real if not within(one, (path,))}
        return True

    def _link(self, ready: str, full: str) -> None:
        with open(ready, "rb") as file:
            target = file.read()
        made = f"{ready}.{len(self.paths)}.link"
        os.symlink(target, os.fsencode(made))
        self._move(made, full)

    def _file(self, name: str, ready: str, full: str, run: bool) -> None:
        """`ready` in place of whatever `full` is; of a file that was there it keeps who may read
        and write."""
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
            try:
                shutil.copy2(made, beside, follow_symlinks=False)
                os.replace(beside, full)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(beside)
                raise

    def _inside(self, path: str, make: bool) -> bool:
        """Whether all folders above a path are folders and no links; with `make`, missing ones are
        made."""
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
        if mode == LINK:
            if not stat.S_ISLNK(state.st_mode):
                return False
            target = os.readlink(os.fsencode(full))
            return _id(name, len(target), [target]) == name
        if not stat.S_ISREG(state.st_mode):
            return False
        if self.modes and bool(state.st_mode & stat.S_IXUSR) != (mode == RUN):
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
