"""Run a program: argument list, a time limit, its own process group, its output in a file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from typing import BinaryIO

from ..core.evidence import masking
from ..store import tables

#: exit: the program's code, 124 out of time, 127 not found, 126 not startable, 128 + n ended by
#: signal n · seconds: run time.
Outcome = namedtuple("Outcome", "exit seconds note")

#: Most bytes of output that are kept: the beginning and, what matters more, the end.
MOST_OUTPUT = 4_000_000
#: Variables that belong to the session around us, not to the project's own programs.
_OURS = ("CLAUDE_CODE_TASK_LIST_ID",)
#: Seconds that a program's leftovers may keep its output open after it has ended.
_LINGER = 2.0


def run(
    arguments: list[str], folder: str, log: str, seconds: float, environment: dict[str, str]
) -> Outcome:
    """Run `arguments` in `folder`, without a shell, with both streams appended to the file `log`.
    The process group ends with it, and before us on TERM or HUP. Raises OSError where the log
    cannot be written."""
    masks = tables.masks()  # before anything is started: nothing runs unmasked
    began = time.monotonic()
    environment = {name: value for name, value in environment.items() if name not in _OURS}
    with open(log, "ab") as output:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Outcome(127, 0.0, f"no such program: {arguments[0]}")
        except (OSError, ValueError) as error:
            return Outcome(126, 0.0, f"cannot start {arguments[0]}: {error}")
        pump = _Pump(process, output, masking.Stream(masks, masks.values(environment)))
        note = ""
        try:
            with ended_by_signals():
                pump.start()
                code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code, note = 124, f"out of time after {seconds:g} s, setting verify_seconds"
        finally:
            end_group(process)
        pump.join(_LINGER)
        pump.finish()
    if code < 0:
        code = 128 - code
    return Outcome(code, time.monotonic() - began, note)


class _Pump(threading.Thread):
    """Carries output into the log, credentials masked: half MOST_OUTPUT at once, then the end."""

    def __init__(self, process: subprocess.Popen, output: BinaryIO, masks: masking.Stream) -> None:
        super().__init__(daemon=True)
        self.masks = masks
        self.source = process.stdout
        self.output = output
        self.written = self.left_out = 0
        self.end = bytearray()
        self.fault: OSError | None = None
        self.lock = threading.Lock()

    def run(self) -> None:
        assert self.source is not None
        while True:
            try:
                piece = os.read(self.source.fileno(), 65536)
            except (OSError, ValueError):
                return
            if not piece:
                return
            with self.lock:
                try:
                    self._take(self.masks.feed(piece))
                except (OSError, ValueError) as error:  # a full disk must not stop the program
                    self.fault = self.fault or OSError(str(error))

    def _take(self, piece: bytes) -> None:
        room = MOST_OUTPUT // 2 - self.written
        if room > 0 and not self.fault:
            self.output.write(piece[:room])
            self.output.flush()
            self.written += len(piece[:room])
            piece = piece[room:]
        self.end += piece
        if len(self.end) > MOST_OUTPUT:
            self._forget()

    def _forget(self) -> None:
        """Keep the second half of what may be kept."""
        gone = max(0, len(self.end) - MOST_OUTPUT // 2)
        del self.end[:gone]
        self.left_out += gone

    def finish(self) -> None:
        """Write the end. Raises OSError where the log could not be written."""
        with self.lock:
            with contextlib.suppress(OSError):  # a log that cannot be written is told below
                self._take(self.masks.end())
            self._forget()
            if self.left_out:
                self.output.write(f"\n[… {self.left_out} bytes left out …]\n".encode())
            self.output.write(self.end)
            self.end.clear()
        if self.fault is not None:
            raise self.fault


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn TERM and HUP into an exit that runs the clean-up; only possible in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
