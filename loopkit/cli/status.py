"""loopkit status: where the loop stands."""

from __future__ import annotations

import click

from ..ops import status
from . import app


@app.command("status", "loopkit status")
@click.argument("words", nargs=-1, metavar="[WHICH]")
@app.flag("--list", "all_loops", help="All loops of this project.")
def command(call: app.App, words: tuple, all_loops: bool) -> app.Result:
    """Stage, scores, counts, reviews, times and the one next action. Changes nothing.

    WHICH is a loop's number, a part of its name, or what it is about; without it the active one is
    shown.
    """
    return status.listing(call) if all_loops else status.status(call, " ".join(words))
