"""One child program with a prompt on its standard input: its output as it comes, its deadlines, the
end of its whole process group."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple

from .. import process
from . import Deadlines

#: Seconds between two looks at whether it has ended, and those that leftovers may keep its output
#: open afterwards.
_LOOK, _LINGER = 0.1, 1.0


class Exit(NamedTuple):
    """code: the program's, 128 + n where signal n ended it · late: the deadline that passed, as
    `Deadlines` names it, or "" · interrupted: whether it was ended for `stop`."""

    code: int
    late: str = ""
    interrupted: bool = False


def run(
    arguments: Sequence[str],
    prompt: bytes,
    folder: str,
    environment: Mapping[str, str],
    deadlines: Deadlines,
    take: Callable[[str, bytes], None],
    stop: threading.Event,
) -> Exit:
    """Run a program to its end, a deadline, or until `stop` is set; its group ends with it.
    take("stdout" or "stderr", piece) gets all output. Raises OSError or ValueError where the
    program cannot be started."""
    with subprocess.Popen(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    ) as child:
        watch = _Watch(child, prompt, take)
        try:
            with process.ended_by_signals():
                late = watch.follow(deadlines, stop)
        finally:
            process.end_group(child)
            watch.selector.close()
    code = child.returncode
    return Exit(128 - code if code < 0 else code, late, watch.stopped)


class _Watch:
    """The streams of a child, none of which may block it or us."""

    def __init__(
        self, child: subprocess.Popen, prompt: bytes, take: Callable[[str, bytes], None]
    ) -> None:
        assert child.stdin is not None
        self.child, self.prompt, self.take = child, memoryview(prompt), take
        self.stopped = False
        self.began = self.heard = time.monotonic()
        self.silent = True
        self.selector = selectors.DefaultSelector()
        self.open = 0
        for name, stream in (("stdout", child.stdout), ("stderr", child.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)
            self.open += 1
        os.set_blocking(child.stdin.fileno(), False)
        self.selector.register(child.stdin, selectors.EVENT_WRITE)

    def follow(self, deadlines: Deadlines, stop: threading.Event) -> str:
        """Until the child and its output have ended, or it is time to end them; the deadline that
        passed, if any."""
        lingering = None
        while True:
            now = time.monotonic()
            if self.child.poll() is not None:
                lingering = lingering or now
                if not self.open or now - lingering > _LINGER:
                    return ""
            elif stop.is_set():
                self.stopped = True
                return ""
            elif late := self._late(now, deadlines):
                return late
            self._move()

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
                self.child.wait(_LOOK)
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
            self.open -= 1
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
