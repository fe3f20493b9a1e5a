"""Run a program: argument list, deadlines, its own process group; a check's output in a file."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, BinaryIO, NamedTuple

from ..core.evidence import command, masking
from ..core.journal import prose
from ..core.journal.errors import Damaged
from ..store import atomic, digest, place, tables


class Deadlines(NamedTuple):
    """Seconds until the first output, without any output, and altogether."""

    start: float = 120
    idle: float = 600
    total: float = 3600


#: exit: the program's code, 124 out of time, 127 not found, 126 not startable, 128 + n ended by
#: signal n · seconds: run time · left: names of processes that outlived it.
Outcome = namedtuple("Outcome", "exit seconds note left", defaults=((),))

#: Most bytes of output that are kept: the beginning and, what matters more, the end.
MOST_OUTPUT = 4_000_000
#: Bytes before the end that is kept which tell what of it is within a private key.
_BEFORE = 1 << 17
#: Variables that belong to the session around us, not to the project's own programs.
_OURS = ("CLAUDE_CODE_TASK_LIST_ID",)
#: By this variable a child's processes are known, wherever they have gone; it names those around it
#: as well.
_MARK = "LOOPKIT_MARKS"
#: Seconds that a program which has said all has for its own end.
LINGER = 2.0
#: Seconds in which a system does not give all process ids there are.
_IN_TURN = 10.0
#: Commands by which git tidies up; bytes of a process's command line that are looked at.
_TIDYING, _LINE = frozenset((b"gc", b"maintenance", b"repack", b"pack-objects")), 4096
#: Seconds between two looks at whether a program has ended.
_LOOK = 0.1


def run(
    arguments: list[str], folder: str, log: str, seconds: float, environment: dict[str, str]
) -> Outcome:
    """Run `arguments` in `folder`, without a shell, with both streams appended to the file `log`.
    The process group ends with it, and before us on TERM or HUP. Raises OSError where the log
    cannot be written."""
    masks = tables.masks()  # before anything is started: nothing runs unmasked
    began = time.monotonic()
    environment = {name: value for name, value in environment.items() if name not in _OURS}
    deadlines = Deadlines(math.inf, math.inf, seconds)
    with open(log, "ab") as output:
        kept = _Log(output, masks, masks.values(environment))
        try:
            end = child(arguments, None, folder, environment, deadlines, kept.feed)
        except FileNotFoundError:
            return Outcome(127, 0.0, f"no such program: {arguments[0]}")
        except (OSError, ValueError) as error:
            return Outcome(126, 0.0, f"cannot start {arguments[0]}: {error}")
        kept.finish()
    left = end.left
    notes = [f"out of time after {seconds:g} s, setting verify_seconds"] if end.late else []
    notes += [f"left behind and ended: {', '.join(left[:5])}"] if left else []
    seconds = time.monotonic() - began
    return Outcome(command.OUT_OF_TIME if end.late else end.code, seconds, "; ".join(notes), left)


def sweep(words: str, group: int = 0, above: int = 0) -> tuple[str, ...]:
    """End all processes whose environment holds `words`, as `NAME=value`, where the system shows
    it: what has left its group as a daemon does, what outlived whoever started it. Not this
    process, nor those of the group `group`, nor ids up to `above`. Gives their names."""
    names = []
    sought, own = words.encode(), os.getpid()
    ids = map(int, filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc/self") else ()))
    for pid in [pid for pid in ids if pid > above and pid != own]:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if sought not in file.read() or os.getpgid(pid) == group:
                    continue
            if _is_tidying(pid):
                continue
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
                names.append(f"{comm.read().strip()} ({pid})")
            os.kill(pid, signal.SIGKILL)
    return tuple(names)


def _is_tidying(pid: int) -> bool:
    """Whether it is git at a repository's objects, which a commit leaves behind and which ends by
    itself: cut off, it would leave its half-made packs each time. Raises OSError."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        program, *words = file.read(_LINE).split(b"\0")
    return os.path.basename(program) == b"git" and not _TIDYING.isdisjoint(words[:3])


def _before(pid: int, began: float) -> int:
    """An id up to which no process is younger than process `pid`, which began at `began`: ids are
    given in turn, from the beginning again after the last. Reading of a hundred processes costs as
    much as the start of one."""
    if time.monotonic() - began > _IN_TURN:
        return 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/loadavg", encoding="ascii") as file:  # its last word: the newest id
            return pid if int(file.read().split()[-1]) >= pid else 0
    return 0


