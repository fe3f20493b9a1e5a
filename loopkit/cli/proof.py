"""loopkit proof: another proof, on the person's word."""

import click

from ..ops import proof as ops
from . import app

proof = app.command(
    "proof",
    'loopkit proof M1 --why "it failed before the work" -- pytest tests/test_api.py -q',
    click.argument("target"),
    click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED),
    click.option("--why", default="", help="What was wrong with the old one."),
    app.ASKED,
    context_settings={"ignore_unknown_options": True},
)(ops.correct)
