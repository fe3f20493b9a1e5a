"""loopkit score: the spec score, the fit score, the shape that follows."""

from __future__ import annotations

import click

from ..core import intake, score
from ..core.errors import Refused, UsageFault
from ..core.stage import check_leave_intent
from . import app


@app.command("score", "loopkit score --outcome 2 --scope 1 --constraints 1 --success 2 --done 1")
@click.option("--outcome", type=int, help="0 vague wish · 1 metric without target · 2 measurable target")
@click.option("--scope", type=int, help="0 whole application · 1 named module · 2 named file, function, endpoint")
@click.option("--constraints", type=int, help="0 none · 1 general · 2 explicit technical limits")
@click.option("--success", type=int, help="0 none · 1 one way to check · 2 several ways")
@click.option("--done", type=int, help="0 implied · 1 vague end · 2 an end that can be observed")
@click.option("--overrule", metavar="WHY", help="The person lets a low spec score pass.")
def command(call: app.App, overrule: str | None, **values: int | None) -> int:
    """Score the request in five dimensions, 0 to 2 each. A low score stays in intent until it is clearer."""
    loop = call.own_loop()
    given = [name for name in score.DIMENSIONS if values[name] is not None]
    if overrule is not None:
        if given:
            raise UsageFault("--overrule together with scores", "score first, then overrule")
        call.change(loop, intake.overruled, overrule)
    else:
        if not given and loop.state.scores:
            call.answer(loop, _words(loop.state.scores))
            return 0
        call.change(loop, intake.scored, values)
    scores = loop.state.scores or {}
    text = _words(scores)
    try:
        check_leave_intent(scores, loop.state.overruled)
    except Refused as error:
        low = [name for name in score.DIMENSIONS if scores["values"][name] < 2]
        call.answer(loop, f"{text}\nstays in intent: {error}\nunder 2: {', '.join(low)}", scores)
        return 1
    call.answer(loop, text + _form(loop), scores)
    return 0


def _words(scores: dict) -> str:
    return f"spec {scores['spec']}/10, fit {scores['fit']}, shape {scores['shape'] or 'none: blocked'}"


def _form(loop: object) -> str:
    from ..core import shape

    return "\nSHAPE.md (skill hope:shape), types: " + ", ".join(shape.TYPES) + "\n" + shape.FORM.rstrip()
