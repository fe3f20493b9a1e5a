"""Runs of pipelines, `.loop/runs/<session>/`: journal, state.json, progress, results, lock."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..core.journal import clock
from ..core.journal.errors import Damaged, Refused
from ..core.journal.events import Change, Event
from ..core.pipeline import events, status
from ..core.pipeline.definitions import is_name
from ..core.pipeline.events import RUN, RunState
from . import atomic, journal, loop, trust

FOLDER, STATE, LOCK = "runs", "state.json", "lock"
#: Asks the process at work to pause between two iterations.
PAUSE = "pause"
#: The lock under which locks of runs are made, replaced and removed; no session's name.
_GUARD = ".guard"
#: Bytes of a lock, and of a result that becomes an input, at the most.
_LARGEST, MOST_RESULT = 1 << 16, 1 << 22


def folder(root: str, session: str) -> str:
    """The folder of a run."""
    return os.path.join(root, FOLDER, session)


def names(root: str) -> list[str]:
    """The sessions there are, in order. Raises Damaged."""
    found: list[str] = []
    with loop.reads(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found = os.listdir(os.path.join(root, FOLDER))
    return sorted(name for name in found if is_name(name) and _is_run(root, name))


def _is_run(root: str, session: str) -> bool:
    return os.path.lexists(os.path.join(folder(root, session), journal.NAME))


@contextlib.contextmanager
def guarded(root: str) -> Iterator[None]:
    """Hold the lock under which a run's own lock changes. Raises Damaged, Refused."""
    runs = os.path.join(root, FOLDER)
    with loop.writes(runs):
        atomic.check_inside(root, runs)
        os.makedirs(runs, exist_ok=True)
    with loop.locked(runs, _GUARD):
        yield


