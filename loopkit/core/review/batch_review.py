"""Reviews that decide: of the plan, of the scaffold batch, of every batch. Deciders.

Nothing is completed but by a verdict here, and nothing is approved without a passing check, with a
failed build or tests, or against a blocker.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..evidence import trials
from ..journal import parts, prose, settings, stage
from ..journal import task as tasks
from ..journal.errors import NotYet, Refused, UsageFault
from ..journal.events import Change
from ..journal.state import LoopState
from ..memory import decisions
from ..plan import events, work
from . import review

PLAN, SCAFFOLD, BATCH = "plan", "scaffold", "batch"
APPROVED, CHANGES = "approved", "changes"
VERDICTS = (APPROVED, CHANGES)
#: What every batch review runs, and what may be said of it; the first two fail the whole batch.
CHECKS, RESULTS = ("build", "tests", "lint", "ui"), ("passed", "failed", "none")
_FATAL = ("build", "tests")
#: What a plan's review may call its outcome; it is worked out from the findings all the same.
STATUSES = ("APPROVED", "NEEDS REVISION")


# -- the plan


def check_plan(state: LoopState) -> None:
    """Raises Refused unless the plan waits for its review."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, doing="the review of the plan")
    for wrong, why in (
        (not state.tasks, "there is no plan yet"),
        (stage.planned(state), "the plan is approved"),
        (state.supervision.standing == parts.REVISE, "the plan is to be revised first"),
    ):
        if wrong:
            raise NotYet(why)


def planned(state: LoopState, given: dict) -> list[Change]:
    """`review --plan --file`: approved where nothing blocks; else the planner revises, at most
    max_plan_revisions times, then the person is asked. The planner is told all."""
    check_plan(state)
    rows = review.findings(state, given["findings"])
    blocking = _blocking(rows)
    done, most = state.supervision.revisions, settings.of(state, "max_plan_revisions")
    outcome = events.APPROVED
    if blocking:
        outcome = parts.REVISE if done < most else events.ASKED
    missing = [" ".join(text.split()) for text in given["missing"] if text.strip()]
    issues = [_told(row) for row in rows]
    data = _reviewed(done, outcome, given["summary"], issues, missing, approved=not blocking)
    changes = [data, *decisions.lessons(state, rows, "plan-review")]
    changes += trials.reviewed(state, given["proofs"])
    if outcome == events.ASKED:
        changes.append(("question_asked", {"text": _question(done, blocking)}))
    return changes


def _reviewed(
    revision: int, outcome: str, feedback: str, issues: list, missing: list, approved: bool
) -> Change:
    data = {"revision": revision, "approved": approved, "score": None, "level": ""}
    texts = {"feedback": feedback, "issues": issues, "missing": missing, "outcome": outcome}
    return ("plan_reviewed", {**data, **texts})


def _blocking(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["severity"] == review.BLOCKER]


def claimed(given: dict) -> str:
    """What a review of the plan says of itself; what counts is whether it names a BLOCKER."""
    return given["status"] or STATUSES[0]


def _question(done: int, blocking: list[dict]) -> str:
    revisions = prose.count(done, "revision")
    lines = [f"The plan is not approved after {revisions}. What still blocks it:"]
    lines += [f"- {prose.clean(_told(row), 300)}" for row in blocking[:8]]
    lines += [f"- and {len(blocking) - 8} more"] if len(blocking) > 8 else []
    what = "Say what to change (it is planned again with that), or let it pass as it is"
    return "\n".join([*lines, f'{what}: loopkit review --plan --waive "<why>"'])


def waived(state: LoopState, why: str) -> list[Change]:
    """`review --plan --waive`: the person lets the plan pass as it is."""
    last, why = state.supervision.review or {}, why.strip()
    asked = state.session.question is not None and last.get("outcome") == events.ASKED
    if not asked:
        check_plan(state)
    if not why:
        raise Refused("no reason given", 'loopkit review --plan --waive "<why>"', code="unanswered")
    text, issues = f"the person lets it pass: {why}", list(last.get("issues") or ())
    revision = state.supervision.revisions
    data = _reviewed(revision, events.CONTINUE, text, issues, [], approved=False)
    return [("question_answered", {"text": why}), data] if asked else [data]


# -- a batch


def mode(state: LoopState) -> str:
    """What the open wave's review is called: scaffold where its tasks are, else batch."""
    batch = [state.tasks[name] for name in _wave_tasks(state) if name in state.tasks]
    return SCAFFOLD if any(task.scaffold for task in batch) else BATCH


def _wave_tasks(state: LoopState) -> Sequence[str]:
    return state.wave.tasks if state.wave else ()


def line(state: LoopState) -> str:
    """The call that reviews the open wave."""
    if mode(state) == SCAFFOLD:
        return "loopkit review --scaffold"
    return f"loopkit review --wave {state.wave.number if state.wave else len(state.waves)}"


