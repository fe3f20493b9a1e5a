"""loopkit cancel: end the loop."""

from __future__ import annotations

import click

from ..core.journal import verdict
from ..core.journal.errors import LoopError
from ..core.journal.state import LoopState
from ..ops import workspace
from ..store import native
from ..store.loop import Loop
from . import app


@app.command("cancel", "loopkit cancel")
@click.argument("reason", nargs=-1)
def command(call: app.App, reason: tuple) -> None:
    """End the loop from any session: hooks fall silent, the work and the loop's folder stay as they
    are."""
    loop = call.loop(strangers=True)
    if not loop.ours:
        _silence(call, loop)
        return
    changes = call.change(loop, _changes, " ".join(reason) or verdict.BY_HAND)
    native.withdraw(native.folder(call.environment, loop.state.session.owner), loop.name)
    if not changes:
        call.answer(loop, f"loop {loop.name} was over already ({loop.state.session.verdict})")
        return
    done = f"{loop.state.counts['completed']} of {len(loop.state.tasks)} tasks were completed"
    said = f"loop {loop.name} cancelled; {done}; its folder stays: {loop.folder}"
    call.answer(loop, "\n".join([said, *app.taught(loop)]))


def _silence(call: app.App, loop: Loop) -> None:
    """End a loop of strangers: its folder alone is written, and nothing of what stands in it is
    told."""
    try:
        with loop.writing() as state:
            loop.record(_changes(state, verdict.BY_HAND), call.by)
    except LoopError as error:
        if call.session:
            raise workspace.not_ours() from None
        raise error
    click.echo(
        "the loop in this folder was not started here; it is cancelled, and its folder stays"
    )


def _changes(state: LoopState, reason: str) -> list:
    return [] if state.session.status in verdict.FINAL else [("loop_cancelled", {"reason": reason})]
