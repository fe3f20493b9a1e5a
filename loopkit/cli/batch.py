"""Reviews that decide, by the command line: of the plan, of a batch; who is asked, what is told,
what is recorded."""

from __future__ import annotations

from .. import replies
from ..core.journal import parts, prose
from ..core.journal import task as tasks
from ..core.journal.errors import UsageFault
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.plan import roles, work
from ..core.review import batch_review
from ..core.steps import briefing, due, kinds, policies
from ..ops import decide, dispatch
from ..ops.review import reasons
from ..store.loop import Loop
from . import app

PLAN_REPLY = "loopkit review --plan --file -"
#: Characters of a task's subject, tasks whose attempts are told.
_SUBJECT = 100


# -- the plan


def of_plan(call: app.App, source: str | None, why: str | None) -> None:
    """`review --plan`: ask for it, record it, or (`why`) let the plan pass as the person says."""
    if why is not None and source is not None:
        raise UsageFault(
            "both --file and --waive", "a review is submitted, or the person lets the plan pass"
        )
    loop = call.own_loop()
    policies.of(loop.state).check_reviews("loopkit review --plan")
    if why is not None:
        call.change(loop, batch_review.waived, why)
        call.answer(
            loop,
            f"the plan passes as it is: {prose.clean(why, 300)}",
            {"outcome": roles.CONTINUE},
        )
        return
    if source is None:
        _ask_plan(call, loop)
        return
    given = app.read_record(call, source, "plan_review")
    changes = call.change(loop, batch_review.planned, given)
    data = changes[0][1]
    names = {roles.APPROVED: "APPROVED", parts.REVISE: "NEEDS REVISION"}
    lines = [f"plan review: {names.get(data['outcome'], 'NEEDS REVISION, the person is asked')}"]
    lines += [prose.clean(one, 200) for one in data["issues"][:20]]
    lines += [f"missing: {prose.clean(one, 200)}" for one in data["missing"][:20]]
    if (
        data["outcome"] == roles.APPROVED
        and batch_review.claimed(given) != batch_review.STATUSES[0]
    ):
        lines.append(
            "the review says NEEDS REVISION but names no BLOCKER, and only a BLOCKER sends a plan "
            "back"
        )
    if data["outcome"] == parts.REVISE:
        lines.append("the planner is told all this")
    if data["outcome"] == roles.ASKED:
        lines.append(app.quoted(changes[-1][1]["text"], 2000))
    lines += [decide.shown(loop, row) for kind, row in changes if kind == "anti_pattern_recorded"]
    call.answer(
        loop,
        "\n".join(lines),
        {name: data[name] for name in ("outcome", "approved", "issues", "missing")},
    )


def _ask_plan(call: app.App, loop: Loop) -> None:
    batch_review.check_plan(loop.state)
    form = replies.form("plan_review", "summary", "findings", "missing")
    step = kinds.step(kinds.PLAN_REVIEW, roles.OF_PLAN)
    if due.is_out(loop.state, step):
        said = f"loop:{step.agent} has been asked; submit its answer as block YAML:\n{form}"
        call.answer(loop, said, {"asked": step.agent}, [PLAN_REPLY])
        return
    path = dispatch.write(call, loop, step, PLAN_REPLY, form)

    def asked(state: LoopState) -> list:
        batch_review.check_plan(state)
        return [briefing.asked(state, step)]

    call.change(loop, asked)
    call.answer(loop, "", {"brief": path}, [briefing.agent(loop.state, step, path), PLAN_REPLY])


# -- a batch


def of_batch(
    call: app.App,
    wave: int | None,
    scaffold: bool,
    source: str | None,
    brief: str | None,
    light: dict,
) -> None:
    """`review --wave N` and `review --scaffold` where batches are reviewed: ask, brief the
    reviewer, or record.

    light: what was given as for a light review, which this is not.
    """
    if light:
        raise UsageFault(
            "a batch review decides, so it needs verdicts",
            "submit it with --file -; without it: its form",
        )
    kind = batch_review.SCAFFOLD if scaffold else batch_review.BATCH
    if brief is not None:
        loop = call.loop()
        policies.of(loop.state).check_reviews("loopkit review")
        waiting = batch_review.check_batch(loop.state, wave, kind)
        call.answer(loop, "\n".join(_brief(loop.state, waiting)), None, [])
        return
    loop = call.own_loop()
    policies.of(loop.state).check_reviews("loopkit review")
    if source is None:
        _ask_batch(call, loop, wave, kind)
        return
    changes = call.change(
        loop, batch_review.judged, wave, kind, app.read_record(call, source, "review")
    )
    data = changes[0][1]
    call.answer(
        loop,
        "\n".join(_said(loop, data, changes)),
        {name: data[name] for name in ("verdicts", "findings")},
    )


