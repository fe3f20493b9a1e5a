"""How loops end or pause: verdicts, the status each implies, and the words for them."""

from __future__ import annotations

RUNNING, PAUSED, AWAITING = "running", "paused", "awaiting_approval"
COMPLETED, FAILED, ABORTED = "completed", "failed", "aborted"
FINAL = frozenset((COMPLETED, FAILED, ABORTED))

ACHIEVED, IMPOSSIBLE, CANCELLED = "achieved", "impossible", "cancelled"
LIMIT_ITERATIONS, LIMIT_TIME, LIMIT_BUDGET = "limit_iterations", "limit_time", "limit_budget"
STALLED, WAITING = "stalled", "waiting"
BREACHED, PLANNER_UNUSABLE = "must_not_breached", "planner_unusable"
LIMITS = frozenset((LIMIT_ITERATIONS, LIMIT_TIME, LIMIT_BUDGET))

#: The reason of a pause or an end for which nobody gave one.
BY_HAND = "by hand"
#: What stands before the line that undoes a pause: nobody runs it unasked.
AGAIN = "to go on, if the person says so: "
#: Cards of the gate; RESEARCH does not complete a loop.
SHIP, MONITOR, RESEARCH = "SHIP", "MONITOR", "RESEARCH"

#: The status that a verdict implies; any other pauses.
STATUS_OF = {ACHIEVED: COMPLETED, IMPOSSIBLE: FAILED, CANCELLED: ABORTED}
