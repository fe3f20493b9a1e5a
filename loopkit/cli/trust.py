"""loopkit trust: what came with the repository, taken over by the person."""

from __future__ import annotations

import click

from ..ops import trust
from . import app


@app.command("trust", "loopkit trust learnings decisions")
@click.argument("words", nargs=-1, metavar="[settings|learnings|decisions|all]...")
def command(call: app.App, words: tuple) -> app.Result:
    """Show the settings, learnings and decisions in .loop that came with the repository, or take
    them over, in a terminal.

    They are used only once you have taken them over, as they stand now: what is changed later is a
    stranger's again. A session of Claude Code sees how many there are, and no more.
    """
    return trust.take_over(call, list(words))
