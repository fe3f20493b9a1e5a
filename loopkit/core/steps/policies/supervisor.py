"""The policy `supervisor`: plan and plan review; coder → tester → at most so many fixes, each
tested again → score; a diagnosis after each failed attempt; at the end the goal is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...journal import parts, settings, stages
from ...journal import task as tasks
from ...journal.errors import NotYet
from ...plan import roles, work
from .. import kinds
from ..kinds import step
from .policy import Policy

if TYPE_CHECKING:
    from ...health.recovery import Play
    from ...journal.events import Change
    from ...journal.state import LoopState
    from ...journal.task import Task
    from ..kinds import Step

#: What the turn of a task (core/plan/roles) waits for, beside its implementation.
_TURNS = {
    roles.FIX: kinds.FIX,
    roles.TEST: kinds.TEST,
    roles.VERIFICATION: kinds.VERDICT,
}


class Supervisor(Policy):
    """Nothing is believed that was not tested and scored; a check alone decides nothing."""

    name = settings.SUPERVISOR
    check_counts = False
    scores = True
    plan_review = step(kinds.PLAN_VERDICT, roles.OF_PLAN)

    def in_wave(self, state: LoopState) -> list[Step]:
        return [self._turn(state.tasks[one]) for one in work.running(state)]

    def _turn(self, task: Task) -> Step:
        kind = _TURNS.get(task.turn)
        return step(kind, task.id) if kind else self.work(task)

    def between_waves(self, state: LoopState) -> list[Step]:
        return self.checks(state) or self._judging(state)

    def briefed(self, state: LoopState) -> list[Step]:
        if state.stage in (stages.INTENT, stages.SHAPE, stages.COMPLETE):
            return []
        if state.stage == stages.DECOMPOSE:
            planning = self.planning(state)
            if planning:
                return planning
        return self.in_wave(state) if state.wave is not None else self._judging(state)

    def _judging(self, state: LoopState) -> list[Step]:
        opened = [state.tasks[one] for one in state.open]
        failed = [one.id for one in opened if undiagnosed(one)]
        if failed:  # where one of them is impossible the loop ends with it: nothing else is begun
            return [step(kinds.DIAGNOSIS, one) for one in failed]
        if opened:
            if self.recovery(state) is not None:
                return []
            return [step(kinds.REPLAN, one.id) for one in opened if to_replan(state, one)]
        own = state.supervision
        if not state.tasks:
            return []
        if roles.short(own) and own.worked < (own.goal or {}).get("line", 0):
            return [step(kinds.PLAN)]
        return [] if achieved(state) else [step(kinds.GOAL_VERDICT, roles.OF_GOAL)]

    def recovery(self, state: LoopState) -> Play | None:
        play = super().recovery(state)
        # planner and supervisor are asked anyway
        return None if play is None or play.kind in (parts.SPLIT, parts.PANEL) else play

    def held(self, state: LoopState, task: Task) -> str:
        if undiagnosed(task):
            return f"{task.id} failed and nobody has diagnosed it"
        return f"{task.id} is split before it is worked on" if to_replan(state, task) else ""

    def check_worktrees(self) -> None:
        raise NotYet(
            "worktrees are for loops in which the check decides: a tester and a supervisor would "
            "look elsewhere"
        )

    def on_failed(self, state: LoopState, task: Task, failure: Change) -> list[Change]:
        return [failure]  # the loop ends with its diagnosis, whatever that says

    def on_reply(self, state: LoopState, one: Step, reply: dict) -> list[Change]:
        from . import attempt, planning

        if one.kind == kinds.PLAN_VERDICT:
            return planning.reviewed(state, reply)
        if one.kind == kinds.GOAL_VERDICT:
            return planning.goal_judged(state, reply)
        decide = {
            kinds.IMPLEMENTATION: attempt.implemented,
            kinds.SCAFFOLD: attempt.implemented,
            kinds.FIX: attempt.fixed,
            kinds.TEST: attempt.tested,
            kinds.VERDICT: attempt.judged,
            kinds.DIAGNOSIS: attempt.diagnosed,
            kinds.REPLAN: planning.replanned,
        }.get(one.kind)
        if decide is None:
            return super().on_reply(state, one, reply)
        return decide(state, state.tasks[one.subject], reply)

    def bands(self, state: LoopState) -> dict:
        return {
            "approve": settings.of(state, "approval_threshold"),
            "revise": settings.of(state, "revision_threshold"),
        }


def undiagnosed(task: Task) -> bool:
    """A failed attempt waits for the supervisor's diagnosis."""
    if task.status not in (tasks.PENDING, tasks.FAILED):
        return False
    return task.attempts > 0 and task.diagnosed != task.attempts


def to_replan(state: LoopState, task: Task) -> bool:
    """A planner cuts it into subtasks: the clamp table says so, or it is complex and has not been
    split yet."""
    if undiagnosed(task):
        return False
    if task.status == tasks.FAILED or task.id in state.narrow:
        return task.action == "replan"
    if task.complexity != "complex" or not state.is_free(task):
        return False
    if task.depth >= settings.of(state, "max_replan_depth"):
        return False
    return not any(one.parent == task.id for one in state.tasks.values())


def achieved(state: LoopState) -> bool:
    """Every task is completed and the goal was judged as reached since: where no review follows,
    the loop may end."""
    goal = state.supervision.goal
    if state.open or not state.tasks or goal is None:
        return False
    return bool(goal.get("approved")) and goal["line"] > state.supervision.worked


POLICY = Supervisor()