def check_batch(state: LoopState, number: int | None, kind: str) -> list[str]:
    """The tasks that wait for a verdict. Raises Refused unless the open wave is the one that is
    meant: `number` as named, None where it is not; `kind`: SCAFFOLD or BATCH."""
    stage.running(state)
    wave = state.wave
    if wave is None:
        raise Refused("no wave is open", "its review comes before it is closed", code="wrong_state")
    if number not in (None, wave.number):
        raise NotYet(f"wave {number} is not open")
    if kind != mode(state):
        what = "scaffold tasks" if kind == BATCH else "no scaffold task"
        raise NotYet(f"wave {wave.number} holds {what}")
    waiting = work.running(state)
    if not waiting:
        raise NotYet(f"every task of wave {wave.number} is decided")
    return waiting


def at_review(state: LoopState) -> bool:
    """Somebody reviews the batch as it is: asked, not orphaned, and no check has run since."""
    if not events.is_out(state, events.REVIEWING):
        return False
    asked = state.supervision.out[events.REVIEWING]
    evidence = [state.tasks[name].evidence for name in work.running(state)]
    return all(seen is None or seen.line < asked for seen in evidence)


def asked(state: LoopState, number: int | None, kind: str) -> list[Change]:
    """`review --wave N` without a file: the batch is given to its reviewer, unless one is at it."""
    check_batch(state, number, kind)
    if at_review(state):
        return []
    count = state.supervision.asked.get(events.REVIEWING, 0) + 1
    row = {"role": "review", "kind": events.REVIEWING, "task": None, "number": count}
    return [("role_asked", row)]


def judged(state: LoopState, number: int | None, kind: str, given: dict) -> list[Change]:
    """`review --wave N --file`, `review --scaffold --file`: a verdict for each waiting task.

    Approved and proven: completed. Changes: the attempt has failed, its findings are the error. A
    failed build or failed tests approve nothing, whatever the verdicts say. A BLOCKER about a task
    that is completed opens it again: it counts as failed in this batch (rule: Detectors).
    """
    waiting = check_batch(state, number, kind)
    checks = {name: _result(given, name) for name in CHECKS}
    broken = [name for name in _FATAL if checks[name] == "failed"]
    verdicts = _verdicts(state, given["verdicts"], waiting)
    rows, about = _findings(state, given["findings"], broken)
    if broken:
        verdicts = dict.fromkeys(waiting, CHANGES)
    again = _again(state, rows, about)
    to_change = {name for name, verdict in verdicts.items() if verdict == CHANGES} | again.keys()
    _check(state, verdicts, rows, about, to_change)
    blocking = _blocking(rows)
    for row in blocking:
        named = [name for name in about[row["id"]] if name in to_change]
        if len(named) == 1:
            row["task"] = named[0]  # its next attempt fixes it
    data = {
        "wave": state.wave.number if state.wave else 0,
        "mode": kind,
        "verdicts": verdicts,
        "score": given["score"],
        "issues": len(rows) - len(blocking),
        "blockers": len(blocking),
        "experts": ["review"],
        "findings": rows,
        "checks": {name: result for name, result in checks.items() if result != "none"},
        "summary": given["summary"],
    }
    changes: list[Change] = [("review_light", data), *decisions.lessons(state, rows, "review")]
    reason = "the review finds it broken"
    for name, mark in again.items():
        changes.append(("task_reopened", {"id": name, "reason": reason, "signature": mark}))
    changes += work.waiting_again(state, again)
    done: set[str] = set()
    for name in waiting:
        if verdicts[name] == APPROVED:
            changes += work.completed(state, state.tasks[name], done, again)
            done.add(name)
    for task in (state.tasks[name] for name in waiting if verdicts[name] == CHANGES):
        error = _error(rows, about, task.id, broken)
        failure = work.failure(state, task, f"the {kind} review wants changes", error)
        end = work.end(state, task, failure)
        changes += [failure, *end]
        if end:
            return changes
    return changes + review.breach(state, rows)


def _again(state: LoopState, rows: list[dict], about: dict) -> dict[str, str]:
    """{completed task that a BLOCKER is about: signature of the finding}."""
    from ..evidence import signature  # its patterns are only paid for where something failed

    return {
        name: signature.of(_told(row))
        for row in _blocking(rows)
        for name in about[row["id"]]
        if state.tasks[name].status == tasks.COMPLETED
    }


