"""loopkit baseline: how a check stood before the work, and whether it is worse now."""

import click

from ..ops import baseline as ops
from ..ops.workspace import Result
from . import app


@app.command(
    "baseline", "loopkit baseline -- pytest -q", context_settings={"ignore_unknown_options": True}
)
@app.flag("--check", help="Compare with what was recorded: exit 1 and what is new, or exit 0.")
@app.flag("--replace", help="Record it anew.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True)
def baseline(call: app.App, check: bool, replace: bool, words: tuple) -> Result:
    """Record how a check stands before the work: its exit code and the names that fail.

    With --check it may stand as a task's own verification command: it passes as long as nothing new
    fails.
    """
    if check:
        return ops.check(call, list(words))
    return ops.record(call, list(words), replace)
