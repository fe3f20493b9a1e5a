"""What follows a failed attempt: the clamp table, and the level that is shown beside it."""

from __future__ import annotations

RETRY, REPLAN, IMPOSSIBLE = "retry", "replan", "impossible"
#: Attempts of one task and depth of replanning before the next dearer way out (rule: Settings).
MAX_STEP_ATTEMPTS, MAX_REPLAN_DEPTH, MAX_FIX_CYCLES = 3, 5, 3


def clamp(attempts: int, depth: int, max_attempts: int = MAX_STEP_ATTEMPTS, max_depth: int = MAX_REPLAN_DEPTH) -> str:
    """The action after an attempt failed: retry, replan or impossible.

    attempts: failed attempts of this task · depth: number of its own ancestors. What anybody suggests never changes it
    (rule: Clamp-down escalation): every cheaper way out is used up before a dearer one.
    """
    if attempts < max_attempts:
        return RETRY
    return REPLAN if depth < max_depth else IMPOSSIBLE


def level(score: int | None, issues: int) -> str:
    """Escalation level of a verification: score 0-100 (None: unknown) and number of issues; the first that fits."""
    score = 100 if score is None else score
    if issues >= 5:
        return "abort"
    if issues >= 4:
        return "critical"
    if score < 30 or issues >= 3:
        return "refocus"
    if score < 50 or issues >= 2:
        return "correct"
    return "remind" if score < 70 else "none"
