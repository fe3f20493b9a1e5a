"""loopkit clarify: what was asked and answered, or assumed, about a vague request."""

from __future__ import annotations

import click

from ..ops import clarify as ops
from ..ops.workspace import Result
from . import app


@app.command("clarify", "loopkit clarify --file -")
@click.option(
    "--file",
    "source",
    metavar="FILE",
    help="Answers and assumptions as block YAML; - for standard input.",
)
def command(call: app.App, source: str | None) -> Result:
    """Show what is unclear about the request and how to ask; or record what was answered and what
    is assumed."""
    if source is None:
        return ops.ask(call)
    return ops.record(call, app.read_record(call, source, "clarification"))
