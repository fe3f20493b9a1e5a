"""What an agent answered: checked, recorded, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import replies
from ..core.evidence import checks
from ..core.journal import parts, prose, verdict
from ..core.plan import roles, work
from ..core.steps import answers, briefing, due, kinds, policies, supervision
from ..render.words import quoted
from ..replies import reading
from ..store.loop import Loop
from . import dispatch
from .workspace import Result, Workspace

if TYPE_CHECKING:
    from ..core.steps.kinds import Step


def reply(workspace: Workspace, kind: str, target: str | None, text: str) -> Result:
    """Take an agent's answer of a kind about a task, "plan" or "goal"; one that does not fit is
    asked for once more."""
    loop = workspace.own_loop()
    policies.of(loop.state).check_replies()
    step = answers.find(loop.state, kind, target)
    given, error, instead = None, "", None
    name = kinds.KINDS[step.kind].reply
    try:
        given = replies.parse(name, text)
        if name == "plan_review" and (given["score"] is None or not given["summary"]):
            raise replies.Invalid("score and summary: must be given")
    except replies.Invalid as fault:
        given, error = None, fault.what
        instead = reading.fallback(name, text, _test_command(workspace))
    changes = workspace.change(
        loop, answers.answered, kind, step.subject, given, error, text, instead
    )
    if all(name == "reply_unfit" for name, _ in changes):
        return _again(workspace, loop, step, changes[0][1]["error"])
    data: dict = {"kind": kind, "target": step.subject}
    lines = [_TOLD[name](loop, row) for name, row in changes if name in _TOLD]
    for name, row in changes:
        if name in ("task_failed", "task_diagnosed"):
            data |= work.escalated(loop.state, row["id"], row)
        elif name in ("plan_reviewed", "task_judged", "goal_judged"):
            shown = ("score", "level", "outcome", "band", "approved")
            data |= {key: row[key] for key in shown if key in row}
    added = [row["task"] for name, row in changes if name == "task_added"]
    lines += [f"{row['id']} added: {prose.clean(row['subject'], 100)}" for row in added]
    data["added"] = [row["id"] for row in added]
    stopped = loop.state.session.status in (verdict.FAILED, verdict.PAUSED)
    return Result(loop, "\n".join(filter(None, lines)), data, _out(loop) or None, int(stopped))


def _out(loop: Loop) -> list[str]:
    """The lines of the replies that are still to come."""
    return [briefing.reply(one) for one in due.outstanding(loop.state)]


def _again(workspace: Workspace, loop: Loop, step: Step, error: str) -> Result:
    """The same step once more; its prompt names what was wrong."""
    kind, out = briefing.asked_as(step), _out(loop)
    steps = dispatch.lines(workspace, loop, [step])
    text = (
        f"this {kind} does not fit: {prose.clean(error, 600)}\nasked for again; its brief says so"
    )
    data = {"kind": kind, "target": step.subject, "error": error}
    return Result(loop, text, data, [*steps, *out], 1)


def _test_command(workspace: Workspace) -> str | None:
    """The project's own test command, if one is known."""
    from ..store import project

    known = project.checks(workspace.project)
    return next((one.command for one in known if one.kind == checks.TEST), None)


def weighed(data: dict) -> str:
    """What the rule made of a suggestion, in words; nothing where it agrees or there was none."""
    if data.get("clamped") or data.get("raised"):
        how = "clamped" if data["clamped"] else "raised"
        return f" ({how}, {data['suggested']} was suggested)"
    return ""


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
        roles.APPROVED: "approved",
        parts.REVISE: "to be revised",
        roles.CONTINUE: "not approved, and no revision is left: the work goes on with it",
        roles.LOWER: "not approved, and no revision is left: the lower score is taken",
        roles.PAUSED: "not approved, and no revision is left: the loop is paused",
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
    return "the planner asks the person:\n  " + quoted(row["text"], 2000)


def _paused(loop: Loop, row: dict) -> str:
    return f"the loop is paused: {row['reason']}"


def _invalid(loop: Loop, row: dict) -> str:
    return f"this {row['kind']} does not fit: {prose.clean(row['error'], 600)}"


_TOLD = {
    "reply_unfit": _invalid,
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
