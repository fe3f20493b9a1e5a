"""loopkit status: where the loop stands."""

from ..ops import status as ops
from ..ops.workspace import Result
from . import app


@app.command("status", "loopkit status", app.words("words", metavar="[WHICH]"))
@app.flag("--list", "all_loops", help="All loops of this project.")
@app.flag("--asked", hidden=True, help="The person asks: no line is to be run.")
def status(call: app.App, words: str, all_loops: bool, asked: bool) -> Result:
    """Stage, scores, counts, reviews, times and the one next action. Changes nothing.

    WHICH is a loop's number, a part of its name, or what it is about; without it the active one is
    shown.
    """
    return ops.listing(call) if all_loops else ops.status(call, words, asked)
