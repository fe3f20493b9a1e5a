"""The gate: what must hold before a loop is complete, and the card it ends with."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ..evidence import changes, command, proofs, trials
from ..journal import stage, verdict
from ..journal import task as tasks
from ..journal.errors import NotYet, Refused, UsageFault
from ..journal.state import Criterion, LoopState
from ..plan import drafts, work
from ..plan.events import HAND
from . import review, shown

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
#: How soon the work can be undone.
REVERSALS = {"2A": "under a minute", "2B": "under five minutes", "1": "hours or more"}
SIZES = (1, 3, 5, 8, 13)
RESEARCH_UNDER = 70
#: What tells a check apart so that it is worth less, though it has passed.
DOUBTFUL = (command.FLAKY, command.CHANGES)
#: Every piece of evidence is what was recorded.
NOTHING_LOST: Mapping[str, str] = MappingProxyType({})
SHIP, MONITOR, RESEARCH = verdict.SHIP, verdict.MONITOR, verdict.RESEARCH


def check_criterion(state: LoopState, name: str, given: list) -> str:
    """The stored command of a criterion or mustNot. Refused for an unknown or another one."""
    stage.running(state)
    criterion = state.criteria.get(name)
    if criterion is None:
        known = ", ".join(state.criteria) or "none yet"
        raise Refused(f"there is no criterion or mustNot {name}", f"SHAPE.md has: {known}")
    line = criterion.command
    if not line:
        what = f"{name} has no command ({criterion.type or 'not verified'})"
        raise Refused(what, "answer for it in loopkit gate --file -")
    if not command.same(line, given):
        raise Refused(f"not the stored command of {name}", f"next: loopkit verify {name} -- {line}")
    stage.check_seen(state, name)
    if stage.unconfirmed(state) == "shape" and not state.session.unattended:
        raise Refused("the person has not confirmed the shape", "next: loopkit confirm shape")
    return line


def criterion_verified(state: LoopState, name: str, outcome: dict) -> list:
    """What follows a criterion's check; a mustNot that is broken pauses the loop at once, but where
    a task of the newest wave is to be tried again: it is seen anew once that has been."""
    stage.running(state)  # the state may have moved while the check ran
    row = state.criteria[name]
    data = {"id": name, "tier": command.THOROUGH, "command": row.command, **command.kept(outcome)}
    data |= {"said": outcome["said"]} if outcome.get("said") else {}
    changes: list = [("criterion_verified", data)]
    if not command.is_startable(outcome):
        reason = f"the check of {name} cannot start: {outcome['note'] or row.command}"
        return [*changes, ("paused", {"verdict": verdict.WAITING, "reason": reason})]
    if row.must_not and not outcome["passed"] and not half_done(state):
        reason = f"{name} is broken: {row.text} ({row.command} exits {outcome['exit']})"
        changes.append(("paused", {"verdict": verdict.BREACHED, "reason": reason}))
    return changes


def half_done(state: LoopState) -> list[str]:
    """The tasks of the newest wave that failed and are still to be done: what fails meanwhile is as
    likely a new test of theirs as a breach."""
    newest = state.waves[-1].failed if state.waves and state.waves[-1].closed else ()
    return [name for name in newest if name in state.open]


def open_points(
    state: LoopState, digest: Callable[[str], str], lost: Mapping[str, str] = NOTHING_LOST
) -> list[tuple[str, str | None]]:
    """(what is missing, command) of everything the gate still waits for, in the order in which to
    do it; None where the loop's own next step is meant. digest: a file's present digest, by its
    path · lost: why the evidence of a task or criterion is not what was recorded, by its id."""
    rows: list[tuple[str, str | None]] = [
        (f"{name} is {state.tasks[name].status}", "loopkit wave next")
        for name in list(state.open)[:1]
    ]
    every = [task for task in state.tasks.values() if task.id in lost]
    due = [(task, f": {lost[task.id]}") for task in every]
    due += [(task, " has no passing evidence") for task in work.unproven(state)]
    changed = ": its files changed after its evidence"
    due += [(task, changed) for task in work.stale(state, digest)]
    rows += [(f"{row.id}{what}", f"loopkit verify {row.id} -- {row.verify}") for row, what in due]
    if not review.passed(state):
        rows.append(("the thorough review has not passed", None))
    for row in state.criteria.values():
        if row.type in proofs.UNSEEN and not row.must_not:
            why = f"{row.id} rests on {row.type} alone: give it a stronger proof"
            rows.append((why, "loopkit shape --accept -"))
        elif row.command and (fault := _evidence_fault(state, row.id, digest, lost)):
            rows.append((f"{row.id} {fault}", f"loopkit verify {row.id} -- {row.command}"))
    rows += [(f"{name} {why}", "loopkit next") for name, why in trials.vain(state).items()]
    return rows


def _check_points(
    state: LoopState, head: str, digest: Callable[[str], str], lost: Mapping[str, str]
) -> None:
    """Raises Refused with the first open point."""
    for what, line in open_points(state, digest, lost):
        text = f"{head}: {what}"
        by_hand = line and not state.session.dispatches
        raise Refused(text, f"next: {line}") if by_hand else NotYet(text)


def _evidence_fault(
    state: LoopState, name: str, digest: Callable[[str], str], lost: Mapping[str, str]
) -> str | None:
    if name in lost:
        return f"counts for nothing: {lost[name]}"
    evidence = state.criterion_evidence.get(name)
    if evidence is None:
        return "has not been verified"
    if evidence.line < state.last_completion:
        return "was verified before the last task was completed"
    if any(digest(path) != seen for path, seen in evidence.files.items()):
        return "was verified before a task's files changed"
    later = changes.unvouched(state, evidence.line)
    return f"was verified before {later[0]} changed" if later else None


def _evidence_doubts(state: LoopState) -> list[str]:
    """What of the evidence that stands is worth less than it looks, a line each."""
    rows = {task.id: task.evidence for task in state.tasks.values()}
    rows = {**rows, **{name: state.criterion_evidence.get(name) for name in state.criteria}}
    doubts = []
    for name, evidence in rows.items():
        if evidence is None or not evidence.passed:
            continue
        if evidence.told in DOUBTFUL:
            doubts.append(f"{name}: its check {command.APART[evidence.told]}")
        elif not evidence.digest:
            what = "its evidence is not sealed, it was recorded by an older version"
            doubts.append(f"{name}: {what}")
    return doubts


def told(state: LoopState) -> list:
    """The criteria that no command verifies: they are answered for."""
    return [row for row in state.criteria.values() if not row.command and not row.must_not]


def watched(state: LoopState) -> list:
    """The mustNots that no command verifies: reviewers say what they saw of them."""
    return [row for row in state.criteria.values() if not row.command and row.must_not]


def _came_true(state: LoopState, name: str) -> bool:
    """A review or the gate has said once that this mustNot was broken."""
    said = str(((state.gate or {}).get("criteria") or {}).get(name) or "").strip().upper()
    return said.startswith("FAIL") or any(name in row.breaks for row in state.findings.values())


def decided(
    state: LoopState,
    given: dict,
    digest: Callable[[str], str],
    lost: Mapping[str, str] = NOTHING_LOST,
) -> list:
    """`gate --file`: passed where all is answered and seen; what fails becomes a task. A mustNot
    that is said to be broken pauses the loop beside that. Raises Refused where something was not
    answered or verified yet (nothing is recorded then)."""

    stage.running(state)
    stage.require(state, stage.REVIEW, doing="the gate")
    _check_points(state, "the gate waits", digest, lost)
    for name in given["verify"]:
        known = [*POINTS[given["kind"]], *state.criteria]
        if name not in known:
            raise UsageFault(f"verify names {name!r}", f"it takes {', '.join(known)}")
    faults = [*_failed_points(given), *_failed_criteria(state, given)]
    changes, made = _fixed(state, faults)
    result = {
        "passed": not faults,
        **{name: given[name] for name in ("kind", "points", "criteria")},
        "failed": [fault.what for fault in faults],
        "tasks": made,
        **{name: given[name] for name in _CARD},
        "card": card_kind(state, given),
    }
    changes.append(("gate_result", result))
    if faults:
        changes.append(stage.move(state, stage.EXECUTING))
    come_true = [fault.came_true for fault in faults if fault.came_true]
    if come_true:
        changes.append(("paused", {"verdict": verdict.BREACHED, "reason": come_true[0]}))
    return changes


def _failed_points(given: dict) -> Iterator[_Fault]:
    kind = given["kind"]
    for name, meaning in POINTS[kind].items():
        good, words = _answer(given["points"].get(name), f"point {name} ({meaning})")
        if not good:
            why = f"The gate asked for this point of a {kind}: {meaning}. The answer was FAIL: "
            proof = given["verify"].get(name, "")
            yield _Fault(name, f"{meaning}: {words}", f"{why}{words}.", proof, "")


def _failed_criteria(state: LoopState, given: dict) -> Iterator[_Fault]:
    for row in state.criteria.values():
        answer = given["criteria"].get(row.id)
        what, come_true = f"{row.id} {row.text}", ""
        if row.command:
            good, words = state.criterion_evidence[row.id].passed, f"`{row.command}` does not pass"
        elif row.must_not and not answer and not _came_true(state, row.id):
            continue  # nobody has seen it broken
        else:
            good, words = _answer(answer, f"{_noun(row)} {row.id} ({row.text[:60]})")
            what = f"{what}: {words}"
            come_true = f"{row.id} is broken: {row.text} ({words})" if row.must_not else ""
        if not good:
            why = f"{_noun(row)} {row.id}: {row.text}. Seen at the gate: {words}."
            proof = row.command or given["verify"].get(row.id, "")
            yield _Fault(row.id, what, why, proof, come_true)


#: name: the point or criterion · what: in a few words · why: what the one who fixes it has to know
#: · verify: a command · came_true: why the loop pauses, of a mustNot that nobody but us has seen
_Fault = namedtuple("_Fault", "name what why verify came_true")
#: What a task is told whose fault no command shows.
_NO_CHECK = " First write a check that fails while this is so, and set it as the task's command."
#: What an answer gives the completion card.
_CARD = ("confidence", "reversal", "size", "alternative", "risk")


def _noun(row: Criterion) -> str:
    return "mustNot" if row.must_not else "criterion"


def _fixed(state: LoopState, faults: list[_Fault]) -> tuple[list, list[str]]:
    """(changes, ids): a remediation task for each fault. One that was made for the very same fault
    is opened again: its check passed and the fault is still there, so it needs another check,
    unless that is the criterion's."""
    done = [task for task in state.tasks.values() if task.status == tasks.COMPLETED]
    made = {task.subject: task for task in done if task.kind == "remediation"}
    changes: list = []
    ids: list[str] = []
    added = 0
    for fault in faults:
        subject = f"Gate: {fault.what}"[: drafts.LONGEST_SUBJECT]
        row = state.criteria.get(fault.name)
        if subject in made:
            old = made[subject]
            reason = "the gate found the same again"
            changes.append(("task_reopened", {"id": old.id, "reason": reason}))
            if row is None or not row.command:
                other = "" if old.verify == fault.verify else fault.verify
                changes.append(("task_changed", {"id": old.id, "verify": other}))
            ids.append(old.id)
            continue
        why = fault.why + ("" if fault.verify else _NO_CHECK)
        change = drafts.remediation(state, subject, fault.verify, why, [], added)
        if row is not None and not row.must_not:
            change[1]["task"]["criteria"] = [fault.name]
        changes.append(change)
        ids.append(change[1]["task"]["id"])
        added += 1
    return changes, ids


