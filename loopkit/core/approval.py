"""What completes a task besides passing evidence: nothing more, a review of its wave, or a supervisor's score."""

from __future__ import annotations

from . import task as tasks

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .state import LoopState

EVIDENCE, REVIEW, SUPERVISOR = "evidence", "review", "supervisor"
POLICIES = (EVIDENCE, REVIEW, SUPERVISOR)


def on_evidence(state: LoopState) -> bool:
    """Whether a passing verification alone completes a task of this loop."""
    return state.approval == EVIDENCE


def undecided(state: LoopState) -> list[str]:
    """Tasks of the open wave that still run and that nobody has judged; none where evidence decides by itself."""
    if state.wave is None or on_evidence(state):
        return []
    return [one for one in state.wave.tasks if one in state.tasks and state.tasks[one].status == tasks.IN_PROGRESS]
