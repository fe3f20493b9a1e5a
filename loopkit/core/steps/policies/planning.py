"""Replies of planner and plan review, the goal's judgement. Deciders: (state, reply) → events."""

from __future__ import annotations

from collections.abc import Iterable

from ...evidence import trials
from ...journal import parts, prose, settings, stage, verdict
from ...journal.errors import Refused, UsageFault
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...memory import decisions
from ...plan import drafts, escalation, events
from .attempt import Misfit, judgement

#: Tasks of a plan: accepted, and expected (rule: Planning and plan review).
LEAST, MOST, FEW, MANY = 2, 15, 3, 8
#: Characters of all questions together, and lines of these, at most.
_QUESTIONS, _LINES = 4000, 20


def planned(state: LoopState, reply: dict) -> list[Change]:
    """A plan. While tasks are decided on it replaces the former one; later it adds what is missing
    for the goal. Without tasks its questions are the person's. Raises Misfit."""
    rows = list(reply.get("tasks") or ())
    questions = [text for text in reply.get("questions") or () if text.strip()]
    if not rows and questions:
        return _asked(state, "\n".join(questions))
    more = state.stage != stage.DECOMPOSE
    warning = "" if more else _size(len(rows))
    if not rows or more and len(rows) > MOST:
        raise Misfit(f"tasks: {len(rows)} are no plan; give {FEW} to {MANY}, at most {MOST}")
    lists = {key: reply.get(key) for key in ("risks", "assumptions")}
    said = {"warning": warning, "questions": questions, **lists}
    try:
        decided = _decisions(state, reply.get("decisions") or ())
        if not more:
            return [*drafts.replaced(state, rows, said), *decided]
        added = drafts.submit(state, rows)
    except (Refused, UsageFault) as error:
        raise Misfit(str(error)) from None
    kept = {name: list(said[name] or ()) for name in ("risks", "assumptions", "questions")}
    return [("plan_proposed", {"warning": "", **kept, "replaces": []}), *added, *decided]


def _asked(state: LoopState, text: str) -> list[Change]:
    if state.session.unattended:
        what = "nobody can be asked: name the tasks, and put what you assume into assumptions"
        raise Misfit(what)
    lines = len(text.splitlines())
    sizes = ((len(text), _QUESTIONS, "characters"), (lines, _LINES, "lines"))
    for count, most, unit in sizes:
        if count > most:
            what = f"questions: {count:,} {unit}, at most {most:,}"
            raise Misfit(f"{what}; ask what only a person can answer")
    return [("question_asked", {"text": text})]


def _decisions(state: LoopState, rows: Iterable[dict]) -> list[Change]:
    """The decisions that a plan rests on; row whose title stands already is not recorded again."""
    known = {row.get("title") for row in decisions.live(state)}
    changes: list[Change] = []
    for row in rows:
        if row["title"] in known:
            continue
        for kind, data in decisions.recorded(state, row):
            changes.append((kind, {**data, "number": data["number"] + len(changes)}))
    return changes


def _size(count: int) -> str:
    """The warning for a plan of so many tasks, or "". Raises Misfit for too few or too many."""
    if not LEAST <= count <= MOST:
        allowed = f"{FEW} to {MANY} of them, at least {LEAST} and at most {MOST}"
        raise Misfit(f"tasks: a plan has {allowed}, not {count}")
    expected = FEW <= count <= MANY
    return "" if expected else f"the plan has {count} tasks, {FEW} to {MANY} are expected"


def replanned(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """Subtasks in place of a failed or complex task. Raises Misfit for none or too many."""
    rows = list(reply.get("subtasks") or ())
    if not 1 <= len(rows) <= MOST:
        what = f"{task.id} is split into {LEAST} to {MOST} of them, not {len(rows)}"
        raise Misfit(f"subtasks: {what}")
    try:
        *before, (kind, data) = drafts.split(state, task.id, rows)
    except (Refused, UsageFault) as error:
        raise Misfit(str(error)) from None
    warning = "" if len(rows) >= LEAST else "one subtask is the same task in other words"
    fields = {"analysis": "analysis", "resolution": "blockerResolution"}
    said = {name: reply.get(key) or "" for name, key in fields.items()}
    return [*before, (kind, {**data, **said, "warning": warning})]


def reviewed(state: LoopState, reply: dict) -> list[Change]:
    """A plan's review: approved, to be revised, or in the end as the setting says."""
    data = judgement(state, reply)
    done, most = state.supervision.revisions, settings.of(state, "max_plan_revisions")
    approved = _reaches(state, data["score"], "approval_threshold")
    if approved:
        outcome = events.APPROVED
    else:
        outcome = parts.REVISE if done < most else _unapproved(state, data["score"])
    row = {"revision": done, "approved": approved, **data, "outcome": outcome}
    proofs = trials.reviewed(state, reply.get("proofs", []))
    changes: list[Change] = [("plan_reviewed", row), *proofs]
    if outcome == events.PAUSED:
        score = "no score" if data["score"] is None else data["score"]
        why = f"the plan is not approved after {prose.count(done, 'revision')} ({score}): "
        why += prose.clean(data["feedback"], 300)
        changes.append(("paused", {"verdict": None, "reason": why}))
    return changes


def _reaches(state: LoopState, score: int | None, threshold: str) -> bool:
    return score is not None and score >= settings.of(state, threshold)


def _unapproved(state: LoopState, score: int | None) -> str:
    how = settings.of(state, "plan_review_failure")
    if how == settings.CONTINUE:
        return events.CONTINUE
    lower = how == settings.LOWER and _reaches(state, score, "revision_threshold")
    return events.LOWER if lower else events.PAUSED


def goal_judged(state: LoopState, reply: dict) -> list[Change]:
    """The goal is reached, or the planner adds what is missing while plan revisions are left."""
    data = judgement(state, reply)
    approved = _reaches(state, data["score"], "approval_threshold")
    changes: list[Change] = [("goal_judged", {**data, "approved": approved})]
    if not approved and state.supervision.revisions >= settings.of(state, "max_plan_revisions"):
        why = escalation.goal_ended(state, data["score"], data["feedback"], data["missing"])
        changes.append(("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why}))
    return changes
