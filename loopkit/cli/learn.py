"""loopkit learn: what a loop taught, kept where the person says so."""

from __future__ import annotations

import click

from ..core.journal.errors import UsageFault
from ..ops import learn as ops
from ..ops.workspace import Result
from . import app


@app.command("learn", "loopkit learn --accept 1,3")
@click.option("--accept", metavar="N,…", help="Keep the proposals of these numbers.")
@click.option(
    "--file", "source", metavar="FILE", help="Keep these, as block YAML; - for standard input."
)
@click.option("--user", is_flag=True, help="Keep them for all projects of this user.")
def command(call: app.App, accept: str | None, source: str | None, user: bool) -> Result:
    """Show what the loop taught, or keep what the person chose of it. Nothing is kept unasked."""
    if accept and source:
        raise UsageFault(
            "--accept together with --file", "submit the edited ones first, accept the rest then"
        )
    if source:
        return ops.keep(call, app.read_record(call, source, "learnings"), user, app.now())
    if accept:
        return ops.accept(call, app.numbers(accept), user, app.now())
    if user:
        raise UsageFault("--user without something to keep", "give --accept or --file")
    return ops.show(call)
