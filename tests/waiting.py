"""Waiting for what another process does: never for a time, never for so little that a busy machine
needs more."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Seconds; only a broken run comes near it, on a busy machine too.
DEADLINE = 600.0


def wait_for(
    what: str, look: Callable[[], Any], deadline: float = DEADLINE, also: Callable[[], str] = str
) -> Any:
    """Poll `look` until it gives something true, and give that; AssertionError naming `what` after
    `deadline` seconds.

    `also` adds words to the failure (a screen, a story).
    """
    end = time.monotonic() + deadline
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline:.0f} s for {what}\n{also()}")
        time.sleep(0.1)


def gone(pid: int) -> bool:
    """Whether a process has ended; nobody may have asked how."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"
