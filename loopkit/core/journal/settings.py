"""Settings that rules read, with their defaults; a loop's journal keeps them."""

from __future__ import annotations

from collections import namedtuple

from . import session

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from typing import Any

    from .state import LoopState

#: Tasks of one loop, and tasks of one wave (rule: Decomposition, waves, failure).
MOST_TASKS, MOST_IN_WAVE = 25, 6
#: Attempts of one task and depth of replanning before the next dearer way out (rule: Settings).
MAX_STEP_ATTEMPTS, MAX_REPLAN_DEPTH, MAX_FIX_CYCLES = 3, 5, 3
#: Scores from which work is approved, and revised within the same attempt (rule: Execution).
APPROVAL_THRESHOLD, REVISION_THRESHOLD = 70, 50
#: What completes a task besides passing evidence: nothing, a review of its batch, a supervisor's
#: score. What each of them does is a strategy of its own (core/steps/policies).
EVIDENCE, REVIEW, SUPERVISOR = "evidence", "review", "supervisor"
POLICIES = (EVIDENCE, REVIEW, SUPERVISOR)
#: What the fold and the hooks have to know of a policy: whether a passing check completes a task,
#: a plan is reviewed before it is worked on, nothing is begun beside an open scaffold task.
Terms = namedtuple("Terms", "check_completes plan_reviewed scaffold_first")
TERMS = {
    EVIDENCE: Terms(True, False, False),
    REVIEW: Terms(False, True, True),
    SUPERVISOR: Terms(False, True, False),
}
#: Seconds a verification may run.
VERIFY_SECONDS = 600
#: Revisions of a plan, those for the goal included, and what follows when they are used up without
#: approval: go on with a warning, accept a lower score (from the revision threshold on), or pause
#: (rule: Planning and plan review).
MAX_PLAN_REVISIONS = 3
CONTINUE, LOWER, STOP = "continue", "lower", "stop"
PLAN_REVIEW_FAILURES = (CONTINUE, LOWER, STOP)

#: Of headless loops: the model of each role, and the one that it falls back to.
MODELS = {
    "planner": ["sonnet", "haiku"],
    "coder": ["opus", "sonnet"],
    "tester": ["opus", "sonnet"],
    "supervisor": ["opus", "sonnet"],
    "reviewer": ["opus", "sonnet"],
}

DEFAULTS: dict[str, Any] = {
    "max_idle_stops": session.MAX_IDLE_STOPS,
    "max_step_attempts": MAX_STEP_ATTEMPTS,
    "max_fix_cycles": MAX_FIX_CYCLES,
    "max_replan_depth": MAX_REPLAN_DEPTH,
    "verify_seconds": VERIFY_SECONDS,
    "max_plan_revisions": MAX_PLAN_REVISIONS,
    "approval_threshold": APPROVAL_THRESHOLD,
    "revision_threshold": REVISION_THRESHOLD,
    "plan_review_failure": CONTINUE,
}


def of(state: LoopState, name: str) -> Any:
    """A setting of a loop: what was stored at its start, else the default."""
    return state.settings.get(name, DEFAULTS[name])
