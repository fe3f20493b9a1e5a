"""loopkit complete: the end."""

from __future__ import annotations

from ..core import gate
from ..render import card
from . import app
from .gate import digests, lost


@app.command("complete", "loopkit complete")
def command(call: app.App) -> None:
    """Check everything once more and complete the loop; prints the completion card."""
    loop = call.own_loop()
    call.change(loop, gate.completed, digests(call), lost(loop))
    call.answer(loop, card.render(loop.state), {"verdict": loop.state.session.verdict})
