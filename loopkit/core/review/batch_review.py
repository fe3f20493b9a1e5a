"""Reviews that decide: of the plan, of the scaffold batch, of every batch.

Deciders: (state, what was submitted) → journal lines. Nothing is completed but by a verdict here,
and nothing is approved without a passing check, with a failed build or tests, or against a blocker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evidence import signature
from ..journal import parts, prose, settings, stage, stages
from ..journal import task as tasks
from ..journal.errors import NotYet, Refused, UsageFault
from ..memory import decisions
from ..plan import roles, work
from . import review

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

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
    stage.require(state, stages.DECOMPOSE, doing="the review of the plan")
    if not state.tasks:
        raise NotYet("there is no plan yet")
    if stage.planned(state):
        raise NotYet("the plan is approved")
    if state.supervision.standing == parts.REVISE:
        raise NotYet("the plan is to be revised first")


def planned(state: LoopState, given: dict) -> list[Change]:
    """`review --plan --file`: approved where nothing blocks; else the planner revises, at most
    max_plan_revisions times, then the person is asked. The planner is told findings, missing
    elements and the summary."""
    check_plan(state)
    rows = review.findings(state, given["findings"])
    missing = [" ".join(one.split()) for one in given["missing"] if one.strip()]
    blocking = [row for row in rows if row["severity"] == review.BLOCKER]
    done, most = state.supervision.revisions, settings.of(state, "max_plan_revisions")
    outcome = parts.REVISE if done < most else roles.ASKED
    data = {
        "revision": done,
        "approved": not blocking,
        "score": None,
        "level": "",
        "feedback": given["summary"],
        "issues": [_told(row) for row in rows],
        "missing": missing,
        "outcome": outcome if blocking else roles.APPROVED,
    }
    changes: list[Change] = [
        ("plan_reviewed", data),
        *decisions.lessons(state, rows, "plan-review"),
    ]
    if data["outcome"] == roles.ASKED:
        changes.append(("question_asked", {"text": _question(done, blocking)}))
    return changes


def claimed(given: dict) -> str:
    """What a review of the plan says of itself; what counts is whether it names a BLOCKER."""
    return given["status"] or STATUSES[0]


def _question(done: int, blocking: list[dict]) -> str:
    lines = [
        f"The plan is not approved after {prose.count(done, 'revision')}. What still blocks it:"
    ]
    lines += [f"- {prose.clean(_told(row), 300)}" for row in blocking[:8]]
    if len(blocking) > 8:
        lines.append(f"- and {len(blocking) - 8} more")
    lines.append("Say what to change (it is planned again with that), or let it pass as it is: ")
    return "\n".join(lines).rstrip() + ' loopkit review --plan --waive "<why>"'


def waived(state: LoopState, why: str) -> list[Change]:
    """`review --plan --waive`: the person lets the plan pass as it is."""
    own = state.supervision
    asked = state.session.question is not None and (own.review or {}).get("outcome") == roles.ASKED
    if not asked:
        check_plan(state)
    if not why.strip():
        raise Refused("no reason given", 'loopkit review --plan --waive "<why>"', code="unanswered")
    row = {
        "revision": own.revisions,
        "approved": False,
        "score": None,
        "level": "",
        "feedback": f"the person lets it pass: {why.strip()}",
        "issues": list((own.review or {}).get("issues") or ()),
        "missing": [],
        "outcome": roles.CONTINUE,
    }
    answered: list[Change] = [("question_answered", {"text": why.strip()})] if asked else []
    return [*answered, ("plan_reviewed", row)]


# -- a batch


def mode(state: LoopState) -> str:
    """What the open wave's review is called: scaffold where its tasks are, else batch."""
    wave = state.wave
    own = [state.tasks[one] for one in (wave.tasks if wave else ()) if one in state.tasks]
    return SCAFFOLD if any(one.scaffold for one in own) else BATCH


def line(state: LoopState) -> str:
    """The call that reviews the open wave."""
    if mode(state) == SCAFFOLD:
        return "loopkit review --scaffold"
    return f"loopkit review --wave {state.wave.number if state.wave else len(state.waves)}"


