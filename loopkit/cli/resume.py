"""loopkit resume: go on with a loop, here."""

from __future__ import annotations

import click

from ..ops import resume
from . import app


@app.command("resume", "loopkit resume --iterations +25")
@click.argument("words", nargs=-1, metavar="[WHICH]")
@app.flag("--take-over", help="Also where another running session owns it.")
@app.flag("--adopt", help="Also where it came with the folder from elsewhere and you trust it.")
@app.flag(
    "--again", help="Also where it ended as impossible: its open tasks get all attempts anew."
)
@click.option("--iterations", metavar="N", help="Another limit: N, +N, none.")
@click.option("--usd", metavar="N", help="Another limit: N, +N, none.")
@click.option("--time", "seconds", metavar="T", help="Another limit: 2h, +30m, none.")
@click.option("--answer", metavar="TEXT", help="The person's answer to the open question.")
@app.flag("--ask", "typed", hidden=True, help="Take the words typed after /loop:resume.")
def command(
    call: app.App,
    words: tuple,
    typed: bool,
    take_over: bool,
    adopt: bool,
    again: bool,
    answer: str | None,
    **most: str | None,
) -> app.Result:
    """Go on with a loop in this session: same stage, same scores, same tasks. Limits may be raised
    on the way.

    WHICH is its number, a part of its name, or what it is about; without it the active one goes on.
    A loop that was active until then is paused.
    """
    return resume.resume(
        call,
        resume.words_given(call) if typed and not words else " ".join(words),
        take_over=take_over,
        adopt=adopt,
        again=again,
        answer=answer,
        most={kind: text for kind, text in most.items() if text},
    )
