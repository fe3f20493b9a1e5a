"""One loop, opened for writing: journal lines go in under a lock, the snapshot follows."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import time
from collections.abc import Iterator
from typing import IO

from ..core.journal import clock, prose, verdict
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..core.journal.events import Change, Event, encode
from ..core.journal.state import LoopState
from ..core.steps import snapshot as snapshots
from ..core.steps.events import LOOP
from . import atomic, digest, journal, loops, trust

#: Seconds a command waits for another one to finish writing.
LOCK_SECONDS = 60
#: Above every number that loops get.
HIGHEST = 10 ** (prose.MOST_DIGITS - 1)
#: Seconds between two looks at a lock that is held.
LOCK_STEP = 0.01
#: What to do where something else stands in a file's or a folder's place.
_IN_THE_WAY = {
    errno.ELOOP: "remove the link",
    errno.ENOENT: "its folder is gone: look who removes it",
    **dict.fromkeys(
        (errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENXIO, errno.ENODEV),
        "it is in the way: look at it, remove it",
    ),
}
#: A folder of a loop's: listings of what no checkpoint holds (engine/listing.py).
MEASURED = "measured"
IGNORED = """\
# made by loopkit: state is local, reasons and shapes are kept
*
!.gitignore
!*/
!*/learnings/
!*/learnings/**
!*/SHAPE.md
!*/report.md
!learnings.jsonl
!stages/
!stages/**
!pipelines/
!pipelines/**
!config.toml
"""


@contextlib.contextmanager
def locked(root: str, name: str = "lock") -> Iterator[None]:
    """Hold the project's writing lock, or another file's in that folder; the operating system gives
    it back when the process dies. Damaged on failure."""
    path = os.path.join(root, name)
    try:
        atomic.check_inside(root, path)
        lock = _held(path)
    except BlockingIOError:
        what = f"{root}: another command has been writing for {LOCK_SECONDS} s"
        raise Refused(what, "wait for it, or end it", code="busy") from None
    except OSError as error:  # refused, or the system knows no locks
        raise unwritable(root, error) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # then the end of the process gives it back
            lock.close()


def _held(path: str) -> IO[str]:
    """The lock's file, held until it is closed. Raises BlockingIOError where another process holds
    it for LOCK_SECONDS, else OSError."""
    end = time.monotonic() + LOCK_SECONDS
    lock = os.fdopen(atomic.regular(path, os.O_RDWR | os.O_CREAT), "w")
    try:
        while not _try(lock):
            if time.monotonic() > end:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
            time.sleep(LOCK_STEP)
    except BaseException:
        lock.close()
        raise
    return lock


def _try(lock: IO[str]) -> bool:
    """Whether the lock could be taken at once. Raises OSError where there are no locks."""
    try:
        import fcntl
    except ImportError:
        import portalocker  # slower to import than all of ours together

        try:
            portalocker.lock(lock, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.exceptions.AlreadyLocked:
            return False
        except portalocker.exceptions.LockException as error:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)) from error
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _events(changes: list[Change], by: str) -> list[Event]:
    """Events of now. Raises UsageFault where one could not be read back."""
    now = clock.stamp(time.time())
    events = [Event(kind, data, now, by) for kind, data in changes]
    for event in events:
        if LOOP.decode(encode(event)) is None:
            what = "something in it cannot be kept, as a number that is too large"
            what = f"{event.type.replace('_', ' ')}: {what}"
            raise UsageFault(what, "nothing was recorded; give what the form asks for")
    return events


def unwritable(path: str, error: OSError) -> Damaged:
    """The fault of a write to `path` that failed, with what to do about it."""
    todo = _IN_THE_WAY.get(error.errno or 0, "make room or give write access")
    return Damaged(
        f"cannot write {error.filename or path}: {error.strerror}", f"{todo}; nothing was changed"
    )


@contextlib.contextmanager
def writes(path: str) -> Iterator[None]:
    """Writes to `path`, of which one that fails is told as Damaged."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


@contextlib.contextmanager
def reads() -> Iterator[None]:
    """Reading files, of which one that is there and cannot be read is told as Damaged."""
    try:
        yield
    except OSError as error:
        what = f"cannot read {error.filename}: {error.strerror}"
        raise Damaged(what, "give read access") from None


class Loop:
    """A loop's state and its journal. All lines are written, or none is."""

    def __init__(self, root: str, name: str) -> None:
        self.root = root
        self.name = name
        self.folder = os.path.join(root, name)
        self.path = os.path.join(self.folder, journal.NAME)
        self.state = LoopState(name)
        self.offset = 0
        self.damaged: list = []
        self.torn = False
        self._lines = 0
        self.refresh()

    @classmethod
    def active(cls, root: str, known: Loop | None = None) -> Loop | None:
        """The project's active loop: the snapshot names it, else the journals do, and the snapshot
        is made anew. None where there is no loop. Raises Damaged where journals exist and none of
        them can be read. known: one that was opened before; where it is that still, it takes in
        what is new and is given again."""
        loop = cls._of_snapshot(root, known)
        if loop is None:
            loop = cls._of_journals(root)
            if loop is not None and loop.ours:  # nothing is written for an untrusted loop
                loop.write_snapshot()
        return loop

    @classmethod
    def _of_journals(cls, root: str) -> Loop | None:
        """The same by the journals alone; nothing is written."""
        with reads():
            name = loops.active(root)
        if name is None:
            damaged = loops.names(root)
            return cls(root, damaged[-1]) if damaged else None  # says what is wrong with it
        return cls(root, name)

    @classmethod
    def looked_at(cls, root: str) -> Loop | None:
        """As `active`; nothing is written."""
        return cls._of_snapshot(root, None) or cls._of_journals(root)

    @classmethod
    def _of_snapshot(cls, root: str, known: Loop | None) -> Loop | None:
        """The loop that the snapshot names, unless that is untrusted or an old copy."""
        snapshot = loops.read_snapshot(root)
        with reads():
            if snapshot is None or not loops.vouched(root, snapshot):
                return None
        name = snapshot["loop"]
        if loops.is_loop(root, name):
            if known is not None and (known.root, known.name) == (root, name):
                loop = known
                loop.refresh()
            else:
                loop = cls(root, name)
            return None if loops.outdated(root, name, loop.state.session) else loop
        if os.path.isdir(os.path.join(root, name)) and snapshot["status"] not in verdict.FINAL:
            what = f"{loops.ledger(root, name)} is gone, the journal of a loop that is not over"
            todo = f"restore it, or put the loop away: loopkit start --fresh, or remove {name}"
            raise Damaged(what, todo)
        return None

    @classmethod
    def create(cls, root: str, text: str, changes: list[Change], by: str, called: str = "") -> Loop:
        """A new numbered loop folder with its first lines, known as ours. called: its name, instead
        of one that the request gives. The caller holds the lock. Raises Damaged, UsageFault."""
        token = trust.new_token()
        changes = [(changes[0][0], {**changes[0][1], "token": token}), *changes[1:]]
        events, made = _events(changes, by), None
        try:
            clean_up(root)
            name = _new_folder(root, text, called)
            made = os.path.join(root, name)
            os.mkdir(os.path.join(made, "evidence"))
            trust.remember(root, name, token)
            journal.create(loops.ledger(root, name), LOOP, events)
        except OSError as error:
            if made is not None:  # its number was never told to anybody
                import shutil

                shutil.rmtree(made, ignore_errors=True)
            raise unwritable(root, error) from None
        loop = cls(root, name)
        digest.seal(token, loop.path)
        loop.write_snapshot()
        return loop

    def refresh(self) -> None:
        """Take in what others have appended since. Raises Damaged."""
        try:
            tail = journal.read(self.path, LOOP, self.offset)
        except OSError as error:
            what = f"cannot read {self.path}: {error.strerror}"
            raise Damaged(what, "see loopkit doctor") from None
        if tail is None:  # rewritten by somebody else: from the start again
            self.state, self.offset, self.damaged, self._lines = LoopState(self.name), 0, [], 0
            tail = journal.read(self.path, LOOP)
            assert tail is not None
        if not self.offset and (not tail.events or tail.events[0].type != "loop_started"):
            raise Damaged(f"{self.path} does not begin with a loop's start", "see loopkit doctor")
        for event in tail.events:
            try:
                LOOP.apply(self.state, event)
            except (KeyError, TypeError, ValueError, AttributeError, LoopError) as error:
                what = f"a {event.type} line of {event.at[:20]!r} cannot be used"
                raise Damaged(
                    f"{self.path}: {what} ({repr(error)[:80]})", "see loopkit doctor"
                ) from None
        self.damaged += [self._lines + number for number in tail.damaged]
        self._lines += len(tail.events) + len(tail.damaged) + len(tail.cut)
        self.offset, self.torn = tail.offset, tail.torn

    @contextlib.contextmanager
    def writing(self) -> Iterator[LoopState]:
        """The lock, and the state as it is now; use `record` inside."""
        with locked(self.root):
            measured = os.path.join(self.folder, MEASURED)
            for folder in (self.root, self.folder, measured, digest.seals()):
                atomic.clean_up(folder)
            self.refresh()
            yield self.state

    def record(self, changes: list[Change], by: str) -> None:
        """Append lines and fold them; raises Damaged where they could not be written (then none
        counts), UsageFault where one could not be read back."""
        if not changes:
            return
        events = _events(changes, by)
        with writes(self.path):
            journal.append(self.path, LOOP, events)
        try:
            self.refresh()
        except Damaged as error:
            raise Damaged(f"it is recorded, but then: {error.what}", error.todo) from None
        digest.seal(self.state.session.token, self.path)
        self.write_snapshot()

    @property
    def ours(self) -> bool:
        """Whether it was started or adopted by this person; one that was not does nothing."""
        with reads():
            known = trust.known(self.root, self.name, self.state.session.token)
        return known

    def write_snapshot(self) -> None:
        """The snapshot; it is derived, so a failure to write it loses nothing and is not raised."""
        with contextlib.suppress(OSError):
            loops.write_snapshot(self.root, snapshots.build(self.state, self.offset))


def _new_folder(root: str, text: str, called: str) -> str:
    """Make a loop's folder under the next free number; gives its name. Raises OSError."""
    for number in itertools.count(next_number(root)):
        name = prose.loop_folder(number, text, called)
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.join(root, name))
            return name
    raise AssertionError


def next_number(root: str) -> int:
    """One more than the highest number ever used: loops, archive, purge marks. One that leaves no
    room for a number behind it was never ours. Raises OSError."""
    highest = 0
    archive = os.path.join(root, "archive")
    for folder in (root, *(() if os.path.islink(archive) else (archive,))):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in _entries(folder):
                number = prose.loop_number(name) or 0
                highest = max(highest, number if number < HIGHEST else 0)
    return highest + 1


def _entries(folder: str) -> list[str]:
    while True:
        try:
            return os.listdir(folder)
        except InterruptedError:  # unlike `open`, it is not called again by Python itself
            continue


def clean_up(root: str) -> None:
    """Finish what a command that was killed left half done: a purge, a folder that was going to be
    a loop. The index of earlier versions goes. The caller holds the lock. Never raises OSError."""
    import shutil

    try:
        entries = [entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    atomic.remove(os.path.join(root, "learnings.db"))
    for folder in (root, os.path.join(root, "archive"), digest.seals()):
        atomic.clean_up(folder)
    for name in entries:
        folder = os.path.join(root, name)
        if prose.loop_number(name) is None:
            continue
        if os.path.exists(os.path.join(root, "archive", name + ".purged")):
            shutil.rmtree(folder, ignore_errors=True)
        elif not os.path.lexists(loops.ledger(root, name)):
            atomic.clean_up(folder, 0)
            with contextlib.suppress(OSError):  # whatever else lies in them keeps them
                os.rmdir(os.path.join(folder, "evidence"))
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def prepare(root: str) -> None:
    """Make `.loop/` with its ignore file. Raises Damaged."""
    with writes(root):
        atomic.check_inside(os.path.dirname(root), root)
        os.makedirs(root, exist_ok=True)
        ignore = os.path.join(root, ".gitignore")
        if not os.path.lexists(ignore):
            atomic.write(ignore, IGNORED.encode())
        elif not os.path.isfile(ignore):  # git would wait for a pipe
            raise OSError(errno.EINVAL, "it is no file", ignore)


def archive(root: str, name: str, purge: bool) -> str:
    """Put a loop away, or delete it but for its number; where it is now. Raises Damaged."""
    import shutil

    source, target = (os.path.join(root, *path) for path in ((name,), ("archive", name)))
    with writes(root):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(root, loops.SNAPSHOT))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        atomic.check_inside(root, target)
        atomic.check_inside(root, source)
        if purge:
            target += ".purged"
            atomic.write(target, b"")
            shutil.rmtree(source)
        else:
            os.rename(source, target)
    return target