def _check(
    state: LoopState, verdicts: dict, rows: list[dict], about: dict, to_change: set[str]
) -> None:
    """Raises Refused where a verdict and what else is known contradict each other."""
    for name, verdict in verdicts.items():
        if verdict == APPROVED:
            _check_approved(state, name, rows, about)
        elif not any(name in about[row["id"]] for row in rows):
            what = f"{name} is to be changed and no finding says how"
            raise Refused(what, f"add one with task: {name}", code="unanswered")
    for row in _blocking(rows):
        if to_change.isdisjoint(about[row["id"]]):
            what = f"a BLOCKER and nothing to be changed for it: {row['issue'][:80]}"
            raise Refused(what, "say changes for its task, or lower it", code="contradiction")


def _check_approved(state: LoopState, name: str, rows: list[dict], about: dict) -> None:
    if not work.proven(state.tasks[name]):
        todo = f"next: loopkit verify {name} -- {state.tasks[name].verify}, or ask for changes"
        raise Refused(f"{name} has no passing check", todo, code="not_proven")
    for row in _blocking(rows):
        if about[row["id"]] == [name]:
            what = f"{name} is approved, yet a BLOCKER is about it: {row['issue'][:80]}"
            raise Refused(what, "say changes, or lower the severity", code="contradiction")


def _verdicts(state: LoopState, value: dict, waiting: list[str]) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    number = state.wave.number if state.wave else 0
    for name, verdict in value.items():
        task = work.find(state, name)
        if task.id not in _wave_tasks(state):
            raise _wanted(f"{task.id} is not in wave {number}", waiting, "unknown")
        if task.id in verdicts:
            raise UsageFault(f"{task.id} has two verdicts", "give one")
        if task.id in waiting:
            verdicts[task.id] = verdict
        elif verdict == APPROVED and task.status != tasks.COMPLETED:
            what = f"{task.id} is {task.status} and cannot be approved"
            raise _wanted(what, waiting, "wrong_state")
    left = [name for name in waiting if name not in verdicts]
    if left:
        what, todo = f"no verdict for {', '.join(left)}", "the whole batch is judged in one review"
        raise Refused(what, todo, code="unanswered")
    return {name: verdicts[name] for name in waiting}


def _wanted(what: str, waiting: list[str], code: str) -> Refused:
    return Refused(what, f"a verdict is wanted for {', '.join(waiting)}", code=code)


def _findings(
    state: LoopState, given: list[dict], broken: list[str]
) -> tuple[list[dict], dict[str, list[str]]]:
    """(checked findings, a failed build or tests among them, {finding: tasks that it is about})."""
    rows = review.findings(state, given)
    batch = work.running(state)
    about: dict[str, list[str]] = {}
    for row, source in zip(rows, given, strict=True):
        if source["task"]:
            task = work.find(state, source["task"])
            if task.id not in _wave_tasks(state) and task.status != tasks.COMPLETED:
                what = f"{row['id']} is about {task.id}, which is not in this batch"
                raise _wanted(what, batch, "unknown")
            about[row["id"]] = [task.id]
            continue
        paths = {*row["files"], row["place"].partition(":")[0]} - {""}
        near = [name for name in batch if paths.intersection(state.tasks[name].files)]
        about[row["id"]] = near or batch
    if not broken:
        return rows, about
    again = _again(state, rows, about).keys()
    blocking = [row for row in _blocking(rows) if again.isdisjoint(about[row["id"]])]
    for name in broken if not blocking else ():
        what = "the build fails" if name == "build" else "tests fail"
        source = {"severity": review.BLOCKER, "issue": what, "category": "correctness"}
        (row,) = review.findings(state, [source])
        row["id"] = f"F-{len(state.findings) + len(rows) + 1:03d}"
        rows.append(row)
        about[row["id"]] = batch
    about.update((row["id"], batch) for row in blocking)
    return rows, about


def _error(rows: list[dict], about: dict, task_id: str, broken: list[str]) -> str:
    """What the next attempt is told: the findings about it, blocking ones first."""
    named = [row for row in rows if task_id in about[row["id"]]]
    named.sort(key=lambda row: review.SEVERITIES.index(row["severity"]))
    head = [f"{' and '.join(broken)} failed in the review of the whole batch"] if broken else []
    return "\n".join([*head, *map(_told, named)])[:2000]


def _told(row: dict) -> str:
    """`BLOCKER app/x.py:3: the key is a header; do: …`."""
    place = f" {row['place']}" if row["place"] else ""
    numbers = row.get("contradicts", ())
    against = "".join(f"; contradicts decision {number:03d}" for number in numbers)
    guidance = f"; do: {row['guidance']}" if row["guidance"] else ""
    return " ".join(f"{row['severity']}{place}: {row['issue']}{against}{guidance}".split())[:1000]


def _result(given: dict, name: str) -> str:
    if name in _FATAL and given[name] is None:
        todo = f"run it and say {name}: {', '.join(RESULTS[:2])}, or none"
        raise UsageFault(f"{name} is missing", todo)
    return given[name] or "none"
