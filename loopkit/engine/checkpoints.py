"""Checkpoints: the working files of a project as a tree, kept as a commit on a ref of ours.

Nothing of the person's repository is touched but its objects and `refs/loopkit/`. git.py calls git,
scratch.py is where a tree is taken, trees.py commits and compares, restoring.py goes back. What
these five give raises git's Unavailable, GitFault and Late.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..core.journal.errors import LoopError
from ..store import place
from .git import LONG_SECONDS, Call, GitFault, Late, Repository, git, repository, word
from .listing import inside, shown
from .restoring import within
from .scratch import NOTHING, Scratch, scratch, settings_of
from .trees import MODULE, RAW, ROWS, Difference, Measured, differences_of, placed, rows_of

#: tree: its object id · left_out: what is not in it, `path (why)` · place: where it was taken ·
#: plain: the checksum of the person's index if every entry of it holds a file's own bytes and
#: belongs to the tree, else None.
Snapshot = namedtuple("Snapshot", "tree left_out place plain")

#: changes: (status, path) of tracked files · held: {path: (mode, object id)} in the index, of those
#: and of what HEAD holds otherwise · untracked, ignored: paths.
_Look = namedtuple("_Look", "changes held untracked ignored")
#: Maximum size of an untracked file in bytes.
LARGEST = 100_000_000
#: Paths that are compared by themselves; more are compared with all the others.
FEW = 200
#: Bytes that a loop's checkpoints keep, from which on that is told.
MUCH = 50_000_000
#: Objects of a repository up to which their sizes are added up, which costs less than to ask git.
_FEW = 1000
#: Where checkpoints are kept: `refs/loopkit/<loop>/<number>`.
REFS = "refs/loopkit/"

_MODULE = MODULE.encode()
#: What differs from the index, is new, is ignored, in one look.
_STATUS = (
    "status --porcelain=v2 -z --untracked-files=all --ignored=matching --no-renames "
    "--ignore-submodules=dirty"
)
Found = TypeVar("Found")
#: A row of `ls-files -v -s --debug -z`.
_ROW = re.compile(rb"(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]+)\0(?:.*\n){4}  size: (\d+)\t.*\n")


# -- taking a tree


def snapshot(
    project: str, env: dict, excluded: Iterable[str] = (), plain: str | None = None
) -> Snapshot:
    """The project's working files as a tree, tracked and untracked, without ignored files,
    whatever is named `.loop`, and Claude Code's settings. Of a repository only the project's part
    is looked at.

    excluded: absolute paths to leave out too · plain: that of an earlier snapshot, which saves
    reading the same index again. Untracked files over LARGEST, repositories in the repository and
    unreadable files are left out and named.
    """
    return _taken(project, env, excluded, lambda taking: taking.run(plain))


def measured(
    project: str,
    env: dict,
    before: Iterable[str],
    excluded: Iterable[str] = (),
    plain: str | None = None,
    known: Iterable[str] = (),
) -> tuple[dict[str, list[Measured]], dict[str, dict[str, str]]]:
    """({tree: what of it differs from the working files, as `trees.measured` has it}, what git
    ignores, as `listing.ignored` has it). No tree is taken for it, and nothing is written to the
    repository. before: trees of the project · known: names that git ignored before, which saves
    time where it still ignores just these · the rest: see `snapshot`."""
    given = list(before), plain, list(known)
    return _taken(project, env, excluded, lambda taking: taking.compare(*given))


def _taken(
    project: str, env: dict, excluded: Iterable[str], take: Callable[[_Taking], Found]
) -> Found:
    repo = repository(project, env)
    skipped = [os.path.relpath(os.path.realpath(path), repo.top) for path in excluded]
    try:
        try:
            return take(_Taking(repo, env, skipped))
        except Late:
            raise
        except GitFault:  # a file may have changed while it was read
            return take(_Taking(repo, env, skipped))
    except OSError as error:
        what = f"cannot read the project's files: {error.filename or repo.folder}: {error.strerror}"
        raise GitFault(what) from None


class _Taking:
    """One tree being taken; `left_out` names what is not in it."""

    def __init__(self, repo: Repository, env: dict, excluded: list[str]) -> None:
        self.repo, self.env, self.excluded = repo, env, excluded
        self.left_out: list[str] = []

    def run(self, plain: str | None) -> Snapshot:
        settings = settings_of(self.repo, self.env)
        with scratch(self.repo, self.env, settings) as run:
            checksum = self._clean(run, settings, plain)
            # both only look, so side by side
            differing = "diff-files -z --name-status --ignore-submodules=all"
            others = "ls-files -o -z --exclude-standard --exclude=.loop"
            with (
                run.begun(differing, *self.repo.paths) as first,
                run.begun(others, *self.repo.paths) as second,
            ):
                changes, untracked = first.end().split(b"\0"), second.end().split(b"\0")
            pairs = list(zip(changes[::2], changes[1::2], strict=False))
            _fill(run, *self._sorted(pairs, untracked))
            tree = _written(self.repo, run)
        return Snapshot(tree, tuple(sorted(self.left_out)), self.repo, checksum)

    def compare(
        self, before: list[str], plain: str | None, known: list[str]
    ) -> tuple[dict[str, list[Measured]], dict[str, dict[str, str]]]:
        """See `measured`."""
        settings = settings_of(self.repo, self.env)
        with (
            scratch(self.repo, self.env, settings, keeps=False) as run,
            contextlib.ExitStack() as calls,
        ):
            self._clean(run, settings, plain)
            with open(os.path.join(run.folder, "info", "exclude"), "a", encoding="utf-8") as file:
                file.write("\n.loop\n")

            def begun(at: Scratch, command: str, *arguments: str) -> Call:
                return calls.enter_context(at.begun(command, *arguments))

            trees = [placed(self.repo, tree, self.env) for tree in before]
            run.look_from(trees[0])
            status = begun(run, _STATUS, *self.repo.paths)
            beside = [begun(run, "diff-tree -r", *RAW, trees[0], tree) for tree in trees[1:]]
            listed = inside(self.repo.project, known)  # while git looks
            look = _looked(status.end())
            others = [row for call in beside for row in differences_of(call.end())]
            at, paths = self._filled(run, look, others)
            compared = [begun(at, "diff-index --cached", *ROWS, tree, *paths) for tree in trees]
            ignored = [os.fsdecode(name)[len(self.repo.prefix) :] for name in look.ignored]
            if shown(ignored) != known:
                listed = inside(self.repo.project, ignored)
            found = [rows_of(call.end(), self.repo.prefix) for call in compared]
        return dict(zip(before, found, strict=True)), listed

    def _clean(self, run: Scratch, settings: dict, plain: str | None) -> str | None:
        """Leave in the index only what holds a file's own bytes and belongs to the tree; its
        checksum if that was so before."""
        filters = any(name.startswith("filter.") for name in settings)
        checksum = _checksum(os.path.join(run.folder, "index"))
        if not filters and checksum is not None and checksum == plain:
            return checksum
        return checksum if self._refresh(run, filters) else None

    def _sorted(
        self, changes: list[tuple[bytes, bytes]], untracked: list[bytes]
    ) -> tuple[set[bytes], list[bytes]]:
        """(paths to take out of the index, paths to read) of what differs from it. changes:
        (status, path) of tracked ones."""
        gone, modified = self._modified(changes)
        # what is new first: it may take the place of what was
        return gone, [*self._untracked(untracked), *modified]

    def _filled(
        self, run: Scratch, look: _Look, others: list[Difference]
    ) -> tuple[Scratch, tuple[str, ...]]:
        """(where the index holds what the files do, what limits a call to what it holds). others:
        from the tree of the look to those that are compared too. Where little differs, that goes to
        an index of its own: one of all files is long to write."""
        gone, added = self._sorted(look.changes, look.untracked)
        held = {os.fsencode(row.path): (row.old_mode, row.old) for row in others} | look.held
        names = {*held, *added}
        if not 0 < len(names) <= FEW:
            _fill(run, gone, added)
            return run, self.repo.paths
        few = run.holding({path: entry for path, entry in held.items() if path not in gone})
        _fill(few, set(), added)
        return few, ("--", *(f":(top,literal){os.fsdecode(name)}" for name in names))

    def _refresh(self, run: Scratch, filters: bool) -> bool:
        """Take out of the index what does not belong to the tree, and have git read again what may
        differ though its times agree; whether there was nothing to do."""
        rows = _ROW.findall(run("ls-files -v -s --debug -z", *self.repo.paths))
        stale = _stale(self.repo, run, rows)
        if filters or _has_attributes(self.repo, rows):
            changed = converted(self.repo, self.env, [row[4] for row in rows])
            filters = filters or bool(changed)
            stale |= changed
        entries = []
        for _, mode, object_id, stage, path, _ in rows:
            if self._is_excluded(path):
                entries.append(b"0 %s\t%s" % (b"0" * len(object_id), path))
            elif mode == _MODULE:
                self._leave_out(path, "a submodule")
            elif stage == b"0" and path in stale:  # an entry without times is read again
                entries.append(b"%s %s 0\t%s" % (mode, object_id, path))
        if entries:
            run("update-index -z --index-info", given=_feed(entries))
        return not (entries or self.left_out or filters) and all(row[0] == b"H" for row in rows)

    def _modified(self, changes: list[tuple[bytes, bytes]]) -> tuple[set[bytes], list[bytes]]:
        """(paths to take out of the index, paths to read) of tracked files that changed."""
        gone, modified = set(), []
        for status, path in changes:
            full = self._full(path)
            if status == b"D":
                gone.add(path)
            elif why := _not_a_file(full):
                gone.add(path)
                self._leave_out(path, why)
            elif os.path.lexists(full) and not _readable(full):
                self._leave_out(path, "unreadable")
            else:
                modified.append(path)
        return gone, modified

    def _untracked(self, found: list[bytes]) -> list[bytes]:
        """Those of the untracked paths that the tree takes in."""
        taken = []
        for path in found:
            if not path or self._is_excluded(path.rstrip(b"/")):
                continue
            why = _invalid(self._full(path))
            if why:
                self._leave_out(path.rstrip(b"/"), why)
            else:
                taken.append(path)
        return taken

    def _is_excluded(self, path: bytes) -> bool:
        if not self.excluded and b".loop" not in path and b".claude" not in path:
            return False
        name = os.fsdecode(path)
        parts = name.split("/")
        # who may run what is the person's word, and no rollback brings another one back
        settings = parts[-2:-1] == [".claude"] and parts[-1].startswith("settings")
        return settings or ".loop" in parts or within(name, self.excluded)

    def _leave_out(self, path: bytes, why: str) -> None:
        self.left_out.append(f"{os.fsdecode(path)[len(self.repo.prefix) :]} ({why})")

    def _full(self, path: bytes) -> bytes:
        return os.path.join(os.fsencode(self.repo.top), path)


def _looked(output: bytes) -> _Look:
    """What a status tells."""
    look = _Look([], {}, [], [])
    for row in output.split(b"\0"):
        kind, rest = row[:1], row[2:]
        if kind == b"?":
            look.untracked.append(rest)
        elif kind == b"!":
            look.ignored.append(rest)
        elif kind == b"u":  # of what conflicts the file decides
            path = rest.split(b" ", 9)[9]
            look.changes.append((b"U", path))
            look.held[path] = NOTHING, ""
        elif kind == b"1":
            _, _, _, mode, _, _, object_id, path = rest.split(b" ", 7)
            look.held[path] = mode.decode(), object_id.decode()
            if rest[1:2] != b"." and mode != _MODULE:
                look.changes.append((rest[1:2], path))
    return look


def _fill(run: Scratch, gone: set[bytes], added: list[bytes]) -> None:
    """Have the index hold what the files do."""
    if gone:
        run("update-index -z --force-remove --stdin", given=_feed(gone))
    if added:
        command = "update-index -z --add --remove --replace --stdin"
        run(command, given=_feed(added), seconds=LONG_SECONDS)


def _feed(rows: Iterable[bytes]) -> bytes:
    return b"\0".join(rows) + b"\0"


def _written(repo: Repository, run: Scratch) -> str:
    """The tree of the project, from the index."""
    if not repo.part:
        return word(run("write-tree --missing-ok"))
    # conflicts beside the project are none of its business, but git would write no tree
    beside = {row.partition(b"\t")[2] for row in run("ls-files -u -z").split(b"\0")[:-1]}
    if beside:
        run("update-index -z --force-remove --stdin", given=_feed(beside))
    if not run("ls-files -z", *repo.paths):
        return word(run("hash-object -t tree -w --stdin"))
    return word(run("write-tree --missing-ok", f"--prefix={repo.prefix}"))


def _checksum(index: str) -> str | None:
    """The checksum that an index ends with; None where it has none."""
    try:
        with open(index, "rb") as file:
            file.seek(-20, os.SEEK_END)  # of a longer one this much is as good
            checksum = file.read(20)
    except OSError:
        return None
    return checksum.hex() if any(checksum) else None


def _stale(repo: Repository, run: Scratch, rows: list[tuple]) -> set[bytes]:
    """Paths whose index entry may hold other bytes than the file though their times agree: line
    ends or an encoding were converted, which shows in the size, or the person asked git not to
    look."""
    rows = [row for row in rows if row[1] != _MODULE]
    object_ids = list(dict.fromkeys(row[2] for row in rows))
    sizes: dict[bytes, bytes] = {}
    if object_ids:
        feed = b"\n".join(object_ids) + b"\n"
        output = run("cat-file --batch-check=%(objectsize)", given=feed)
        sizes = dict(zip(object_ids, output.split(b"\n"), strict=False))
    stale = set()
    for tag, _, object_id, _, path, size in rows:
        held = sizes.get(object_id, b"")
        hidden = tag == b"S" and os.path.lexists(os.path.join(os.fsencode(repo.top), path))
        # the index holds 32 bits of a size
        same = held == size or held.isdigit() and int(held) & 0xFFFFFFFF == int(size)
        if tag.islower() or hidden or not same:
            stale.add(path)
    return stale


def _has_attributes(repo: Repository, rows: list[tuple]) -> bool:
    """Whether the repository has attributes of files."""
    name = ".gitattributes"
    if any(row[4].endswith(name.encode()) for row in rows):
        return True
    folders = [folder for folder in place.upwards(repo.project) if place.inside(folder, repo.top)]
    # those above a part hold in it too
    files = [os.path.join(folder, name) for folder in folders[1:]]
    return any(map(os.path.exists, [*files, os.path.join(repo.common, "info", "attributes")]))


def converted(repo: Repository, env: dict, names: list[bytes]) -> set[bytes]:
    """Paths with a filter or an encoding in the attributes; either may keep a file's size."""
    if not names:
        return set()
    command = "check-attr -z --stdin filter working-tree-encoding"
    output = git(repo.top, env, command, given=_feed(names)).split(b"\0")
    plain = (b"unspecified", b"unset", b"set", b"")
    values = zip(output[::3], output[2::3], strict=False)
    return {path for path, value in values if value not in plain}


