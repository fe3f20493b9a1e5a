"""The spec score, the fit score, the shape that follows."""

from __future__ import annotations

from ..core.journal import score
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.stage import check_leave_intent
from ..core.request import intake
from . import shape
from .workspace import Result, Workspace


def values(name: str) -> str:
    """The values of a dimension of the rubric in words."""
    return " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[name]))


def score_request(
    workspace: Workspace, given: dict[str, int | str | None], overrule: str | None = None
) -> Result:
    """Record scores, topics and kind, or an overrule; without either show the scores."""
    loop = workspace.own_loop()
    some = any(value is not None for value in given.values())
    if overrule is not None and some:
        raise UsageFault("--overrule together with scores", "score first, then overrule")
    if overrule is None and not some and loop.state.scores:
        return Result(loop, words(loop.state.scores))
    if overrule is not None:
        workspace.change(loop, intake.overruled, overrule)
    else:
        workspace.change(loop, intake.scored, given)
    scores = loop.state.scores or {}
    text = words(scores)
    try:
        check_leave_intent(scores, loop.state.overruled)
    except Refused as error:
        low = [name for name in score.DIMENSIONS if scores["values"][name] < 2]
        said = f"{text}\nstays in intent: {error}\nunder 2: {', '.join(low)}"
        return Result(loop, said, scores, code=1)
    brief = ["SHAPE.md (skill hope:shape):", *shape.brief(workspace, loop.state)]
    return Result(loop, "\n".join([text, *brief]), scores)


def words(scores: dict) -> str:
    """The scores on a line."""
    return (
        f"spec {scores['spec']}/10, fit {scores['fit']}, shape {scores['shape'] or 'none: blocked'}"
    )
