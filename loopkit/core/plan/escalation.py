"""What follows a failed attempt: the clamp table, and the level that is shown beside it."""

from __future__ import annotations

from ..journal.settings import (
    APPROVAL_THRESHOLD,
    MAX_REPLAN_DEPTH,
    MAX_STEP_ATTEMPTS,
    REVISION_THRESHOLD,
)

RETRY, REPLAN, IMPOSSIBLE = "retry", "replan", "impossible"
APPROVE, REVISE, REJECT = "approve", "revise", "reject"
_DEARER = {RETRY: 0, REPLAN: 1, IMPOSSIBLE: 2}


def clamp(
    attempts: int,
    depth: int,
    max_attempts: int = MAX_STEP_ATTEMPTS,
    max_depth: int = MAX_REPLAN_DEPTH,
) -> str:
    """The action after an attempt failed: retry, replan or impossible.

    attempts: failed attempts of this task · depth: number of its own ancestors. What anybody
    suggests never changes it (rule: Clamp-down escalation): every cheaper way out is used up before
    a dearer one.
    """
    if attempts < max_attempts:
        return RETRY
    return REPLAN if depth < max_depth else IMPOSSIBLE


def weigh(action: str, suggested: str | None) -> tuple[bool, bool]:
    """(clamped, raised): somebody suggested a dearer way out than the action, or a cheaper one;
    neither for a word that is no action."""
    if suggested not in _DEARER:
        return False, False
    return _DEARER[suggested] > _DEARER[action], _DEARER[suggested] < _DEARER[action]


def band(
    score: int | None, approval: int = APPROVAL_THRESHOLD, revision: int = REVISION_THRESHOLD
) -> str:
    """approve, revise or reject by the score alone; no score (a judgement that cannot be read)
    rejects."""
    if score is None or score < min(approval, revision):
        return REJECT
    return APPROVE if score >= approval else REVISE


def level(score: int | None, issues: int) -> str:
    """Escalation level of a verification: score 0-100 (None: unknown) and number of issues; the
    first that fits."""
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
