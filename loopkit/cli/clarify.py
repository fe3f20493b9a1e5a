"""loopkit clarify: what was asked and answered, or assumed, about a vague request."""

from __future__ import annotations

import click

from ..core.journal import prose, score, stage, stages
from ..core.journal.state import LoopState
from ..core.request import clarify
from . import app

FORM = """\
echo: "<the whole request in one sentence>"
task: "…"
context: "…"
done: "<what can be seen at the end>"
stakes: "<what it costs if it is wrong>"
reviewers: "<who has to like it>"
answers:
  outcome: "A) …"
assumptions:
  scope: "…"
must_nots: ["…", "…"]
approved: <yes | no>"""
ORDER = """\
order:
  objective: "…"
  non_goals: []
  constraints: []
  acceptance: []
  must_nots: []
  stop_conditions: []"""


@app.command("clarify", "loopkit clarify --file -")
@click.option(
    "--file",
    "source",
    metavar="FILE",
    help="Answers and assumptions as block YAML; - for standard input.",
)
def command(call: app.App, source: str | None) -> None:
    """Show what is unclear about the request and how to ask; or record what was answered and what
    is assumed."""
    loop = call.own_loop()
    if source is None:
        stage.running(loop.state)
        stage.require(loop.state, stages.INTENT, doing="clarifying")
        call.answer(loop, "\n".join(_brief(loop.state)), None, ["loopkit clarify --file -"])
        return
    data = call.change(loop, clarify.clarified, app.read_record(call, source, dict))[0][1]
    lines = [f"clarified: {prose.clean(data['echo'], 300)}"]
    lines += [f"  {name}: {prose.clean(text, 200)}" for name, text in data["answers"].items()]
    lines += [f"  {name}: {prose.clean(text, 200)}" for name, text in data["assumptions"].items()]
    if data["assumptions"]:
        lines.append(f"an assumption is scored {clarify.MOST_ASSUMED} at most")
    call.answer(loop, "\n".join(lines), data)


def _brief(state: LoopState) -> list[str]:
    lines = [f"request: {prose.clean(state.text.strip(), 300)}", "not explicit:"]
    for name in clarify.open_dimensions(state):
        lines.append(
            f"  {name}: "
            + " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[name]))
        )
    left = clarify.rounds_left(state)
    if state.session.unattended:
        lines.append(
            f"nobody can be asked: all of it goes under assumptions, each is marked {clarify.MARK}"
        )
    elif left:
        lines.append(
            f"{prose.count(left, 'round')} of questions left; experts with options for one: "
            "loopkit panel --clarify <dimension>"
        )
    else:
        lines.append("no round of questions left: what is still open goes under assumptions")
    lines.append("skill hope:intent; hand in as block YAML:\n" + FORM)
    lines.append(
        f"where the request is nearly explicit (spec {clarify.ORDER_FROM} or more) also:\n" + ORDER
    )
    return lines
