"""The policy `review`: plan, scaffold and every batch are reviewed, and a verdict completes."""

from __future__ import annotations

from ...journal import settings
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import work
from .. import kinds
from ..kinds import Step, step
from . import Policy


class Review(Policy):
    """A planner drafts the tasks; what has passed its check waits for the batch's review."""

    name = settings.REVIEW
    reviews_batches = True

    def closing(self, state: LoopState) -> Step:
        if state.wave is not None and state.running:
            return step(kinds.BATCH_REVIEW, state.wave.number)
        return super().closing(state)

    def keeps(self, task: Task) -> bool:
        return super().keeps(task) or work.proven(task)

    def at_work(self, state: LoopState) -> list[str]:
        return [name for name in super().at_work(state) if not work.proven(state.tasks[name])]

    def check_reviews(self, command: str) -> None:
        pass

    def on_reply(self, state: LoopState, one: Step, reply: dict) -> list[Change]:
        from ...review import batch_review

        if one.kind == kinds.PLAN_REVIEW:
            return batch_review.planned(state, reply)
        if one.kind == kinds.BATCH_REVIEW:
            return batch_review.judged(state, one.subject, batch_review.mode(state), reply)
        return super().on_reply(state, one, reply)


POLICY = Review()
