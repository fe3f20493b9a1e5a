"""The runner's driver (engine/run.py) of a project's loop: what is due, is asked, is recorded."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import replies
from ..core.evidence import changes as measured
from ..core.evidence import command
from ..core.health import allowing
from ..core.journal import task
from ..core.journal.errors import LoopError, Refused
from ..core.journal.state import LoopState
from ..core.plan.events import HAND
from ..core.review import batch_review, looking
from ..core.steps import due, kinds, policies
from ..core.steps.kinds import KINDS, Step
from ..engine.agents import DONE, EMPTY, Answer, Prompt
from ..engine.run import Recorded, Request
from ..render import files, prompts
from ..store.loop import Loop
from . import (
    batch,
    changes,
    consent,
    control,
    dispatch,
    gate,
    panel,
    proof,
    reply,
    request,
    review,
    tasks,
    verify,
    wave,
    worktree,
)
from .workspace import Result, Time, Workspace

#: Kinds whose work is then looked at by the task's check.
_CHECKED = (kinds.IMPLEMENTATION, kinds.SCAFFOLD, kinds.FIX)
#: Kinds whose agents judge work; of these some try it.
_TRYING = (kinds.TEST, kinds.VERDICT, kinds.GOAL_VERDICT)
_JUDGES = (*_TRYING, kinds.WAVE_REVIEW, kinds.BATCH_REVIEW, kinds.THOROUGH_REVIEW)
#: What whoever judges without a look is told, once.
UNSEEN = "it did not look: read the changed files, or their diff, before you judge them"


class Driver:
    """The active loop of the project that we stand in. note: as of Workspace · told: lines of what
    was measured beside what was asked for · time: what checks may take."""

    takes: tuple[str, ...] = (DONE, EMPTY)

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note
        self.told: list[str] = []
        self.time = Time()
        self._measured: set[tuple[str, int]] = set()
        self._workspace: Workspace | None = None

    def _open(self) -> tuple[Workspace, Loop]:
        if self._workspace is None:
            self._workspace = Workspace(self.note)
        workspace = self._workspace
        workspace.time, workspace.source = self.time, {"by": HAND}
        return workspace, workspace.own_loop()

    def who(self, step: Step) -> str:
        """As the table of kinds says."""
        return KINDS[step.kind].who

    def due(self) -> list[Step]:
        """What the loop waits for, before the gate the checks that it waits for. Before somebody
        judges the whole, what has changed is measured."""
        workspace, loop = self._open()
        steps = gate.due(workspace, loop)
        key = (steps[0].kind if steps else "", loop.state.last_completion)
        asked = any(row.startswith(kinds.THOROUGH_REVIEW) for row in loop.state.supervision.out)
        if key[0] not in due.JUDGING or key in self._measured or asked:
            return steps
        self._measured.add(key)
        self.told += changes.at_end(workspace, loop)
        return gate.due(workspace, loop)

    def do(self, step: Step) -> Iterator[Recorded]:
        """Do what needs neither an agent nor a person. Raises Refused for what nobody can do."""
        if step.kind not in _DO:
            raise Refused(f"nothing can be done about {step.kind}", "see loopkit status")
        workspace, loop = self._open()
        yield _recorded(step, _DO[step.kind](workspace, loop, step))
        if step.kind == kinds.CLOSE_WAVE:  # with the last wave all was measured
            loop.refresh()
            self._measured.add((kinds.THOROUGH_REVIEW, loop.state.last_completion))

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        """Prompts for these steps, those of agents recorded as asked."""
        workspace, loop = self._open()
        requests = {step: request_of(workspace, loop, step, faults.get(step, "")) for step in steps}
        loop.refresh()
        fresh = due.undispatched(loop.state)
        dispatch.lines(workspace, loop, [step for step in steps if step in fresh])
        return requests

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        """Record what was answered; the task's check then looks at what its agent did."""
        workspace, loop = self._open()
        workspace.source = {"by": answer.by, "looked": answer.looked}
        if step.kind in FORMS:
            row = _row(step.kind, answer)
            yield _recorded(step, FORMS[step.kind].take(workspace, *subject_of(step), row))
        elif step in due.awaited(loop.state):
            text = answer.text if answer.reply is None else json.dumps(answer.reply)
            # where a check decides, a coder's report is taken as it is
            final = step.kind in _CHECKED and policies.of(loop.state).check_counts
            given = (KINDS[step.kind].asked, step.subject, text, answer.final or final)
            yield _recorded(step, reply.reply(workspace, *given, again=False))
        loop.refresh()
        if _unchecked(loop.state, step):
            yield _recorded(step, _check(workspace, loop, step))

    def cut(self, step: Step, answer: Answer) -> None:
        """Nobody asks here what an agent has cost."""

    def without(self, step: Step, error: LoopError) -> Iterator[Recorded]:
        """Advice can be done without; nothing else can."""
        form = FORMS.get(step.kind)
        if form is None or form.without is None:
            raise error
        workspace, _ = self._open()
        yield _recorded(step, form.without(workspace, *subject_of(step)))