def check_batch(state: LoopState, number: int | None, kind: str) -> list[str]:
    """The tasks that wait for a verdict. Raises Refused unless the open wave is the one that is
    meant.

    number: the wave as named, None where it is not · kind: SCAFFOLD or BATCH.
    """
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
    """Somebody reviews the batch as it is: asked, not lost, and no check has run since."""
    if not roles.is_out(state, roles.REVIEWING):
        return False
    asked = state.supervision.out[roles.REVIEWING]
    own = [state.tasks[one].evidence for one in work.running(state)]
    return all(one is None or one.line < asked for one in own)


def asked(state: LoopState, number: int | None, kind: str) -> list[Change]:
    """`review --wave N` without a file: the batch is given to its reviewer; no line while one is at
    it."""
    check_batch(state, number, kind)
    if at_review(state):
        return []
    count = state.supervision.asked.get(roles.REVIEWING, 0) + 1
    return [
        (
            "role_asked",
            {"role": "review", "kind": roles.REVIEWING, "task": None, "number": count},
        )
    ]


def judged(state: LoopState, number: int | None, kind: str, given: dict) -> list[Change]:
    """`review --wave N --file` and `review --scaffold --file`: one verdict for each task of the
    batch that waits for one.

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
    _check(state, verdicts, rows, about)
    again = _again(state, rows, about)
    for row in rows:
        named = [one for one in about[row["id"]] if verdicts.get(one) == CHANGES or one in again]
        if row["severity"] == review.BLOCKER and len(named) == 1:
            row["task"] = named[0]  # its next attempt fixes it
    blocking = sum(row["severity"] == review.BLOCKER for row in rows)
    data = {
        "wave": state.wave.number if state.wave else 0,
        "mode": kind,
        "verdicts": verdicts,
        "score": given["score"],
        "issues": len(rows) - blocking,
        "blockers": blocking,
        "experts": ["review"],
        "findings": rows,
        "checks": {name: result for name, result in checks.items() if result != "none"},
        "summary": given["summary"],
    }
    changes: list[Change] = [("review_light", data), *decisions.lessons(state, rows, "review")]
    for task_id, mark in again.items():
        changes.append(
            (
                "task_reopened",
                {"id": task_id, "reason": "the review finds it broken", "signature": mark},
            )
        )
    changes += work.waiting_again(state, again)
    done: set[str] = set()
    for task_id in waiting:
        if verdicts[task_id] == APPROVED:
            changes += work.completed(state, state.tasks[task_id], done, again)
            done.add(task_id)
    for task_id in waiting:
        if verdicts[task_id] == CHANGES:
            error = _error(rows, about, task_id, broken)
            result = f"the {kind} review wants changes"
            failure = work.failure(state, state.tasks[task_id], result, error)
            end = work.end(state, state.tasks[task_id], failure)
            changes += [failure, *end]
            if end:
                return changes
    return changes + review.breach(state, rows)


def _again(state: LoopState, rows: list[dict], about: dict) -> dict[str, str]:
    """{completed task that a BLOCKER is about: signature of the finding}."""
    return {
        one: signature.of(_told(row))
        for row in rows
        if row["severity"] == review.BLOCKER
        for one in about[row["id"]]
        if state.tasks[one].status == tasks.COMPLETED
    }


def _check(state: LoopState, verdicts: dict, rows: list[dict], about: dict) -> None:
    """Raises Refused where a verdict and what else is known contradict each other."""
    for task_id, verdict in verdicts.items():
        own = [row for row in rows if task_id in about[row["id"]]]
        if verdict == APPROVED:
            if not work.proven(state.tasks[task_id]):
                command = state.tasks[task_id].verify
                raise Refused(
                    f"{task_id} has no passing check",
                    f"next: loopkit verify {task_id} -- {command}, or ask for changes",
                    code="not_proven",
                )
            for row in own:
                if row["severity"] == review.BLOCKER and len(about[row["id"]]) == 1:
                    raise Refused(
                        f"{task_id} is approved, yet a BLOCKER is about it: {row['issue'][:80]}",
                        "say changes, or lower the severity",
                        code="contradiction",
                    )
        elif not own:
            raise Refused(
                f"{task_id} is to be changed and no finding says how",
                f"add one with task: {task_id}",
                code="unanswered",
            )
    again = _again(state, rows, about)
    for row in rows:
        if row["severity"] == review.BLOCKER and not any(
            verdicts.get(one) == CHANGES or one in again for one in about[row["id"]]
        ):
            raise Refused(
                f"a BLOCKER and nothing to be changed for it: {row['issue'][:80]}",
                "say changes for its task, or lower it",
                code="contradiction",
            )


def _verdicts(state: LoopState, value: dict, waiting: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    batch = state.wave.tasks if state.wave else ()
    for name, verdict in value.items():
        task = work.find(state, name)
        if task.id not in batch:
            raise Refused(
                f"{task.id} is not in wave {state.wave.number if state.wave else 0}",
                _wants(waiting),
                code="unknown",
            )
        if task.id in found:
            raise UsageFault(f"{task.id} has two verdicts", "give one")
        if task.id not in waiting:
            if verdict == APPROVED and task.status != tasks.COMPLETED:
                raise Refused(
                    f"{task.id} is {task.status} and cannot be approved",
                    _wants(waiting),
                    code="wrong_state",
                )
            continue
        found[task.id] = verdict
    left = [one for one in waiting if one not in found]
    if left:
        raise Refused(
            f"no verdict for {', '.join(left)}",
            "the whole batch is judged in one review",
            code="unanswered",
        )
    return {one: found[one] for one in waiting}


def _wants(waiting: list[str]) -> str:
    return f"a verdict is wanted for {', '.join(waiting)}"


def _findings(
    state: LoopState, given: list[dict], broken: list[str]
) -> tuple[list[dict], dict[str, list[str]]]:
    """(checked findings, {finding: the tasks of the batch that it is about}); a failed build or
    tests are one of them."""
    rows = review.findings(state, given)
    batch = work.running(state)
    about: dict[str, list[str]] = {}
    for row, source in zip(rows, given, strict=True):
        if source["task"]:
            task = work.find(state, source["task"])
            if (
                task.id not in (state.wave.tasks if state.wave else ())
                and task.status != tasks.COMPLETED
            ):
                raise Refused(
                    f"{row['id']} is about {task.id}, which is not in this batch",
                    _wants(batch),
                    code="unknown",
                )
            about[row["id"]] = [task.id]
            continue
        paths = {*row["files"], row["place"].partition(":")[0]} - {""}
        about[row["id"]] = [
            one for one in batch if paths.intersection(state.tasks[one].files)
        ] or batch
    again = _again(state, rows, about) if broken else {}
    blocking = [
        row
        for row in rows
        if row["severity"] == review.BLOCKER and not again.keys() & about[row["id"]]
    ]
    for name in broken if not blocking else ():
        what = "the build fails" if name == "build" else "tests fail"
        (row,) = review.findings(
            state, [{"severity": review.BLOCKER, "issue": what, "category": "correctness"}]
        )
        row["id"] = f"F-{len(state.findings) + len(rows) + 1:03d}"
        rows.append(row)
        about[row["id"]] = batch
    for row in blocking if broken else ():
        about[row["id"]] = batch
    return rows, about


def _error(rows: list[dict], about: dict, task_id: str, broken: list[str]) -> str:
    """What the next attempt is told: its own findings, blocking ones first."""
    own = [row for row in rows if task_id in about[row["id"]]]
    own.sort(key=lambda row: review.SEVERITIES.index(row["severity"]))
    head = [f"{' and '.join(broken)} failed in the review of the whole batch"] if broken else []
    return "\n".join([*head, *[_told(row) for row in own]])[:2000]


def _told(row: dict) -> str:
    """`BLOCKER app/x.py:3: the key is a header; do: …`."""
    place = f" {row['place']}" if row["place"] else ""
    against = "".join(f"; contradicts decision {one:03d}" for one in row.get("contradicts", ()))
    guidance = f"; do: {row['guidance']}" if row["guidance"] else ""
    return " ".join(f"{row['severity']}{place}: {row['issue']}{against}{guidance}".split())[:1000]


def _result(given: dict, name: str) -> str:
    if name in _FATAL and given[name] is None:
        raise UsageFault(
            f"{name} is missing", f"run it and say {name}: {', '.join(RESULTS[:2])}, or none"
        )
    return given[name] or "none"
