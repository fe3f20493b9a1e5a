"""Settings that rules read, with their defaults; each is stored in the journal when a loop starts."""

from __future__ import annotations

from . import escalation, session

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .state import LoopState

#: Tasks of one loop, and tasks of one wave (rule: Decomposition, waves, failure).
MOST_TASKS, MOST_IN_WAVE = 25, 6
#: Seconds a verification may run.
VERIFY_SECONDS = 600

DEFAULTS = {
    "max_idle_stops": session.MAX_IDLE_STOPS,
    "max_step_attempts": escalation.MAX_STEP_ATTEMPTS,
    "max_fix_cycles": escalation.MAX_FIX_CYCLES,
    "max_replan_depth": escalation.MAX_REPLAN_DEPTH,
    "verify_seconds": VERIFY_SECONDS,
}


def of(state: LoopState, name: str) -> int:
    """A setting of a loop: what was stored at its start, else the default."""
    return state.settings.get(name, DEFAULTS[name])
