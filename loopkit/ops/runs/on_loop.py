"""A run whose stage works on a loop: an iteration is an attempt at one of its tasks, with whatever
the loop waits for around it. What the attempt changed is committed once its task is completed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...core.journal import limits, prose, verdict
from ...core.journal.errors import Damaged, LoopError
from ...core.journal.state import LoopState
from ...core.pipeline import due, on_loop, status, template
from ...core.pipeline.completion import Verdict
from ...core.pipeline.definitions import Entry, Pipeline
from ...core.steps import kinds
from ...core.steps.due import JUDGING
from ...core.steps.kinds import KINDS, PROGRAM, Step
from ...engine import agents, commits
from ...engine.agents import Agent, Answer
from ...engine.process import Deadlines
from ...engine.run import Recorded, Request
from ...render import printable
from ...store.loop import Loop
from ...store.runs import Run
from .. import consent, headless
from ..workspace import OWNER, Workspace
from . import driver
from .completions import Strategy, View

#: The stage that works a goal to its end.
LOOPER = "looper"
#: Kinds of steps beside those of the run and of the loop: the run becomes the loop's owner; an
#: attempt begins, is closed.
TAKE, BEGIN, CLOSE = "take loop", "begin attempt", "close attempt"
_OWN = due.OWN | {TAKE, BEGIN, CLOSE}
#: Kinds of agents' steps of which an iteration has one at the most: whatever is asked once more is
#: so because the loop came no further.
_ONCE = (kinds.PROOFS, kinds.SET_CHECK, *JUDGING)
#: Characters of a commit's subject without the task's id.
_SUBJECT = 60
#: The line of a commit's message by which it is found again.
MARK = "Loopkit-Task: {loop} {task} {evidence}"


class OnLoop(Strategy):
    """A stage that works on a loop, which the run owns meanwhile. goal: the loop is worked to its
    end, reviews and judgement included; else until no task is open."""

    asks_before = True
    works = True
    goal = False

    def verdict(self, view: View) -> Verdict:
        """Raises LoopError where the loop cannot be read."""
        return on_loop.judged(opened(view.run).state, self.goal)


class TasksEmpty(OnLoop):
    """No task of the loop is pending or running."""


class GoalReached(OnLoop):
    """The loop is complete."""

    goal = True


def opened(run: Run) -> Loop:
    """The loop that a run works on. Raises Damaged."""
    return Loop(run.root, run.state.loop)


class _Attempt:
    """What the agents of an iteration came to. outcome: of the first that ended badly, of all where
    none did."""

    def __init__(self) -> None:
        self.began = time.time()
        self.asked = 0
        self.costs: list[float | None] = []
        self.text, self.task = "", ""
        self.outcome, self.error = agents.DONE, ""
        self.denied: list[agents.Denied] = []
        self.answered: set[Step] = set()
        self.stuck: Step | None = None

    def begins(self, step: Step) -> None:
        """An agent is asked; what it costs is unknown until it has ended."""
        self.asked += 1
        if step.kind in headless.ATTEMPTS:
            self.task = str(step.subject)

    def add(self, step: Step, answer: Answer) -> None:
        """Take an agent's end into account."""
        self.costs.append(agents.known_cost(answer.cost))
        self.denied += answer.denied
        if answer.outcome not in (agents.DONE, agents.EMPTY):
            self.fail(answer.outcome, answer.error)
        if step.kind in headless.ATTEMPTS:
            self.text = answer.text
        self.text = self.text or answer.text

    def fail(self, outcome: str, error: str) -> None:
        """It cannot be brought to its end."""
        if self.outcome == agents.DONE:
            self.outcome, self.error = outcome, error

    @property
    def failed(self) -> bool:
        return self.outcome != agents.DONE

    @property
    def spent(self) -> float:
        """USD, as far as they are known."""
        return sum(cost or 0.0 for cost in self.costs)

    def answer(self) -> Answer:
        """All of it as one; the cost is what is known of it, None where nothing is."""
        known = [cost for cost in self.costs if cost is not None]
        return Answer(
            self.outcome,
            self.text,
            error=self.error,
            cost=sum(known) if known or not self.asked else None,
            denied=tuple(self.denied),
            started=self.began,
            ended=time.time(),
        )


