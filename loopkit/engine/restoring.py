"""Take working files from one tree to another, path by path, without losing unsaved content."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ..core.journal.errors import Damaged
from ..store import atomic
from .git import LONG_SECONDS, GitFault, Repository, git, paths, repository
from .scratch import Scratch, scratch, stage
from .trees import LINK, RUN, Difference, differences

#: rows: the differences to carry out · left: {path: why} of differences that are left alone.
Plan = namedtuple("Plan", "rows left")
#: paths: what was written or deleted · left: differences that were left alone, `path (why)`.
Restored = namedtuple("Restored", "paths left")
#: Why a file is left as it is.
LEFT_OUT, IGNORED = "left out of the checkpoint", "ignored"
_IGNORE = ".gitignore"
NO_RIGHTS: Mapping[str, int] = MappingProxyType({})


def within(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def planned(project: str, before: str, after: str, env: dict, spare: Iterable[str] = ()) -> Plan:
    """What `restore` would do: only paths where the trees differ, without what it leaves alone. It
    neither makes nor deletes what is, or lies in, one of `spare`: these were left out of one of the
    trees. It leaves each path that git ignores and does not track: as things are now, or by the
    .gitignore files of either tree, so that the way back leaves the same."""
    rows, spare = differences(project, before, after, env), tuple(spare)
    left = {row.path: LEFT_OUT for row in rows if row.status in "AD" and within(row.path, spare)}
    names = [row.path for row in rows if row.path not in left]
    if names:
        trees = [before, after] if any(os.path.basename(name) == _IGNORE for name in names) else []
        left |= dict.fromkeys(_ignored(repository(project, env), env, trees, names), IGNORED)
    return Plan([row for row in rows if row.path not in left], left)


def restore(
    project: str,
    before: str,
    after: str,
    env: dict,
    spare: Iterable[str] = (),
    rights: Mapping[str, int] = NO_RIGHTS,
) -> Restored:
    """Take the working files from tree `before`, which they are in, to tree `after`, as `planned`.

    A file that is not as `before` has it, or that `before` does not know, is left alone and named;
    so is what lies behind a symbolic link. Folders that become empty are removed, except the
    current one, as git does. All content is extracted first, so that a full disk changes nothing.
    rights: {path: permission bits} of files that have others than git keeps; a file that is made
    anew gets them.

    Raises Unavailable, GitFault, Late and Damaged before anything was changed.
    """
    repo = repository(project, env)
    try:
        plan = planned(project, before, after, env, spare)
        left = [f"{path} ({why})" for path, why in plan.left.items()]
        if not plan.rows:
            return Restored([], sorted(left))
        with stage(repo) as folder:
            object_ids = [row.new for row in plan.rows if row.status != "D"]
            extracted = _extracted(project, folder, object_ids, env)
            acting = _Restoring(repo.project, obeys_modes(repo, env), rights)
            acting.left += left
            return acting.run(plan.rows, extracted)
    except OSError as error:
        what = f"cannot write {error.filename or repo.folder}: {error.strerror}"
        raise Damaged(what, "make room") from None


# -- what is ignored


def _ignored(repo: Repository, env: dict, trees: list[str], names: list[str]) -> set[str]:
    """Those of these paths that are ignored and not in the index: by the .gitignore files as they
    are now, or by those of one of these trees; beside each by the repository's and the person's own
    lists, and for a part of the repository by the .gitignore files above."""
    prefix, names = repo.prefix, [repo.prefix + name for name in names]
    ignored: set[str] = set()
    folders = {"", *(folder for name in names for folder in _above(name))}
    with scratch(repo, env) as run:
        now = _present_rules(repo.top, folders)
        outer = {path: file for path, file in now.items() if not path.startswith(prefix)}
        sources = [now]
        for tree in trees:
            rules = _rules_of(repo.top, tree, folders, prefix, run.folder, env)
            sources.append({**outer, **rules} if prefix else rules)
        # `./` so that no name is taken for a pattern
        feed = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
        for number, rules in enumerate(sources):
            look = _with_rules(run, f"rules-{number}", rules)
            output = look("check-ignore -z --stdin --no-index", given=feed, answers=(0, 1))
            ignored.update(path[2:] for path in paths(output))
        if ignored:
            ignored.difference_update(paths(run("ls-files -z", *repo.paths)))
    return {path[len(prefix) :] for path in ignored}


def _present_rules(top: str, folders: Iterable[str]) -> dict[str, str]:
    """{path from the top: full path} of the .gitignore files that git would read in folders."""
    rules = {}
    for folder in folders:
        path = os.path.join(folder, _IGNORE)
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.lstat(os.path.join(top, path)).st_mode):
                rules[path] = os.path.join(top, path)
    return rules


def _rules_of(
    top: str, tree: str, folders: set[str], prefix: str, stage: str, env: dict
) -> dict[str, str]:
    """{path from the top: a file in `stage` with its content} of a tree's .gitignore files."""
    object_ids = {}
    for row in git(top, env, "ls-tree -r -z --full-tree", tree).split(b"\0")[:-1]:
        head, _, name = row.partition(b"\t")
        folder, base = os.path.split(prefix + os.fsdecode(name))
        mode, _, object_id = head.decode("ascii").split(" ")
        if base == _IGNORE and mode.startswith("100") and folder in folders:
            object_ids[os.path.join(folder, base)] = object_id
    extracted = _extracted(top, stage, list(object_ids.values()), env)
    return {path: extracted[object_id] for path, object_id in object_ids.items()}


