"""loopkit trust: what came with the repository, taken over by the person."""

import click

from ..ops.trust import take_over
from . import app

WORDS = click.argument("words", nargs=-1, metavar="[settings|learnings|decisions|stages|all]...")

trust = app.command("trust", "loopkit trust learnings decisions", WORDS)(take_over)
