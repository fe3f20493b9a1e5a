"""The runner's driver (engine/run.py) of a pipeline: which iteration is due, what its agent is
told, what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.journal import clock, prose
from ...core.journal.errors import Damaged, LoopError
from ...core.pipeline import completion, due, parsing, status, template
from ...core.pipeline.definitions import Entry, Pipeline
from ...core.pipeline.events import StageState
from ...core.pipeline.on_loop import UNUSABLE
from ...core.steps.kinds import AGENT, PROGRAM, Step
from ...engine import agents, git, listing
from ...engine.agents import Agent, Answer, Prompt
from ...engine.process import Deadlines
from ...engine.run import Recorded, Request
from ...render import runs as words
from ...store.runs import PAUSE, Run
from ..workspace import Workspace
from . import completions, validators
from .completions import View

#: Characters of an agent's message in an entry of the progress file.
_LEARNT = 600
#: The exit codes that the history has for iterations that count, by their outcome.
_EXITS = {agents.DONE: 0, agents.EMPTY: 0, agents.TIMED_OUT: 124, UNUSABLE: 1}


#: The variable by which a run's agents are known, with all that they start.
RUN = "LOOPKIT_RUN"


class Stop(NamedTuple):
    """Why a run is to pause. number: of the signal, 0 without one · lost: whether another process
    has taken it, so that nothing more is written."""

    reason: str
    number: int = 0
    lost: bool = False


class Driver:
    """A run that this process works on. agent: makes that of a stage, all of them at once, so that
    one that cannot be made is known before anything is begun. Raises LoopError.

    stop: why it is to pause."""

    takes: tuple[str, ...] = agents.OUTCOMES

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        pipeline: Pipeline,
        agent: Callable[[Entry], Agent],
    ) -> None:
        self.workspace, self.run, self.pipeline = workspace, run, pipeline
        self.agents = [agent(entry) for entry in pipeline.entries]
        self.strategies = [completions.made(entry.stage.completion) for entry in pipeline.entries]
        self.stop: Stop | None = None
        self.woken = threading.Event()
        self.tested, self.ran = False, False
        self.progress = 0

    # -- stopping, from a signal or another thread

    def interrupt(self, stop: Stop) -> None:
        """Pause as soon as the agent at work has ended, which it is made to."""
        self.stop = stop if stop.lost or self.stop is None or not self.stop.number else self.stop
        self.woken.set()
        for agent in self.agents:
            agent.interrupt()

    @property
    def lost(self) -> bool:
        """Whether another process works on this run."""
        return self.stop is not None and self.stop.lost

    # -- the runner's questions

    def who(self, step: Step) -> str:
        """An iteration is an agent's, all else our own."""
        return PROGRAM if step.kind in due.OWN else AGENT

    def due(self) -> list[Step]:
        """The next step; none where the run has ended or is to pause."""
        state = self.run.state
        if self.lost or self.run.fault is not None:
            return []
        if state.status == status.RUNNING and self.stop is None and self._asked_to_pause():
            self.stop = Stop(status.ASKED)
        if state.status == status.RUNNING and self.stop is not None:
            self.end(status.PAUSED, self.stop.reason)
        step = due.due(state, self.run.elapsed, self.tested)
        return [] if step is None else [step]

    def _asked_to_pause(self) -> bool:
        return os.path.exists(os.path.join(self.run.folder, PAUSE))

    def do(self, step: Step) -> Iterator[Recorded]:
        """Begin a stage, test its completion, end the run."""
        try:
            if step.kind == due.BEGIN_STAGE:
                yield from self._begin(step)
            elif step.kind == due.TEST:
                yield from self._test(step)
            elif step.kind == due.CAP:
                over = self._over()
                assert over is not None
                self.end(status.LIMIT, *over)
            else:
                self.end(*self._outcome())
        except LoopError as error:
            if self.run.fault is None:
                self.end(status.FAILED, "", str(error))

    def _over(self) -> tuple[str, str] | None:
        """The limit that is reached: which, in words."""
        return due.reached(self.run.state, self.run.elapsed)

    def _outcome(self) -> tuple[str, str, str]:
        """How a run ends whose stages have all ended."""
        limited = [stage for stage in self.run.state.stages if stage.status == status.LIMIT]
        if not limited:
            return status.COMPLETED, "complete", ""
        return status.LIMIT, status.MAX_ITERATIONS, last_fault(limited[0])

    def end(self, how: str, reason: str, error: str = "", needs: Sequence[str] = ()) -> None:
        """Record that the run has ended, or waits. needs: options of a further start. Raises
        Damaged."""
        row: dict[str, Any] = {"status": how, "reason": reason, "error": prose.clean(error, 2000)}
        row |= {"needs": list(needs)} if needs else {}
        self.run.record([("run_ended", {**row, "elapsed": round(self.run.elapsed, 3)})])

    # -- stages

    @property
    def view(self) -> View:
        """What the strategy of the current stage may know."""
        index = self.run.state.current
        return View(self.run, self.pipeline.entries[index], index, self.workspace)

    def _begin(self, step: Step) -> Iterator[Recorded]:
        run, index = self.run, self.run.state.current
        entry = self.pipeline.entries[index]
        run.prepare_stage(index)
        if not self.pipeline.single:
            run.note(f"\n## Stage {index + 1}: {entry.name}\n")
        run.record([("stage_begun", {"index": index})])
        most = prose.count(entry.runs, "iteration")
        text = f"stage {index + 1} of {len(run.state.stages)}, {entry.name}: at most {most}"
        yield Recorded(step, f"{text}, {entry.stage.completion}", {"stage": entry.name})

    def _test(self, step: Step) -> Iterator[Recorded]:
        """Before the first iteration only where that is asked for."""
        view = self.view
        strategy, verdict = self.strategies[view.at], completion.Verdict(completion.OPEN)
        if view.done or view.entry.stage.check_before or strategy.asks_before:
            with completions.called(view.entry.stage.completion):
                verdict = strategy.verdict(view)
        if verdict.word == completion.COMPLETE and view.entry.stage.validate:
            validated = self._validate(view)
            if not validated.passed:
                yield Recorded(step, f"not complete: {validated.text}", {}, False)
                verdict = completion.Verdict(completion.OPEN)
        if verdict.word != completion.OPEN:
            yield self._stage_over(step, verdict)
        elif view.done >= view.entry.runs:
            yield self._stage_limit(step, view)
        else:
            self.tested = True
            if self.ran:
                self.woken.wait(view.entry.stage.delay)

    def _validate(self, view: View) -> validators.Outcome:
        """What the stage's own checks say of its last iteration; they run once for each."""
        if self.run.state.validated is not None:
            return validators.Outcome(self.run.state.validated, [], "its checks have failed")
        outcome = validators.validated(view.entry.stage.validator, view)
        row = {"stage": view.at, "iteration": view.done, "passed": outcome.passed}
        self.run.record([("validation_ran", {**row, "rows": outcome.rows})])
        if not outcome.passed:
            self.run.note(f"- not complete: {outcome.text}\n")
        return outcome

    def _stage_over(self, step: Step, verdict: completion.Verdict) -> Recorded:
        """Complete, or nothing can be done about it for now."""
        index = self.run.state.current
        name = self.pipeline.entries[index].name
        if verdict.word == completion.WAITING:
            self.end(status.PAUSED, status.WAITING, verdict.reason)
            return Recorded(step, f"{name}: waiting: {verdict.reason}", {"stage": name}, False)
        row = {"index": index, "status": status.COMPLETED, "reason": verdict.reason}
        self.run.record([("stage_ended", row)])
        return Recorded(step, f"{name}: complete: {verdict.reason}", {"stage": name})

    def _stage_limit(self, step: Step, view: View) -> Recorded:
        row = {"index": view.at, "status": status.LIMIT, "reason": status.MAX_ITERATIONS}
        self.run.record([("stage_ended", row)])
        if view.entry.on_limit == status.STOP:
            self.end(
                status.LIMIT, status.MAX_ITERATIONS, last_fault(self.run.state.stages[view.at])
            )
        text = f"{view.entry.name}: its {view.entry.runs} iterations are used up, not complete"
        return Recorded(step, text, {"stage": view.entry.name}, False)

    # -- an iteration

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        """The prompt of the iteration that is due, recorded as begun."""
        view, step = self.view, steps[0]
        iteration = view.done + 1
        try:
            with completions.called(view.entry.stage.completion):
                more = self.strategies[view.at].prepare(view)
        except LoopError as error:
            self.end(status.FAILED, "", str(error))
            return {}
        self.run.put_aside(self.run.result(view.at, iteration))
        text = prompt(self.run, self.pipeline, view, iteration, more)
        self._begun(view, {})
        request = Prompt(
            text,
            view.entry.name,
            str(iteration),
            budget=self._left_usd(),
            log=self.run.log(view.at, iteration),
            environment=exports(self.run.session, view.entry),
        )
        return {step: Request(request, None, self.agents[view.at], self._deadlines(view.entry))}

    def _begun(self, view: View, more: dict[str, Any]) -> None:
        """Record that the stage's next iteration begins. more: of its event's data."""
        self.run.prepare_stage(view.at)  # somebody may have removed it since the stage began
        self.progress = self.run.progress_size()
        row = {"stage": view.at, "iteration": view.done + 1, **more}
        self.run.record([("iteration_begun", row)], sync=False)
        self.tested = False

    def _left_usd(self) -> float | None:
        state = self.run.state
        return None if state.limits.usd is None else max(0.01, state.limits.usd - state.usd)

    def _deadlines(self, entry: Entry) -> Deadlines:
        limits = Deadlines(*entry.stage.timeouts)
        return limits._replace(total=min(limits.total, max(1.0, self.run.left)))

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        """Record what came of an iteration, in this order: its result, the state, the notes for the
        next agent."""
        if self.lost:
            return
        try:
            yield from self._take(step, answer)
        except Damaged:
            if self.run.fault is None:  # else it is told when the run has ended
                raise

    def _take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        self.ran = True
        view = self.view
        iteration, answer = view.done + 1, self.judged(view, answer)
        row = self._record(view, iteration, answer)
        if self.stop is None and not row["counted"]:
            self.end(*ended(answer, row, self._over()))
        text = words.ended(self.run.state, view.entry.name, iteration, view.entry.runs, row)
        yield Recorded(step, text, row, row["counted"])
        if row["usd"] is None and self.run.state.unpriced == 1 and self.run.state.limits.usd:
            most = self.run.state.limits.usd
            text = f"nobody says what this agent costs: the limit of ${most:g} cannot be kept"
            yield Recorded(step, text, {})

    def _record(self, view: View, iteration: int, answer: Answer) -> dict[str, Any]:
        """That an iteration has ended, with what the next agent has to know of it."""
        try:
            row = self._row(view, iteration, answer)
        except LoopError as error:
            row = _iteration(view, iteration, answer, False, self.run.elapsed)
            row["error"] = prose.clean(str(error), 2000)
        self.run.record([("iteration_ended", row)])
        self._note(view, iteration, answer, row)
        return row

    def without(self, step: Step, error: LoopError) -> Iterator[Recorded]:
        """Nothing is asked for once more here."""
        raise error

    def cut(self, step: Step, answer: Answer) -> None:
        """Record what the iteration has cost, which is run again."""
        if not self.lost:
            with contextlib.suppress(LoopError):
                self._record(self.view, self.view.done + 1, answer)

    def aborted(self) -> None:
        """This process ends now, in the middle of a step. Raises Damaged."""
        self.end(status.PAUSED, status.INTERRUPTED)

    def judged(self, view: View, answer: Answer) -> Answer:
        """An agent that was refused something, changed nothing and does not say what it was asked
        for could not do its work; the next one would fare no better."""
        if not answer.denied or answer.outcome not in (agents.DONE, agents.EMPTY):
            return answer
        parsed = parsing.parse(answer.text, view.entry.stage.markers)
        said = bool(parsed) and None not in parsed.values()
        if said or listing.changed_since(self.run.state.project, answer.started):
            return answer
        error = f"it changed nothing, and was not allowed: {answer.denied[0].what}"
        return answer._replace(outcome=agents.DENIED, error=error)

    def _row(self, view: View, iteration: int, answer: Answer) -> dict[str, Any]:
        cut = answer.outcome == agents.TIMED_OUT and self.run.left <= 0
        counted = answer.outcome in _EXITS and not cut
        row = _iteration(view, iteration, answer, counted, self.run.elapsed)
        if not counted:
            return row
        output = self.run.result(view.at, iteration)
        self.run.prepare_stage(view.at)  # an agent's `git stash -u` takes an empty folder along
        self.run.keep_result(output, answer.text)
        row["output"] = os.path.relpath(output, self.run.folder)
        if row["exit"]:
            row["parsed"] = dict.fromkeys(view.entry.stage.markers)
            return row
        row["parsed"] = parsing.parse(answer.text, view.entry.stage.markers)
        strategy = self.strategies[view.at]
        with completions.called(view.entry.stage.completion):
            row["notes"] = strategy.settle(view, answer)
        if strategy.works and self._left_dirty():
            row["dirty"] = True
            row["notes"] = [*row["notes"], "uncommitted changes are left in the working tree"]
        return row

    def _left_dirty(self) -> bool:
        """Whether the working tree has uncommitted changes; False where git cannot say."""
        project, rest = self.run.state.project, ("--porcelain", "--", ".", ":!.loop")
        try:
            return bool(git.git(project, self.workspace.environment, "status", *rest))
        except LoopError:
            return False

    def _note(self, view: View, iteration: int, answer: Answer, row: dict) -> None:
        """An entry in the progress file, where the agent has written none; what the next one has to
        know in any case."""
        lines = list(row.get("notes", ()))
        missing = [key for key, value in row.get("parsed", {}).items() if value is None]
        if row["error"]:
            lines.append(f"not finished: {row['error']}")
        elif missing:
            names = ", ".join(view.entry.stage.markers[key] for key in missing)
            lines.append(f"its message has no line {names}:, which counts as false")
        if self.run.progress_size() == self.progress and row["counted"]:
            head = f"\n### {clock.stamp(time.time())} {view.entry.name} {iteration}\n\n"
            learnt = prose.clean(" ".join(answer.text.split()), _LEARNT)
            self.run.note(head + (f"{learnt}\n" if learnt else "no message\n"))
        if lines:
            self.run.note("".join(f"- {one}\n" for one in lines))