def _answer(text: object, what: str) -> tuple[bool, str]:
    """(passed, words) of `PASS how I know` or `FAIL why`. Raises Refused for anything else."""
    words = str(text or "").strip()
    word, rest = words[:4].upper(), words[4:].lstrip(" :,-–—")
    if word not in ("PASS", "FAIL") or words[4:5].isalnum() or not rest:
        raise Refused(f"no answer for {what}", 'write "PASS how you know" or "FAIL what is wrong"')
    return word == "PASS", rest


def card_kind(state: LoopState, card: dict) -> str:
    """SHIP, MONITOR or RESEARCH (rule: Gate and completion)."""
    if card["confidence"] < RESEARCH_UNDER:
        return RESEARCH
    if card["reversal"] == "1" or doubts(state):
        return MONITOR
    return SHIP


def doubts(state: LoopState) -> list[str]:
    """Why the work is not fit to SHIP though everything holds, a line each: proofs that were not
    tried without the work, evidence that is worth less than it looks, judgements that nobody
    vouches for, what no review has seen."""
    judged = {
        "goal": state.supervision.goal,
        **{f"review of {name.replace('_', ' ')}": row for name, row in state.reviews.items()},
        "thorough review": state.thorough,
    }
    for task in state.tasks.values():
        judged |= {f"test of {task.id}": task.tested, f"verdict on {task.id}": task.judged}
    unseen = [what for what, answer in judged.items() if (answer or {}).get("looked") is False]
    by_hand = _by_hand(judged)
    by_hand += [f"{what}: did not look" for what in unseen if f"{what}: {_BY_HAND}" not in by_hand]
    checks = [*trials.gaps(state), *trials.hollow(state), *trials.unfixed(state)]
    checks += [*trials.untold(state), *trials.weakened(state)]
    failed = [row.id for row in state.replaced if row.failed and not row.word]
    replaced = [f"{name}'s proof was replaced after it failed" for name in failed]
    return [*checks, *_evidence_doubts(state), *replaced, *by_hand, *shown.doubts(state)]


