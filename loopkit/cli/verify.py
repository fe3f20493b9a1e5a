"""loopkit verify: evidence."""

import click

from ..ops import verify as ops
from . import app

verify = app.command(
    "verify",
    "loopkit verify T-003 -- pytest tests/test_store.py -q",
    click.argument("target"),
    app.COMMAND_WORDS,
    context_settings=app.AS_GIVEN,
)(ops.verify)
