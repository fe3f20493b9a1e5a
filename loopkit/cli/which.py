"""The loop that a call names; all loops of the project with where they stand."""

from __future__ import annotations

from ..core.journal import verdict
from ..core.journal.errors import Refused
from ..core.journal.state import LoopState
from ..core.steps import resolution
from ..ops import workspace
from ..store import loops, trust
from ..store.loop import Loop
from . import app


def states(call: app.App) -> list[LoopState]:
    """The project's loops, folded, lowest number first, as a session may see them: its person's
    own; a person at a terminal may look at all."""
    found = []
    for name in loops.names(call.root) if call.root else []:
        if call.session and not loops.ours(str(call.root), name):
            continue
        state, _ = loops.fold(str(call.root), name)
        if not call.session or trust.known(str(call.root), name, state.session.token):
            found.append(state)
    return found


def stands(call: app.App) -> list[tuple[str, dict]]:
    """(name, status, verdict, stage and counts) of each of these loops."""
    found = []
    for state in states(call):
        row = {
            "status": state.session.status,
            "verdict": state.session.verdict,
            "stage": state.stage,
        }
        found.append(
            (state.name, {**row, "completed": state.counts["completed"], "tasks": len(state.tasks)})
        )
    return found


def unfinished(call: app.App) -> str:
    """The loops that are not over, with where they stand, for one line; "" without any."""
    rows = [one for one in _rows(call) if not one.status.startswith(tuple(verdict.FINAL))]
    return resolution.listed(rows) if rows else ""


def _rows(call: app.App) -> list[resolution.Row]:
    rows = []
    for state in states(call):
        status, why = state.session.status, state.session.verdict
        status = f"{status}: {why}" if why and status != verdict.COMPLETED else status
        rows.append(
            resolution.Row(
                state.name, state.text, status, state.counts["completed"], len(state.tasks)
            )
        )
    return rows


def find(call: app.App, message: str) -> Loop:
    """The loop that a message means. Raises Refused where there is none, several fit, or none
    does."""
    rows = _rows(call)
    if not rows:
        raise Refused(
            "there is no loop in this project", "start one in Claude Code: /loop:start <task>"
        )
    loop = Loop(str(call.root), resolution.meant(rows, message))
    if call.session and not loop.ours:
        raise workspace.not_ours()
    return loop
