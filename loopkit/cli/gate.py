"""loopkit gate: what is missing before completion."""

from __future__ import annotations

import click

from ..core.journal import prose, score
from ..core.journal.errors import Refused
from ..core.request import topics
from ..core.review import gate
from ..ops.gate import digests, lost
from ..store.loop import Loop
from . import app

FORM = """\
kind: {kind}
points:
{points}{criteria}
verify:
  <what fails>: "<command that exits 0 once it is mended; leave verify out where nothing fails>"
confidence: <0-100>
reversal: <{reversals}>
size: <{sizes}>
alternative: "<the best other way>"
risk: "<what could still go wrong>\""""


def form(loop: Loop, kind: str) -> str:
    """The record to hand in, with the points of a kind of work and the criteria that no command
    verifies."""
    points = [
        f'  {name}: "<{meaning}: PASS how you know | FAIL what is wrong>"'
        for name, meaning in gate.POINTS[kind].items()
    ]
    rows = [
        f'  {row.id}: "<PASS what was seen | FAIL what is wrong>"' for row in gate.told(loop.state)
    ]
    return FORM.format(
        kind=kind,
        points="\n".join(points),
        criteria="\ncriteria:\n" + "\n".join(rows) if rows else "",
        reversals=" | ".join(f"{name} {text}" for name, text in gate.REVERSALS.items()),
        sizes=" | ".join(map(str, gate.SIZES)),
    )


@app.command("gate", "loopkit gate --file -")
@click.option(
    "--file", "source", metavar="FILE", help="The answers as block YAML; - for standard input."
)
def command(call: app.App, source: str | None) -> int:
    """Show what the gate still waits for, or answer for it. It needs every task completed with
    evidence that fits, the thorough review passed, every criterion seen, and four points answered
    for the kind of work."""
    loop = call.own_loop()
    if source:
        changes = call.change(
            loop, gate.decided, app.read_record(call, source, dict), digests(call), lost(loop)
        )
        result = next(change[1] for change in changes if change[0] == "gate_result")
        if result["card"] == gate.RESEARCH and result["passed"]:
            why = (
                f"confidence {result['confidence']} % is under {gate.RESEARCH_UNDER}: find out "
                "more, answer anew"
            )
            call.answer(loop, f"RESEARCH: {why}", {"passed": True, "card": gate.RESEARCH})
            return 1
        if result["passed"]:
            call.answer(
                loop, f"gate passed: {result['card']}", {"passed": True, "card": result["card"]}
            )
            return 0
        mend = f"{', '.join(result['tasks'])} to mend it"
        call.answer(
            loop,
            f"gate refused: {'; '.join(prose.clean(one, 300) for one in result['failed'])}\n{mend}",
            {"passed": False, "tasks": result["tasks"]},
        )
        return 1
    missing = gate.open_points(loop.state, digests(call), lost(loop))
    if missing:
        lines = [what for what, _ in missing]
        call.answer(
            loop,
            "the gate waits:\n" + "\n".join(prose.clean(one, 400) for one in lines),
            {"missing": lines},
            [missing[0][1]] if missing[0][1] else None,
        )
        return 1
    if loop.state.stage != "review":
        raise Refused(
            f"the loop is in {loop.state.stage}", "the gate comes after the thorough review"
        )
    named = topics.kind_of(loop.state)
    kind = named if named in gate.POINTS else score.BUILD
    lines = [f"every check is there; try the four points of a {kind}"]
    for other, points in gate.POINTS.items():
        if other != kind and not named:
            lines.append(
                f"if it is a {other}: "
                + ", ".join(f"{name} ({text})" for name, text in points.items())
            )
    lines += [f"criterion {row.id} ({row.type}): {row.text}" for row in gate.told(loop.state)]
    watched = gate.watched(loop.state)
    lines += [f"mustNot {row.id} (the thorough review looked at it): {row.text}" for row in watched]
    if watched:
        names = ", ".join(row.id for row in watched)
        lines.append(
            f"{names}: only if it has come true, under criteria: FAIL and what you saw; that "
            "stops the loop"
        )
    lines.append("hand in as block YAML:\n" + form(loop, kind))
    call.answer(loop, "\n".join(lines), {"kind": kind}, ["loopkit gate --file -"])
    return 0
