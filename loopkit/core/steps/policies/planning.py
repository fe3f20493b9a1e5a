"""Plans under review: what the replies of planner and plan review change, and the judgement of the
goal at the end.

Deciders: (state, reply) → journal lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...journal import parts, prose, settings, stages, verdict
from ...journal.errors import Refused, UsageFault
from ...journal.events import Change
from ...memory import decisions
from ...plan import impossible, roles, work
from .attempt import Misfit, judgement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...journal.state import LoopState
    from ...journal.task import Task

#: Tasks of a plan: accepted, and expected (rule: Planning and plan review).
LEAST, MOST, FEW, MANY = 2, 15, 3, 8
#: Characters of all questions together, and lines of these, at most.
_QUESTIONS, _LINES = 4000, 20


def planned(state: LoopState, reply: dict) -> list[Change]:
    """A plan. While tasks are decided on it replaces the former one; later it adds what is missing
    for the goal.

    Without tasks its questions are put to the person. Raises Misfit where it cannot be taken.
    """
    rows, questions = (
        list(reply.get("tasks") or ()),
        [one for one in reply.get("questions") or () if one.strip()],
    )
    if not rows and questions:
        if state.session.unattended:
            raise Misfit(
                "nobody can be asked: name the tasks, and put what you assume into assumptions"
            )
        text = "\n".join(questions)
        if len(text) > _QUESTIONS:
            raise Misfit(
                f"questions: {len(text):,} characters, at most {_QUESTIONS:,}; ask what only a "
                "person can answer"
            )
        if len(text.splitlines()) > _LINES:
            raise Misfit(
                f"questions: {len(text.splitlines())} lines, at most {_LINES}; ask what only a "
                "person can answer"
            )
        return [("question_asked", {"text": text})]
    more = state.stage != stages.DECOMPOSE
    warning = "" if more else _size(len(rows))
    if not rows or more and len(rows) > MOST:
        raise Misfit(f"tasks: {len(rows)} are no plan; give {FEW} to {MANY}, at most {MOST}")
    said = {
        "warning": warning,
        "questions": questions,
        **{key: reply.get(key) for key in ("risks", "assumptions")},
    }
    try:
        decided = _decisions(state, reply.get("decisions") or ())
        if not more:
            return [*work.replaced(state, rows, said), *decided]
        added = work.submit(state, rows)
    except (Refused, UsageFault) as error:
        raise Misfit(str(error)) from None
    lists = {name: list(said[name] or ()) for name in ("risks", "assumptions", "questions")}
    return [("plan_proposed", {"warning": "", **lists, "replaces": []}), *added, *decided]


def _decisions(state: LoopState, rows: Iterable[dict]) -> list[Change]:
    """The decisions that a plan rests on; one that stands already under its title is not recorded
    again."""
    known = {one.get("title") for one in decisions.live(state)}
    changes: list[Change] = []
    for row in rows:
        if row["title"] in known:
            continue
        for kind, data in decisions.recorded(state, row):
            changes.append((kind, {**data, "number": data["number"] + len(changes)}))
    return changes


def _size(count: int) -> str:
    """The warning for a plan of so many tasks, or "". Raises Misfit for one that is too small or
    too large."""
    if not LEAST <= count <= MOST:
        raise Misfit(
            f"tasks: a plan has {FEW} to {MANY} of them, at least {LEAST} and at most {MOST}, not "
            f"{count}"
        )
    return (
        "" if FEW <= count <= MANY else f"the plan has {count} tasks, {FEW} to {MANY} are expected"
    )


def replanned(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """Subtasks in place of a task that failed too often, or that is complex. Raises Misfit for none
    or too many."""
    rows = list(reply.get("subtasks") or ())
    if not 1 <= len(rows) <= MOST:
        raise Misfit(
            f"subtasks: {task.id} is split into {LEAST} to {MOST} of them, not {len(rows)}"
        )
    try:
        changes = work.split(state, task.id, rows)
    except (Refused, UsageFault) as error:
        raise Misfit(str(error)) from None
    kind, data = changes[-1]
    warning = "" if len(rows) >= LEAST else "one subtask is the same task in other words"
    said = {
        "analysis": reply.get("analysis") or "",
        "resolution": reply.get("blockerResolution") or "",
    }
    return [*changes[:-1], (kind, {**data, **said, "warning": warning})]


def reviewed(state: LoopState, reply: dict) -> list[Change]:
    """The review of a plan: approved, to be revised, or what the setting says once the revisions
    are used up."""
    data = judgement(state, reply)
    done, most = state.supervision.revisions, settings.of(state, "max_plan_revisions")
    approved = _enough(state, data["score"])
    outcome = (
        roles.APPROVED if approved else parts.REVISE if done < most else _unapproved(state, data)
    )
    row = {"revision": done, "approved": approved, **data, "outcome": outcome}
    changes: list[Change] = [("plan_reviewed", row)]
    if outcome == roles.PAUSED:
        score = "no score" if data["score"] is None else data["score"]
        why = f"the plan is not approved after {prose.count(done, 'revision')} ({score}): "
        why += prose.clean(data["feedback"], 300)
        changes.append(("paused", {"verdict": None, "reason": why}))
    return changes


def _enough(state: LoopState, score: int | None) -> bool:
    return score is not None and score >= settings.of(state, "approval_threshold")


def _unapproved(state: LoopState, data: dict) -> str:
    how = settings.of(state, "plan_review_failure")
    if how == settings.CONTINUE:
        return roles.CONTINUE
    enough = data["score"] is not None and data["score"] >= settings.of(state, "revision_threshold")
    return roles.LOWER if how == settings.LOWER and enough else roles.PAUSED


def goal_judged(state: LoopState, reply: dict) -> list[Change]:
    """The judgement of the goal: reached, or the planner adds what is missing while plan revisions
    are left."""
    data = judgement(state, reply)
    approved = _enough(state, data["score"])
    changes: list[Change] = [("goal_judged", {**data, "approved": approved})]
    if not approved and state.supervision.revisions >= settings.of(state, "max_plan_revisions"):
        why = impossible.of_goal(state, data["score"], data["feedback"], data["missing"])
        changes.append(("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why}))
    return changes
