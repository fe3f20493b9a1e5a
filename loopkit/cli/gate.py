"""loopkit gate: what is missing before completion."""

from __future__ import annotations

import click

from ..ops import gate as ops
from ..ops.workspace import Result
from . import app


@app.command("gate", "loopkit gate --file -")
@click.option(
    "--file", "source", metavar="FILE", help="The answers as block YAML; - for standard input."
)
def command(call: app.App, source: str | None) -> Result:
    """Show what the gate still waits for, or answer for it. It needs every task completed with
    evidence that fits, the thorough review passed, every criterion seen, and four points answered
    for the kind of work."""
    return ops.record(call, app.read_record(call, source, "gate")) if source else ops.ask(call)