def _with_rules(run: Scratch, name: str, rules: dict[str, str]) -> Scratch:
    """A scratch repository whose working tree holds nothing but these files."""
    top = os.path.join(run.folder, name)
    os.mkdir(top)
    for path, source in rules.items():
        target = os.path.join(top, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with contextlib.suppress(PermissionError):  # git passes over one that cannot be read
            shutil.copyfile(source, target)
    return Scratch(run.folder, top, {**run.env, "GIT_WORK_TREE": top})


# -- carrying it out


def obeys_modes(repo: Repository, env: dict) -> bool:
    answer = git(repo.top, env, "config --type=bool core.fileMode", answers=(0, 1, 128))
    return answer.strip() != b"false"


def _extracted(project: str, stage: str, object_ids: list[str], env: dict) -> dict[str, str]:
    """{object id: file in `stage` with its content}. Raises OSError, GitFault."""
    object_ids = list(dict.fromkeys(object_ids))
    files: dict[str, str] = {}
    if not object_ids:
        return files
    heap, feed = os.path.join(stage, "heap"), "\n".join(object_ids).encode() + b"\n"
    with open(heap, "w+b") as file:
        git(project, env, "cat-file --batch", given=feed, seconds=LONG_SECONDS, output=file)
        file.seek(0)
        for object_id in object_ids:
            words = file.readline().split()
            fault = f"object {object_id} of the checkpoint is"
            if len(words) != 3 or words[0].decode() != object_id:
                raise GitFault(f"{fault} gone", "it cannot be restored whole")
            files[object_id] = os.path.join(stage, object_id)
            with open(files[object_id], "wb") as target:
                left = int(words[2])
                while piece := file.read(min(left, 1 << 20)):
                    target.write(piece)
                    left -= len(piece)
            if left:
                raise GitFault(f"{fault} cut short", "it cannot be restored whole")
            file.read(1)
    os.unlink(heap)
    return files


class _Restoring:
    """One restore of files below `top`: what was done, and what was left alone."""

    def __init__(self, top: str, modes: bool, rights: Mapping[str, int]) -> None:
        self.top = top
        self.rights = rights
        self.modes = modes  # whether the right to run a file means something here
        self.paths: list[str] = []
        self.left: list[str] = []
        self.real: set[str] = set()  # folders below the top that are no links
        self.uses: Counter[str] = Counter()  # how many files still need an object

    def run(self, rows: list[Difference], ready: dict[str, str]) -> Restored:
        self.uses.update(row.new for row in rows if row.status != "D" and row.mode != LINK)
        needed = {above for row in rows if row.status != "D" for above in _above(row.path)}
        needed.update(self._current())
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
                self._try(row, lambda difference: self._put(difference, ready[difference.new]))
        return Restored(sorted(self.paths), sorted(self.left))

    def _current(self) -> list[str]:
        """The current folder and those above it: without it no further program would start."""
        try:
            folder = os.path.relpath(os.getcwd(), self.top)
        except OSError:
            return []
        return [folder, *_above(folder)]

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
        exists = os.path.lexists(full) and not self._cleared(row.path)
        if exists and self._is(full, row.mode, row.new):
            return None
        if row.status == "A" and exists:
            return "a file that is in no checkpoint is in its way"
        if row.status != "A" and not exists:
            return "gone meanwhile"
        if exists and not self._is(full, row.old_mode, row.old):
            return "changed meanwhile"
        if row.mode == LINK:
            self._link(ready, full)
        else:
            self._file(row, ready, full)
        return ""

    def _cleared(self, path: str) -> bool:
        """Remove a folder that holds no file; whether that is what was there."""
        full = os.path.join(self.top, path)
        if os.path.islink(full) or not os.path.isdir(full):
            return False
        folders = list(os.walk(full, topdown=False))
        for folder, inner, files in folders:
            if files or any(os.path.islink(os.path.join(folder, name)) for name in inner):
                return False
        for folder, _, _ in folders:
            os.rmdir(folder)
        self.real = {folder for folder in self.real if not within(folder, (path,))}
        return True

    def _link(self, ready: str, full: str) -> None:
        with open(ready, "rb") as file:
            target = file.read()
        made = f"{ready}.{len(self.paths)}.link"
        os.symlink(target, os.fsencode(made))
        self._move(made, full)

    def _file(self, row: Difference, ready: str, full: str) -> None:
        """Replace `full` by `ready`, keeping the permissions of a file that was there, or is known
        to have had others than usual."""
        made, run = ready, row.mode == RUN
        self.uses[row.new] -= 1
        if self.uses[row.new]:  # another file has the same content
            made = f"{ready}.{len(self.paths)}.copy"
            shutil.copyfile(ready, made)
        mode = os.lstat(full if os.path.lexists(full) else made).st_mode
        mode = stat.S_IMODE(mode if stat.S_ISREG(mode) else os.stat(made).st_mode)
        if not os.path.lexists(full):
            mode = self.rights.get(row.path, mode)
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
                atomic.remove(beside)
                raise

    def _inside(self, path: str, make: bool) -> bool:
        """Whether all above a path are folders, not links; `make`: make missing ones."""
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
        """Whether a path holds the object of that mode and id."""
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
    parts = path.split("/")
    return ["/".join(parts[:number]) for number in range(len(parts) - 1, 0, -1)]


def _id(like: str, size: int, pieces: Iterable[bytes]) -> str:
    """The object id of a file's content, by the hash that `like` was made with."""
    digest = (hashlib.sha256 if len(like) == 64 else hashlib.sha1)(b"blob %d\0" % size)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