class Run:
    """A run's journal and state. Only the process that holds its lock writes. fault: why something
    of it could not be written; then nothing more is begun."""

    def __init__(self, root: str, session: str) -> None:
        self.root, self.session = root, session
        self.folder = folder(root, session)
        self.path = os.path.join(self.folder, journal.NAME)
        self.state = RunState(session)
        self.offset = 0
        self.damaged: list[int] = []
        self.fault: Damaged | None = None
        self._began, self._waited = time.monotonic(), 0.0
        self._waits: float | None = None

    @classmethod
    def open(cls, root: str, session: str) -> Run | None:
        """The run of that name; None where there is none. Raises Damaged."""
        if not is_name(session) or not _is_run(root, session):
            return None
        run = cls(root, session)
        run.refresh()
        return run

    def refresh(self) -> None:
        """Take in what was appended since. Raises Damaged."""
        with loop.reads():
            tail = journal.read(self.path, RUN, self.offset)
        if tail is None:
            self.state, self.offset = RunState(self.session), 0
            return self.refresh()
        if not self.offset and (not tail.events or tail.events[0].type != "run_started"):
            what = f"{self.path} does not begin with a run's start"
            raise Damaged(what, f"put it away: rename {self.folder}")
        try:
            for event in tail.events:
                RUN.apply(self.state, event)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            what = f"{self.path}: a {event.type} line cannot be used ({repr(error)[:80]})"
            raise Damaged(what, f"put it away: rename {self.folder}") from None
        if not self.state.stages:
            raise Damaged(f"{self.path} names no stage", f"put it away: rename {self.folder}")
        self.offset, self.damaged = tail.offset, tail.damaged
        return None

    @property
    def name(self) -> str:
        """Its folder below `.loop`."""
        return f"{FOLDER}/{self.session}"

    @property
    def ours(self) -> bool:
        """Whether it was started by this person. Raises Damaged."""
        with loop.reads():
            known = trust.known(self.root, self.name, self.state.token)
        return known

    def record(self, changes: list[Change], sync: bool = True) -> None:
        """Append events, fold them, write state.json. Raises Damaged."""
        now = clock.stamp(time.time())
        rows = [Event(kind, data, now, f"run:{self.session}") for kind, data in changes]
        with self._writes(self.path):
            self.offset = journal.append(self.path, RUN, rows, sync)
        for row in rows:
            RUN.apply(self.state, row)
        self.write_state()

    @contextlib.contextmanager
    def _writes(self, path: str) -> Iterator[None]:
        try:
            with loop.writes(path):
                yield
        except Damaged as fault:
            self.fault = fault
            raise

    def write_state(self) -> None:
        """Write state.json; it is derived, so that a failure loses nothing and is not raised."""
        text = json.dumps(events.document(self.state), ensure_ascii=False)
        with contextlib.suppress(OSError):
            atomic.write(os.path.join(self.folder, STATE), text.encode("utf-8", "replace"))

    @property
    def elapsed(self) -> float:
        """Seconds since this process began with it; those in which an agent waited are none."""
        now = time.monotonic()
        waits = 0.0 if self._waits is None else now - self._waits
        return now - self._began - self._waited - waits

    @property
    def left(self) -> float:
        """Seconds that its limit on time leaves."""
        most = self.state.limits.seconds
        return math.inf if most is None else max(0.0, most - self.state.base - self.elapsed)

    def waiting(self, until: float | None) -> None:
        """Note until when an agent waits for a usage limit's reset; None: no longer. Called from
        the agent's thread, while nothing else is written."""
        now = time.monotonic()
        if self._waits is not None:
            self._waited += now - self._waits
        self._waits = None if until is None else now
        with contextlib.suppress(Damaged):
            self.record([("wait_begun", {"until": until})], sync=False)

    # -- files beside it

    @property
    def progress(self) -> str:
        """The path of its progress file."""
        return os.path.join(self.folder, f"progress-{self.session}.md")

    def note(self, text: str) -> None:
        """Append to the progress file. Raises Damaged."""
        with self._writes(self.progress):
            atomic.append(self.progress, text.encode("utf-8", "replace"), sync=False)

    def progress_size(self) -> int:
        """Bytes of the progress file."""
        try:
            return os.path.getsize(self.progress)
        except OSError:
            return 0

    def stage_folder(self, index: int) -> str:
        """Where the results of a stage lie; index: from 0."""
        name = self.state.stages[index].part.name
        return os.path.join(self.folder, f"stage-{index + 1}-{name}")

    def result(self, index: int, iteration: int) -> str:
        """The path of an iteration's result: `output.md`, or `run-<n>.md` with n from 0."""
        once = self.state.stages[index].part.runs == 1
        name = "output.md" if once else f"run-{iteration - 1}.md"
        return os.path.join(self.stage_folder(index), name)

    def log(self, index: int, iteration: int) -> str:
        """The path of an iteration's raw output."""
        return os.path.join(self.stage_folder(index), "log", f"{iteration:03d}.jsonl")

    def prepare_stage(self, index: int) -> None:
        """Make a stage's folder. Raises Damaged."""
        path = os.path.join(self.stage_folder(index), "log")
        with self._writes(path):
            atomic.check_inside(self.root, path)
            os.makedirs(path, exist_ok=True)

    def put_aside(self, path: str) -> None:
        """Keep the result of an attempt that did not count out of the way. Raises Damaged."""
        with self._writes(path):
            if os.path.lexists(path):
                os.replace(path, path + ".before")

    def keep_result(self, path: str, text: str) -> None:
        """Write an agent's final message as its result, unless it wrote one. Raises Damaged."""
        with self._writes(path):
            if not os.path.lexists(path):
                atomic.write(path, text.encode("utf-8", "replace"))

    def results(self, index: int) -> list[tuple[str, str]]:
        """(path, text) of a stage's results that can be read, in the order of its runs."""
        where = self.stage_folder(index)
        try:
            found = [name for name in os.listdir(where) if name.endswith(".md")]
        except OSError:
            return []
        rows = []
        for name in sorted(found, key=_natural):
            path = os.path.join(where, name)
            with contextlib.suppress(OSError):
                rows.append((path, atomic.read(path, MOST_RESULT).decode("utf-8", "replace")))
        return rows


