"""loopkit next, submit: the loop goes on by itself until judgement is needed."""

from __future__ import annotations

import click

from ..ops import advance
from . import app


@app.command("next", "loopkit next")
def next_step(call: app.App) -> app.Result:
    """Go on: take what agents answered, run the checks that are due, close and open waves; then
    print the agents to start, one form, a question for the person, or the end."""
    return advance.advance(call)


@app.command("submit", "loopkit submit --file - <<'EOF'")
@click.option(
    "--file",
    "source",
    required=True,
    metavar="FILE",
    help="The form, filled in, as block YAML or JSON; - for standard input.",
)
@click.option("--answer-of", "token", metavar="TOKEN", help="An agent's answer that did not come.")
def submit(call: app.App, source: str, token: str | None) -> app.Result:
    """Submit the form that was asked for last; then go on."""
    return advance.submit(call, app.read_input(call, source), token or "")
