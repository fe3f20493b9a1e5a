"""Taking working files from one tree to another, path by path, and nothing that was not kept before."""

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

from ..core.errors import Damaged
from .git import LONG_SECONDS, GitFault, Repository, git, repository
from .trees import LINK, RUN, Difference, differences
from .workshop import PREFIX, Workshop, sweep, workshop

#: paths: what was written or deleted · left: what was not touched though the trees differ there, `path (why)`.
Restored = namedtuple("Restored", "paths left")
_IGNORE = ".gitignore"


def within(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one."""
    return any(path == one or path.startswith(one + "/") for one in folders)


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
    behind a symbolic link, what `after` ignores, and what would be made or deleted and is, or lies in, one of `spare`:
    these were left out of one of the trees.
    made: paths that are ours to delete, ignored or not: the restore that is undone has made them. Folders that become
    empty are removed, except the one that we stand in, as git does. Everything that will be written is laid ready first, so
    that a full disk changes nothing.

    Raises Unavailable, GitFault, Late and Damaged before anything was changed.
    """
    place = repository(project, environment)
    rows = differences(project, before, after, environment)
    if not rows:
        return Restored([], [])
    try:
        gone = [row.path for row in rows if row.status == "D"]
        spare = tuple(spare)
        kept = [row.path for row in rows if row.status in "AD" and within(row.path, spare)]
        reasons = dict.fromkeys(kept, "left out of the checkpoint")
        if gone and any(os.path.basename(row.path) == _IGNORE for row in rows):
            ignored = _ignored(place, environment, after, gone).difference(made)
            reasons |= dict.fromkeys(ignored, "ignored in the checkpoint")
        sweep(place.folder)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place.folder, ignore_cleanup_errors=True) as stage:
            writes = [row for row in rows if row.status != "D"]
            ready = _laid_ready(project, stage, writes, environment)
            acting = _Restoring(place.project, _obeys_modes(place, environment))
            acting.left += [f"{path} ({why})" for path, why in reasons.items()]
            return acting.run([row for row in rows if row.path not in reasons], ready)
    except OSError as error:
        raise Damaged(f"cannot write {error.filename or place.folder}: {error.strerror}", "make room") from None


def _ignored(place: Repository, environment: dict[str, str], tree: str, paths: list[str]) -> set[str]:
    """Those of these paths that the .gitignore files of a tree ignore and that are not tracked now."""
    listed = git(place.top, "ls-tree", "-r", "-z", "--full-tree", tree, environment=environment).split(b"\0")[:-1]
    with workshop(place, environment) as run:
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
        there = Workshop(run.folder, rules, {**run.environment, "GIT_WORK_TREE": rules})
        feed = b"\0".join(b"./" + os.fsencode(one) for one in paths) + b"\0"  # so that none is taken for a pattern
        said = there("check-ignore", "-z", "--stdin", given=feed, answers=(0, 1))
    return {os.fsdecode(one[2:]) for one in said.split(b"\0") if one}


def _obeys_modes(place: Repository, environment: dict[str, str]) -> bool:
    said = git(
        place.top, "config", "--type=bool", "core.fileMode", environment=environment, answers=(0, 1, 128)
    )  # fmt: skip
    return said.strip() != b"false"


def _laid_ready(project: str, stage: str, rows: list[Difference], environment: dict[str, str]) -> dict[str, str]:
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
        """The folder that we stand in and those above it: without it no further call would begin."""
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
            try:
                shutil.copy2(made, beside, follow_symlinks=False)
                os.replace(beside, full)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(beside)
                raise

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