def _natural(name: str) -> list:
    """`run-2` before `run-10`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def create(root: str, session: str, start: dict, progress: str) -> Run:
    """A new run with its first event. The caller holds the guard. Raises Damaged."""
    run = Run(root, session)
    token = trust.new_token()
    event = Event("run_started", {**start, "token": token}, clock.stamp(time.time()), "person")
    with loop.writes(run.folder):
        atomic.check_inside(root, run.folder)
        os.makedirs(run.folder, exist_ok=True)
        trust.remember(root, run.name, token)
        journal.create(run.path, RUN, [event])
        atomic.write(run.progress, progress.encode("utf-8", "replace"))
    run.refresh()
    run.write_state()
    return run


def archive(root: str, session: str) -> str:
    """Put a run away; where it is now. The caller holds the guard. Raises Damaged."""
    source = folder(root, session)
    where = os.path.join(root, "archive", FOLDER)
    stamp = clock.stamp(time.time()).replace(":", "").replace("-", "")
    with loop.writes(source):
        atomic.check_inside(root, os.path.join(where, session))
        atomic.check_inside(root, source)
        os.makedirs(where, exist_ok=True)
        number = 1
        while os.path.lexists(target := os.path.join(where, f"{session}-{stamp}-{number}")):
            number += 1
        os.rename(source, target)
    return target


def tidy(run: Run) -> None:
    """Finish what a process left that died when its run had ended: state.json as the journal has
    it, no lock. The caller holds the guard, and nobody is at work."""
    run.write_state()
    atomic.remove(os.path.join(run.folder, LOCK))


# -- who is at work


def here() -> status.Here:
    """The machine we are on."""
    return status.Here(platform.node() or "localhost", _boot(), _began)


def _boot() -> str:
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
    return _asked(["sysctl", "-n", "kern.boottime"]) or ""


def _began(pid: int) -> str | None:
    """When a process began; None where there is none, or it is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except (FileNotFoundError, ProcessLookupError):
        if os.path.isdir("/proc/self"):
            return None
    except (OSError, IndexError):
        return ""
    return _asked(["ps", "-o", "lstart=", "-p", str(pid)])


def _asked(arguments: list[str]) -> str | None:
    """What a program of the system prints; None where it fails, "" where it is not there."""
    import subprocess

    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()


def read_lock(root: str, session: str) -> dict | None:
    """The lock of a run; {} where it cannot be understood, None where there is none."""
    path = os.path.join(folder(root, session), LOCK)
    try:
        row = json.loads(atomic.read(path, _LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError):
        row = None
    if isinstance(row, dict):
        return row
    beat = 0.0
    with contextlib.suppress(OSError):
        beat = os.lstat(path).st_mtime
    return {"heartbeat_epoch": beat}


class Lock:
    """The lock of a run that this process works on, with its heartbeat. lost: called once, from
    another thread, where somebody else has taken the lock away."""

    def __init__(self, root: str, session: str, lost: Callable[[], None]) -> None:
        self.root, self.session, self.lost = root, session, lost
        self.path = os.path.join(folder(root, session), LOCK)
        self.key = os.urandom(8).hex()
        machine = here()
        self.row: dict[str, Any] = {
            "session": session,
            "pid": os.getpid(),
            "pid_started": machine.started(os.getpid()) or "",
            "host": machine.host,
            "boot_id": machine.boot,
            "started_at": clock.stamp(time.time()),
            "key": self.key,
        }
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def _text(self) -> bytes:
        now = time.time()
        row = {**self.row, "heartbeat": clock.stamp(now), "heartbeat_epoch": int(now)}
        return (json.dumps(row) + "\n").encode()

    def take(self) -> None:
        """Create it, in place of one that counts for nothing any more. The caller holds the guard
        and has looked. Raises Damaged."""
        with loop.writes(self.path):
            atomic.remove(self.path)
            if not atomic.create(self.path, self._text()):
                raise Refused(f"run {self.session} is held by another process", "look again")

    def begin(self) -> None:
        """Let the heart beat."""
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    @property
    def ours(self) -> bool:
        """Whether it is still this process's."""
        row = read_lock(self.root, self.session)
        return row is not None and row.get("key") == self.key

    def _beat(self) -> None:
        while not self._end.wait(status.BEAT):
            if not self.beat():
                if not self._end.is_set():  # else it was released while this waited for the guard
                    self.lost()
                return

    def beat(self) -> bool:
        """Write a heartbeat; False where the lock is no longer ours."""
        with contextlib.suppress(Damaged, Refused, OSError), guarded(self.root):
            if not self.ours:
                return False
            atomic.write(self.path, self._text())
        return True  # a full disk is no reason to stop

    def release(self) -> None:
        """Remove it, if it is still ours."""
        self._end.set()
        with contextlib.suppress(Damaged, Refused, OSError), guarded(self.root):
            if self.ours:
                atomic.remove(self.path)
