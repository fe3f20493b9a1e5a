"""A stage that works on a loop: how far the loop has come, when the stage is complete, how the run
ends where its loop does not go on."""

from __future__ import annotations

from typing import NamedTuple

from ..journal import prose, verdict
from ..journal import task as tasks
from ..journal.state import LoopState
from . import completion, status
from .completion import Verdict

#: Why a run pauses that may not run a check.
DENIED = "denied"
#: The outcome of an iteration in which an agent's answer to a step of the loop cannot be used.
UNUSABLE = "unusable"


class Mark(NamedTuple):
    """How far a loop has come. completed, blocked: ids of tasks · attempts: that have failed."""

    completed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    attempts: int = 0


def mark(state: LoopState) -> Mark:
    """How far a loop has come: an attempt that was decided shows in it."""
    rows = list(state.tasks.values())
    done = tuple(row.id for row in rows if row.status == tasks.COMPLETED)
    blocked = tuple(row.id for row in rows if tasks.is_blocked_outside(row))
    return Mark(done, blocked, sum(row.attempts for row in rows))


def suggested(tasks: int) -> int:
    """Iterations that so many tasks may take, some of them tried twice: 1.5 each, and three."""
    return (3 * tasks + 1) // 2 + 3


def judged(state: LoopState, goal: bool) -> Verdict:
    """Whether a stage on this loop is complete. goal: the loop has to be; else its tasks."""
    session = state.session
    if session.verdict == verdict.ACHIEVED:
        return Verdict(completion.COMPLETE, session.reason or "the loop is complete")
    if goal or not state.tasks:
        return Verdict(completion.OPEN)
    left = [state.tasks[name] for name in state.open]
    if not left:
        return Verdict(completion.COMPLETE, f"{prose.count(len(state.tasks), 'task')} completed")
    blocked = [task for task in left if tasks.is_blocked_outside(task)]
    others = [task for task in left if task not in blocked]
    if any(state.is_free(task) or task.status != tasks.PENDING for task in others):
        return Verdict(completion.OPEN)
    named = "; ".join(f"{row.id}: {prose.clean(row.block_text or '', 200)}" for row in blocked)
    return Verdict(completion.WAITING, f"only blocked tasks are left: {named}")


def unfinished(task: tasks.Task) -> str:
    """Why an attempt has not completed its task."""
    if tasks.is_blocked_outside(task):
        return f"{task.id} is blocked: {prose.clean(task.block_text or '', 200)}"
    last = task.history[-1]["result"] if task.history else task.status
    return f"{task.id} is not completed: {prose.clean(str(last), 200)}"


def ending(state: LoopState, denied: bool) -> tuple[str, str, str] | None:
    """(status, reason, error) of a run whose loop does not go on; denied: a check may not run."""
    session = state.session
    if session.status == verdict.FAILED:
        return status.FAILED, session.verdict or "", session.reason
    if session.status == verdict.ABORTED:
        return status.FAILED, verdict.CANCELLED, "the loop was cancelled"
    if session.status != verdict.PAUSED:
        return None
    if session.verdict in status.LIMITS:
        return status.LIMIT, status.LIMITS[session.verdict], session.reason
    return status.PAUSED, DENIED if denied else status.WAITING, session.reason
