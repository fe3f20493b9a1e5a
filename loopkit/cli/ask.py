"""loopkit ask: a question to the person."""

from __future__ import annotations

import click

from ..core.journal import prose, stage
from ..core.journal.errors import UsageFault
from ..core.journal.state import LoopState
from . import app


@app.command("ask", 'loopkit ask "Which of the two tables is the right one?"')
@click.argument("text")
def command(call: app.App, text: str) -> None:
    """Record a question that only the person can answer; stops are let through until it is
    answered."""
    loop = call.own_loop()
    if not text.strip():
        raise UsageFault("the question is empty", 'loopkit ask "…"')
    call.change(loop, _changes, text)
    call.answer(loop, f"asked: {prose.clean(text, 300)}")


def _changes(state: LoopState, text: str) -> list:
    stage.running(state)
    return [("question_asked", {"text": text})]
