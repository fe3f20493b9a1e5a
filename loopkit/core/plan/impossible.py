"""Why a loop ends as impossible, in one text: goal, chain of tasks, attempts, last error, what had
been completed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import prose
from ..journal import task as tasks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..journal.state import LoopState
    from ..journal.task import Task

#: Characters of the goal, a subject, the last error, a reasoning at most; completed tasks that are
#: named.
_GOAL, _SUBJECT, _ERROR, _REASONING, _NAMED = 200, 60, 300, 1000, 8


def _line(text: str, most: int) -> str:
    return prose.clean(" ".join(text.split()), most)


def goal(state: LoopState) -> str:
    """What a loop is for, in one line: the echo of the clarified request, else its text."""
    return _line((state.clarified or {}).get("echo") or state.text, _GOAL)


def of_task(
    state: LoopState,
    task: Task,
    attempts: int,
    error: str,
    reasoning: str = "",
    blockers: Iterable[str] = (),
) -> str:
    """A task failed for the last time and cannot be split any further; `attempts`: those of the
    task itself."""
    chain: list[str] = []
    one: Task | None = task
    while one is not None:
        tried = prose.count(attempts if one.id == task.id else one.attempts, "attempt")
        chain.insert(0, f"{one.id} {_line(one.subject, _SUBJECT)} ({tried})")
        one = state.tasks.get(one.parent or "")
    parts = [
        f"goal: {goal(state)}",
        " → ".join(chain),
        f"last error: {_line(error[-_ERROR:], _ERROR)}",
    ]
    return "; ".join([*parts, *_said(reasoning, blockers), _completed(state)])


def of_goal(state: LoopState, score: int | None, feedback: str, missing: Iterable[str]) -> str:
    """Everything is completed, the goal is not reached, and no revision of the plan is left."""
    said = "cannot be judged" if score is None else f"judged with {score}"
    parts = [
        f"goal: {goal(state)}",
        f"{said} after {prose.count(state.supervision.revisions, 'plan revision')}",
    ]
    parts.append(f"feedback: {_line(feedback, _REASONING)}")
    lacking = [_line(one, _SUBJECT) for one in missing]
    if lacking:
        parts.append("missing: " + ", ".join(lacking[:_NAMED]))
    return "; ".join([*parts, _completed(state)])


def _said(reasoning: str, blockers: Iterable[str]) -> list[str]:
    parts = [f"diagnosis: {_line(reasoning, _REASONING)}"] if reasoning.strip() else []
    named = [_line(one, 2 * _SUBJECT) for one in blockers]
    return [*parts, "blockers: " + ", ".join(named[:_NAMED])] if named else parts


def _completed(state: LoopState) -> str:
    done = [one for one in state.tasks.values() if one.status == tasks.COMPLETED]
    text = f"{len(done)} of {len(state.tasks)} tasks were completed"
    if not done:
        return text
    named = [f"{one.id} {_line(one.subject, _SUBJECT)}" for one in done[:_NAMED]]
    more = f" and {len(done) - _NAMED} more" if len(done) > _NAMED else ""
    return f"{text}: " + ", ".join(named) + more
