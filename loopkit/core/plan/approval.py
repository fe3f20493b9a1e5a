"""What completes a task besides passing evidence: nothing more, a review of its wave, or a
supervisor's score."""

from __future__ import annotations

from ..journal import task as tasks
from ..journal import worktrees
from ..journal.settings import EVIDENCE, POLICIES, REVIEW, SUPERVISOR

__all__ = [
    "EVIDENCE",
    "POLICIES",
    "REVIEW",
    "SUPERVISOR",
    "at_work",
    "on_evidence",
    "proven",
    "undecided",
]

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..journal.state import LoopState
    from ..journal.task import Task


def on_evidence(state: LoopState) -> bool:
    """Whether a passing verification alone completes a task of this loop."""
    return state.approval == EVIDENCE


def undecided(state: LoopState) -> list[str]:
    """Tasks of the open wave that still run and that nobody has judged; none where evidence decides
    by itself."""
    if state.wave is None or on_evidence(state):
        return []
    return [
        one
        for one in state.wave.tasks
        if one in state.tasks and state.tasks[one].status == tasks.IN_PROGRESS
    ]


def at_work(state: LoopState) -> list[str]:
    """Running tasks of the open wave that have not come so far as to be judged: where a review
    decides, those without a check that has passed since they were handed out. Nobody is at work on
    what waits to be merged, or was."""
    if state.wave is None:
        return []
    waiting = (*worktrees.unmerged(state), *worktrees.unchecked(state))
    running = [
        state.tasks[one] for one in state.wave.tasks if one in state.running and one not in waiting
    ]
    if state.approval != REVIEW:
        return [one.id for one in running]
    return [one.id for one in running if not proven(one)]


def proven(task: Task) -> bool:
    """A check of the task has passed since it was handed out, and none has failed after it."""
    return task.evidence is not None and task.evidence.passed and task.evidence.line > task.handed
