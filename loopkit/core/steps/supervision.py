"""Supervision: what may be handed out to a role now, what is out, and what a reply of each kind
changes.

One attempt at a task is coder → tester → at most so many fixes, each tested again → supervisor's
score. Before it stand plan and plan review, after a failed attempt the diagnosis and the replan, at
the end the judgement of the goal. Whoever drives the loop asks `due`, hands that out
(core/steps/briefing.py), and records each reply with `answered`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from ..health import recovery
from ..journal import prose, settings, stage, stages, supervised, verdict
from ..journal.errors import NotYet, Refused, UsageFault
from ..journal.events import Change
from ..journal.supervised import (
    DIAGNOSIS,
    FIX,
    IMPLEMENTATION,
    KINDS,
    OF_GOAL,
    OF_PLAN,
    PLAN,
    REPLAN,
    TEST,
    VERIFICATION,
)
from ..plan import approval, work
from . import attempt, briefing, planning
from .attempt import Misfit

if TYPE_CHECKING:
    from ..journal.state import LoopState

#: Something that one role does: role · kind of its reply · what it is about: a task's id, "plan",
#: "goal" or None.
Step = namedtuple("Step", "role kind task")

ROLES = {
    PLAN: "planner",
    REPLAN: "planner",
    IMPLEMENTATION: "coder",
    FIX: "coder",
    TEST: "tester",
    VERIFICATION: "supervisor",
    DIAGNOSIS: "supervisor",
}
PLAN_REVIEW = "plan-review"
#: Characters of an unfit reply that are kept, and of one that stands for a report.
_KEPT, _REPORT = 4000, 1000


def step(kind: str, task: str | None) -> Step:
    """The step that ends in a reply of this kind."""
    return Step(PLAN_REVIEW if (kind, task) == (VERIFICATION, OF_PLAN) else ROLES[kind], kind, task)


def wanted(state: LoopState) -> list[Step]:
    """All steps that the loop waits for now, whether they have been handed out or not."""
    session = state.session
    if (
        approval.on_evidence(state)
        or session.status != verdict.RUNNING
        or session.question is not None
    ):
        return []
    if stage.confirmation(state):
        return []
    if state.stage == stages.DECOMPOSE:
        steps = _planning(state)
        if steps or not state.tasks or not supervised.planned(state):
            return steps
    if state.approval != approval.SUPERVISOR or state.stage in (
        stages.INTENT,
        stages.SHAPE,
        stages.COMPLETE,
    ):
        return []
    if state.wave is not None:
        running = [state.tasks[one] for one in state.wave.tasks if one in state.running]
        return [step(one.turn or IMPLEMENTATION, one.id) for one in running]
    return _between_waves(state)


def _planning(state: LoopState) -> list[Step]:
    if state.tasks and supervised.planned(state):
        return []
    if not state.tasks or state.supervised.standing == supervised.REVISE:
        return [step(PLAN, None)]
    return [step(VERIFICATION, OF_PLAN)] if state.approval == approval.SUPERVISOR else []


def _between_waves(state: LoopState) -> list[Step]:
    steps = [
        step(DIAGNOSIS, one)
        for one in state.open
        if supervised.undiagnosed(state, state.tasks[one])
    ]
    if steps:  # where one of them is impossible the loop ends with it: nothing else is begun
        return steps
    if state.open:
        if recovery.command(state) is not None:
            return []
        return [
            step(REPLAN, one) for one in state.open if supervised.to_replan(state, state.tasks[one])
        ]
    if not state.tasks:
        return []
    if supervised.short(state.supervised) and state.supervised.worked < (
        state.supervised.goal or {}
    ).get("line", 0):
        return [step(PLAN, None)]
    return [] if achieved(state) else [step(VERIFICATION, OF_GOAL)]


def achieved(state: LoopState) -> bool:
    """Every task is completed and the goal was judged as reached since: where no review follows,
    the loop may end."""
    goal = state.supervised.goal
    if state.open or not state.tasks or goal is None:
        return False
    return bool(goal.get("approved")) and goal["line"] > state.supervised.worked


def _is_out(state: LoopState, one: Step) -> bool:
    return supervised.is_out(state, supervised.key(one.kind, one.task))


def due(state: LoopState) -> list[Step]:
    """What can be handed out now."""
    return [one for one in wanted(state) if not _is_out(state, one)]


def outstanding(state: LoopState) -> list[Step]:
    """What was handed out, not lost, and has no reply yet."""
    return [one for one in wanted(state) if _is_out(state, one)]


# -- replies


def find(state: LoopState, kind: str, target: str | None) -> Step:
    """The step that a reply answers. Raises UsageFault for no such kind or target, Refused where it
    is not awaited."""
    stage.running(state)
    if kind not in KINDS:
        raise UsageFault(f"there is no reply {kind[:30]!r}", "use " + ", ".join(KINDS))
    if kind == PLAN:
        if target is not None:
            raise UsageFault(
                f"a plan is about the whole loop, not {target[:40]!r}",
                "loopkit reply plan --file -",
            )
    elif target is None:
        raise UsageFault(
            f"a {kind} of what?", f"name its target: loopkit reply {kind} T-001 --file -"
        )
    elif kind != VERIFICATION or target not in (OF_PLAN, OF_GOAL):
        target = work.find(state, target).id
    now = wanted(state)
    found = step(kind, target)
    if found in now:
        return found
    own = next((one for one in now if one.task == target), None)
    name = supervised.key(kind, target)
    if own is not None:
        todo = (
            briefing.reply(own) if _is_out(state, own) else "loopkit wave next"
        )  # it has to be handed out first
        raise Refused(
            f"no {name} is awaited, but {supervised.key(own.kind, own.task)}", f"next: {todo}"
        )
    raise NotYet(f"no {name} is awaited")


def answered(
    state: LoopState,
    kind: str,
    target: str | None,
    reply: dict | None,
    error: str = "",
    text: str = "",
    instead: dict | None = None,
) -> list[Change]:
    """A role's reply. `reply`: its fields as they are named, or None where `text` does not fit, for
    the reason `error`.

    The first reply that does not fit is only noted: the same step is due again. The second counts
    as something (rule: Structured replies): a plan or replan as `instead` (what a numbered list
    gave) or as none, a test or judgement as failed, a diagnosis as an unknown answer, a report as
    what it says. A planner that gives nothing usable for the third time pauses the loop.
    """
    one = find(state, kind, target)
    if reply is not None:
        try:
            return _taken(state, one, reply)
        except Misfit as fault:
            error = str(fault)
    changes: list[Change] = [
        (
            "reply_unfit",
            {"kind": one.kind, "task": one.task, "error": error[:_KEPT], "text": text[:_KEPT]},
        )
    ]
    misses = state.supervised.misses.get(supervised.key(one.kind, one.task), 0) + 1
    if misses < 2:
        return changes
    if one.kind in (PLAN, REPLAN):
        return _planless(state, one, changes, misses, instead)
    return changes + _taken(state, one, _counts_as(one.kind, error, text))


def _planless(
    state: LoopState, one: Step, changes: list, misses: int, instead: dict | None
) -> list[Change]:
    if instead is not None:
        try:
            return changes + _taken(state, one, instead)
        except Misfit as fault:
            changes[0][1]["error"] += f"; as a list: {fault}"
    if misses < supervised.MOST_MISSES:
        return changes
    what = (
        f"no usable {supervised.key(one.kind, one.task)} in {misses} replies: "
        f"{prose.clean(changes[0][1]['error'], 300)}"
    )
    return [*changes, ("paused", {"verdict": verdict.PLANNER_UNUSABLE, "reason": what})]


def _counts_as(kind: str, error: str, text: str) -> dict:
    """What a reply that stays unfit is taken for."""
    what = f"the {kind} could not be read: {error}"
    if kind == TEST:
        return {
            "status": "failed",
            "testsRun": 0,
            "testsPassed": 0,
            "testsFailed": 0,
            "fixPlan": what,
        }
    if kind == VERIFICATION:
        return {"score": None, "feedback": what}
    if kind == DIAGNOSIS:
        return {"decision": None, "reasoning": ""}
    report = text.strip()[:_REPORT] or "no report"
    return {"status": "fixed" if kind == FIX else "complete", "summary": report}


def _taken(state: LoopState, one: Step, reply: dict) -> list[Change]:
    if one.kind == PLAN:
        return planning.planned(state, reply)
    if one.kind == VERIFICATION and one.task == OF_PLAN:
        return planning.reviewed(state, reply)
    if one.kind == VERIFICATION and one.task == OF_GOAL:
        return planning.goal_judged(state, reply)
    task = state.tasks[one.task]
    if one.kind == REPLAN:
        return planning.replanned(state, task, reply)
    if one.kind in (IMPLEMENTATION, FIX):
        return attempt.coded(state, task, one.kind, reply)
    if one.kind == TEST:
        return attempt.tested(state, task, reply)
    return (
        attempt.judged(state, task, reply)
        if one.kind == VERIFICATION
        else attempt.diagnosed(state, task, reply)
    )


# -- telling


def warnings(state: LoopState) -> list[str]:
    """What a person should know of the plan that is worked on: its size, and that it was not
    approved."""
    own = state.supervised
    said = [own.plan["warning"]] if own.plan and own.plan.get("warning") else []
    if own.review and own.standing == supervised.SETTLED and not own.review.get("approved"):
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
        return "running" if state.supervised.started else "not_started"
    return status


def phase(state: LoopState) -> str:
    """planning, plan_review, execution or verification; "" in loops whose tasks need evidence
    alone."""
    if approval.on_evidence(state):
        return ""
    if state.stage in (stages.INTENT, stages.SHAPE):
        return "planning"
    if state.stage in (stages.REVIEW, stages.COMPLETE):
        return "verification"
    if state.stage != stages.DECOMPOSE or supervised.planned(state) and state.tasks:
        return "execution"
    return (
        "plan_review"
        if state.tasks and state.supervised.standing != supervised.REVISE
        else "planning"
    )


def record(state: LoopState) -> dict | None:
    """Where supervision stands, for `status --json`; None in loops whose tasks need evidence
    alone."""
    if approval.on_evidence(state):
        return None
    own = state.supervised
    return {
        "approval": state.approval,
        "phase": phase(state),
        "plan": own.standing or None,
        "plan_score": (own.review or {}).get("score"),
        "revisions": own.revisions,
        "max_revisions": settings.of(state, "max_plan_revisions"),
        "goal_score": (own.goal or {}).get("score"),
        "level": own.level or None,
        "warnings": warnings(state),
        "due": [supervised.key(one.kind, one.task) for one in due(state)],
        "out": [supervised.key(one.kind, one.task) for one in outstanding(state)],
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
    said += [f"Handed out, no reply yet: {', '.join(row['out'])}"] if row["out"] else []
    return said + [f"Warning: {one}" for one in row["warnings"]]
