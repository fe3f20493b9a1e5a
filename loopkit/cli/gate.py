"""loopkit gate: what is missing before completion."""

from __future__ import annotations

from ..ops import gate as ops
from ..ops.workspace import Result
from . import app


@app.command("gate", "loopkit gate --file -")
@app.file("The answers as block YAML")
def gate(call: app.App, source: str | None) -> Result:
    """Show what the gate still waits for, or answer for it. It needs every task completed with
    evidence that fits, the thorough review passed, every criterion seen, and four points answered
    for the kind of work."""
    return ops.record(call, app.read_record(call, source, "gate")) if source else ops.ask(call)
