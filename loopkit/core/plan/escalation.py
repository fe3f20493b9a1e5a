"""What follows a failed attempt: the clamp table, the level beside it, a loop's impossible end."""

from __future__ import annotations

from collections.abc import Iterable

from ..journal import prose
from ..journal import task as tasks
from ..journal.settings import (
    APPROVAL_THRESHOLD,
    MAX_REPLAN_DEPTH,
    MAX_STEP_ATTEMPTS,
    REVISION_THRESHOLD,
)
from ..journal.state import LoopState
from ..journal.task import Task

RETRY, REPLAN, IMPOSSIBLE = "retry", "replan", "impossible"
APPROVE, REVISE, REJECT = "approve", "revise", "reject"
_DEARER = {RETRY: 0, REPLAN: 1, IMPOSSIBLE: 2}


def clamp(
    attempts: int,
    depth: int,
    max_attempts: int = MAX_STEP_ATTEMPTS,
    max_depth: int = MAX_REPLAN_DEPTH,
) -> str:
    """The action after an attempt failed: retry, replan or impossible. attempts: failed attempts of
    this task · depth: number of its own ancestors. What anybody suggests never changes it (rule:
    Clamp-down escalation): every cheaper way out is used up before a dearer one."""
    if attempts < max_attempts:
        return RETRY
    return REPLAN if depth < max_depth else IMPOSSIBLE


def weigh(action: str, suggested: str | None) -> tuple[bool, bool]:
    """(clamped, raised): somebody suggested a dearer way out than the action, or a cheaper one."""
    difference = _DEARER.get(suggested or "", _DEARER[action]) - _DEARER[action]
    return difference > 0, difference < 0


def band(
    score: int | None, approval: int = APPROVAL_THRESHOLD, revision: int = REVISION_THRESHOLD
) -> str:
    """approve, revise or reject by the score alone; None, one that cannot be read, rejects."""
    if score is None or score < min(approval, revision):
        return REJECT
    return APPROVE if score >= approval else REVISE


def level(score: int | None, issues: int) -> str:
    """The first escalation level that fits: score 0-100 (None: unknown), number of issues."""
    score = 100 if score is None else score
    rows = (
        ("abort", issues >= 5),
        ("critical", issues >= 4),
        ("refocus", score < 30 or issues >= 3),
        ("correct", score < 50 or issues >= 2),
        ("remind", score < 70),
    )
    return next((name for name, fits in rows if fits), "none")


# -- why a loop ends as impossible: goal, chain of tasks, attempts, last error, what was completed

#: Characters of the goal, a subject, the last error, a reasoning; completed tasks named.
_GOAL, _SUBJECT, _ERROR, _REASONING, _NAMED = 200, 60, 300, 1000, 8


def _goal(state: LoopState) -> str:
    """What a loop is for, in one line: the echo of the clarified request, else its text."""
    return prose.line((state.clarified or {}).get("echo") or state.text, _GOAL)


def task_ended(
    state: LoopState,
    task: Task,
    attempts: int,
    error: str,
    reasoning: str = "",
    blockers: Iterable[str] = (),
) -> str:
    """A task failed for the last time and cannot be split any further; attempts: its own."""
    chain: list[str] = []
    ancestor: Task | None = task
    while ancestor is not None:
        tried = prose.count(attempts if ancestor is task else ancestor.attempts, "attempt")
        chain.insert(0, f"{ancestor.id} {prose.line(ancestor.subject, _SUBJECT)} ({tried})")
        ancestor = state.tasks.get(ancestor.parent or "")
    last = f"last error: {prose.line(error[-_ERROR:], _ERROR)}"
    diagnosis = [f"diagnosis: {prose.line(reasoning, _REASONING)}"] if reasoning.strip() else []
    named = _named("blockers: ", blockers, 2 * _SUBJECT)
    chained = " → ".join(chain)
    return "; ".join(
        [f"goal: {_goal(state)}", chained, last, *diagnosis, *named, _completed(state)]
    )


def goal_ended(state: LoopState, score: int | None, feedback: str, missing: Iterable[str]) -> str:
    """Everything is completed, the goal is not reached, and no revision of the plan is left."""
    judged = "cannot be judged" if score is None else f"judged with {score}"
    parts = [
        f"goal: {_goal(state)}",
        f"{judged} after {prose.count(state.supervision.revisions, 'plan revision')}",
        f"feedback: {prose.line(feedback, _REASONING)}",
    ]
    return "; ".join([*parts, *_named("missing: ", missing, _SUBJECT), _completed(state)])


def _named(label: str, texts: Iterable[str], most: int) -> list[str]:
    rows = [prose.line(text, most) for text in texts]
    return [label + ", ".join(rows[:_NAMED])] if rows else []


def _completed(state: LoopState) -> str:
    done = [task for task in state.tasks.values() if task.status == tasks.COMPLETED]
    text = f"{len(done)} of {len(state.tasks)} tasks were completed"
    named = [f"{task.id} {prose.line(task.subject, _SUBJECT)}" for task in done]
    return f"{text}: {prose.few(named, _NAMED)}" if done else text
