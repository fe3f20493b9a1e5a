"""loopkit score: the spec score, the fit score, the shape that follows."""

from __future__ import annotations

from collections.abc import Callable

import click

from ..core.journal import score
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.stage import check_leave_intent
from ..core.request import intake
from . import app, shape


def _dimensions(function: Callable) -> Callable:
    """One option for each dimension of the rubric, its values in the help."""
    for name in reversed(score.DIMENSIONS):
        words = " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[name]))
        function = click.option(f"--{name}", type=int, help=words)(function)
    return function


@app.command("score", "loopkit score --outcome 2 --scope 1 --constraints 1 --success 2 --done 1")
@_dimensions
@click.option("--overrule", metavar="WHY", help="The person lets a low spec score pass.")
def command(call: app.App, overrule: str | None, **values: int | None) -> int:
    """Score the request in five dimensions, 0 to 2 each. A low score stays in intent until it is
    clearer."""
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
    call.answer(
        loop,
        "\n".join([text, "SHAPE.md (skill hope:shape):", *shape.brief(call, loop.state)]),
        scores,
    )
    return 0


def _words(scores: dict) -> str:
    return (
        f"spec {scores['spec']}/10, fit {scores['fit']}, shape {scores['shape'] or 'none: blocked'}"
    )
