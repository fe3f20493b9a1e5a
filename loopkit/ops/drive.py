"""A loop of this project as what the runner drives (engine/run.py): what is due, what an agent is
asked, what its answer changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from ..core.evidence import command, signature
from ..core.journal import prose
from ..core.journal import task as tasks
from ..core.journal.errors import Refused
from ..core.journal.events import Change
from ..core.plan import work
from ..core.request import clarify, intake, shape
from ..core.review import batch_review, panel, review
from ..core.review import gate as gating
from ..core.steps import briefing, due, kinds, nextstep, policies
from ..core.steps.kinds import KINDS, Step
from ..engine.agents import Answer, Prompt
from ..engine.run import Recorded, Request
from ..render import briefs, context
from ..replies import records
from ..store import atomic, place, profiles, sizes
from ..store.loop import Loop, unwritable
from . import control, dispatch, gate, reply, verify, wave, worktree
from .workspace import Result, Workspace

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
        fresh = due.undispatched(loop.state)
        dispatch.lines(workspace, loop, [step for step in steps if step in fresh])
        return requests

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        """Record what was answered; what a task's agent did is then looked at by the task's
        check."""
        workspace, loop = self._open()
        if step.kind in _FORMS:
            row = answer.text if step.kind == kinds.SHAPE else _row(answer)
            changes = _FORMS[step.kind](workspace, loop, step, row)
            yield Recorded(step, _told(changes), dict(changes[0][1]) if changes else {})
        elif step in due.briefed(loop.state):
            yield _recorded(step, _reply(workspace, step, answer))
        loop.refresh()
        if step.kind in _CHECKED and loop.state.tasks[step.subject].status == tasks.IN_PROGRESS:
            yield _recorded(step, _check(workspace, loop, step))


def _recorded(step: Step, result: Result) -> Recorded:
    return Recorded(step, result.text, result.data, not result.code)


# -- asking


def _request(workspace: Workspace, loop: Loop, step: Step, fault: str) -> Request:
    kind = KINDS[step.kind]
    if step.kind in _ASKED:
        workspace.change(loop, _ASKED[step.kind], step)
    if kind.prompt:
        form = None if step in due.briefed(loop.state) else ""
        folder = dispatch.shown(workspace, loop.folder)
        text = briefs.render(loop.state, step, folder, form=form)
    else:
        text = f"{context.render(loop.state)}\n{nextstep.line(loop.state, step)}\n"
    if fault:
        text += f"\nYour last answer could not be used: {fault}\n"
    return Request(Prompt(text, step.kind, step.subject))


#: Who is asked beside what `wave next` dispatches: (state, step) → journal lines.
_ASKED: dict[str, Callable[..., list[Change]]] = {
    kinds.PLAN_REVIEW: lambda state, step: [briefing.asked(state, step)],
    kinds.BATCH_REVIEW: lambda state, step: batch_review.asked(
        state, step.subject, batch_review.mode(state)
    ),
}


# -- taking


def _row(answer: Answer) -> dict:
    row = answer.reply
    return records.parse(answer.text, "the answer", dict) if row is None else row


def _reply(workspace: Workspace, step: Step, answer: Answer) -> Result:
    text = answer.text if answer.reply is None else json.dumps(answer.reply)
    return reply.reply(workspace, KINDS[step.kind].asked, step.subject, text)


def _shape(workspace: Workspace, loop: Loop, step: Step, text: str) -> list[Change]:
    changes = workspace.change(loop, intake.shaped, text)
    try:
        atomic.write(os.path.join(loop.folder, shape.FILE), text.encode())
    except OSError as error:
        raise unwritable(loop.folder, error) from None
    return changes


def _thorough(workspace: Workspace, loop: Loop, step: Step, row: dict) -> list[Change]:
    paths = sorted({path for task in loop.state.tasks.values() for path in task.files})
    size = sizes.of(workspace.project, os.path.join(loop.folder, shape.FILE), paths)
    return workspace.change(loop, review.thorough, row, size)


def _by_policy(workspace: Workspace, loop: Loop, step: Step, row: dict) -> list[Change]:
    """A review that decides is recorded as the policy has it."""
    return workspace.change(loop, lambda state: policies.of(state).on_reply(state, step, row))


def _gate(workspace: Workspace, loop: Loop, step: Step, row: dict) -> list[Change]:
    return workspace.change(loop, gating.decided, row, gate.digests(workspace), gate.lost(loop))


#: How the answer to a step is recorded that no `loopkit reply` takes.
_FORMS: dict[str, Callable[[Workspace, Loop, Step, Any], list[Change]]] = {
    kinds.CLARIFY: lambda workspace, loop, step, row: workspace.change(
        loop, clarify.clarified, row
    ),
    kinds.SCORE: lambda workspace, loop, step, row: workspace.change(loop, intake.scored, row),
    kinds.SHAPE: _shape,
    kinds.TASKS: lambda workspace, loop, step, row: workspace.change(
        loop, work.hand_in, row.get("tasks")
    ),
    kinds.SPLIT: lambda workspace, loop, step, row: workspace.change(
        loop, work.split, step.subject, row.get("tasks")
    ),
    kinds.SET_CHECK: lambda workspace, loop, step, row: workspace.change(
        loop, work.changed, step.subject, row.get("verify"), None, None
    ),
    kinds.PANEL: lambda workspace, loop, step, row: workspace.change(
        loop, panel.recorded, step.subject, row, profiles.read(place.plugin_root())
    ),
    kinds.WAVE_REVIEW: lambda workspace, loop, step, row: workspace.change(
        loop, review.light, step.subject, row
    ),
    kinds.THOROUGH_REVIEW: _thorough,
    kinds.PLAN_REVIEW: _by_policy,
    kinds.BATCH_REVIEW: _by_policy,
    kinds.RESOLVE: lambda workspace, loop, step, row: workspace.change(
        loop,
        review.resolved,
        [step.subject],
        *(str(row.get(name, "")) for name in ("how", "text", "verify")),
    ),
    kinds.GATE: _gate,
    kinds.GATE_AGAIN: _gate,
}


def _told(changes: list[Change]) -> str:
    """What was recorded, a line for each journal line that a person should see."""
    return "\n".join(_TOLD[kind](row) for kind, row in changes if kind in _TOLD)


def _findings(row: dict) -> str:
    lines = [f"{prose.count(len(row['findings']), 'finding')}"]
    for finding in row["findings"]:
        task = f" → {finding['task']}" if finding.get("task") else ""
        issue = prose.clean(finding["issue"], 120)
        lines.append(f"{finding['id']} {finding['severity']}{task}: {issue}")
    return "\n".join(lines)


def _passed(row: dict) -> str:
    if row["passed"]:
        return f"gate passed: {row['card']}"
    return f"gate refused: {prose.clean('; '.join(row['failed']), 300)}"


_TOLD: dict[str, Callable[[dict], str]] = {
    "scored": lambda row: f"spec {row['spec']}/10, fit {row['fit']}, shape {row['shape']}",
    "shape_saved": lambda row: prose.count(len(row["criteria"]), "criterion", "criteria"),
    "task_added": lambda row: (
        f"{row['task']['id']} added: {prose.clean(row['task']['subject'], 100)}"
    ),
    "task_completed": lambda row: f"{row['id']} completed",
    "task_failed": lambda row: f"{row['id']} failed, attempt {row['attempt']}: {row['action']}",
    "panel_recorded": lambda row: f"the next attempt is told: {prose.clean(row['consensus'], 200)}",
    "review_light": lambda row: f"{row['score']}/10, {prose.count(row['blockers'], 'blocker')}",
    "review_thorough": _findings,
    "gate_result": _passed,
}


# -- what the program does itself


def _check(workspace: Workspace, loop: Loop, step: Step) -> Result:
    """Run the check of a task, a criterion or a decision; `why` says what failed."""
    state, name = loop.state, step.subject
    if name in state.tasks:
        line = state.tasks[name].verify
    elif name in state.criteria:
        line = state.criteria[name].command
    else:
        line = state.trail.checks[int(name[1:])]
    result = verify.verify(workspace, name, command.split(line))
    if result.code:
        result.data["why"] = signature.line_of(result.text)
    return result


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
