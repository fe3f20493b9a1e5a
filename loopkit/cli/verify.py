"""loopkit verify: evidence."""

import click

from ..ops import verify as ops
from . import app

verify = app.command(
    "verify",
    "loopkit verify T-003 -- pytest tests/test_store.py -q",
    click.argument("target"),
    click.argument("words", nargs=-1, type=click.UNPROCESSED),
    context_settings={"ignore_unknown_options": True},
)(ops.verify)