def _iteration(
    view: View, iteration: int, answer: Answer, counted: bool, elapsed: float
) -> dict[str, Any]:
    """The data of an iteration's end, as far as the answer says it."""
    code = _EXITS.get(answer.outcome)
    return {
        "stage": view.at,
        "iteration": iteration,
        "outcome": answer.outcome,
        "counted": counted,
        "seconds": round(max(0.0, answer.ended - answer.started), 3),
        "elapsed": round(elapsed, 3),
        "exit": code if counted or code else None,
        "usd": agents.known_cost(answer.cost),
        "error": "" if code == 0 else prose.clean(answer.error, 500),
        "denied": [prose.clean(one.what, 300) for one in answer.denied],
    }


def last_fault(stage: StageState) -> str:
    """Why the last iteration of a stage did not complete it, where something failed in it."""
    row = stage.rows[-1] if stage.rows else {}
    failed = [check for check in row.get("validation", ()) if not check["passed"]]
    said = [f"`{check['line']}` exits {check['exit']}" for check in failed]
    why = row.get("error") or "; ".join(said)
    return f"the last iteration: {why}" if why else ""


def ended(answer: Answer, row: dict, over: tuple[str, str] | None) -> tuple[str, str, str]:
    """How a run ends whose iteration did not count: status, reason, error. over: the limit that is
    reached, as of due.reached."""
    if answer.outcome == agents.LIMIT:
        return status.LIMIT, status.MAX_DURATION, row["error"] or "a usage limit"
    if answer.outcome == agents.SPENT and over is not None:
        return status.LIMIT, over[0], row["error"]
    if answer.outcome == agents.TIMED_OUT:
        return status.LIMIT, status.MAX_DURATION, row["error"]
    rules = sorted({rule for one in answer.denied for rule in one.rules})
    more = f"; allow it: setting allowed_tools of the agent, {json.dumps(rules)}" if rules else ""
    return status.FAILED, "", (row["error"] or answer.outcome) + more


