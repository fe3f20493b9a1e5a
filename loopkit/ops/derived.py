"""What stands in a loop's folder for people and agents, derived from its journal: written when it
has changed."""

from __future__ import annotations

from collections.abc import Callable

from ..core.journal import stages
from ..core.plan import approval
from ..store import decisions, derived
from ..store.loop import Loop


def follow(loop: Loop, note: Callable[[str], None]) -> None:
    """Let a loop's files follow its state; a failure is told, loses nothing and is mended by the
    next command."""
    state = loop.state
    rows = [*state.decisions, *state.trail.anti_patterns]
    name = decisions.FOLDER
    try:
        decisions.write(loop.folder, rows, state.trail.superseded)
        judged = not approval.on_evidence(state) and state.stage == stages.DECOMPOSE
        if not state.tasks and not judged:
            return
        from ..render import context, loopstate, plan, report

        name = "plan.md"
        derived.put(loop.folder, name, plan.render(state))
        name = "context.md"
        derived.put(loop.folder, name, context.render(state), "Updated: ")
        if state.waves:
            name = loopstate.NAME
            derived.put(loop.folder, name, loopstate.render(state))
        if report.due(state):
            name = "report.md"
            derived.put(loop.folder, name, report.render(state))
    except OSError as error:
        note(f"{name} not written: {error.strerror}")
