"""Where a loop stands beyond its tasks: plan, scores, who was asked."""

from __future__ import annotations

from ..journal import parts, settings, verdict
from ..journal.state import LoopState
from . import due, kinds, policies


def warnings(state: LoopState) -> list[str]:
    """What a person should know of the plan: its size, and that it was not approved."""
    plan, review = state.supervision.plan or {}, state.supervision.review or {}
    texts = [plan["warning"]] if plan.get("warning") else []
    if review and state.supervision.standing == parts.SETTLED and not review.get("approved"):
        score = review.get("score")
        judged = "without a score" if score is None else f"with {score}"
        after = f"after revision {review.get('revision', 0)}"
        texts.append(f"the plan was not approved ({judged} {after})")
    return texts


def execution(state: LoopState) -> str:
    """not_started, running, completed, failed, paused or aborted (rule: States, endings)."""
    status = state.session.status
    if status in (verdict.RUNNING, verdict.AWAITING):
        return "running" if state.supervision.started else "not_started"
    return status


def record(state: LoopState) -> dict | None:
    """Where supervision stands, for `status --json`; None where evidence alone completes tasks."""
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
        "due": [kinds.key(step) for step in due.undispatched(state)],
        "out": [kinds.key(step) for step in due.outstanding(state)],
    }


def leveled(level: str | None) -> str:
    """The escalation level of a judgement in words; "" where nothing calls for one."""
    return "" if level in (None, "", "none") else f"level {level}"


def lines(state: LoopState) -> list[str]:
    """The same for people; no line in loops whose tasks need evidence alone."""
    row = record(state)
    if row is None:
        return []
    plan = f"plan {row['plan']}" if row["plan"] else "no plan yet"
    plan += "" if row["plan_score"] is None else f" ({row['plan_score']})"
    more = row["revisions"] > row["max_revisions"]  # the person went on after the last one
    revision = f"revision {row['revisions']}" + ("" if more else f" of {row['max_revisions']}")
    goal = "" if row["goal_score"] is None else f"goal {row['goal_score']}"
    scores = ", ".join(filter(None, (plan, revision, goal, leveled(row["level"]))))
    text = [f"Approval: {row['approval']} | {row['phase'].replace('_', ' ')}, {scores}"]
    text += [f"Dispatched, no reply yet: {', '.join(row['out'])}"] if row["out"] else []
    return text + [f"Warning: {warning}" for warning in row["warnings"]]