class Bounded:
    """Of all that is fed the first and the last half of `most` bytes."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.first, self.last, self.left_out = bytearray(), bytearray(), 0

    def feed(self, piece: bytes) -> bytes:
        """Take a further piece; gives what of it belongs to the first half."""
        room = self.half - len(self.first)
        self.first += piece[:room]
        self.last += piece[room:]
        if len(self.last) > 2 * self.half:
            self._drop()
        return piece[:room]

    def _drop(self) -> None:
        gone = max(0, len(self.last) - self.half)
        del self.last[:gone]
        self.left_out += gone

    def end(self) -> bytes:
        """What follows the first half, with a line where something is missing."""
        self._drop()
        gap = f"\n[… {self.left_out} bytes left out …]\n" if self.left_out else ""
        return gap.encode() + self.last

    def text(self) -> str:
        """All that is kept."""
        return (self.first + self.end()).decode("utf-8", "replace")


class _Log:
    """A file that gets a program's output, credentials masked: the first half at once. What is not
    kept is not looked at."""

    def __init__(self, output: BinaryIO, masks: masking.Masks, secrets: list) -> None:
        self.output, self.masks, self.secrets = output, masks, secrets
        self.first = masking.Stream(masks, secrets)
        self.room = MOST_OUTPUT // 2
        self.last, self.left_out = bytearray(), 0
        self.fault: OSError | None = None

    def feed(self, stream: str, piece: bytes) -> None:
        if self.room:
            self._write(self.first.feed(piece[: self.room]))
        self.last += piece[self.room :]
        self.room = max(0, self.room - len(piece))
        if len(self.last) > 2 * (MOST_OUTPUT + _BEFORE):
            self._drop()

    def _drop(self) -> None:
        gone = max(0, len(self.last) - MOST_OUTPUT // 2 - _BEFORE)
        del self.last[:gone]
        self.left_out += gone

    def finish(self) -> None:
        """Write the end. Raises OSError where the log could not be written."""
        before, masks = max(0, len(self.last) - MOST_OUTPUT // 2), self.first
        if self.left_out:  # what is shown of the end depends on what stands before it
            masks = masking.Stream(self.masks, self.secrets)
        if before:
            masks.feed(bytes(self.last[:before]))
            self._write(f"\n[… {self.left_out + before} bytes left out …]\n".encode())
        self._write(masks.feed(bytes(self.last[before:])) + masks.end())
        if self.fault is not None:
            raise self.fault

    def _write(self, data: bytes) -> None:
        try:
            self.output.write(data)
            self.output.flush()
        except (OSError, ValueError) as error:  # a full disk must not stop the program
            self.fault = self.fault or OSError(str(error))


# -- any child


def find(name: str, path: str) -> str:
    """The program of a bare name, along the folders of a PATH; a path as it is. Folders that the
    PATH names relative to wherever we stand are passed over: a project could put a program there.
    Raises FileNotFoundError for none."""
    if os.path.dirname(name):
        return name
    found = shutil.which(name, path=place.search_path({"PATH": path}))
    if found is None:
        raise FileNotFoundError(f"{name} is not on the PATH (its relative entries do not count)")
    return found


@contextlib.contextmanager
def logged_too(
    path: str, environment: Mapping[str, str], take: Callable[[str, bytes], object]
) -> Iterator[Callable[[str, bytes], object]]:
    """What takes a child's output, such that a file at `path` gets it as well, masked and bounded
    as a check's is. Raises OSError where it cannot be written."""
    masks = tables.masks()
    with open(path, "ab") as file:
        log = _Log(file, masks, masks.values(dict(environment)))

        def both(name: str, piece: bytes) -> None:
            log.feed(name, piece)
            take(name, piece)

        yield both
        log.finish()


class Exit(NamedTuple):
    """code: the program's, 128 + n where signal n ended it · late: the deadline that passed, as
    `Deadlines` names it, or "" · interrupted: whether it was ended for `stop` · lingered: whether
    it was ended since it had finished · left: names of processes that had left its group."""

    code: int
    late: str = ""
    interrupted: bool = False
    lingered: bool = False
    left: tuple[str, ...] = ()


