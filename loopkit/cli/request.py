"""loopkit clarify, score, shape: the request made clear, scored, and given its shape."""

from collections.abc import Callable
from typing import Any

import click

from ..core.journal.stage import DIMENSIONS, KINDS
from ..core.request.topics import TOPICS
from ..ops import request as ops
from ..ops.workspace import Result
from . import app


@app.command("clarify", "loopkit clarify --file -")
@app.file("Answers and assumptions as block YAML")
def clarify(call: app.App, source: str | None) -> Result:
    """Show what is unclear about the request and how to ask; or record what was answered and what
    is assumed."""
    if source is None:
        return ops.ask_clarification(call)
    return ops.record_clarification(call, app.read_record(call, source, "clarification"))


def _dimensions(function: Callable) -> Callable:
    """One option for each dimension of the rubric, its values in the help."""
    for name in reversed(DIMENSIONS):
        function = click.option(f"--{name}", type=int, help=ops.rubric(name))(function)
    return function


@app.command("score", "loopkit score --outcome 2 --scope 1 --constraints 1 --success 2 --done 1")
@_dimensions
@click.option("--kind", metavar="KIND", help=f"The kind of work: {', '.join(KINDS)}.")
@click.option(
    "--topics", metavar="A,B", help=f"What it is about, the main topic first: {', '.join(TOPICS)}."
)
@click.option("--overrule", metavar="WHY", help="The person lets a low spec score pass.")
def score(call: app.App, overrule: str | None, **values: Any) -> Result:
    """Score the request in five dimensions, 0 to 2 each. A low score stays in intent until it is
    clearer."""
    return ops.record_scores(call, values, overrule)


@app.command("shape", "loopkit shape --accept SHAPE.md")
@click.option("--accept", metavar="FILE", help="SHAPE.md as a file, or - for standard input.")
def shape(call: app.App, accept: str | None) -> Result:
    """Check SHAPE.md strictly and store it: aspects, criteria, mustNot, a verification each.
    Without --accept: the form, and in a loop the aspects of its request."""
    if accept is None:
        return ops.ask_shape(call)
    return ops.accept_shape(call, *app.read_shape(call, accept))
