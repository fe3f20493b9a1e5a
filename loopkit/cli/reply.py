"""loopkit reply: what a role answers, checked and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..core.evidence import checks
from ..core.journal import prose, supervised, verdict
from ..core.plan import work
from ..core.steps import answers, briefing, due, policies, supervision
from ..store.loop import Loop
from . import app, handout
from .task import weighed

if TYPE_CHECKING:
    from ..core.steps.kinds import Step


@app.command("reply", "loopkit reply test T-001 --file -")
@click.argument("kind", metavar="KIND", type=click.Choice(supervised.KINDS))
@click.argument("target", required=False)
@click.option(
    "--file",
    "source",
    required=True,
    metavar="FILE",
    help="The reply, unchanged; - for standard input.",
)
def command(call: app.App, kind: str, target: str | None, source: str) -> int:
    """Hand in the reply of an agent: plan, replan, implementation, fix, test, verification or
    diagnosis.

    It is block YAML or JSON in the form that the agent's brief shows. TARGET is a task; of a
    verification also `plan` or `goal`; a plan has none. A reply that does not fit is asked for once
    more.
    """
    from ..engine import replies

    text = app.read_input(call, source)
    loop = call.own_loop()
    policies.of(loop.state).check_replies()
    step = answers.find(loop.state, kind, target)
    reply, error, instead = None, "", None
    try:
        reply = replies.parse(kind, text)
    except replies.Unfit as fault:
        error = fault.error
        instead = replies.fallback(kind, text, _test_command(call))
    changes = call.change(loop, answers.answered, kind, step.subject, reply, error, text, instead)
    if all(change[0] == "reply_unfit" for change in changes):
        return _again(call, loop, step, changes[0][1]["error"])
    data: dict = {"kind": briefing.asked_as(step), "target": step.subject}
    said = []
    for name, row in changes:
        line = _TOLD[name](loop, row) if name in _TOLD else ""
        said += [line] if line else []
        if name in ("task_failed", "task_diagnosed"):
            data |= work.escalated(loop.state, row["id"], row)
        elif name in ("plan_reviewed", "task_judged", "goal_judged"):
            data |= {
                key: row.get(key)
                for key in ("score", "level", "outcome", "band", "approved")
                if key in row
            }
    added = [row["task"] for name, row in changes if name == "task_added"]
    said += [f"{row['id']} added: {prose.clean(row['subject'], 100)}" for row in added]
    out = [briefing.reply(one) for one in due.outstanding(loop.state)]
    call.answer(loop, "\n".join(said), {**data, "added": [row["id"] for row in added]}, out or None)
    return 1 if loop.state.session.status in (verdict.FAILED, verdict.PAUSED) else 0


def _again(call: app.App, loop: Loop, step: Step, error: str) -> int:
    """The same step once more; its brief names what was wrong."""
    out = [briefing.reply(one) for one in due.outstanding(loop.state)]
    steps = handout.hand_out(call, loop, [step])
    kind = briefing.asked_as(step)
    said = (
        f"this {kind} does not fit: {prose.clean(error, 600)}\nasked for again; its brief says so"
    )
    data = {"kind": kind, "target": step.subject, "error": error}
    call.answer(loop, said, data, [*steps, *out])
    return 1


def _test_command(call: app.App) -> str | None:
    """The project's own test command, if one is known."""
    from ..store import project

    return next(
        (one.command for one in project.checks(call.project) if one.kind == checks.TEST), None
    )


# -- what is said of each line


def _score(row: dict) -> str:
    return "no score" if row.get("score") is None else f"score {row['score']}"


def _proposed(loop: Loop, row: dict) -> str:
    said = (
        f"{len(row['replaces'])} tasks of the former plan replaced"
        if row["replaces"]
        else "plan recorded"
    )
    return f"{said}; warning: {row['warning']}" if row["warning"] else said


def _reviewed(loop: Loop, row: dict) -> str:
    words = {
        supervised.APPROVED: "approved",
        supervised.REVISE: "to be revised",
        supervised.CONTINUE: "not approved, and no revision is left: the work goes on with it",
        supervised.LOWER: "not approved, and no revision is left: the lower score is taken",
        supervised.PAUSED: "not approved, and no revision is left: the loop is paused",
    }
    return (
        f"plan, revision {row['revision']}: {_score(row)}, "
        f"{words.get(row['outcome'], row['outcome'])}"
    )


def _coded(loop: Loop, row: dict) -> str:
    return (
        f"{row['id']} {row['kind']}: {row['status']}; "
        f"{prose.clean(' '.join(row['summary'].split()), 160)}"
    )


def _tested(loop: Loop, row: dict) -> str:
    counts = f"{row['tests_passed']} of {row['tests_run']} tests passed"
    return f"{row['id']} {'passed' if row['passed'] else 'not passed'}: {counts}"


def _level(row: dict) -> str:
    said = supervision.leveled(row["level"])
    return f", {said}" if said else ""


def _judged(loop: Loop, row: dict) -> str:
    words = {"approve": "approved", "revise": "to be revised", "reject": "rejected"}
    return f"{row['id']}: {_score(row)}, {words[row['band']]}{_level(row)}"


def _failed(loop: Loop, row: dict) -> str:
    return f"{row['id']} failed, attempt {row['attempt']} ({row['result']}): {row['action']}"


def _diagnosed(loop: Loop, row: dict) -> str:
    known = "" if row["suggested"] else ", the answer names no action"
    return f"{row['id']} diagnosed: {row['action']}{weighed(row)}{known}"


def _split(loop: Loop, row: dict) -> str:
    warning = f"; warning: {row['warning']}" if row.get("warning") else ""
    return f"{row['id']} split into {', '.join(row['subtasks'])}{warning}"


def _goal(loop: Loop, row: dict) -> str:
    return (
        f"goal: {_score(row)}, {'reached' if row['approved'] else 'not reached yet'}{_level(row)}"
    )


def _completed(loop: Loop, row: dict) -> str:
    return f"{row['id']} completed"


def _asked(loop: Loop, row: dict) -> str:
    return "the planner asks the person:\n  " + app.quoted(row["text"], 2000)


def _paused(loop: Loop, row: dict) -> str:
    return f"the loop is paused: {row['reason']}"


def _unfit(loop: Loop, row: dict) -> str:
    return f"this {row['kind']} does not fit: {prose.clean(row['error'], 600)}"


_TOLD = {
    "reply_unfit": _unfit,
    "plan_proposed": _proposed,
    "plan_reviewed": _reviewed,
    "task_coded": _coded,
    "task_tested": _tested,
    "task_judged": _judged,
    "task_failed": _failed,
    "task_diagnosed": _diagnosed,
    "task_split": _split,
    "task_completed": _completed,
    "goal_judged": _goal,
    "question_asked": _asked,
    "paused": _paused,
}