def child(
    arguments: Sequence[str],
    prompt: bytes | None,
    folder: str,
    environment: Mapping[str, str],
    deadlines: Deadlines,
    take: Callable[[str, bytes], object],
    stop: threading.Event | None = None,
    finished: Callable[[], bool] = lambda: False,
) -> Exit:
    """Run a program to its end, a deadline, or until `stop` is set; all that it started ends with
    it. prompt: its standard input; None: empty, and both streams are one. take("stdout" or
    "stderr", piece) gets all output. finished: whether it has said all; then it is not waited for.
    Raises OSError or ValueError where the program cannot be started."""
    mark = os.urandom(16).hex()
    around = environment.get(_MARK, "")
    with subprocess.Popen(
        arguments,
        cwd=folder,
        env={**environment, _MARK: f"{around} {mark}".lstrip()},
        stdin=subprocess.DEVNULL if prompt is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if prompt is None else subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    ) as program:
        watch = _Watch(program, prompt or b"", take, finished)
        left: tuple[str, ...] = ()
        try:
            with _ended_by_signals():
                late = watch.follow(deadlines, stop)
        finally:
            end_group(program)
            left = sweep(mark, program.pid, _before(program.pid, watch.began))
            watch.close()
    code = program.returncode
    return Exit(128 - code if code < 0 else code, late, watch.stopped, watch.lingers, left)


