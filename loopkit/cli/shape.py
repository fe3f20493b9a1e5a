"""loopkit shape: submit SHAPE.md."""

from __future__ import annotations

import click

from ..ops import shape as ops
from ..ops.workspace import Result
from . import app


@app.command("shape", "loopkit shape --accept SHAPE.md")
@click.option("--accept", metavar="FILE", help="SHAPE.md as a file, or - for standard input.")
def command(call: app.App, accept: str | None) -> Result:
    """Check SHAPE.md strictly and store it: aspects, criteria, mustNot, a verification each.
    Without --accept: the form, and in a loop the aspects of its request."""
    if accept is None:
        return ops.show(call)
    return ops.accept(call, *app.read_shape(call, accept))
