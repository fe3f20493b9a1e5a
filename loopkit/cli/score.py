"""loopkit score: the spec score, the fit score, the shape that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..core.journal.score import DIMENSIONS, KINDS
from ..core.request.topics import TOPICS
from ..ops import score
from . import app


def _dimensions(function: Callable) -> Callable:
    """One option for each dimension of the rubric, its values in the help."""
    for name in reversed(DIMENSIONS):
        function = click.option(f"--{name}", type=int, help=score.values(name))(function)
    return function


@app.command("score", "loopkit score --outcome 2 --scope 1 --constraints 1 --success 2 --done 1")
@_dimensions
@click.option("--kind", metavar="KIND", help=f"The kind of work: {', '.join(KINDS)}.")
@click.option(
    "--topics", metavar="A,B", help=f"What it is about, the main topic first: {', '.join(TOPICS)}."
)
@click.option("--overrule", metavar="WHY", help="The person lets a low spec score pass.")
def command(call: app.App, overrule: str | None, **values: Any) -> app.Result:
    """Score the request in five dimensions, 0 to 2 each. A low score stays in intent until it is
    clearer."""
    return score.score_request(call, values, overrule)
