"""loopkit report: keep a long report of an agent in a file."""

from __future__ import annotations

import click

from ..ops import report as ops
from ..ops.workspace import Result
from . import app


@app.command("report", "loopkit report security-reviewer --file -")
@click.argument("name")
@click.option(
    "--file", "source", required=True, metavar="FILE", help="The report; - for standard input."
)
def command(call: app.App, name: str, source: str) -> Result:
    """Keep a long report in a file of the loop and print its path; an agent answers with the path
    and few lines. What looks like a credential is left out of it.

    One called `gather` also gives the relevant patterns of context.md: its first lines.
    """
    return ops.keep(call, name, *app.read_copied(call, source))
