"""loopkit verify, baseline: evidence, and how a check stood before the work."""

from __future__ import annotations

import click

from ..ops import baseline as baselines
from ..ops.verify import verify as run_check
from ..ops.workspace import Result
from . import app

#: The words of a command that is to be run.
WORDS = click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True)
AS_GIVEN = {"ignore_unknown_options": True}

verify = app.command(
    "verify",
    "loopkit verify T-003 -- pytest tests/test_store.py -q",
    click.argument("target"),
    WORDS,
    context_settings=AS_GIVEN,
)(run_check)


@app.command("baseline", "loopkit baseline -- pytest -q", context_settings=AS_GIVEN)
@app.flag("--check", help="Compare with what was recorded: exit 1 and what is new, or exit 0.")
@app.flag("--replace", help="Record it anew.")
@WORDS
def baseline(call: app.App, check: bool, replace: bool, words: tuple) -> Result:
    """Record how a check stands before the work: its exit code and the names that fail.

    With --check it may stand as a task's own verification command: it passes as long as nothing new
    fails.
    """
    if check:
        return baselines.check(call, list(words))
    return baselines.record(call, list(words), replace)
