"""The gate: what must hold before a loop is complete, and the card it ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import command, review, shape, stage, verdict, work
from .errors import Refused, UsageFault

if TYPE_CHECKING:
    from .state import LoopState

#: The four points of each kind of work (rule: Gate and completion).
POINTS = {
    "build": {
        "runs": "it runs",
        "edge_cases": "edge cases were tried",
        "rollback": "how to undo it is known",
        "dependencies": "its dependencies were checked",
    },
    "debug": {
        "root_cause": "the root cause, with evidence",
        "fix_resolves": "the fix resolves it",
        "prevention": "what prevents it from now on",
        "similar": "faults of the same kind were searched for",
    },
    "refactor": {
        "tests_unchanged": "the tests are unchanged",
        "behaviour": "behaviour is the same",
        "deletions": "what was to go is gone",
        "abstractions": "no abstraction without need",
    },
}
REVERSALS = ("2A", "2B", "1")
SIZES = (1, 3, 5, 8, 13)
RESEARCH_UNDER = 70
SHIP, MONITOR, RESEARCH = verdict.SHIP, verdict.MONITOR, verdict.RESEARCH


def check_criterion(state: LoopState, name: str, given: list) -> str:
    """The stored command of a criterion or mustNot. Raises Refused for an unknown one or another command."""
    from . import intake

    intake.running(state)
    criterion = state.criteria.get(name)
    if criterion is None:
        known = ", ".join(state.criteria) or "none yet"
        raise Refused(f"there is no criterion or mustNot {name}", f"SHAPE.md has: {known}")
    if not criterion.command:
        raise Refused(
            f"{name} has no command ({criterion.type or 'not verified'})", "answer for it in loopkit gate --file -"
        )
    if not command.same(criterion.command, given):
        raise Refused(f"not the stored command of {name}", f"next: loopkit verify {name} -- {criterion.command}")
    return criterion.command


def criterion_verified(state: LoopState, name: str, outcome: dict) -> list:
    """What follows the verification of a criterion; a mustNot that has come true pauses the loop at once."""
    from . import intake

    intake.running(state)  # the state may have moved while the check ran
    data = {key: outcome[key] for key in ("passed", "exit", "log", "seconds", "head", "files")}
    changes: list = [("criterion_verified", {"id": name, **data})]
    criterion = state.criteria[name]
    if criterion.must_not and not outcome["passed"]:
        reason = f"{name} has come true: {criterion.text} ({criterion.command} exits {outcome['exit']})"
        changes.append(("paused", {"verdict": verdict.BREACHED, "reason": reason}))
    return changes


def open_points(
    state: LoopState, digest: Callable[[str], str], lost: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """(what is missing, command) of everything the gate still waits for, in the order in which to do it.

    digest: a file's present digest, by its path · lost: ids of tasks and criteria whose evidence file is gone.
    """
    rows: list[tuple[str, str]] = []
    for task_id in state.open:
        rows.append((f"{task_id} is {state.tasks[task_id].status}", "loopkit wave next"))
        break
    for task in state.tasks.values():
        if task.id in lost:
            rows.append((f"{task.id}: its evidence file is gone", f"loopkit verify {task.id} -- {task.verify}"))
    for task in work.unproven(state):
        rows.append((f"{task.id} has no passing evidence", f"loopkit verify {task.id} -- {task.verify}"))
    for task in work.stale(state, digest):
        rows.append((f"{task.id}: its files changed after its evidence", f"loopkit verify {task.id} -- {task.verify}"))
    if not review.passed(state):
        from .nextstep import command as next_command

        rows.append(("the thorough review has not passed", next_command(state) or "loopkit review --thorough"))
    for row in state.criteria.values():
        if row.command:
            why = "has lost its evidence file" if row.id in lost else _evidence_fault(state, row.id, digest)
            if why:
                rows.append((f"{row.id} {why}", f"loopkit verify {row.id} -- {row.command}"))
    return rows


def _evidence_fault(state: LoopState, name: str, digest: Callable[[str], str]) -> str | None:
    evidence = state.criterion_evidence.get(name)
    if evidence is None:
        return "has not been verified"
    if evidence.line < state.last_completion:
        return "was verified before the last task was completed"
    if any(digest(path) != seen for path, seen in evidence.files.items()):
        return "was verified before a task's files changed"
    return None


def decided(state: LoopState, given: dict, digest: Callable[[str], str], lost: frozenset[str] = frozenset()) -> list:
    """`gate --file`: all points answered and every criterion seen → passed; a failed one becomes a remediation task.

    Raises Refused where something was not answered or verified yet (nothing is recorded then).
    """
    from . import intake

    intake.running(state)
    stage.require(state, stage.REVIEW, doing="the gate")
    missing = open_points(state, digest, lost)
    if missing:
        raise Refused(f"the gate waits: {missing[0][0]}", f"next: {missing[0][1]}")
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in POINTS:
        raise UsageFault(f"kind is {kind!r}", "use " + ", ".join(POINTS))
    faults: list[tuple[str, str]] = []
    answers = given.get("points")
    if not isinstance(answers, dict):
        raise UsageFault(
            "points is no record",
            f"give points: with {', '.join(POINTS[kind])}, each PASS how you know or FAIL what is wrong",
        )
    for name, meaning in POINTS[kind].items():
        good, words = _answer(answers.get(name), f"point {name} ({meaning})")
        if not good:
            faults.append((f"{meaning}: {words}", ""))
    told = given.get("criteria") or {}
    if not isinstance(told, dict):
        raise UsageFault("criteria is no record", 'give criteria: with C2: "PASS what was seen" lines')
    for row in state.criteria.values():
        if row.type in shape.UNSEEN and not row.must_not:
            raise Refused(
                f"{row.id} rests on {row.type} alone",
                "give it a type that can be seen; start fresh to change the shape",
            )
        if row.command:
            if not state.criterion_evidence[row.id].passed:
                faults.append((f"{row.id} {row.text}", row.command))
        elif not row.must_not:
            good, words = _answer(told.get(row.id), f"criterion {row.id} ({row.text[:60]})")
            if not good:
                faults.append((f"{row.id} {row.text}: {words}", ""))
    card = _card_fields(given)
    changes: list = []
    for place, (what, verify) in enumerate(faults):
        changes.append(work.remediation(state, f"Gate: {what}", verify, f"The gate refused: {what}", [], place))
    result = {
        "passed": not faults,
        "kind": kind,
        "points": answers,
        "criteria": told,
        "failed": [what for what, _ in faults],
        **card,
    }
    result["card"] = card_kind(state, card)
    changes.append(("gate_result", result))
    if faults:
        changes.append(intake.move(state, stage.EXECUTING))
    return changes


def _answer(text: object, what: str) -> tuple[bool, str]:
    """(passed, words) of `PASS how I know` or `FAIL why`. Raises Refused for anything else."""
    words = str(text or "").strip()
    word, rest = words[:4].upper(), words[4:].lstrip(" :,-–—")
    if word not in ("PASS", "FAIL") or words[4:5].isalnum() or not rest:
        raise Refused(f"no answer for {what}", 'write "PASS how you know" or "FAIL what is wrong"')
    return word == "PASS", rest


def _card_fields(given: dict) -> dict:
    confidence, reversal, size = given.get("confidence"), str(given.get("reversal", "")), given.get("size")
    if not isinstance(confidence, int) or isinstance(confidence, bool) or not 0 <= confidence <= 100:
        raise UsageFault(f"confidence is {confidence!r}", "give 0 to 100")
    if reversal not in REVERSALS:
        raise UsageFault(f"reversal is {reversal!r}", "2A: undone in under a minute, 2B: under five, 1: hours or more")
    if size not in SIZES:
        raise UsageFault(f"size is {size!r}", f"points: {', '.join(map(str, SIZES))}")
    texts = {key: str(given.get(key, "")).strip() for key in ("alternative", "risk")}
    for key, text in texts.items():
        if not text:
            raise UsageFault(f"{key} is missing", "a short sentence")
    return {"confidence": confidence, "reversal": reversal, "size": size, **texts}


def card_kind(state: LoopState, card: dict) -> str:
    """SHIP, MONITOR or RESEARCH (rule: Gate and completion)."""
    if card["confidence"] < RESEARCH_UNDER:
        return RESEARCH
    types = {row.type for row in state.criteria.values() if not row.must_not}
    if card["reversal"] == "1" or shape.REVIEWED in types:
        return MONITOR
    return SHIP


def completed(state: LoopState, digest: Callable[[str], str], lost: frozenset[str] = frozenset()) -> list:
    """`complete`: everything is looked at once more. Raises Refused naming what is missing."""
    from . import intake

    intake.running(state)
    stage.require(state, stage.REVIEW, doing="completing")
    missing = open_points(state, digest, lost)
    if missing:
        raise Refused(f"not complete: {missing[0][0]}", f"next: {missing[0][1]}")
    gate = state.gate
    if gate is None or not gate.get("passed") or gate["line"] < state.last_completion:
        raise Refused("the gate has not passed", "next: loopkit gate")
    if gate["card"] == RESEARCH:
        raise Refused(
            f"RESEARCH: confidence {gate['confidence']} % is under {RESEARCH_UNDER}",
            "find out more, then: loopkit gate --file -",
        )
    return [("stage_moved", {"from": stage.REVIEW, "to": stage.COMPLETE}), ("loop_completed", {"card": gate["card"]})]


def card(state: LoopState) -> dict:
    """What the completion card shows."""
    gate = state.gate or {}
    types = [one for one in shape.TYPES if any(row.type == one for row in state.criteria.values())]
    names = {SHIP: "🟢", MONITOR: "🟡", RESEARCH: "🔴"}
    return {
        "name": gate.get("card", RESEARCH),
        "mark": names[gate.get("card", RESEARCH)],
        "verified": ", ".join(types) or "nothing",
        "done": state.counts["completed"],
        "total": len(state.tasks),
        **{key: gate.get(key, "") for key in ("confidence", "reversal", "size", "alternative", "risk")},
    }
