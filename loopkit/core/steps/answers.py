"""What agents answer: which step a reply is about, what it changes, what follows from one that does
not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import prose, stage, verdict
from ..journal.errors import NotYet, Refused, UsageFault
from ..journal.events import Change
from ..plan import roles, work
from ..plan.roles import (
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
from . import briefing, due, kinds, policies
from .policies.attempt import Misfit

if TYPE_CHECKING:
    from ..journal.state import LoopState
    from .kinds import Step

#: Characters of an invalid reply that are kept, and of one that stands for a report.
_KEPT, _REPORT = 4000, 1000


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
    name = roles.key(kind, target)
    about = [one for one in due.awaited(state) if one.subject == target]
    for one in about:
        if kinds.key(one) == name:
            return one
    for one in about:  # it has to be dispatched first
        todo = briefing.reply(one) if due.is_out(state, one) else kinds.WAVE_NEXT
        raise Refused(f"no {name} is awaited, but {kinds.key(one)}", f"next: {todo}")
    raise NotYet(f"no {name} is awaited")


def answered(
    state: LoopState,
    kind: str,
    target: str | None,
    reply: dict | None,
    error: str = "",
    text: str = "",
    instead: dict | None = None,
    final: bool = False,
) -> list[Change]:
    """A role's reply. `reply`: its fields as they are named, or None where `text` does not fit, for
    the reason `error`. final: its agent was asked to correct it, and has ended.

    The first reply that does not fit is only noted: the same step is due again. The second counts
    as something (rule: Structured replies): a plan or replan as `instead` (what a numbered list
    gave) or as none, a test or judgement as failed, a diagnosis as an unknown answer, a report as
    what it says. A planner that gives nothing usable for the third time pauses the loop.
    """
    one = find(state, kind, target)
    policy = policies.of(state)
    if reply is not None:
        try:
            return policy.on_reply(state, one, reply)
        except Misfit as fault:
            error = str(fault)
    row = {"kind": kind, "task": one.subject, "error": error[:_KEPT], "text": text[:_KEPT]}
    changes: list[Change] = [("reply_unfit", row)]
    misses = state.supervision.misses.get(kinds.key(one), 0) + 1
    if misses < 2 and not final:
        return changes
    if kind in (PLAN, REPLAN):
        return _planless(state, one, changes, misses, instead)
    noted = [] if final and kind in (IMPLEMENTATION, FIX) else changes  # words are a report too
    return noted + policy.on_reply(state, one, _counts_as(kind, error, text))


def _planless(
    state: LoopState, one: Step, changes: list, misses: int, instead: dict | None
) -> list[Change]:
    if instead is not None:
        try:
            return changes + policies.of(state).on_reply(state, one, instead)
        except Misfit as fault:
            changes[0][1]["error"] += f"; as a list: {fault}"
    if misses < roles.MOST_MISSES:
        return changes
    what = (
        f"no usable {kinds.key(one)} in {misses} replies: "
        f"{prose.clean(changes[0][1]['error'], 300)}"
    )
    return [*changes, ("paused", {"verdict": verdict.PLANNER_UNUSABLE, "reason": what})]


def _counts_as(kind: str, error: str, text: str) -> dict:
    """What a reply that stays invalid is taken for."""
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
    if report.startswith("BLOCKED"):
        return {"status": "blocked", "summary": report}
    return {"status": "fixed" if kind == FIX else "complete", "summary": report}
