"""loopkit pause, cancel, ask, answer, confirm, complete: the person's hand on the loop."""

import click

from ..ops import control
from . import app

REASON, TEXT = app.words("reason"), click.argument("text")
WHAT = click.argument("what", type=click.Choice(["shape", "tasks", "wave"]))

pause = app.command("pause", "loopkit pause", REASON)(control.pause)
cancel = app.command("cancel", "loopkit cancel", REASON)(control.cancel)
ask = app.command("ask", 'loopkit ask "Which of the two tables is the right one?"', TEXT)(
    control.ask
)
answer = app.command("answer", 'loopkit answer "The newer one"', TEXT)(control.answer)
confirm = app.command("confirm", "loopkit confirm tasks", WHAT)(control.confirm)
complete = app.command("complete", "loopkit complete")(control.complete)
