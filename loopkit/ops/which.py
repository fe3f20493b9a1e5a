"""The loop that a call names; all loops of the project with where they stand."""

from __future__ import annotations

from ..core.journal import verdict
from ..core.journal.state import LoopState
from ..core.steps import resolution
from ..store import loops, trust
from ..store.loop import Loop
from .workspace import Workspace, no_loop, not_ours


def states(workspace: Workspace) -> list[LoopState]:
    """The project's loops, folded, lowest number first, as a session may see them: its person's
    own; a person at a terminal may look at all."""
    root, session = str(workspace.root), workspace.session
    rows = []
    for name in loops.names(root) if workspace.root else []:
        if session and not loops.ours(root, name):
            continue
        state, _ = loops.fold(root, name)
        if not session or trust.known(root, name, state.session.token):
            rows.append(state)
    return rows


def unfinished(workspace: Workspace) -> str:
    """The loops that are not over, with where they stand, for one line; "" without any."""
    rows = [row for row in _rows(workspace) if not row.status.startswith(tuple(verdict.FINAL))]
    return resolution.listed(rows) if rows else ""


def find(workspace: Workspace, message: str) -> Loop:
    """The loop that a message means. Raises Refused where not exactly one fits."""
    rows = _rows(workspace)
    if not rows:
        raise no_loop()
    loop = Loop(str(workspace.root), resolution.meant(rows, message))
    if workspace.session and not loop.ours:
        raise not_ours()
    return loop


def _rows(workspace: Workspace) -> list[resolution.Row]:
    rows = []
    for state in states(workspace):
        status, why = state.session.status, state.session.verdict
        status = f"{status}: {why}" if why and status != verdict.COMPLETED else status
        done = state.counts["completed"]
        rows.append(resolution.Row(state.name, state.text, status, done, len(state.tasks)))
    return rows
