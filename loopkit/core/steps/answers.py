"""What agents answer: which step a reply is about, what it changes, what an invalid one means."""

from __future__ import annotations

import re

from ..journal import prose, stage, verdict
from ..journal.errors import NotYet, Refused, UsageFault
from ..journal.events import Change
from ..journal.state import LoopState
from ..plan import events, work
from ..plan.events import DIAGNOSIS, FIX, IMPLEMENTATION, PLAN, REPLAN, TEST, VERIFICATION
from . import context, due, kinds, policies
from .kinds import Step
from .policies.attempt import Misfit

#: Characters of an invalid reply that are kept, and of one that stands for a report.
_KEPT, _REPORT = 4000, 1000
#: How an answer that does not fit its form says in it that its agent is stuck, and why.
_SAYS_BLOCKED = re.compile(r"\bstatus\W{1,6}blocked\b", re.I)
_SAYS_WHY = re.compile(r"\bblock_reason\W{1,6}(\w[^\"\n]*)")


def find(state: LoopState, kind: str, target: str | None) -> Step:
    """The step that a reply answers. UsageFault for an unknown one, Refused for one not awaited."""
    stage.running(state)
    target = _target(state, kind, target)
    name = events.key(kind, target)
    steps = [step for step in due.awaited(state) if step.subject == target]
    for step in steps:
        if kinds.key(step) == name:
            return step
    for step in steps:  # it has to be dispatched first
        todo = context.reply(step) if due.is_out(state, step) else kinds.WAVE_NEXT
        raise Refused(f"no {name} is awaited, but {kinds.key(step)}", f"next: {todo}")
    raise NotYet(f"no {name} is awaited")


def _target(state: LoopState, kind: str, target: str | None) -> str | None:
    if kind not in events.KINDS:
        raise UsageFault(f"there is no reply {kind[:30]!r}", "use " + ", ".join(events.KINDS))
    if kind == PLAN and target is not None:
        what = f"a plan is about the whole loop, not {target[:40]!r}"
        raise UsageFault(what, "loopkit reply plan --file -")
    if kind == PLAN or kind == VERIFICATION and target in (events.OF_PLAN, events.OF_GOAL):
        return target
    if target is None:
        todo = f"name its target: loopkit reply {kind} T-001 --file -"
        raise UsageFault(f"a {kind} of what?", todo)
    return work.find(state, target).id


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
    """A role's reply. `reply`: its fields, or None where `text` is invalid, for the reason `error`.
    final: its agent was asked to correct it, and has ended.

    The first invalid reply is only noted: the same step is due again. The second counts as
    something (rule: Structured replies): a plan or replan as `instead` (what a numbered list gave)
    or as none, a test or judgement as failed, a diagnosis as an unknown answer, a report as what it
    says. A planner that gives nothing usable for the third time pauses the loop.
    """
    step = find(state, kind, target)
    policy = policies.of(state)
    if reply is not None:
        try:
            return policy.on_reply(state, step, reply)
        except Misfit as fault:
            error = str(fault)
    row = {"kind": kind, "task": step.subject, "error": error[:_KEPT], "text": text[:_KEPT]}
    changes: list[Change] = [("reply_unfit", row)]
    misses = state.supervision.misses.get(kinds.key(step), 0) + 1
    if misses < 2 and not final:
        return changes
    if kind in (PLAN, REPLAN):
        return _planless(state, step, changes, misses, instead)
    noted = [] if final and kind in (IMPLEMENTATION, FIX) else changes  # words are a report too
    return noted + policy.on_reply(state, step, _counts_as(kind, error, text))


def _planless(
    state: LoopState, step: Step, changes: list, misses: int, instead: dict | None
) -> list[Change]:
    if instead is not None:
        try:
            return changes + policies.of(state).on_reply(state, step, instead)
        except Misfit as fault:
            changes[0][1]["error"] += f"; as a list: {fault}"
    if misses < events.MOST_MISSES:
        return changes
    error = prose.clean(changes[0][1]["error"], 300)
    what = f"no usable {kinds.key(step)} in {misses} replies: {error}"
    return [*changes, ("paused", {"verdict": verdict.PLANNER_UNUSABLE, "reason": what})]


def _counts_as(kind: str, error: str, text: str) -> dict:
    """What a reply that stays invalid is taken for."""
    what = f"the {kind} could not be read: {error}"
    if kind == TEST:
        counts = dict.fromkeys(("testsRun", "testsPassed", "testsFailed"), 0)
        return {"status": "failed", **counts, "fixPlan": what}
    if kind == VERIFICATION:
        return {"score": None, "feedback": what}
    if kind == DIAGNOSIS:
        return {"decision": None, "reasoning": ""}
    report = text.strip()[:_REPORT] or "no report"
    if report.startswith("BLOCKED"):
        return {"status": "blocked", "summary": report}
    if _SAYS_BLOCKED.search(report):
        why = _SAYS_WHY.search(report)
        return {"status": "blocked", "summary": why[1] if why else report}
    return {"status": "fixed" if kind == FIX else "complete", "summary": report}
