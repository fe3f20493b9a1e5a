"""The files of a loop for people and agents, derived from its journal, written when they differ."""

import os
from collections.abc import Callable

from ..core.journal import stages, verdict
from ..core.journal.state import LoopState
from ..store import atomic, inside
from ..store.loop import Loop

#: Bytes of a file that is compared; a larger one was not written here.
LARGEST = 4_000_000


def follow(loop: Loop, note: Callable[[str], None]) -> None:
    """Let a loop's files follow its state; a failure is told and loses nothing."""
    state = loop.state
    rows = [*state.decisions, *state.decision_log.anti_patterns]
    name = "learnings"
    try:
        if rows:
            from ..store import decisions

            decisions.write(loop.folder, rows, state.decision_log.superseded)
        judged = state.terms.plan_reviewed and state.stage == stages.DECOMPOSE
        if not state.tasks and not judged:
            return
        from ..render import context, loopstate, plan

        name = "plan.md"
        _put(loop.folder, name, plan.render(state))
        name = "context.md"
        _put(loop.folder, name, context.render(state), "Updated: ")
        if state.waves:
            name = loopstate.NAME
            _put(loop.folder, name, loopstate.render(state))
        if reported(state):
            from ..render import report

            name = "report.md"
            _put(loop.folder, name, report.render(state))
    except OSError as error:
        note(f"{name} not written: {error.strerror}")


def reported(state: LoopState) -> bool:
    """From the thorough review on there is something to report."""
    over = state.thorough is not None or state.session.status in verdict.FINAL
    return over and bool(state.tasks)


def _put(folder: str, name: str, text: str, but: str = "") -> None:
    """Write a file that differs in more than lines beginning with `but`. Raises OSError."""
    path = os.path.join(folder, name)
    inside.check(folder, path)
    data = text.encode("utf-8", "replace")
    try:
        old = inside.read(path, LARGEST)
    except OSError:
        old = b""
    if old == data or but and old and _without(old, but.encode()) == _without(data, but.encode()):
        return
    atomic.write(path, data)


def _without(data: bytes, start: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if not line.startswith(start)]
