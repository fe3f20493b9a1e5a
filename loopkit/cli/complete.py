"""loopkit complete: the end."""

from __future__ import annotations

from ..core.review import gate
from ..render import card
from . import app
from .gate import digests, lost


@app.command("complete", "loopkit complete")
def command(call: app.App) -> None:
    """Check everything once more and complete the loop; prints the completion card, and what else
    you should know."""
    loop = call.own_loop()
    call.change(loop, gate.completed, digests(call), lost(loop))
    notes = card.notes(loop.state)
    said = [card.render(loop.state).rstrip("\n")]
    if notes:
        said += ["for you to know:", *(app.wrapped(f"- {row}") for row in notes)]
    said += app.taught(loop)
    call.answer(loop, "\n".join(said), {"verdict": loop.state.session.verdict, "notes": notes})
