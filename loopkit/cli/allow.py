"""loopkit allow: the person's yes to the checks."""

import click

from ..ops import allow as ops
from . import app

WORD = click.option("--asked", "word", default="", hidden=True, help="The word of an asked call.")

allow = app.command("allow", "loopkit allow", WORD, goes_on=True)(ops.allow)
