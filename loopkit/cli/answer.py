"""loopkit answer: the person's answer."""

from __future__ import annotations

import click

from ..core.journal import prose
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.state import LoopState
from . import app


@app.command("answer", 'loopkit answer "The newer one"')
@click.argument("text")
def command(call: app.App, text: str) -> None:
    """Record what the person answered; the loop goes on."""
    loop = call.own_loop()
    if not text.strip():
        raise UsageFault("the answer is empty", 'loopkit answer "<what the person said>"')
    asked = loop.state.session.question
    call.change(loop, _changes, text)
    call.answer(loop, f"answered: {prose.clean(str(asked), 200)}: {prose.clean(text, 300)}")


def _changes(state: LoopState, text: str) -> list:
    if state.session.question is None:
        raise Refused("no question is open", "see loopkit status")
    return [("question_answered", {"text": text})]
