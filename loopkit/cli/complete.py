"""loopkit complete: the end."""

from __future__ import annotations

import importlib

from ..core import gate
from ..core.state import LoopState
from ..render import card
from . import app
from .gate import digests, lost


@app.command("complete", "loopkit complete")
def command(call: app.App) -> None:
    """Check everything once more and complete the loop; prints the completion card, and what else you should know."""
    loop = call.own_loop()
    call.change(loop, gate.completed, digests(call), lost(loop))
    notes = card.notes(loop.state)
    said = card.render(loop.state)
    if notes:
        said = said.rstrip("\n") + "\nfor you to know:\n" + "\n".join(app.wrapped(f"- {row}") for row in notes)
    learnt = _learnt(loop.state)
    if learnt:
        said = said.rstrip("\n") + "\n" + "\n".join(learnt)
    call.answer(loop, said, {"verdict": loop.state.session.verdict, "notes": notes})


def _learnt(state: LoopState) -> list[str]:
    try:
        learning = importlib.import_module("loopkit.core.learning")
    except ModuleNotFoundError:
        return []
    return learning.summary(state)
