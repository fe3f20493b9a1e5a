"""The policy `evidence`: a check that passes completes its task."""

from __future__ import annotations

from ...journal import settings
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import work
from .. import kinds
from ..kinds import Step, step
from . import Policy


class Evidence(Policy):
    """Nobody judges the session's tasks one by one; a light review of each wave is offered."""

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


POLICY = Evidence()