def _ask_batch(call: app.App, loop: Loop, wave: int | None, kind: str) -> None:
    """Give the batch to one reviewer; while it is there nobody else is asked."""
    anew = call.change(loop, batch_review.asked, wave, kind)
    own, waiting = batch_review.line(loop.state), work.running(loop.state)
    data = {"tasks": waiting, "asked": bool(anew)}
    if not anew:
        said = f"loop:review has been asked; submit its answer as block YAML:\n{_form(waiting)}"
        call.answer(loop, said, data, [f"{own} --file -"])
        return
    bare = [one for one in waiting if not work.proven(loop.state.tasks[one])]
    said = f"one review of the whole batch: {', '.join(waiting)}"
    if bare:
        said += (
            f"\nno passing check yet: {', '.join(bare)}; it can only be `changes`, or wait for "
            "its report"
        )
    number = loop.state.wave.number if loop.state.wave else 0
    agent = (
        f"agent loop:review: Review batch {number} of loop {loop.state.name}. Run `{own} --brief "
        "batch` first."
    )
    call.answer(loop, said, data, [agent, f"{own} --file -"])


def _form(waiting: list[str]) -> str:
    verdicts = dict.fromkeys(waiting, f"<{' | '.join(batch_review.VERDICTS)}>")
    asked = ("build", "tests", "lint", "verdicts", "findings")
    return replies.form("review", *asked, verdicts=verdicts)


def _said(loop: Loop, data: dict, changes: list) -> list[str]:
    kinds = {"task_completed": "completed", "task_failed": "failed"}
    lines = [f"review of {data['mode']} {data['wave']} recorded"]
    failed = [name for name in ("build", "tests") if data["checks"].get(name) == "failed"]
    if failed:
        lines[0] += f": {' and '.join(failed)} failed, so nothing is approved"
    for kind, row in changes:
        if kind in kinds:
            action = f", attempt {row['attempt']}: {row['action']}" if kind == "task_failed" else ""
            lines.append(f"{row['id']} {kinds[kind]}{action}")
        elif kind == "anti_pattern_recorded":
            lines.append(f"{prose.clean(decisions.line(row, 160), 160)}\n{decide.shown(loop, row)}")
        elif kind == "paused":
            lines.append(f"the loop is paused: {prose.clean(row['reason'], 300)}")
    lines += [
        f"{row['id']} {row['severity']}: {prose.clean(row['issue'], 120)}"
        for row in data["findings"][:12]
    ]
    return lines


def _brief(state: LoopState, waiting: list[str]) -> list[str]:
    """Everything that the reviewer of a batch has to know, and the form of the report."""
    files = list(dict.fromkeys(path for one in waiting for path in state.tasks[one].files))
    lines = [
        "run the build, the tests and lint (and UI tests where there are any) first: what fails, "
        "nothing is approved with it",
        f"the request: {prose.clean(' '.join(state.text.split()), 600)}",
        *[
            f"criterion {one.id}: {prose.clean(one.text, 200)}"
            for one in state.criteria.values()
            if not one.must_not
        ],
        *[f"must not: {one.id} {prose.clean(one.text, 200)}" for one in state.must_nots],
    ]
    for task_id in waiting:
        lines += _told(state.tasks[task_id], work.proven(state.tasks[task_id]))
    lines += reasons(state, files)
    lines.append(
        "other tasks that are unfinished are no reason for changes; a BLOCKER says whose task it is"
    )
    lines.append("answer in this form; nothing found: findings: []\n" + _form(waiting))
    return lines


def _told(task: tasks.Task, proven: bool) -> list[str]:
    """A task of the batch: what it was to do, where, what its check says."""
    text = " ".join(task.description.split())
    lines = [
        f"{task.id} {prose.clean(task.subject, _SUBJECT)}"
        + (f": {prose.clean(text, 400)}" if text else "")
    ]
    if task.files:
        lines.append(f"  files: {prose.clean(', '.join(task.files), 400)}")
    lines.append(
        f"  its check {'passed' if proven else 'has not passed'}: {prose.clean(task.verify, 200)}"
    )
    if task.history:
        lines.append(
            f"  failed before: {prose.clean(' '.join(task.history[-1]['error'].split()), 300)}"
        )
    return lines