def by_hand(state: LoopState) -> list[str]:
    """Other answers that were submitted by hand, a line each; what they say is proven elsewhere."""
    said = {"plan": state.supervision.plan, "review of the plan": state.supervision.review}
    for task in state.tasks.values():
        said |= {f"report on {task.id}": task.coded, f"diagnosis of {task.id}": task.diagnosis}
    return _by_hand(said)


def _by_hand(answers: dict[str, dict | None]) -> list[str]:
    rows = [what for what, answer in answers.items() if (answer or {}).get("by") == HAND]
    return [f"{what}: {_BY_HAND}" for what in rows]


_BY_HAND = "submitted by hand"


def completed(
    state: LoopState, digest: Callable[[str], str], lost: Mapping[str, str] = NOTHING_LOST
) -> list:
    """`complete`: everything is looked at once more. Raises Refused naming what is missing."""
    stage.running(state)
    # the machine may have gone down in between
    stage.require(state, stage.REVIEW, stage.COMPLETE, doing="completing")
    _check_points(state, "not complete", digest, lost)
    gate = state.gate
    if gate is None or not gate.get("passed") or gate["line"] < state.last_completion:
        raise NotYet("the gate has not passed")
    if gate["card"] == RESEARCH:
        what = f"RESEARCH: confidence {gate['confidence']} % is under {RESEARCH_UNDER}"
        raise Refused(what, "find out more, then: loopkit gate --file -")
    move = [] if state.stage == stage.COMPLETE else [stage.move(state, stage.COMPLETE)]
    return [*move, ("loop_completed", {"card": gate["card"]})]


def card(state: LoopState) -> dict:
    """What the box of the completion card shows."""
    gate = state.gate or {}
    name = gate.get("card", RESEARCH)
    known = {row.type for row in state.criteria.values()}
    return {
        "name": name,
        "mark": {SHIP: "🟢", MONITOR: "🟡", RESEARCH: "🔴"}[name],
        "verified": ", ".join(kind for kind in proofs.TYPES if kind in known) or "nothing",
        **{field: gate.get(field, "") for field in _CARD},
    }
