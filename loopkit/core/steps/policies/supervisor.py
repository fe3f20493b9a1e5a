"""The policy `supervisor`: coder → tester → fixes → score; at the end the goal is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...journal import parts, settings, stage
from ...journal import task as tasks
from ...journal.errors import NotYet
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import events, work
from .. import kinds
from ..kinds import Step, step
from . import Policy

if TYPE_CHECKING:
    from ...health.recovery import Play

#: What the turn of a task (core/plan/events) waits for, beside its implementation.
_TURNS = {events.FIX: kinds.FIX, events.TEST: kinds.TEST, events.VERIFICATION: kinds.VERDICT}


class Supervisor(Policy):
    """Nothing is believed that was not tested and scored; a check alone decides nothing."""

    name = settings.SUPERVISOR
    check_counts = False
    scores = True
    plan_review = step(kinds.PLAN_VERDICT, events.OF_PLAN)

    def in_wave(self, state: LoopState) -> list[Step]:
        running = [state.tasks[name] for name in work.running(state)]
        turns = [(task, _TURNS.get(task.turn)) for task in running]
        return [step(kind, task.id) if kind else self.work(task) for task, kind in turns]

    def between_waves(self, state: LoopState) -> list[Step]:
        return self.checks(state) or self._judging(state)

    def prompted(self, state: LoopState) -> list[Step]:
        if state.stage in (stage.INTENT, stage.SHAPE, stage.COMPLETE):
            return []
        if state.stage == stage.DECOMPOSE:
            planning = self.planning(state)
            if planning:
                return planning
        return self.in_wave(state) if state.wave is not None else self._judging(state)

    def _judging(self, state: LoopState) -> list[Step]:
        opened = [state.tasks[name] for name in state.open]
        failed = [step(kinds.DIAGNOSIS, task.id) for task in opened if undiagnosed(task)]
        if failed:  # where one of them is impossible the loop ends with it: nothing else is begun
            return failed
        if opened:
            if self.recovery(state) is not None:
                return []
            return [step(kinds.REPLAN, task.id) for task in opened if to_replan(state, task)]
        if not state.tasks:
            return []
        known = state.supervision
        if events.short(known) and known.worked < (known.goal or {}).get("line", 0):
            return [step(kinds.PLAN)]
        return [] if achieved(state) else [step(kinds.GOAL_VERDICT, events.OF_GOAL)]

    def recovery(self, state: LoopState) -> Play | None:
        play = super().recovery(state)
        # planner and supervisor are asked anyway
        return None if play is None or play.kind in (parts.SPLIT, parts.PANEL) else play

    def held(self, state: LoopState, task: Task) -> str:
        if undiagnosed(task):
            return f"{task.id} failed and nobody has diagnosed it"
        return f"{task.id} is split before it is worked on" if to_replan(state, task) else ""

    def check_worktrees(self) -> None:
        what = "worktrees are for loops in which the check decides"
        raise NotYet(f"{what}: a tester and a supervisor would look elsewhere")

    def on_failed(self, state: LoopState, task: Task, failure: Change) -> list[Change]:
        return [failure]  # the loop ends with its diagnosis, whatever that says

    def on_blocked(
        self, state: LoopState, task: Task, result: str, why: str, tried: str = ""
    ) -> list[Change]:
        """The attempt has failed: attempts come to their end without a person."""
        approach = {"approach": tried[:500]} if tried else {}
        return [work.failure(state, task, result, why, **approach)]

    def on_reply(self, state: LoopState, one: Step, reply: dict) -> list[Change]:
        from . import attempt, planning

        if one.kind == kinds.PLAN_VERDICT:
            return planning.reviewed(state, reply)
        if one.kind == kinds.GOAL_VERDICT:
            return planning.goal_judged(state, reply)
        decide = {
            kinds.IMPLEMENTATION: attempt.coded,
            kinds.SCAFFOLD: attempt.coded,
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
        names = {"approve": "approval_threshold", "revise": "revision_threshold"}
        return {band: settings.of(state, name) for band, name in names.items()}


def undiagnosed(task: Task) -> bool:
    """A failed attempt waits for the supervisor's diagnosis."""
    waiting = task.status in (tasks.PENDING, tasks.FAILED)
    return waiting and task.attempts > 0 and task.diagnosed != task.attempts


def to_replan(state: LoopState, task: Task) -> bool:
    """A planner cuts it up: the clamp table says so, or it is complex and not yet split."""
    if undiagnosed(task):
        return False
    if task.status == tasks.FAILED or task.id in state.narrow:
        return task.action == "replan"
    if task.complexity != "complex" or not state.is_free(task):
        return False
    deep = task.depth >= settings.of(state, "max_replan_depth")
    return not deep and not any(row.parent == task.id for row in state.tasks.values())


def achieved(state: LoopState) -> bool:
    """Every task is completed and the goal was judged as reached since."""
    goal = state.supervision.goal or {}
    reached = goal.get("approved") and goal["line"] > state.supervision.worked
    return bool(reached and state.tasks and not state.open)


POLICY = Supervisor()