class _Watch:
    """The streams of a child, none of which may block it or us."""

    def __init__(
        self,
        program: subprocess.Popen,
        prompt: bytes,
        take: Callable[[str, bytes], object],
        finished: Callable[[], bool],
    ) -> None:
        self.program, self.prompt, self.take = program, memoryview(prompt), take
        self.finished, self.lingers = finished, False
        self.stopped, self.silent = False, True
        self.began = self.heard = time.monotonic()
        self.selector = selectors.DefaultSelector()
        self.open: dict[str, IO[bytes]] = {}
        for name in ("stdout", "stderr"):
            if stream := getattr(program, name):
                os.set_blocking(stream.fileno(), False)
                self.selector.register(stream, selectors.EVENT_READ, name)
                self.open[name] = stream
        if program.stdin is not None:
            os.set_blocking(program.stdin.fileno(), False)
            self.selector.register(program.stdin, selectors.EVENT_WRITE)

    def follow(self, deadlines: Deadlines, stop: threading.Event | None) -> str:
        """Until the child has ended, or it is time to end it; the deadline that passed, if any."""
        while self.program.poll() is None:
            if stop is not None and stop.is_set():
                self.stopped = True
                return ""
            if self.finished() and time.monotonic() - self.heard > LINGER:
                self.lingers = True
                return ""
            if late := self._late(time.monotonic(), deadlines):
                return late
            self._move()
        return ""

    def close(self) -> None:
        """Take what the group has left in its streams."""
        for name, stream in list(self.open.items()):
            with contextlib.suppress(BlockingIOError):  # somebody outside of the group holds it
                while name in self.open:
                    self._read(stream, name)
        self.selector.close()

    def _late(self, now: float, deadlines: Deadlines) -> str:
        if now - self.began > deadlines.total:
            return "total"
        if self.silent:
            return "start" if now - self.began > deadlines.start else ""
        return "idle" if now - self.heard > deadlines.idle else ""

    def _move(self) -> None:
        """Carry what can be carried now, or wait a moment for it."""
        if not self.open:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.program.wait(_LOOK)
            return
        for key, _ in self.selector.select(_LOOK):
            stream: IO[bytes] = key.fileobj  # type: ignore[assignment]
            if key.data is None:
                self._feed(stream)
            else:
                self._read(stream, key.data)

    def _read(self, stream: IO[bytes], name: str) -> None:
        piece = os.read(stream.fileno(), 1 << 16)
        if not piece:
            del self.open[name]
            self.selector.unregister(stream)
            return
        self.silent, self.heard = False, time.monotonic()
        self.take(name, piece)

    def _feed(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(BrokenPipeError):  # it reads no further
            self.prompt = self.prompt[os.write(stream.fileno(), self.prompt[: 1 << 16]) :]
            if self.prompt:
                return
        self.selector.unregister(stream)
        stream.close()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn INT, TERM and HUP into an exit that runs the clean-up, those that are ignored excepted;
    only possible in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def heeded() -> list[int]:
    """The signals by which somebody ends us: INT, TERM and HUP, but for what whoever started us has
    us ignore, as nohup does."""
    known = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    return [one for one in known if one is not None and signal.getsignal(one) != signal.SIG_IGN]


def end_group(process: subprocess.Popen, grace: float = 5.0) -> None:
    """End a process and all of its group: TERM, then KILL after `grace` seconds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(grace)
        os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.wait()


# -- verifications: what they print is kept as evidence

TAIL = 2000
#: Bytes at the end of a log in which a runner's counts are looked for.
COUNTED = 200_000


def verify(
    project: str,
    work: str,
    folder: str,
    target: str,
    line: str,
    files: list[str],
    seconds: float,
    environment: dict,
) -> dict:
    """Run a stored command line in the folder `work`; gives the data of a `…_verified` event, plus
    `output` (its end), `signature` (of its first error, or "") and `after`: as `files`, after it.

    project: what `files` are relative to · folder: the loop's, where the log goes to
    `evidence/<target>-<number>.log` · files: paths that the evidence vouches for, taken before the
    run, so that an edit during it makes the evidence stale. Raises Damaged where no log can be
    written.
    """
    seen = {path: digest.of(project, path) for path in files}
    commit = digest.head(project, environment)

    def begin(arguments: list[str], log: str) -> Outcome:
        return run(arguments, work, log, seconds, environment)

    row = logged(folder, target, line, begin)
    after = {path: digest.of(project, path) for path in files}
    row["changed"] = [path for path in files if after[path] != seen[path]]
    if row["changed"] and row["told"] != command.NOT_STARTABLE:
        row["told"] = command.CHANGES
    return {**row, "head": commit, "files": seen, "after": after}


def logged(
    folder: str, target: str, line: str, begin: Callable[[list[str], str], Outcome], about: str = ""
) -> dict:
    """What `verify` gives of a run, without files and commit. begin(arguments, log) runs them and
    appends what they print to the log · about: what to know of the run, at the log's head."""
    log = os.path.join(folder, "evidence")
    try:
        atomic.check_inside(folder, log)
        os.makedirs(log, exist_ok=True)
        relative, log = _new_log(folder, target)
        with open(log, "wb") as file:
            head = f"[{about}]\n" if about else ""
            file.write(
                f"{head}$ {tables.masks().masked(line)}\n".encode("utf-8", "surrogateescape")
            )
        outcome = begin(command.split(line), log)
        note = f"; {outcome.note}" if outcome.note else ""
        with open(log, "ab") as file:
            ending = f"\n[exit {outcome.exit} in {outcome.seconds:.1f} s{note}]\n"
            file.write(ending.encode("utf-8", "replace"))
        output = _tail(log)
        none_ran = outcome.exit == 0 and command.none_ran(_end(log, COUNTED), tables.counts())
        mark = "" if outcome.exit == 0 else _signature(log)
        sealed = digest.of(folder, relative)
    except OSError as error:
        way_out = "make room or give write access; nothing was recorded"
        raise Damaged(f"cannot write {log}: {error.strerror}", way_out) from None
    return {
        "told": command.tell(outcome.exit, outcome.left, output),
        "digest": sealed,
        "passed": outcome.exit == 0 and not none_ran,
        "exit": outcome.exit,
        "log": relative,
        "seconds": round(outcome.seconds, 3),
        "note": command.NONE_RAN if none_ran else outcome.note,
        "output": output,
        "signature": command.NONE_RAN if none_ran else mark,
    }


def _new_log(folder: str, target: str) -> tuple[str, str]:
    """A new log, `evidence/T-003-2.log`: its path relative to the loop's folder, and whole."""
    for number in itertools.count(1):
        relative = f"evidence/{target}-{number}.log"
        log = os.path.join(folder, relative)
        try:
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            continue
        return relative, log
    raise AssertionError


def _signature(log: str) -> str:
    from ..core.evidence import signature

    with open(log, "rb") as file:
        return signature.of(file.read(signature.LOOKED).decode("utf-8", "replace"))


def _tail(log: str) -> str:
    """The end of a log, as plain text: what began before it is not left in half."""
    return prose.plain(_end(log, TAIL + 200))[-TAIL:]


def _end(log: str, most: int) -> str:
    with open(log, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        return file.read().decode("utf-8", "replace")
