"""loopkit resume: go on with a loop, here."""

from __future__ import annotations

from typing import Any

import click

from ..ops import resume as ops
from ..ops.workspace import Result
from . import app


@app.command("resume", "loopkit resume --iterations +25", app.words("words", metavar="[WHICH]"))
@app.flag("--take-over", help="Also where another running session owns it.")
@app.flag("--adopt", help="Also where it came with the folder from elsewhere and you trust it.")
@app.flag(
    "--again", help="Also where it ended as impossible: its open tasks get all attempts anew."
)
@app.limit("--iterations", "Another limit: N, +N, none.")
@app.limit("--usd", "Another limit: N, +N, none.")
@app.limit("--time", "Another limit: 2h, +30m, none.")
@click.option("--answer", metavar="TEXT", help="The person's answer to the open question.")
@app.flag("--ask", "typed", hidden=True, help="Take the words typed after /loop:resume.")
def resume(call: app.App, words: str, typed: bool, **how: Any) -> Result:
    """Go on with a loop in this session: same stage, same scores, same tasks. Limits may be raised
    on the way.

    WHICH is its number, a part of its name, or what it is about; without it the active one goes on.
    A loop that was active until then is paused.
    """
    words = ops.typed(call) if typed and not words else words
    return ops.resume(call, words, **app.with_limits(how))
