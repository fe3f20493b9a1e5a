"""loopkit lint: what is wrong with stages and pipelines."""

import click

from ..ops.runs import lint as ops
from ..ops.workspace import Result
from . import app


@app.command(
    "lint",
    "loopkit lint stage improve-plan",
    click.argument("kind", default="", metavar="[stage|pipeline|tasks]"),
    click.argument("names", nargs=-1, metavar="[NAME]..."),
)
def lint(call: app.App, kind: str, names: tuple[str, ...]) -> Result:
    """Check stages and pipelines, or with `tasks` the task files in docs/plans, by the rules of a
    run: each fault with file, line and cure. Exit 1 where a run would refuse one."""
    return ops.lint(call, kind, list(names))
