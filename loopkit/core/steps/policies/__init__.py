"""Policies: what completes a task besides its check, and which steps that takes; one class each."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from ...journal import parts, settings, stage
from ...journal.errors import NotYet, Refused
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import events, work
from .. import kinds
from ..kinds import Step, step

if TYPE_CHECKING:
    from ...health.recovery import Play


def of(state: LoopState) -> Policy:
    """The strategy of a loop; of a name that nobody knows the strictest."""
    name = state.approval if state.approval in settings.POLICIES else settings.SUPERVISOR
    if name == settings.EVIDENCE:
        return EVIDENCE
    policy: Policy = importlib.import_module("." + name, __name__).POLICY
    return policy


class Policy:
    """A strategy: looks at a folded state and changes nothing. The defaults are those of a loop
    that asks for nothing more."""

    name = ""
    #: Whether a check that fails counts towards the end of its attempt.
    check_counts = True
    #: Whether judgements give scores, with levels.
    scores = False
    #: Whether the batch of a wave is reviewed, with a verdict for each task.
    reviews_batches = False

    # -- steps

    def planning(self, state: LoopState) -> list[Step]:
        """Steps until the tasks may be worked on; none once they may."""
        if state.tasks and stage.planned(state):
            return []
        if not state.tasks or state.supervision.standing == parts.REVISE:
            return [step(kinds.PLAN)]
        return [self.plan_review]

    #: The step that looks at a plan.
    plan_review = step(kinds.PLAN_REVIEW, events.OF_PLAN)

    def in_wave(self, state: LoopState) -> list[Step]:
        """What agents work on in the open wave; once all have answered, their checks."""
        running = [state.tasks[name] for name in self.at_work(state)]
        out = [self.work(task) for task in running if task.coded is None]
        return out or [step(kinds.CHECK, task.id) for task in running if not work.checked(task)]

    def work(self, task: Task) -> Step:
        """The step that does a task."""
        return step(kinds.SCAFFOLD if task.scaffold else kinds.IMPLEMENTATION, task.id)

    def closing(self, state: LoopState) -> Step:
        """What follows once nobody is at work in the open wave."""
        return step(kinds.CLOSE_WAVE, state.wave.number if state.wave else None)

    def between_waves(self, state: LoopState) -> list[Step]:
        """What comes before the next wave, or before the end."""
        return self.checks(state)

    def checks(self, state: LoopState) -> list[Step]:
        """Checks that are due once after each wave: mustNots and decisions that a command shows."""
        if not brought(state):
            return []
        rules = [row.id for row in state.must_nots if row.command]
        seen, since = state.criterion_evidence, state.wave_closed_line
        names = [name for name in rules if name not in seen or seen[name].line < since]
        if state.decision_log.checks:
            from ...memory import decisions

            names += [f"D{number}" for number, _ in decisions.due(state)]
        return [step(kinds.CHECK, name) for name in names]

    def beside(self, state: LoopState) -> list[Step]:
        """What is done beside the next wave and keeps nothing waiting."""
        return []

    def prompted(self, state: LoopState) -> list[Step]:
        """Those of its steps whose agents are asked with a prompt of their own."""
        asked = self.planning(state) if state.stage == stage.DECOMPOSE else []
        return [planned for planned in asked if planned.kind == kinds.PLAN]

    def recovery(self, state: LoopState) -> Play | None:
        """The recovery that comes before the next wave."""
        from ...health import recovery

        return recovery.due(state)

    # -- rules

    def completes(self, task: Task) -> bool:
        """Whether a task is completed by what its check says now."""
        return False

    def keeps(self, task: Task) -> bool:
        """Whether a running task stays as it is when its session ends: only a word is missing, or
        its check, since its agent has answered."""
        answered = self.check_counts and task.coded is not None and not work.checked(task)
        return answered or self.completes(task)

    def at_work(self, state: LoopState) -> list[str]:
        """Running tasks of the open wave that somebody works on, not those waiting for a merge."""
        waiting = (*work.unmerged(state), *work.unchecked(state))
        return [name for name in work.running(state) if name not in waiting]

    def undecided(self, state: LoopState) -> list[str]:
        """Tasks that keep the open wave from being closed, since nobody has judged them."""
        return work.running(state)

    def scaffold(self, state: LoopState) -> set[str]:
        """The tasks beside which no other is begun."""
        return state.scaffold_first if state.terms.scaffold_first else set()

    def held(self, state: LoopState, task: Task) -> str:
        """Why a task waits though nothing blocks it, or ""."""
        return ""

    def check_worktrees(self) -> None:
        """Raises Refused where a wave cannot work in worktrees."""

    def check_reviews(self, command: str) -> None:
        """Raises Refused where reviews do not decide; `command` is the one that was called."""
        what = f"{command} decides in loops with approval = {settings.REVIEW}"
        raise Refused(f"{what}, this one has {self.name}", "see loopkit status")

    # -- deciding

    def on_verified(self, state: LoopState, task: Task, outcome: dict) -> list[Change]:
        """What follows a check of a running task. `outcome`: as for attempts.verified."""
        if outcome["passed"] or not self.check_counts:
            return []
        fixes = task.fix_cycles
        if task.coded is None and fixes < settings.of(state, "max_fix_cycles"):
            return []  # whoever works on it fixes it; nobody does once they have answered
        result = f"verification exits {outcome['exit']} after {fixes} fixes"
        failure = work.failure(state, task, result, outcome["output"])
        return self.on_failed(state, task, failure)

    def on_failed(self, state: LoopState, task: Task, failure: Change) -> list[Change]:
        """The line of a failed attempt, and the end of the loop where nothing else is left."""
        return [failure, *work.end(state, task, failure)]

    def on_blocked(
        self, state: LoopState, task: Task, result: str, why: str, tried: str = ""
    ) -> list[Change]:
        """What follows where whoever works on a task says that it is blocked (why; tried: what was
        done): it waits, for an open task that is named, else for the person."""
        named = set(re.findall(r"\bT-\d+\b", why.upper())) - {task.id}
        kind = "dependency" if named.intersection(state.open) else "information"
        return work.blocked(state, task.id, kind, why)

    def on_reply(self, state: LoopState, one: Step, reply: dict) -> list[Change]:
        """What an agent's reply to a step changes. Raises NotYet where nobody waits for it."""
        if one.kind == kinds.PLAN:
            from . import planning

            return planning.planned(state, reply)
        if one.kind in (kinds.IMPLEMENTATION, kinds.SCAFFOLD):
            from . import attempt

            return attempt.coded(state, state.tasks[one.subject], reply)
        raise NotYet(f"no {kinds.key(one)} is awaited")

    # -- telling

    def phase(self, state: LoopState) -> str:
        """planning, plan_review, execution or verification; "" where evidence alone completes."""
        if state.stage in (stage.INTENT, stage.SHAPE):
            return "planning"
        if state.stage in (stage.REVIEW, stage.COMPLETE):
            return "verification"
        if state.stage != stage.DECOMPOSE or stage.planned(state) and state.tasks:
            return "execution"
        revise = state.supervision.standing == parts.REVISE
        return "plan_review" if state.tasks and not revise else "planning"

    def bands(self, state: LoopState) -> dict | None:
        """Scores from which on work is approved, or revised; None where a review decides."""
        return None


