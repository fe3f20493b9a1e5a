"""A loop of this project as what the runner drives (engine/run.py): what is due, what an agent is
asked, what its answer changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import replies
from ..core.evidence import command, signature
from ..core.journal import task as tasks
from ..core.journal.errors import Refused
from ..core.journal.events import Change
from ..core.journal.score import DIMENSIONS
from ..core.plan import work
from ..core.review import batch_review
from ..core.steps import briefing, due, kinds, policies
from ..core.steps.kinds import KINDS, Step
from ..engine.agents import Answer, Prompt
from ..engine.run import Recorded, Request
from ..render import briefs, context
from ..replies import records
from ..store.loop import Loop
from . import (
    clarify,
    control,
    dispatch,
    gate,
    panel,
    reply,
    review,
    score,
    shape,
    verify,
    wave,
    worktree,
)
from . import tasks as listing
from .workspace import Result, Workspace

#: Stands for any record where an answer has no model.
RECORD = "record"
#: Kinds whose work is then looked at by the task's check.
_CHECKED = (kinds.IMPLEMENTATION, kinds.SCAFFOLD, kinds.FIX)


class Driver:
    """The active loop of the project that we stand in. note: takes a line about what could not be
    read or written without harm."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note

    def _open(self) -> tuple[Workspace, Loop]:
        workspace = Workspace(self.note)
        return workspace, workspace.own_loop()

    def due(self) -> list[Step]:
        """What the loop waits for; before the gate, the checks that it waits for itself."""
        workspace, loop = self._open()
        steps = due.due(loop.state)
        if [step.kind for step in steps] != [kinds.GATE]:
            return steps
        return [kinds.step(kinds.CHECK, name) for name in gate.checks(workspace, loop)] or steps

    def do(self, step: Step) -> Iterator[Recorded]:
        """Do what needs neither an agent nor a person. Raises Refused for what nobody can do."""
        if step.kind not in _DO:
            raise Refused(f"nothing can be done about {step.kind}", "see loopkit status")
        yield _recorded(step, _DO[step.kind](*self._open(), step))

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        """Prompts for these steps, those of agents recorded as asked."""
        workspace, loop = self._open()
        requests = {step: _request(workspace, loop, step, faults.get(step, "")) for step in steps}
        loop.refresh()
        fresh = due.undispatched(loop.state)
        dispatch.lines(workspace, loop, [step for step in steps if step in fresh])
        return requests

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        """Record what was answered; what a task's agent did is then looked at by the task's
        check."""
        workspace, loop = self._open()
        if step.kind in _FORMS:
            form = _FORMS[step.kind]
            yield _recorded(step, form.take(workspace, step, _row(form.reply, answer)))
        elif step in due.briefed(loop.state):
            yield _recorded(step, _reply(workspace, step, answer))
        loop.refresh()
        if step.kind in _CHECKED and loop.state.tasks[step.subject].status == tasks.IN_PROGRESS:
            yield _recorded(step, _check(workspace, loop, step))


def _recorded(step: Step, result: Result) -> Recorded:
    return Recorded(step, result.text, result.data, not result.code)


# -- asking


def _request(workspace: Workspace, loop: Loop, step: Step, fault: str) -> Request:
    kind, form = KINDS[step.kind], _FORMS.get(step.kind)
    name = form.reply if form else kind.reply if step in due.briefed(loop.state) else ""
    known = name in replies.REGISTRY
    text = f"{context.render(loop.state)}\n{form.ask(workspace, step)}" if form else ""
    if kind.prompt:
        shown = replies.asked(name) if known else ""
        text = briefs.render(loop.state, step, dispatch.shown(workspace, loop.folder), form=shown)
    if fault:
        text += f"\nYour last answer could not be used: {fault}\n"
    prompt = Prompt(text, step.kind, step.subject)
    return Request(prompt, replies.schema(name) if known else None)


# -- taking


def _row(name: str, answer: Answer) -> Any:
    """What was answered: as the record that core decides on, any RECORD, or the text itself. Raises
    UsageFault."""
    if name == RECORD:
        return answer.reply or records.parse(answer.text, "the answer", dict)
    if not name:
        return answer.text
    if answer.reply is not None:
        return replies.check(name, answer.reply)
    return replies.parse(name, answer.text)


def _reply(workspace: Workspace, step: Step, answer: Answer) -> Result:
    text = answer.text if answer.reply is None else json.dumps(answer.reply)
    return reply.reply(workspace, KINDS[step.kind].asked, step.subject, text)


def _judged(workspace: Workspace, step: Step, row: dict) -> Result:
    """A review that decides is recorded as the policy has it."""
    loop = workspace.own_loop()
    changes = workspace.change(loop, lambda state: policies.of(state).on_reply(state, step, row))
    return Result(loop, _told(changes))


def _ask_plan_review(workspace: Workspace, step: Step) -> str:
    """It is asked for beside what `wave next` dispatches."""
    loop = workspace.own_loop()
    workspace.change(loop, lambda state: [briefing.asked(state, step)])
    return ""


def _ask_batch_review(workspace: Workspace, step: Step) -> str:
    loop = workspace.own_loop()
    workspace.change(loop, batch_review.asked, step.subject, batch_review.mode(loop.state))
    return f"Review tasks {', '.join(work.running(loop.state))}.\n\n{replies.form('review')}"


