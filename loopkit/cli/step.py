"""loopkit next, submit: the loop goes on by itself until judgement is needed."""

import click

from ..ops import advance
from ..ops.workspace import Result
from . import app

next_step = app.command("next", "loopkit next", goes_on=True)(advance.advance)


@app.command(
    "submit",
    "loopkit submit --file - <<'EOF'",
    app.file("The form, filled in, as block YAML or JSON", required=True),
    click.option(
        "--answer-of", "token", metavar="TOKEN", help="The agent whose answer is missing."
    ),
    goes_on=True,
)
def submit(call: app.App, source: str, token: str | None) -> Result:
    """Submit the form that was asked for last; then go on."""
    return advance.submit(call, app.read_input(call, source), token or "")
