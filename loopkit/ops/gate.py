"""The gate: what it waits for before the loop completes."""

import functools
from collections.abc import Callable

from .. import replies
from ..core.journal import prose, stage, verdict
from ..core.journal.errors import Refused
from ..core.journal.state import LoopState
from ..core.request import topics
from ..core.review import gate, result, review
from ..core.steps import due as rules
from ..core.steps import kinds
from ..core.steps.kinds import Step
from ..store import digest, evidence
from ..store.loop import Loop
from .workspace import Result, Workspace


def files(workspace: Workspace, loop: Loop) -> tuple[Callable[[str], str], dict[str, str]]:
    """What the gate looks at on disk: a file's present digest, cached; why evidence of a task or
    criterion is not what was recorded."""
    lost = evidence.unlike(loop)
    return functools.cache(functools.partial(digest.of, workspace.project)), lost


def _missing(workspace: Workspace, loop: Loop) -> list[tuple[str, str | None]]:
    """What the gate waits for, and the step that brings it."""
    return gate.open_points(loop.state, *files(workspace, loop))


def next_check(workspace: Workspace, loop: Loop) -> list[str]:
    """The step after a check in review: the next one the gate waits for, or the gate itself."""
    if loop.state.session.dispatches:
        return [rules.NEXT]
    missing = _missing(workspace, loop)
    step = missing[0][1] if missing else "loopkit gate"
    return [step] if step else []


def checks(workspace: Workspace, loop: Loop) -> list[str]:
    """Tasks and criteria whose checks the gate waits for."""
    waiting = {step for _, step in _missing(workspace, loop)}
    names = (*loop.state.tasks, *loop.state.criteria)
    return [name for name in names if rules.check(loop.state, name) in waiting]


def due(workspace: Workspace, loop: Loop) -> list[Step]:
    """What the loop waits for now, by its files too: a check that a change has made stale, or that
    has not run, comes before whoever is asked for an opinion, and before the gate."""
    state = loop.state
    steps = rules.due(state)
    judging = ([kinds.THOROUGH_REVIEW], [kinds.GATE], *([[kinds.PROOFS]] if state.waves else []))
    if [step.kind for step in steps] not in judging:
        return steps
    if review.with_experts(state):
        return steps
    return [kinds.step(kinds.CHECK, name) for name in checks(workspace, loop)] or steps


def ask(workspace: Workspace) -> Result:
    """What the gate still waits for (code 1), or its form."""
    from . import changes as measured

    loop = workspace.own_loop()
    noted = measured.at_end(workspace, loop)
    if noted and (loop.state.changes.asked or loop.state.session.status != verdict.RUNNING):
        return Result(loop, "\n".join(noted), code=1)
    missing = _missing(workspace, loop)
    if missing:
        points = [what for what, _ in missing]
        text = "\n".join(
            [*noted, "the gate waits:", *(prose.clean(point, 400) for point in points)]
        )
        step = None if loop.state.session.dispatches else missing[0][1]
        steps = [step] if step else None
        return Result(loop, text, {"missing": points}, steps, code=1)
    if loop.state.stage != stage.REVIEW:
        what = f"the loop is in {loop.state.stage}"
        raise Refused(what, "the gate comes after the thorough review")
    kind = topics.kind_of(loop.state) or stage.BUILD
    text = "\n".join([*_block(loop.state, kind), "submit as block YAML:", _form(loop, kind)])
    return Result(loop, text, {"kind": kind}, ["loopkit gate --file -"])


def _block(state: LoopState, kind: str) -> list[str]:
    lines = [f"every check is there; try the four points of a {kind}"]
    for other, points in gate.POINTS.items():
        if other != kind and not topics.kind_of(state):
            texts = ", ".join(f"{name} ({text})" for name, text in points.items())
            lines.append(f"if it is a {other}: {texts}")
    lines += [f"doubt, {row}" for row in gate.doubts(state)]
    lines += [f"criterion {row.id} ({row.type}): {row.text}" for row in gate.told(state)]
    watched = gate.watched(state)
    how = {row.id: row.how for row in result.rows(state)}
    lines += [f"mustNot {row.id} ({how[row.id]}): {row.text}" for row in watched]
    if watched:
        names = ", ".join(row.id for row in watched)
        lines.append(
            f"{names}: left out, unless it is broken: FAIL and what you saw; that stops the loop"
        )
    return lines


def _form(loop: Loop, kind: str) -> str:
    """The record to submit: the points of a kind of work, criteria that no command verifies."""
    points = {
        name: f"{meaning}: PASS how you know | FAIL what is wrong"
        for name, meaning in gate.POINTS[kind].items()
    }
    state = loop.state
    criteria = {row.id: "PASS what was seen | FAIL what is wrong" for row in gate.told(state)}
    criteria |= {row.id: "only if it is broken: FAIL what was seen" for row in gate.watched(state)}
    card = ("confidence", "reversal", "size", "alternative", "risk")
    asked = ("kind", "points", *(("criteria",) if criteria else ()), *card)
    form = replies.form("gate", *asked, kind=kind, points=points, criteria=criteria)
    return "\n".join([form, "# only where something is FAIL:", replies.form("gate", "verify")])


def record(workspace: Workspace, row: dict) -> Result:
    """Record the answers. Code 1 where the gate does not pass."""
    from . import changes as measured

    loop = workspace.own_loop()
    found = files(workspace, loop)
    gate.decided(loop.state, row, *found)  # refused before anything is recorded
    measured.at_end(workspace, loop)
    made = workspace.change(loop, gate.decided, row, *found)
    data = next(data for kind, data in made if kind == "gate_result")
    if not data["passed"]:
        failed = "; ".join(prose.clean(what, 300) for what in data["failed"])
        text = f"gate refused: {failed}\n{', '.join(data['tasks'])} to fix it"
        return Result(loop, text, {"passed": False, "tasks": data["tasks"]}, code=1)
    text = "; ".join([f"gate passed: {data['card']}", *gate.doubts(loop.state)])
    row = {"passed": True, "card": data["card"]}
    if data["card"] == gate.RESEARCH:
        text = (
            f"RESEARCH: confidence {data['confidence']} % is under {gate.RESEARCH_UNDER}: find out "
            "more, answer anew"
        )
    return Result(loop, text, row, code=int(data["card"] == gate.RESEARCH))