def _unchecked(state: LoopState, step: Step) -> bool:
    """Where a check decides nothing, the tester's reply rests on one that has run since the
    coder's; elsewhere it is a step of its own."""
    if step.kind not in _CHECKED or policies.of(state).check_counts:
        return False
    own = state.tasks[step.subject]
    return own.status == task.IN_PROGRESS and own.coded is not None


def looked(state: LoopState, step: Step, seen: object, project: str) -> bool | None:
    """Whether whoever judges work has looked at it; None where that is not to be known. seen: as of
    store/looks.py."""
    if step.kind not in _JUDGES or type(seen) is not dict:
        return None
    rows, changed = list(state.tasks.values()), measured.of_wave(state, None)
    if step.subject in state.tasks:
        rows, changed = [state.tasks[step.subject]], None
    elif step.kind in (kinds.WAVE_REVIEW, kinds.BATCH_REVIEW):
        named = {name for wave in state.waves if wave.number == step.subject for name in wave.tasks}
        rows = [row for row in rows if row.id in named]
        changed = measured.of_wave(state, step.subject)
    return looking.looked(seen, rows, project, changed or (), tries=step.kind in _TRYING)


def _recorded(step: Step, result: Result) -> Recorded:
    return Recorded(step, result.text, result.data, not result.code)


def subject_of(step: Step) -> list:
    """The subject as an argument; no argument where the kind says all."""
    return [] if step.subject is None else [step.subject]


def request_of(
    workspace: Workspace, loop: Loop, step: Step, fault: str = "", cut: bool = False
) -> Request:
    """What a runner asks an agent for a step: `prompt_of`, and the schema of the answer."""
    prompt, name = prompt_of(workspace, loop, step, fault, cut), _reply_of(loop, step)
    prompt = prompt._replace(allowed_tools=_checks_for(workspace, loop, step))
    return Request(prompt, replies.schema(name) if name else None)


def _checks_for(workspace: Workspace, loop: Loop, step: Step) -> tuple[str, ...]:
    """Rules by which an agent may run what its prompt has it run: its task's check, by loopkit or
    itself, the proofs of criteria and mustNots; none for one that nobody lets run."""
    if not step.agent:
        return ()
    state, rules = loop.state, []
    own = state.tasks.get(str(step.subject))
    lines = [one.command or "" for one in state.criteria.values()]
    for line in dict.fromkeys([own.verify if own else "", *lines]):
        if line and consent.allowed(workspace, loop, line):
            rules += [f"Bash(loopkit verify {own.id})"] if own and line == own.verify else []
            rules += allowing.rules("Bash", {"command": line})
    return tuple(rules)


def _reply_of(loop: Loop, step: Step) -> str:
    """The schema of a step's answer; "" where it has none."""
    name = KINDS[step.kind].reply
    asked = step.kind in FORMS or step in due.awaited(loop.state)
    return name if asked and name in replies.REGISTRY else ""


def prompt_of(
    workspace: Workspace, loop: Loop, step: Step, fault: str = "", cut: bool = False
) -> Prompt:
    """What an agent is told of a step. fault: what was wrong with its last answer · cut: an agent
    before was interrupted."""
    kind, form = KINDS[step.kind], FORMS.get(step.kind)
    name = _reply_of(loop, step)
    dispatch.keep_request(loop)
    text = ""
    if form:
        text = form.ask(workspace, *subject_of(step)).text
    if form and kind.who == kinds.FORM:
        text = f"{files.context(loop.state)}\n{text}"
    if kind.prompt:
        told = {"form": replies.asked(name) if name else "", "cut": cut}
        text = prompts.render(loop.state, step, dispatch.shown(workspace, loop.folder), **told)
    if fault and fault not in text:
        text += (
            f"\nYour last answer could not be used: {fault}\nAnswer once more, with all of it.\n"
        )
    return Prompt(text, step.kind, step.subject)


def _row(kind: str, answer: Answer) -> Any:
    """What was answered to a form: as the record that core decides on, any record where it has no
    model. Raises UsageFault."""
    name = KINDS[kind].reply
    if name not in replies.REGISTRY:
        from ..replies import records  # brings YAML along

        return answer.reply or records.parse(answer.text, "the answer", dict)
    if answer.reply is not None:
        return replies.check(name, answer.reply)
    if KINDS[kind].who == kinds.FORM:
        return replies.read(name, answer.text, "the form")
    return replies.parse(name, answer.text)


def _check(workspace: Workspace, loop: Loop, step: Step) -> Result:
    """Run the check of a task, a criterion or a decision; `why` says what failed."""
    line = loop.state.check_of(str(step.subject))
    result = verify.verify(workspace, step.subject, command.split(line))
    if result.code:
        from ..core.evidence import signature  # its patterns are paid for only here

        result.data["why"] = signature.line_of(result.text)
    return result._replace(text=verify.without_hints(result.text))


def _next_wave(workspace: Workspace, loop: Loop, step: Step) -> Result:
    return wave.next_wave(workspace)


