"""What stands in a loop's folder for people and agents, derived from its journal: written when it has changed."""

from __future__ import annotations

import os
import sys

from ..store import atomic, decisions, inside
from ..store.loop import Loop


def follow(loop: Loop) -> None:
    """Let a loop's files follow its state; a failure is told, loses nothing and is mended by the next command."""
    rows = [*loop.state.decisions, *loop.state.trail.anti_patterns]
    try:
        decisions.write(loop.folder, rows, loop.state.trail.superseded)
    except OSError as error:
        print(f"loopkit: decision not written: {error.strerror}", file=sys.stderr)
    if loop.state.waves:
        from ..render import loopstate

        _write(os.path.join(loop.folder, loopstate.NAME), loopstate.render(loop.state))


def _write(path: str, text: str) -> None:
    """Rewrite a file of the loop's folder whole, unless that is what it holds."""
    data = text.encode("utf-8", "replace")
    try:
        if _holds(path, data):
            return
        atomic.write(path, data)
    except OSError as error:
        print(f"loopkit: {os.path.basename(path)} not written: {error.strerror}", file=sys.stderr)


def _holds(path: str, data: bytes) -> bool:
    try:
        with inside.opened(path, len(data)) as file:
            return file.read() == data
    except OSError:
        return False
