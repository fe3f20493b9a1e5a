"""loopkit pause: let the session go."""

from __future__ import annotations

import click

from ..core.journal import stage, verdict
from ..core.journal.state import LoopState
from ..ops import workspace
from . import app


@app.command("pause", "loopkit pause")
@click.argument("reason", nargs=-1)
def command(call: app.App, reason: tuple) -> None:
    """Pause the loop: the session is let go, nothing is lost; loopkit resume goes on."""
    loop = call.loop()
    if not loop.ours:
        raise workspace.not_ours()
    call.change(loop, _changes, " ".join(reason) or verdict.BY_HAND)
    call.answer(loop, f"loop {loop.name} paused; the session is free")


def _changes(state: LoopState, reason: str) -> list:
    if state.session.status == "paused":
        return []
    stage.running(state)
    return [("paused", {"reason": reason})]
