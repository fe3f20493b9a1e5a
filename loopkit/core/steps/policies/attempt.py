"""One attempt under a supervisor: what the replies of coder, tester and supervisor change, and the
diagnosis after it.

Deciders: (state, task, reply) → journal lines. What a reply claims is never believed: the check has
to have run since the coder's last reply, and a score is compared with the thresholds whatever
stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...journal import prose, settings, verdict
from ...journal.errors import Refused
from ...journal.events import Change
from ...plan import escalation, impossible, roles, work

if TYPE_CHECKING:
    from ...journal.state import LoopState
    from ...journal.task import Task


class Misfit(Exception):
    """A reply that can be read and says what the rules cannot take; its role is asked again, with
    these words."""


def implemented(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The coder's report of a first go at a task, or of a revision after its judgement."""
    kind = roles.IMPLEMENTATION if task.judged is None else "revision"
    return _coded(state, task, kind, reply)


def fixed(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The coder's report after a failed test."""
    return _coded(state, task, roles.FIX, reply)


def _coded(state: LoopState, task: Task, kind: str, reply: dict) -> list[Change]:
    """A report that is blocked has failed: the chain of attempts ends without a person."""
    status, reason = reply["status"], reply.get("blockReason") or ""
    data = {
        "id": task.id,
        "kind": kind,
        "status": status,
        "summary": reply["summary"],
        "files": list(reply.get("filesModified") or ()),
        "block_reason": reason,
    }
    changes: list[Change] = [("task_coded", data)]
    if status in ("blocked", "needs_clarification"):
        error, said = reason or reply["summary"], {"approach": reply["summary"][:500]}
        changes.append(work.failure(state, task, f"the coder answers {status}", error, **said))
    return changes


def is_verified(task: Task) -> bool | None:
    """Whether the task's check passed since the coder's last reply; None where it has not run
    since."""
    return task.evidence.passed if task.evidence and work.checked(task) else None


def _check(task: Task) -> str:
    return f"next: loopkit verify {task.id} -- {task.verify}"


def tested(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The tester's report. Passed: it says so, and the task's check exited 0 since the coder's last
    reply.

    Raises Refused where it says passed and the check has not run since.
    """
    status, failures = reply["status"], [dict(one) for one in reply.get("failures") or ()]
    verified = is_verified(task)
    if status == "passed" and verified is None:
        raise Refused(
            f"passed, it says, but the check of {task.id} has not run since the coder's reply",
            _check(task),
            code="not_proven",
        )
    passed = status == "passed" and verified is True
    if status == "passed" and not passed and task.evidence is not None:
        what = f"exits {task.evidence.exit}, see {task.evidence.log}"
        failures.append(
            {
                "testName": task.verify,
                "error": what,
                "file": "",
                "stackTrace": "",
                "severity": "critical",
            }
        )
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
        return [*changes, work.failure(state, task, "the tester answers blocked", why)]
    if not passed and task.fixes >= settings.of(state, "max_fix_cycles"):
        fixes = prose.count(task.fixes, "fix", "fixes")
        error = _errors(failures, data["fix_plan"])
        changes.append(work.failure(state, task, f"not passed after {fixes}", error))
    return changes


def _errors(failures: list[dict], plan: str) -> str:
    said = [f"{one.get('testName', '')}: {one.get('error', '')}" for one in failures]
    return "\n".join(said) or plan or "the tester names no failure"


def judgement(state: LoopState, reply: dict) -> dict:
    """What is kept of a verification: score, level, feedback, issues, missing. Its own verdict is
    not."""
    issues = list(reply.get("issues") or ())
    return {
        "score": reply["score"],
        "level": escalation.level(0 if reply["score"] is None else reply["score"], len(issues)),
        "feedback": reply.get("feedback") or "",
        "issues": issues,
        "missing": list(reply.get("missingElements") or ()),
    }


def judged(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The supervisor's score of a task whose check has passed: completed, revised within the
    attempt, or failed."""
    data = judgement(state, reply)
    approve, revise = (
        settings.of(state, "approval_threshold"),
        settings.of(state, "revision_threshold"),
    )
    band = escalation.band(data["score"], approve, revise)
    changes: list[Change] = [("task_judged", {"id": task.id, **data, "band": band})]
    if band == escalation.APPROVE:
        if not is_verified(task):
            raise Refused(
                f"the check of {task.id} has not passed since the coder's reply",
                _check(task),
                code="not_proven",
            )
        return changes + work.completed(state, task)
    said = {key: data[key] for key in ("score", "feedback", "level")}
    error = (
        "\n".join([data["feedback"], *data["issues"], *data["missing"]]).strip() or "no feedback"
    )
    score = "without a score" if data["score"] is None else f"with {data['score']}"
    if band == escalation.REJECT:
        return [*changes, work.failure(state, task, f"rejected {score}", error, **said)]
    if task.revisions >= settings.of(state, "max_fix_cycles"):
        result = f"judged {score} after {prose.count(task.revisions, 'revision')}"
        return [*changes, work.failure(state, task, result, error, **said)]
    return changes


def diagnosed(state: LoopState, task: Task, reply: dict) -> list[Change]:
    """The supervisor's diagnosis of a failed attempt. The action stands already; where it is
    impossible, the loop ends."""
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
        why = impossible.of_task(state, task, task.attempts, error, data["reasoning"], blockers)
        changes.append(("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why}))
    return changes
