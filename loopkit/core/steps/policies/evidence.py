"""The policy `evidence`: a check that passes completes its task."""

from __future__ import annotations

from ...journal import settings
from ...journal.errors import NotYet
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import work
from .. import kinds
from ..kinds import Step, step
from . import Policy, brought


class Evidence(Policy):
    """Nobody judges the session's tasks one by one; a light review of each wave is offered."""

    name = settings.EVIDENCE

    def planning(self, state: LoopState) -> list[Step]:
        return [] if state.tasks else [step(kinds.TASKS)]

    def in_wave(self, state: LoopState) -> list[Step]:
        return [self.work(state.tasks[name]) for name in work.running(state)]

    def work(self, task: Task) -> Step:
        return step(kinds.IMPLEMENTATION, task.id)

    def between_waves(self, state: LoopState) -> list[Step]:
        if not self.offers_review(state):
            return []
        return self.checks(state) or [step(kinds.WAVE_REVIEW, len(state.waves))]

    def briefed(self, state: LoopState) -> list[Step]:
        return []

    def completes(self, task: Task) -> bool:
        return task.evidence is not None and task.evidence.passed

    def undecided(self, state: LoopState) -> list[str]:
        return []

    def offers_review(self, state: LoopState) -> bool:
        return brought(state) and f"wave_{len(state.waves)}" not in state.reviews

    def check_replies(self) -> None:
        raise NotYet("no role's reply is taken in this loop: evidence completes its tasks")

    def on_verified(self, state: LoopState, task: Task, outcome: dict) -> list[Change]:
        if outcome["passed"] and not outcome.get("worktree"):
            return work.completed(state, task)
        return super().on_verified(state, task, outcome)

    def phase(self, state: LoopState) -> str:
        return ""


POLICY = Evidence()
