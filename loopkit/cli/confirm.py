"""loopkit confirm: the person's yes."""

from __future__ import annotations

import click

from ..core.request import intake
from . import app


@app.command("confirm", "loopkit confirm tasks")
@click.argument("what", type=click.Choice(["shape", "tasks", "wave"]))
def command(call: app.App, what: str) -> None:
    """Record that the person has agreed to the shape, the task list or the next wave."""
    loop = call.own_loop()
    call.change(loop, intake.confirmed, what)
    call.answer(loop, f"{what} confirmed")
