"""loopkit pause, cancel, ask, answer, confirm, complete: the person's hand on the loop."""

from __future__ import annotations

import click

from ..ops import control
from . import app


@app.command("pause", "loopkit pause")
@click.argument("reason", nargs=-1)
def pause(call: app.App, reason: tuple) -> app.Result:
    """Pause the loop: the session is let go, nothing is lost; loopkit resume goes on."""
    return control.pause(call, " ".join(reason))


@app.command("cancel", "loopkit cancel")
@click.argument("reason", nargs=-1)
def cancel(call: app.App, reason: tuple) -> app.Result:
    """End the loop from any session: hooks fall silent, the work and the loop's folder stay as they
    are."""
    return control.cancel(call, " ".join(reason))


@app.command("ask", 'loopkit ask "Which of the two tables is the right one?"')
@click.argument("text")
def ask(call: app.App, text: str) -> app.Result:
    """Record a question that only the person can answer; stops are let through until it is
    answered."""
    return control.ask(call, text)


@app.command("answer", 'loopkit answer "The newer one"')
@click.argument("text")
def answer(call: app.App, text: str) -> app.Result:
    """Record what the person answered; the loop goes on."""
    return control.answer(call, text)


@app.command("confirm", "loopkit confirm tasks")
@click.argument("what", type=click.Choice(["shape", "tasks", "wave"]))
def confirm(call: app.App, what: str) -> app.Result:
    """Record that the person has agreed to the shape, the task list or the next wave."""
    return control.confirm(call, what)


@app.command("complete", "loopkit complete")
def complete(call: app.App) -> app.Result:
    """Check everything once more and complete the loop; prints the completion card, and what else
    you should know."""
    return control.complete(call)