_DO: dict[str, Callable[[Workspace, Loop, Step], Result]] = {
    kinds.OPEN_WAVE: _next_wave,
    kinds.RECOVER: _next_wave,
    kinds.BELATED: _next_wave,
    kinds.CLOSE_WAVE: lambda workspace, loop, step: wave.close(workspace),
    kinds.CHECK: _check,
    kinds.RED_FIRST: lambda workspace, loop, step: proof.try_before(workspace, step.subject),
    kinds.MERGE: lambda workspace, loop, step: worktree.merge(workspace, step.subject),
    kinds.COMPLETE: lambda workspace, loop, step: control.complete(workspace),
}


def _ask_plan_review(workspace: Workspace, subject: str) -> Result:
    """Its prompt says all."""
    return Result(workspace.own_loop(), "")


def _record_plan_review(workspace: Workspace, subject: str, row: dict) -> Result:
    return batch.plan(workspace, row, None)


def _ask_batch_review(workspace: Workspace, number: int) -> Result:
    return batch.prompt(workspace, number, _is_scaffold(workspace))


def _record_batch_review(workspace: Workspace, number: int, row: dict) -> Result:
    return batch.batch(workspace, number, _is_scaffold(workspace), row)


def _is_scaffold(workspace: Workspace) -> bool:
    return batch_review.mode(workspace.own_loop().state) == batch_review.SCAFFOLD


def _ask_thorough_review(workspace: Workspace) -> Result:
    """All that its experts have to know."""
    review.ask_thorough(workspace)
    loop = workspace.own_loop()
    names = list((loop.state.asked or {})["experts"])
    return Result(loop, review.of_experts(workspace, loop, None, names))


def _ask_wave_review(workspace: Workspace, number: int) -> Result:
    loop = workspace.own_loop()
    return Result(loop, review.of_experts(workspace, loop, number, _light(loop.state, number)))


def _take_wave_review(workspace: Workspace, number: int, row: dict) -> Result:
    experts = _light(workspace.own_loop().state, number)
    own = {"experts": experts, "issues": None, "blockers": None}
    return review.record_light(workspace, number, {**row, **own})


def _take_thorough_review(workspace: Workspace, row: dict) -> Result:
    """By whoever was asked, whatever names the answer gives."""
    return review.record_thorough(workspace, {**row, "experts": []})


def _light(state: LoopState, number: int) -> list[str]:
    """The experts of a wave's review."""
    return [row[0].name for row in review.of_review(state, review.LIGHT, number)]


def _ask_resolution(workspace: Workspace, name: str) -> Result:
    loop = workspace.own_loop()
    finding = loop.state.findings[name]
    text = (
        f"{finding.id} {finding.severity}: {finding.issue}\nguidance: {finding.guidance}\n\n"
        "how: <approve | task | discuss | skip | waive>\n"
        'text: "<why>"\nverify: "<with task: its check>"'
    )
    return Result(loop, text)


def _resolve(workspace: Workspace, name: str, row: dict) -> Result:
    how, text, check = (str(row.get(field, "")) for field in ("how", "text", "verify"))
    return review.resolve(workspace, [name], how, text, check)


def _ask_split(workspace: Workspace, name: str) -> Result:
    shown = tasks.show(workspace, name)
    return shown._replace(text=f"{shown.text}\n\n{replies.form('tasks')}")


def _ask_check(workspace: Workspace, name: str) -> Result:
    shown = tasks.show(workspace, name)
    form = 'verify: "<command that fails now, and exits 0 when it is done>"'
    return shown._replace(text=f"{shown.text}\n\n{form}")


def _set_check(workspace: Workspace, name: str, row: dict) -> Result:
    return tasks.change(workspace, name, str(row.get("verify", "")))


class _Form(NamedTuple):
    """The use cases of a form or a review. ask: what to tell whoever answers · take: records the
    answer · without: goes on where no answer can be used; None: nothing does. All get the workspace
    and the step's subject, if it has one."""

    ask: Callable[..., Result]
    take: Callable[..., Result]
    without: Callable[..., Result] | None = None


FORMS = {
    kinds.CLARIFY: _Form(request.ask_clarification, request.record_clarification),
    **dict.fromkeys(
        (kinds.SCORE, kinds.SHAPE, kinds.TASKS),
        _Form(request.ask_request, request.record_request),
    ),
    kinds.PROOFS: _Form(proof.ask, proof.record),
    kinds.SPLIT: _Form(_ask_split, tasks.split),
    kinds.SET_CHECK: _Form(_ask_check, _set_check),
    kinds.PANEL: _Form(panel.on_task, panel.on_task, panel.unheard),
    kinds.WAVE_REVIEW: _Form(_ask_wave_review, _take_wave_review),
    kinds.PLAN_REVIEW: _Form(_ask_plan_review, _record_plan_review),
    kinds.BATCH_REVIEW: _Form(_ask_batch_review, _record_batch_review),
    kinds.THOROUGH_REVIEW: _Form(_ask_thorough_review, _take_thorough_review),
    kinds.RESOLVE: _Form(_ask_resolution, _resolve),
    kinds.GATE: _Form(gate.ask, gate.record),
    kinds.GATE_AGAIN: _Form(gate.ask, gate.record),
}