class Driver(driver.Driver):
    """of: agents by the role that has its own; else the stage's does all. take: makes the run the
    owner of its loop; gives the loop's folder."""

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        pipeline: Pipeline,
        agent: Callable[[Entry], Agent],
        of: dict[str, Agent],
        take: Callable[[], str],
    ) -> None:
        super().__init__(workspace, run, pipeline, agent)
        self.stages, self.roles, self.own = list(self.agents), of, take
        self.agents += of.values()
        self.inner = headless.Driver(
            workspace.note, headless.Agents(self._of), self._words, lambda: run.elapsed
        )
        self.attempt: _Attempt | None = None
        self.taken = False
        self.about: dict[str, Any] = {}
        self.stood: commits.Stand | None = None

    def _of(self, role: str) -> Agent:
        return self.roles.get(role) or self.stages[self.run.state.current]

    def _words(self, step: Step, text: str) -> str:
        """What an agent of the loop is told: in the words of the stage, where it does a task, else
        with what its role is told in a session."""
        view = self.view
        if step.kind not in headless.ATTEMPTS or view.entry.stage.name == LOOPER:
            return headless.in_role(step, text).rstrip() + template.FOREGROUND
        more = {"ITEM": text.strip(), "LOOP": opened(self.run).folder}
        return driver.prompt(self.run, self.pipeline, view, view.done + 1, more)

    @property
    def on_loop(self) -> bool:
        """Whether the present stage works on the loop."""
        current = self.run.state.current
        return current < len(self.strategies) and isinstance(self.strategies[current], OnLoop)

    # -- the runner's questions

    def who(self, step: Step) -> str:
        if step.kind in _OWN:
            return PROGRAM
        if self.on_loop and step.kind in KINDS:
            return self.inner.who(step)
        return super().who(step)

    def due(self) -> list[Step]:
        if self.attempt is not None:
            return self._within(self.attempt)
        steps = super().due()
        if steps and self.on_loop and not self.taken:
            return [Step(TAKE)]
        if steps and steps[0].kind == due.TEST and self._uncommitted():
            return [Step(BEGIN, self.view.done + 1)]
        if not steps or steps[0].kind in due.OWN or not self.on_loop:
            return steps
        return [Step(BEGIN, self.view.done + 1)]

    def _uncommitted(self) -> bool:
        """Whether a task is completed whose attempt has yet to be closed."""
        since = self.run.state.since
        return (
            self.on_loop
            and bool(since)
            and any(name in since for name in on_loop.mark(opened(self.run).state).completed)
        )

    def _within(self, attempt: _Attempt) -> list[Step]:
        """An attempt is closed whatever stops it: what it cost counts."""
        if self.lost or self.run.fault is not None:
            return []
        try:
            inner = [] if attempt.failed else self.inner.due()
        except LoopError as error:
            attempt.fail(agents.FATAL, str(error))
            inner = []
        if not self._is_over(attempt, inner):
            cut = self._cut(attempt, inner[0])
            if cut is None:
                return inner
            attempt.fail(*cut)
        return [Step(CLOSE, self.view.done + 1)]

    def _cut(self, attempt: _Attempt, step: Step) -> tuple[str, str] | None:
        """Why an attempt goes no further: outcome, error. At a limit of the run no further agent
        is asked; checks still run."""
        if self.stop is not None:
            return agents.INTERRUPTED, self.stop.reason
        if not attempt.costs or self.inner.who(step) == PROGRAM:
            return None
        over = due.reached(self.run.state, self.run.elapsed, attempt.spent)
        if over is None:
            return None
        return agents.SPENT if over[0] == status.MAX_COST else agents.TIMED_OUT, over[1]

    def _over(self) -> tuple[str, str] | None:
        """The run's own, else that of its loop."""
        over = super()._over()
        if over is None and self.on_loop:
            session = opened(self.run).state.session
            reached = limits.reached(*session.spent, session.most)
            over = reached and (status.LIMITS[reached[0]], reached[1])
        return over

    def _left_usd(self) -> float | None:
        left = super()._left_usd()
        if left is None or self.attempt is None:
            return left
        return max(0.01, left - self.attempt.spent)

    def _is_over(self, attempt: _Attempt, inner: list[Step]) -> bool:
        """The attempt was decided, it failed for another reason, the loop waits for somebody, or
        for what was answered; a wave that can be closed is."""
        if not inner or self.inner.who(inner[0]) == kinds.PERSON:
            return True
        if inner[0] in attempt.answered:
            attempt.stuck = inner[0]
            return True
        return self._moved() and inner[0].kind != kinds.CLOSE_WAVE

    def _moved(self) -> bool:
        """The attempt was decided."""
        before = self.run.state.seen
        return before is not None and on_loop.mark(opened(self.run).state) != before.mark

    def do(self, step: Step) -> Iterator[Recorded]:
        try:
            if step.kind == TAKE:
                self.run.record([("loop_taken", {"loop": self.own()})])
                self.taken = True
            elif step.kind == BEGIN:
                self._begin_attempt()
            elif step.kind == CLOSE:
                yield from self._close(step)
            elif step.kind in due.OWN:
                yield from super().do(step)
            else:
                yield from map(_short, self.inner.do(step))
        except LoopError as error:
            if self.attempt is None:
                self.end(status.FAILED, "", str(error))
            elif opened(self.run).state.session.status == verdict.RUNNING:
                self.attempt.fail(agents.FATAL, str(error))

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        if not self.on_loop:
            return super().ask(steps, faults)
        view, step = self.view, steps[0]
        asked = self.inner.ask(steps, faults)
        if step not in asked:
            return {}
        if self.attempt is not None:
            self.attempt.begins(step)
        log = self.run.log(view.at, view.done + 1)
        if step.kind not in headless.ATTEMPTS:
            name = kinds.key(step).replace(" ", "-")
            log = f"{os.path.splitext(log)[0]}-{name}.jsonl"
        request = asked[step]
        left = [usd for usd in (request.prompt.budget, self._left_usd()) if usd is not None]
        prompt = request.prompt._replace(
            budget=min(left, default=None),
            log=log,
            environment={
                **driver.exports(self.run.session, view.entry),
                OWNER: os.environ["CLAUDE_CODE_SESSION_ID"],
            },
        )
        deadlines, own = self._deadlines(view.entry), request.deadlines or Deadlines()
        deadlines = deadlines._replace(total=min(deadlines.total, own.total))
        return {step: request._replace(prompt=prompt, deadlines=deadlines)}

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        if not self.on_loop:
            yield from super().take(step, answer)
            return
        if self.lost or self.attempt is None:
            return
        self.attempt.add(step, answer)
        self.inner.ended(step, answer)
        if self.attempt.failed:
            return
        try:
            yield from map(_short, self.inner.take(step, answer))
        except Damaged as error:  # no fault of the answer
            self.attempt.fail(agents.FATAL, str(error))
        if step.kind in _ONCE:
            self.attempt.answered.add(step)

    def without(self, step: Step, error: LoopError) -> Iterator[Recorded]:
        if not self.on_loop or self.attempt is None:
            yield from super().without(step, error)
            return
        try:
            yield from map(_short, self.inner.without(step, error))
        except LoopError as fault:
            self.attempt.stuck = step
            self.attempt.fail(on_loop.UNUSABLE, f"{kinds.key(step)}: {fault}")

    def cut(self, step: Step, answer: Answer) -> None:
        if not self.on_loop or self.attempt is None:
            super().cut(step, answer)
            return
        self.attempt.add(step, answer)
        self.inner.cut(step, answer)

    def aborted(self) -> None:
        if self.attempt is not None:
            self.attempt.fail(agents.INTERRUPTED, "the run was aborted")
            self.about = {"task": self.attempt.task, "left": self._left()}
            with contextlib.suppress(LoopError):
                answer = self._answer(self.attempt, opened(self.run).state)
                self._record(self.view, self.view.done + 1, answer)
        super().aborted()

    def judged(self, view: View, answer: Answer) -> Answer:
        """Of an attempt its task's check is the judge."""
        return answer if self.on_loop else super().judged(view, answer)

    # -- an attempt

    def _begin_attempt(self) -> None:
        """Look at tree and loop; what an attempt that was cut off has seen counts further. None
        begins where those before it came no further."""
        view, run = self.view, self.run
        step, count = run.state.stuck
        if count >= opened(run).state.session.max_idle_stops:
            why = view.rows[-1].get("error") or step
            what = f"{count} iterations in a row came no further: {why}"
            self.end(status.PAUSED, status.STALLED, what)
            return
        row: dict[str, Any] = {}
        if run.state.seen is None:
            row |= self._seen()
        self._begun(view, row)
        with contextlib.suppress(LoopError):
            self.stood = commits.stand(run.state.project, self.workspace.environment)
        self.attempt = _Attempt()

    def _seen(self) -> dict[str, Any]:
        """How things stand now, for the event. A task that is completed and not committed has yet
        to be closed; what was changed since an attempt left its files is the person's."""
        run, environment = self.run, self.workspace.environment
        loop = opened(run).state
        mark = on_loop.mark(loop)
        done = [name for name in mark.completed if name not in run.state.since]
        row: dict[str, Any] = {
            "mark": {"completed": done, "blocked": list(mark.blocked), "attempts": mark.attempts},
            "usd": loop.session.reported,
        }
        try:
            seen = commits.before(run.state.project, environment, [run.root])
            row |= {"tree": seen.tree, "dirty": list(seen.dirty)}
            if run.state.left:
                row["yours"] = commits.changed(
                    run.state.project, environment, run.state.left, [run.root]
                )
        except LoopError as error:
            self.workspace.note(f"nothing will be committed: {error}")
        return row

    def _left(self) -> str:
        """The project's files as an attempt leaves them that is not committed."""
        try:
            return commits.before(
                self.run.state.project, self.workspace.environment, [self.run.root]
            ).tree
        except LoopError:
            return ""

    def _strayed(self) -> list[str]:
        """What became, in an attempt, of the branch and of changes of the person's, which agents
        are to leave alone."""
        run, before, self.stood = self.run, self.stood, None
        try:
            now = commits.stand(run.state.project, self.workspace.environment)
            dirty = commits.dirty(run.state.project, self.workspace.environment)
        except LoopError:
            return []
        notes = []
        if before is not None and now.branch != before.branch:
            names = [name or "a detached HEAD" for name in (before.branch, now.branch)]
            notes.append(f"meanwhile the branch was changed from {names[0]} to {names[1]}")
        elif before is not None and now.sha != before.sha:
            notes.append(f"meanwhile {before.sha[:12] or 'no commit'} became {now.sha[:12]}")
        gone = sorted(set(run.state.seen.dirty if run.state.seen else ()) - set(dirty))
        if gone:
            named = prose.clean(", ".join(gone), 120)
            notes.append(f"uncommitted before, and not any more: {named}")
        return notes

    def _close(self, step: Step) -> Iterator[Recorded]:
        """Commit, record the iteration, and end the run where its loop does not go on."""
        attempt, state = self.attempt, opened(self.run).state
        assert attempt is not None
        self.attempt = None
        end = self._ending(state)
        finished = self._finished(state)
        if end is None or attempt.asked or finished:
            task = attempt.task or self._decided(state, finished)
            self.about, strayed = {"task": task}, self._strayed()
            if finished:
                self.about |= self._commit(state, finished)
                fault = self.about.pop("fault", "")
                end = end or (fault and (status.FAILED, "", fault)) or None
            elif attempt.stuck is not None:
                self.about["stuck"] = kinds.key(attempt.stuck)
            elif task and not attempt.failed and self._moved():
                self.about["error"] = on_loop.unfinished(state.tasks[task])
            if not finished or self.run.state.since:
                self.about["left"] = self._left()
            self.about["notes"] = [*self.about.get("notes", ()), *strayed]
            yield from super().take(step, self._answer(attempt, state))
        if end is not None and self.run.state.status == status.RUNNING:
            self.end(*end, needs=self._needs(end))

    def _needs(self, end: tuple[str, str, str]) -> list[str]:
        """What the person has to give with the next start."""
        if end[1] != on_loop.DENIED:
            return []
        return headless.leave(consent.missing(self.workspace, opened(self.run)))

    def _answer(self, attempt: _Attempt, state: LoopState) -> Answer:
        """What it came to, with the cost of agents whose process died within it."""
        answer, before = attempt.answer(), self.run.state.seen
        known = None if before is None else before.usd
        more = 0.0 if known is None else state.session.reported - known - attempt.spent
        return answer if more < 1e-6 else answer._replace(cost=(answer.cost or 0.0) + more)

    def _ending(self, state: LoopState) -> tuple[str, str, str] | None:
        reason = state.session.reason or ""
        end = on_loop.ending(state, reason.startswith(headless.NOT_ALLOWED))
        if end is not None:
            return end
        try:
            steps = self.inner.due()
        except LoopError as error:  # as where somebody else has it now
            return status.FAILED, "", str(error)
        if steps and self.inner.who(steps[0]) == kinds.PERSON:
            return status.PAUSED, status.WAITING, headless.waits_for(state, steps[0])
        return None

    def _finished(self, state: LoopState) -> list[str]:
        before = self.run.state.seen
        known = before.mark.completed if before else ()
        return [name for name in on_loop.mark(state).completed if name not in known]

    def _decided(self, state: LoopState, finished: list[str]) -> str:
        """The task of an attempt that a dead process had decided already; a wave is one task."""
        if finished or not self._moved():
            return finished[-1] if finished else ""
        return str(state.waves[-1].tasks[-1]) if state.waves else ""

    def _commit(self, state: LoopState, finished: list[str]) -> dict[str, Any]:
        """Commit what was changed for these tasks, unless that was done before a crash."""
        run, environment = self.run, self.workspace.environment
        own = state.tasks[self.about["task"] if self.about["task"] in finished else finished[-1]]
        before = run.state.since.get(own.id) or run.state.seen
        if before is None or not before.tree:
            return {
                "settled": finished,
                "notes": [f"{', '.join(finished)} completed, not committed"],
            }
        line = MARK.format(
            loop=state.name, task=own.id, evidence=own.evidence.log if own.evidence else "-"
        )
        said = printable((own.coded or {}).get("summary", "")).splitlines()
        body = "\n".join(row for row in said if not row.startswith(MARK.partition(" ")[0]))
        message = f"{prose.subject(own.subject, _SUBJECT)} ({own.id})\n\n"
        message += f"{body.strip()}\n\n{line}\n" if body.strip() else f"{line}\n"
        project, again = run.state.project, run.state.seen.tree if run.state.seen else ""
        try:
            sha = commits.find(project, environment, line)
            done = (
                commits.Committed(sha)
                if sha
                else commits.commit(
                    project,
                    environment,
                    commits.Before(before.tree, before.dirty, before.yours, again),
                    message,
                    [run.root],
                )
            )
        except LoopError as error:  # the next start tries again, before more is changed
            fault = f"{own.id} completed, not committed: {error}"
            return {"fault": fault, "notes": [fault]}
        notes = [
            f"{', '.join(finished)} completed" + (f", commit {done.sha[:12]}" if done.sha else "")
        ]
        notes += [f"{path} is not committed: {why}" for path, why in done.left.items()]
        return {"settled": finished, "commit": done.sha, "notes": notes}

    def _left_dirty(self) -> bool:
        """What was uncommitted when the attempt began is the person's."""
        seen = self.run.state.seen
        if not self.on_loop or seen is None or not seen.tree:
            return super()._left_dirty()
        try:
            now = commits.dirty(self.run.state.project, self.workspace.environment)
        except LoopError:
            return False
        return bool(set(now) - set(seen.dirty))

    def _row(self, view: View, iteration: int, answer: Answer) -> dict[str, Any]:
        row = super()._row(view, iteration, answer)
        about, self.about = self.about, {}
        row["notes"] = [*about.pop("notes", ()), *row.get("notes", ())]
        return {**row, **about}


def _short(record: Recorded) -> Recorded:
    """A record of the loop's with what matters of it to whoever watches."""
    if record.step.kind == kinds.COMPLETE:
        return record
    return record._replace(text=f"  {record.text.partition(chr(10))[0]}")