def exports(session: str, entry: Entry) -> dict[str, str]:
    """Variables of an agent, for the programs that it runs."""
    return {
        "LOOPKIT_CHILD": "1",
        "CLAUDE_LOOP_AGENT": "1",
        "CLAUDE_LOOP_SESSION": session,
        "CLAUDE_LOOP_TYPE": entry.stage.name,
    }


def prompt(
    run: Run, pipeline: Pipeline, view: View, iteration: int, more: dict[str, str] | None = None
) -> str:
    """What an iteration's agent is told; iteration: from 1."""
    entry, items = view.entry, run.state.items
    views = entry.perspectives
    values = {
        "SESSION": run.session,
        "SESSION_NAME": run.session,
        "ITERATION": str(iteration),
        "INDEX": str(iteration - 1),
        "PROGRESS": run.progress,
        "PROGRESS_FILE": run.progress,
        "OUTPUT": run.result(view.at, iteration),
        "ITEM": items[iteration - 1] if iteration <= len(items) else "",
        "PERSPECTIVE": views[(iteration - 1) % len(views)] if views else "",
        "LOOP": run.state.loop,
        **(more or {}),
    }
    numbers = {one.name: number for number, one in enumerate(pipeline.entries)}

    def value(name: str) -> str | None:
        if name == template.INPUTS:
            if not view.at:
                return "(there is no stage before this one)"
            before = pipeline.entries[view.at - 1].name
            return template.inputs(before, run.results(view.at - 1))
        if name.startswith(template.OF_STAGE):
            stage = name.removeprefix(template.OF_STAGE)
            if stage not in numbers:
                return None
            return template.inputs(stage, run.results(numbers[stage]))
        return values.get(name)

    return template.expand(entry.stage.text, value).rstrip() + template.FOREGROUND
