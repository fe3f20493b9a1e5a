"""One attempt under a supervisor: what the replies of coder, tester and supervisor change, and the
diagnosis after it. Deciders: (state, task, reply) → events.

What a reply claims is never believed: the check has to have run since the coder's last reply, and a
score is compared with the thresholds whatever stands beside it.
"""

from __future__ import annotations

from ...journal import prose, settings, verdict
from ...journal.errors import Refused
from ...journal.events import Change
from ...journal.state import LoopState
from ...journal.task import Task
from ...plan import escalation, events, work
from . import of


class Misfit(Exception):
    """A reply that the rules cannot take; its role is asked again, with these words."""


def coded(state: LoopState, task: Task, reply: dict, kind: str = "") -> list[Change]:
    """The coder's report of a first go at a task, of a revision after its judgement, or (`kind`
    fix) after a failed test; what follows from one that is blocked is the policy's."""
    status, reason = reply["status"], reply.get("blockReason") or ""
    data = {
        "id": task.id,
        "kind": kind or (events.IMPLEMENTATION if task.judged is None else "revision"),
        "status": status,
        "summary": reply["summary"],
        "files": list(reply.get("filesModified") or ()),
        "block_reason": reason,
    }
    changes: list[Change] = [("task_coded", data)]
    if status in ("blocked", "needs_clarification"):
        result, why = f"the coder answers {status}", reason or reply["summary"]
        changes += of(state).on_blocked(state, task, result, why, reply["summary"])
    return changes


def fixed(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The coder's report after a failed test."""
    return coded(state, task, reply, events.FIX)


def is_verified(task: Task) -> bool | None:
    """Whether the check passed since the coder's last reply; None where it has not run since."""
    return task.evidence.passed if task.evidence and work.checked(task) else None


def _not_proven(task: Task, what: str) -> Refused:
    todo = f"next: loopkit verify {task.id} -- {task.verify}"
    return Refused(what, todo, code="not_proven")


def tested(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The tester's report. Passed: it says so, and the task's check exited 0 since the coder's last
    reply. Raises Refused where it says passed and the check has not run since."""
    status, failures = reply["status"], [dict(row) for row in reply.get("failures") or ()]
    verified = is_verified(task)
    if status == "passed" and verified is None:
        what = f"passed, it says, but the check of {task.id} has not run since the coder's reply"
        raise _not_proven(task, what)
    passed = status == "passed" and verified is True
    if status == "passed" and not passed and task.evidence is not None:
        what = f"exits {task.evidence.exit}, see {task.evidence.log}"
        row = {"testName": task.verify, "error": what, "file": "", "stackTrace": ""}
        failures.append({**row, "severity": "critical"})
    data = {
        "id": task.id,
        "passed": passed,
        "tests_run": reply["testsRun"],
        "tests_passed": reply["testsPassed"],
        "tests_failed": reply["testsFailed"],
        "failures": failures,
        "coverage": reply.get("coverage"),
        "fix_plan": reply.get("fixPlan") or "",
    }
    changes: list[Change] = [("task_tested", data)]
    if status == "blocked":
        why = reply.get("blockReason") or data["fix_plan"] or "no reason given"
        changes += of(state).on_blocked(state, task, "the tester answers blocked", why)
    elif not passed and task.fixes >= settings.of(state, "max_fix_cycles"):
        errors = [f"{row.get('testName', '')}: {row.get('error', '')}" for row in failures]
        error = "\n".join(errors) or data["fix_plan"] or "the tester names no failure"
        result = f"not passed after {prose.count(task.fixes, 'fix', 'fixes')}"
        changes.append(work.failure(state, task, result, error))
    return changes


def judgement(state: LoopState, reply: dict) -> dict:
    """What is kept of a verification: score, level, feedback, issues, missing; no verdict."""
    issues = list(reply.get("issues") or ())
    return {
        "score": reply["score"],
        "level": escalation.level(0 if reply["score"] is None else reply["score"], len(issues)),
        "feedback": reply.get("feedback") or "",
        "issues": issues,
        "missing": list(reply.get("missingElements") or ()),
    }


def judged(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The score of a task whose check has passed: completed, revised in the attempt, or failed."""
    data = judgement(state, reply)
    thresholds = (settings.of(state, f"{name}_threshold") for name in ("approval", "revision"))
    band = escalation.band(data["score"], *thresholds)
    changes: list[Change] = [("task_judged", {"id": task.id, **data, "band": band})]
    if band == escalation.APPROVE:
        if not is_verified(task):
            what = f"the check of {task.id} has not passed since the coder's reply"
            raise _not_proven(task, what)
        return changes + work.completed(state, task)
    score = "without a score" if data["score"] is None else f"with {data['score']}"
    if band == escalation.REJECT:
        result = f"rejected {score}"
    elif task.revisions >= settings.of(state, "max_fix_cycles"):
        result = f"judged {score} after {prose.count(task.revisions, 'revision')}"
    else:
        return changes
    error = "\n".join([data["feedback"], *data["issues"], *data["missing"]]).strip()
    kept = {key: data[key] for key in ("score", "feedback", "level")}
    return [*changes, work.failure(state, task, result, error or "no feedback", **kept)]


def diagnosed(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The diagnosis of a failed attempt, whose action stands; where impossible, the loop ends."""
    suggested, blockers = reply["decision"], list(reply.get("blockers") or ())
    clamped, raised = escalation.weigh(task.action or escalation.RETRY, suggested)
    data = {
        "id": task.id,
        "attempt": task.attempts,
        "suggested": suggested,
        "reasoning": reply.get("reasoning") or "",
        "blockers": blockers,
        "action": task.action,
        "clamped": clamped,
        "raised": raised,
        "level": state.supervision.level,
    }
    changes: list[Change] = [("task_diagnosed", data)]
    if task.action == escalation.IMPOSSIBLE:
        error = task.history[-1]["error"] if task.history else ""
        why = escalation.task_ended(state, task, task.attempts, error, data["reasoning"], blockers)
        changes.append(("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why}))
    return changes
