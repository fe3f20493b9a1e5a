"""loopkit decide: why something is so, and what is not done again."""

from __future__ import annotations

import click

from ..ops import decide as ops
from ..ops.workspace import Result
from . import app


@app.command("decide", "loopkit decide --file -")
@click.option(
    "--file", "source", metavar="FILE", help="The decision as block YAML; - for standard input."
)
@click.option(
    "--avoid",
    is_flag=True,
    help="An anti-pattern instead: what was done, why it failed, what to do.",
)
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="All decisions and anti-patterns, with what became of them.",
)
def command(call: app.App, source: str | None, avoid: bool, listed: bool) -> Result:
    """Record a decision with its reasons and the ways that were rejected; without --file: print the
    form.

    An `invalidated_if` that begins with `$ ` is a command; after each wave `loopkit verify D1 --
    <command>` is offered, and exit 0 says that the decision no longer holds. What changed your mind
    supersedes: nothing is rewritten.
    """
    if listed:
        return ops.listed(call)
    if source is None:
        return ops.ask(call, avoid)
    return ops.record(call, app.read_record(call, source, "lesson" if avoid else "decision"), avoid)
