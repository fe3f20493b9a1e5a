"""What agents hand over: answers, checked and recorded; long reports, kept in files of the loop."""

import os
from collections.abc import Callable

from .. import replies
from ..core.evidence import checks
from ..core.journal import parts, prose, verdict
from ..core.plan import drafts, events, work
from ..core.steps import answers, context, due, kinds, supervision
from ..core.steps.kinds import Step
from ..render import quoted
from ..replies import lists
from ..store import project, reports, tables
from ..store.loop import Loop
from . import dispatch
from .workspace import Result, Workspace


def reply(
    workspace: Workspace,
    kind: str,
    target: str | None,
    text: str,
    final: bool = False,
    again: bool = True,
) -> Result:
    """Record an agent's answer about a task, "plan" or "goal"; an invalid one is due again, unless
    it is final: its agent has corrected it already. again: then it is dispatched here."""
    loop = workspace.own_loop()
    step = answers.find(loop.state, kind, target)
    answer, error, instead = None, "", None
    name = kinds.KINDS[step.kind].reply
    try:
        answer = replies.parse(name, text)
        if name == "plan_review" and (answer["score"] is None or not answer["summary"]):
            raise replies.Invalid("score and summary: must be given")
    except replies.Invalid as fault:
        answer, error = None, fault.what
        known = project.checks(workspace.project)
        tests = [check.command for check in known if check.kind == checks.TEST]
        instead = lists.fallback(name, text, tests[0] if tests else None)
    changes = workspace.change(
        loop, answers.answered, kind, step.subject, answer, error, text, instead, final
    )
    if all(name == "reply_unfit" for name, _ in changes):
        return _unfit(workspace, loop, step, changes[0][1]["error"], again)
    data: dict = {"kind": kind, "target": step.subject}
    lines = [_TOLD[name](row) for name, row in changes if name in _TOLD]
    for name, row in changes:
        if name in ("task_failed", "task_diagnosed"):
            data |= work.escalated(loop.state, row["id"], row)
        elif name in ("plan_reviewed", "task_judged", "goal_judged"):
            shown = ("score", "level", "outcome", "band", "approved")
            data |= {key: row[key] for key in shown if key in row}
        elif name == "task_blocked" and row["kind"] != "dependency":
            lines.append(_waits(workspace, row))
    added = [row["task"] for name, row in changes if name == "task_added"]
    lines += [f"{row['id']} added: {prose.clean(row['subject'], 100)}" for row in added]
    data["added"] = [row["id"] for row in added]
    stopped = loop.state.session.status in (verdict.FAILED, verdict.PAUSED)
    return Result(loop, "\n".join(filter(None, lines)), data, _out(loop) or None, int(stopped))


def _waits(workspace: Workspace, row: dict) -> str:
    line = f"{row['id']} waits for the person, the others go on: {prose.clean(row['text'], 600)}"
    if workspace.unattended:
        return line
    return f'{line}\n  ask now; then: loopkit task unblock {row["id"]} "<what the person said>"'


def _out(loop: Loop) -> list[str]:
    """The lines of the replies that are still to come."""
    return [context.reply(step) for step in due.outstanding(loop.state)]


def _unfit(workspace: Workspace, loop: Loop, step: Step, error: str, again: bool) -> Result:
    """The same step is due once more; its prompt names what was wrong."""
    data = {"kind": context.asked_as(step), "target": step.subject, "error": error}
    text, out = _TOLD["reply_unfit"](data), _out(loop)
    if again:
        text += "\nasked for again; its prompt says so"
        out = [*dispatch.lines(workspace, loop, [step]), *out]
    return Result(loop, text, data, out, 1)


def weighed(row: dict) -> str:
    """What the rule made of a suggestion, in words; nothing where it agrees or there was none."""
    if row.get("clamped") or row.get("raised"):
        how = "clamped" if row["clamped"] else "raised"
        return f" ({how}, {row['suggested']} was suggested)"
    return ""


def _score(row: dict) -> str:
    return "no score" if row.get("score") is None else f"score {row['score']}"


def _level(row: dict) -> str:
    level = supervision.leveled(row["level"])
    return f", {level}" if level else ""


def _warning(row: dict) -> str:
    return f"; warning: {row['warning']}" if row.get("warning") else ""


def _reviewed(row: dict) -> str:
    outcomes = {
        events.APPROVED: "approved",
        parts.REVISE: "to be revised",
        events.CONTINUE: "not approved, and no revision is left: the work goes on with it",
        events.LOWER: "not approved, and no revision is left: the lower score is taken",
        events.PAUSED: "not approved, and no revision is left: the loop is paused",
    }
    outcome = outcomes.get(row["outcome"], row["outcome"])
    return f"plan, revision {row['revision']}: {_score(row)}, {outcome}"


_BANDS = {"approve": "approved", "revise": "to be revised", "reject": "rejected"}
_TOLD: dict[str, Callable[[dict], str]] = {
    "reply_unfit": lambda row: f"this {row['kind']} does not fit: {prose.clean(row['error'], 600)}",
    "plan_proposed": lambda row: (
        f"{len(row['replaces'])} tasks of the former plan replaced{_warning(row)}"
        if row["replaces"]
        else f"plan recorded{_warning(row)}"
    ),
    "plan_reviewed": _reviewed,
    "task_coded": lambda row: (
        f"{row['id']} {row['kind']}: {row['status']}; "
        f"{prose.clean(' '.join(row['summary'].split()), 160)}"
    ),
    "task_tested": lambda row: (
        f"{row['id']} {'passed' if row['passed'] else 'not passed'}: "
        f"{row['tests_passed']} of {row['tests_run']} tests passed"
    ),
    "task_judged": lambda row: f"{row['id']}: {_score(row)}, {_BANDS[row['band']]}{_level(row)}",
    "task_failed": lambda row: (
        f"{row['id']} failed, attempt {row['attempt']} ({row['result']}): {row['action']}"
    ),
    "task_diagnosed": lambda row: (
        f"{row['id']} diagnosed: {row['action']}{weighed(row)}"
        + ("" if row["suggested"] else ", the answer names no action")
    ),
    "task_split": lambda row: f"{row['id']} split into {', '.join(row['subtasks'])}{_warning(row)}",
    "task_completed": lambda row: f"{row['id']} completed",
    "goal_judged": lambda row: (
        f"goal: {_score(row)}, {'reached' if row['approved'] else 'not reached yet'}{_level(row)}"
    ),
    "question_asked": lambda row: f"the planner asks the person:\n  {quoted(row['text'], 2000)}",
    "paused": lambda row: f"the loop is paused: {row['reason']}",
}


# -- long reports

#: The report whose lines are kept as relevant patterns.
GATHER = "gather"


def keep_report(workspace: Workspace, name: str, text: str, max_mode: int) -> Result:
    """Keep a report without what looks like a credential, with at most these permission bits."""
    loop = workspace.own_loop()
    text = tables.masks().without(text, workspace.environment)
    target = reports.keep(loop.folder, name, text, max_mode)
    path = os.path.join(".loop", os.path.relpath(target, loop.root))
    lines = [path]
    if reports.slugged(name) == GATHER:
        for _, data in workspace.change(loop, drafts.patterns, text):
            lines.append(f"{prose.count(len(data['lines']), 'pattern')} in context.md")
    return Result(loop, "\n".join(lines), {"path": path}, [])
