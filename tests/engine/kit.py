"""What tests of programs share."""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path


class Watch:
    """A pipe with a name: whoever still has it open for writing is alive."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_for_a_word(self) -> None:
        self._wait(select.POLLIN)

    def all_gone(self) -> bool:
        with contextlib.suppress(BlockingIOError):  # it said nothing
            os.read(self.descriptor, 100)
        return self._wait(select.POLLHUP)

    def _wait(self, event: int) -> bool:
        waiting = select.poll()
        waiting.register(self.descriptor, event)
        return bool(waiting.poll(60_000))