def _ask_thorough_review(workspace: Workspace, step: Step) -> str:
    """All that each of its experts has to know."""
    loop = review.ask_thorough(workspace).loop
    names = (loop.state.asked or {})["experts"] if loop else []
    return "\n\n".join(review.brief(workspace, None, name).text for name in names)


def _ask_resolution(workspace: Workspace, step: Step) -> str:
    finding = workspace.own_loop().state.findings[step.subject]
    return (
        f"{finding.id} {finding.severity}: {finding.issue}\nguidance: {finding.guidance}\n\n"
        "how: <approve | task | discuss | skip | waive>\n"
        'text: "<why>"\nverify: "<with task: its check>"'
    )


def _told(changes: list[Change]) -> str:
    """What was recorded, a line each: `T-001 task completed`."""
    return "\n".join(
        " ".join(filter(None, (row.get("id") or row.get("task"), kind.replace("_", " "))))
        for kind, row in changes
        if not isinstance(row.get("task"), dict)
    )


def _check(workspace: Workspace, loop: Loop, step: Step) -> Result:
    """Run the check of a task, a criterion or a decision; `why` says what failed."""
    state, name = loop.state, step.subject
    if name in state.tasks:
        line = state.tasks[name].verify
    elif name in state.criteria:
        line = state.criteria[name].command
    else:
        line = state.decision_log.checks[int(name[1:])]
    result = verify.verify(workspace, name, command.split(line))
    if result.code:
        result.data["why"] = signature.line_of(result.text)
    return result


# -- what is done for each kind


def _next(workspace: Workspace, loop: Loop, step: Step) -> Result:
    return wave.next_wave(workspace)


_DO: dict[str, Callable[[Workspace, Loop, Step], Result]] = {
    kinds.OPEN_WAVE: _next,
    kinds.RECOVER: _next,
    kinds.BELATED: _next,
    kinds.CLOSE_WAVE: lambda workspace, loop, step: wave.close(workspace),
    kinds.CHECK: _check,
    kinds.MERGE: lambda workspace, loop, step: worktree.merge(workspace, step.subject, None),
    kinds.COMPLETE: lambda workspace, loop, step: control.complete(workspace),
}


class _Form(NamedTuple):
    """reply: name of the model of what is answered, RECORD for any record, "" for plain text · ask:
    what to tell whoever answers, where the kind has no prompt · take: records it."""

    reply: str
    ask: Callable[[Workspace, Step], str]
    take: Callable[[Workspace, Step, Any], Result]


_FORMS: dict[str, _Form] = {
    kinds.CLARIFY: _Form(
        "clarification",
        lambda workspace, step: clarify.ask(workspace).text,
        lambda workspace, step, row: clarify.record(workspace, row),
    ),
    kinds.SCORE: _Form(
        RECORD,
        lambda workspace, step: "\n".join(f"{name}: {clarify.rubric(name)}" for name in DIMENSIONS),
        lambda workspace, step, row: score.score_request(workspace, row),
    ),
    kinds.SHAPE: _Form(
        "",
        lambda workspace, step: shape.show(workspace).text,
        lambda workspace, step, text: shape.accept(workspace, text, 0o666),
    ),
    kinds.TASKS: _Form(
        "tasks",
        lambda workspace, step: replies.form("tasks"),
        lambda workspace, step, rows: listing.add(workspace, rows),
    ),
    kinds.SPLIT: _Form(
        "tasks",
        lambda workspace, step: listing.show(workspace, step.subject).text,
        lambda workspace, step, rows: listing.split(workspace, step.subject, rows),
    ),
    kinds.PANEL: _Form(
        "panel",
        lambda workspace, step: panel.on_task(workspace, step.subject, None).text,
        lambda workspace, step, row: panel.on_task(workspace, step.subject, row),
    ),
    kinds.WAVE_REVIEW: _Form(
        "wave_review",
        lambda workspace, step: review.ask_light(workspace, step.subject).text,
        lambda workspace, step, row: review.record_light(workspace, step.subject, row),
    ),
    kinds.THOROUGH_REVIEW: _Form(
        "review",
        _ask_thorough_review,
        lambda workspace, step, row: review.record_thorough(workspace, row),
    ),
    kinds.PLAN_REVIEW: _Form("plan_review", _ask_plan_review, _judged),
    kinds.BATCH_REVIEW: _Form("review", _ask_batch_review, _judged),
    kinds.SET_CHECK: _Form(
        RECORD,
        lambda workspace, step: listing.show(workspace, step.subject).text,
        lambda workspace, step, row: listing.change(
            workspace, step.subject, str(row.get("verify", "")), None, None
        ),
    ),
    kinds.RESOLVE: _Form(
        RECORD,
        _ask_resolution,
        lambda workspace, step, row: review.resolve(
            workspace,
            [step.subject],
            *(str(row.get(name, "")) for name in ("how", "text", "verify")),
        ),
    ),
    kinds.GATE: _Form(
        "gate",
        lambda workspace, step: gate.ask(workspace).text,
        lambda workspace, step, row: gate.record(workspace, row),
    ),
}
_FORMS[kinds.GATE_AGAIN] = _FORMS[kinds.GATE]
