"""A vague request made clear."""

from __future__ import annotations

from .. import replies
from ..core.journal import prose, score, stage, stages
from ..core.journal.state import LoopState
from ..core.request import clarify
from .workspace import Result, Workspace


def ask(workspace: Workspace) -> Result:
    """What is unclear about the request, and the form."""
    loop = workspace.own_loop()
    state = loop.state
    stage.running(state)
    stage.require(state, stages.INTENT, doing="clarifying")
    lines = [f"request: {prose.clean(state.text.strip(), 300)}", "not explicit:"]
    lines += [f"  {name}: {rubric(name)}" for name in clarify.open_dimensions(state)]
    lines.append(_how(state))
    lines.append(
        "skill hope:intent; submit as block YAML, the order only where the request is nearly "
        f"explicit (spec {clarify.ORDER_FROM} or more):"
    )
    lines.append(replies.form("clarification"))
    return Result(loop, "\n".join(lines), steps=["loopkit clarify --file -"])


def rubric(name: str) -> str:
    """What each value of a dimension means."""
    return " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[name]))


def _how(state: LoopState) -> str:
    left = clarify.rounds_left(state)
    if state.session.unattended:
        return (
            f"nobody can be asked: all of it goes under assumptions, each is marked {clarify.MARK}"
        )
    if left:
        return (
            f"{prose.count(left, 'round')} of questions left; experts with options for one: "
            "loopkit panel --clarify <dimension>"
        )
    return "no round of questions left: what is still open goes under assumptions"


def record(workspace: Workspace, row: dict) -> Result:
    """Record what was answered and what is assumed."""
    loop = workspace.own_loop()
    data = workspace.change(loop, clarify.clarified, row)[0][1]
    lines = [f"clarified: {prose.clean(data['echo'], 300)}"]
    for name, text in (*data["answers"].items(), *data["assumptions"].items()):
        lines.append(f"  {name}: {prose.clean(text, 200)}")
    if data["assumptions"]:
        lines.append(f"an assumption is scored {clarify.MOST_ASSUMED} at most")
    return Result(loop, "\n".join(lines), data)
