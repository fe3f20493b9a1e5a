"""loopkit cancel: end the loop."""

from __future__ import annotations

import click

from ..core import verdict
from ..core.state import LoopState
from ..store import native
from . import app


@app.command("cancel", "loopkit cancel")
@click.argument("reason", nargs=-1)
def command(call: app.App, reason: tuple) -> None:
    """End the loop from any session: hooks fall silent, the work and the loop's folder stay as they are."""
    loop = call.loop(strangers=True)
    changes = call.change(loop, _changes, " ".join(reason) or "by hand")
    native.withdraw(native.folder(call.environment, loop.state.session.owner), loop.name)
    if not changes:
        call.answer(loop, f"loop {loop.name} was over already ({loop.state.session.verdict})")
        return
    done = f"{loop.state.counts['completed']} of {len(loop.state.tasks)} tasks were completed"
    said = f"loop {loop.name} cancelled; {done}; its folder stays: {loop.folder}"
    call.answer(loop, "\n".join([said, *app.taught(loop)]))


def _changes(state: LoopState, reason: str) -> list:
    return [] if state.session.status in verdict.FINAL else [("loop_cancelled", {"reason": reason})]
