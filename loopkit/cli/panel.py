"""loopkit panel: experts on a stuck task, on an unclear dimension of the request, on how to work
the next wave."""

from __future__ import annotations

import click

from ..core.journal.errors import UsageFault
from ..ops import panel as ops
from ..ops.workspace import Result
from . import app


@app.command("panel", "loopkit panel T-003 --file -")
@click.argument("task_id", required=False)
@click.option(
    "--clarify",
    metavar="DIMENSION",
    help="The readings of a dimension of the request that is unclear.",
)
@app.flag("--wave", help="How the next wave is worked: in parallel, or one task at a time.")
@app.file("What the panel found, as block YAML")
def panel(
    call: app.App, task_id: str | None, clarify: str | None, wave: bool, source: str | None
) -> Result:
    """Brief a panel (whom to ask what, about what), or record what it found with --file."""
    if sum((task_id is not None, clarify is not None, wave)) != 1:
        raise UsageFault("give a task, --clarify DIMENSION or --wave", "see loopkit panel --help")
    row = app.read_record(call, source, "panel") if source else None
    if task_id is not None:
        return ops.on_task(call, task_id, row)
    return ops.on_dimension(call, clarify, row) if clarify is not None else ops.on_wave(call, row)