def brought(state: LoopState) -> bool:
    """The newest wave is closed, something of it stands, and no thorough review looked at that."""
    if not state.waves or state.thorough is not None and state.thorough["wave"] >= len(state.waves):
        return False
    wave = state.waves[-1]
    # what is no longer there is not looked at
    return wave.closed and bool(wave.completed) and not state.history.undone


class Evidence(Policy):
    """The usual one, which costs no module: a check that passes completes its task. Nobody judges
    the session's tasks one by one; a light review of each wave is offered."""

    name = settings.EVIDENCE

    def planning(self, state: LoopState) -> list[Step]:
        return [] if state.tasks else [step(kinds.TASKS)]

    def work(self, task: Task) -> Step:
        return step(kinds.IMPLEMENTATION, task.id)

    def beside(self, state: LoopState) -> list[Step]:
        """The newest closed wave, unless it is the last one: all of the work is reviewed then, and
        what that has looked at, or is no longer there, no more."""
        closed = [wave for wave in state.waves if wave.closed]
        number = closed[-1].number if closed and closed[-1].completed else 0
        seen = (state.thorough or {}).get("wave", 0)
        gone = state.history.undone or not state.open
        if number <= seen or gone or f"wave_{number}" in state.reviews:
            return []
        return [step(kinds.WAVE_REVIEW, number)]

    def prompted(self, state: LoopState) -> list[Step]:
        return []

    def completes(self, task: Task) -> bool:
        return task.evidence is not None and task.evidence.passed

    def undecided(self, state: LoopState) -> list[str]:
        return []

    def on_verified(self, state: LoopState, task: Task, outcome: dict) -> list[Change]:
        if outcome["passed"] and not outcome.get("worktree"):
            return work.completed(state, task)
        return super().on_verified(state, task, outcome)

    def phase(self, state: LoopState) -> str:
        return ""


EVIDENCE = Evidence()