def _readable(full: bytes) -> bool:
    return os.path.islink(full) or os.access(full, os.R_OK)


def _not_a_file(full: bytes) -> str:
    """What is where a tracked file was, if that is neither a file nor a link; else ""."""
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):  # of another folder git says that the file is gone
        return "a repository of its own"
    return "" if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else "neither file nor link"


def _invalid(full: bytes) -> str:
    """Why an untracked path is left out; "" if it is not."""
    if full.endswith(b"/"):
        return "a repository of its own"
    try:
        state = os.lstat(full)
    except OSError:
        return ""  # gone meanwhile: update-index passes over it
    if stat.S_ISREG(state.st_mode) and state.st_size > LARGEST:
        return f"{state.st_size / 1e6:,.0f} MB"
    return "" if _readable(full) else "unreadable"


# -- keeping a tree


def keep(project: str, loop: str, number: int, sha: str, env: dict) -> bool:
    """Put a commit on `refs/loopkit/<loop>/<number>`; False where that is taken."""
    name = f"{REFS}{loop}/{number}"
    try:
        git(project, env, "update-ref --no-deref", name, sha, "0" * len(sha))
    except Late:
        raise
    except GitFault:
        if not git(project, env, "rev-parse --verify -q", name, answers=(0, 1, 128)):
            raise
        return False
    return True


