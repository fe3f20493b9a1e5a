"""Where a loop stands beyond its tasks: plan, scores, who was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import parts, settings, verdict
from . import due, kinds, policies

if TYPE_CHECKING:
    from ..journal.state import LoopState


def warnings(state: LoopState) -> list[str]:
    """What a person should know of the plan that is worked on: its size, and that it was not
    approved."""
    own = state.supervision
    said = [own.plan["warning"]] if own.plan and own.plan.get("warning") else []
    if own.review and own.standing == parts.SETTLED and not own.review.get("approved"):
        score = own.review.get("score")
        judged = "without a score" if score is None else f"with {score}"
        said.append(
            f"the plan was not approved ({judged} after revision {own.review.get('revision', 0)})"
        )
    return said


def execution(state: LoopState) -> str:
    """Name of the execution state: not_started, running, completed, failed, paused, aborted (rule:
    States, endings)."""
    status = state.session.status
    if status in (verdict.RUNNING, verdict.AWAITING):
        return "running" if state.supervision.started else "not_started"
    return status


def record(state: LoopState) -> dict | None:
    """Where supervision stands, for `status --json`; None in loops whose tasks need evidence
    alone."""
    if not state.terms.plan_reviewed:
        return None
    own, policy = state.supervision, policies.of(state)
    return {
        "approval": state.approval,
        "phase": policy.phase(state),
        "plan": own.standing or None,
        "plan_score": (own.review or {}).get("score"),
        "revisions": own.revisions,
        "max_revisions": settings.of(state, "max_plan_revisions"),
        "goal_score": (own.goal or {}).get("score"),
        "level": own.level or None if policy.scores else None,
        "warnings": warnings(state),
        "due": [kinds.key(one) for one in due.undispatched(state)],
        "out": [kinds.key(one) for one in due.outstanding(state)],
    }


def leveled(level: str | None) -> str:
    """The escalation level of a judgement in words; "" where nothing was found that calls for
    one."""
    return "" if level in (None, "", "none") else f"level {level}"


def lines(state: LoopState) -> list[str]:
    """The same for people; no line in loops whose tasks need evidence alone."""
    row = record(state)
    if row is None:
        return []
    scores = [
        (f"plan {row['plan']}" if row["plan"] else "no plan yet")
        + ("" if row["plan_score"] is None else f" ({row['plan_score']})")
    ]
    more = row["revisions"] > row["max_revisions"]  # the person went on after the last one
    scores.append(f"revision {row['revisions']}" + ("" if more else f" of {row['max_revisions']}"))
    scores += [] if row["goal_score"] is None else [f"goal {row['goal_score']}"]
    scores += [leveled(row["level"])] if leveled(row["level"]) else []
    said = [f"Approval: {row['approval']} | {row['phase'].replace('_', ' ')}, " + ", ".join(scores)]
    said += [f"Dispatched, no reply yet: {', '.join(row['out'])}"] if row["out"] else []
    return said + [f"Warning: {one}" for one in row["warnings"]]
