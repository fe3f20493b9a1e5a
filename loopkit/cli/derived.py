"""What stands in a loop's folder for people and agents, derived from its journal: written when it has changed."""

from __future__ import annotations

import sys

from ..store import decisions
from ..store.loop import Loop


def follow(loop: Loop) -> None:
    """Let a loop's files follow its state; a failure is told, loses nothing and is mended by the next command."""
    rows = [*loop.state.decisions, *loop.state.trail.anti_patterns]
    try:
        decisions.write(loop.folder, rows, loop.state.trail.superseded)
    except OSError as error:
        print(f"loopkit: decision not written: {error.strerror}", file=sys.stderr)