def _refs(project: str, loop: str, form: str, env: dict) -> list[str]:
    rows = git(project, env, "for-each-ref", f"--format={form}", f"{REFS}{loop}/").splitlines()
    return [os.fsdecode(row) for row in rows]


def forget(project: str, loop: str, kept: list[str], env: dict) -> None:
    """Delete the refs of a loop's checkpoints, the commits `kept`; git drops what they held in its
    own time. Another loop of that name (in another worktree, in another part of the repository)
    keeps its own."""
    rows = [row.partition(" ") for row in _refs(project, loop, "%(objectname) %(refname)", env)]
    lines = [f"delete {name} {sha}\n" for sha, _, name in rows if sha in kept]
    if lines:
        git(project, env, "update-ref --no-deref --stdin", given=os.fsencode("".join(lines)))


def highest(project: str, loop: str, env: dict) -> int:
    """The highest number among a loop's refs, or 0."""
    refs = _refs(project, loop, "%(refname)", env)
    numbers = [number for ref in refs if (number := ref.rpartition("/")[2]).isdecimal()]
    return max(map(int, numbers), default=0)


def _is_small(objects: str) -> bool:
    """Whether all that a repository keeps is so little that no part of it can be much; False where
    that is not to be seen quickly. Raises OSError."""
    if os.path.exists(os.path.join(objects, "info", "alternates")):
        return False
    size = count = 0
    for top, _, names in os.walk(objects):
        count += len(names)
        if count > _FEW:
            return False
        size += sum(os.lstat(os.path.join(top, name)).st_size for name in names)
    return size < MUCH


def weight(project: str, loop: str, env: dict) -> str:
    """What a loop's checkpoints keep that nothing else holds, with how to let it go; "" where that
    is little, or git cannot tell."""
    command = "rev-list --objects-edge-aggressive --disk-usage"
    wanted = (f"--glob={REFS}{loop}/", "--not", f"--exclude={REFS}*", "--all")
    try:
        if _is_small(os.path.join(repository(project, env).common, "objects")):
            return ""
        # before the size stands what is at the edge
        size = int(git(project, env, command, *wanted).split()[-1])
    except (LoopError, OSError, ValueError):
        return ""
    if size < MUCH:
        return ""
    return (
        f"the checkpoints of {loop} keep {size / 1e6:,.0f} MB in git: what need not come back "
        "belongs into .gitignore; once the loop is over they go with: git for-each-ref "
        f"--format='delete %(refname)' {REFS}{loop} | git update-ref --stdin; git gc --prune=now"
    )
