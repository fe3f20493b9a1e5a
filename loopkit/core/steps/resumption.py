"""How a loop pauses, asks, ends and goes on, and what becomes of its tasks then. Deciders: (state,
input) → journal lines; refusals raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import limits, pricing, stage, verdict
from ..journal import task as tasks
from ..journal.errors import LimitReached, Refused
from ..plan import escalation, impossible, worktrees
from ..plan.events import INTERRUPTED
from . import policies

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState
    from ..journal.task import Task


def reopened(state: LoopState) -> list[Change]:
    """Lines that make work that was cut short pending again (rule: Resume); no attempt is counted
    for it.

    Completed tasks and tasks that wait for their subtasks stay as they are, and so does one whose
    check has passed where that alone completes it, or leads to its review or its merge: only the
    word is missing.
    """
    policy = policies.of(state)
    apart = {*worktrees.unmerged(state), *worktrees.unchecked(state)}
    parents = {task.parent for task in state.tasks.values()}
    changes: list[Change] = []
    for task in state.tasks.values():
        if task.status == tasks.IN_PROGRESS:
            if not policy.keeps(task) and task.id not in apart:
                changes.append(("task_reopened", {"id": task.id, "reason": INTERRUPTED}))
        elif task.status == tasks.FAILED:
            changes.append(
                ("task_reopened", {"id": task.id, "reason": "resumed after its failure"})
            )
        elif (
            task.block_kind == tasks.SPLIT
            and task.status == tasks.BLOCKED
            and task.id not in parents
        ):
            changes.append(
                ("task_reopened", {"id": task.id, "reason": "it was split into nothing"})
            )
    return changes


def again(state: LoopState) -> list[Change]:
    """`resume --again`: a loop that failed is tried once more, its unfinished tasks with all their
    attempts.

    The person's own decision; raises Refused for any other loop, and where nobody can be asked.
    """
    session = state.session
    if session.status != verdict.FAILED:
        kind = (
            f"is over ({session.verdict})" if session.status in verdict.FINAL else "has not failed"
        )
        raise Refused(f"loop {state.name} {kind}", "--again is for loops that ended as impossible")
    if session.unattended:
        raise Refused(
            "nobody can be asked, and only the person tries again",
            "start Claude Code in a terminal",
        )
    return [("attempts_reset", {"ids": list(state.open)}), *reopened(state)]


def resumed(
    state: LoopState,
    token: str,
    owner: list[Change],
    anew: bool,
    answer: str | None,
    most: dict[str, str],
) -> list[Change]:
    """Lines with which a loop goes on.

    token: what this machine knows it by; another than before where it was adopted · owner: the
    line of the session that takes it over, if one does · anew: a loop that failed is tried
    once more · answer: the person's, to the open question · most: limits as typed.
    """
    session = state.session
    changes: list[Change] = [("adopted", {"token": token})] if token != session.token else []
    cut_short = bool(owner) or session.status == verdict.PAUSED
    tasks_again = again(state) if anew else reopened(state) if cut_short else []
    present = dict(zip(("iterations", "usd", "seconds"), session.most, strict=True))
    chosen = {kind: limits.amount(text, present[kind], kind) for kind, text in most.items()}
    if chosen:
        changes.append(("limits_set", chosen))
    changes += owner
    if answer is not None:
        if session.question is None:
            raise Refused("no question is open", "see loopkit status; go on without --answer")
        changes.append(("question_answered", {"text": answer}))
    elif session.status != verdict.PAUSED and session.question is not None:
        return [*changes, *tasks_again]
    if session.verdict in verdict.LIMITS:
        _check_raised(state, tuple({**present, **chosen}.values()))
    return [*changes, *tasks_again, ("resumed", {"from": session.verdict})]


def _check_raised(state: LoopState, most: tuple) -> None:
    """Raises LimitReached where the limit that paused the loop still stands."""
    session = state.session
    usd = pricing.cost(session.usage, session.prices)[0]
    over = limits.reached(session.iteration, usd, session.spent_seconds, most)
    if over:
        what, todo = over[1].split("; ")[:2]
        raise LimitReached(f"still at its limit: {what}", todo)


def paused(state: LoopState, reason: str) -> list[Change]:
    """The session is let go."""
    if state.session.status == verdict.PAUSED:
        return []
    stage.running(state)
    return [("paused", {"reason": reason})]


def cancelled(state: LoopState, reason: str) -> list[Change]:
    """The loop ends here; one that is over stays as it is."""
    over = state.session.status in verdict.FINAL
    return [] if over else [("loop_cancelled", {"reason": reason})]


def asked(state: LoopState, text: str) -> list[Change]:
    """A question that only the person can answer."""
    stage.running(state)
    return [("question_asked", {"text": text})]


def answered(state: LoopState, text: str) -> list[Change]:
    """The person's answer to the open question."""
    if state.session.question is None:
        raise Refused("no question is open", "see loopkit status")
    return [("question_answered", {"text": text})]


def belated(state: LoopState) -> list[Change]:
    """What should have been recorded with the line before it: whoever wrote that was killed, or the
    machine went down.

    The end of the loop after a failure that nothing can fix; failed tasks that are to be tried
    again, since a person gave them all attempts anew; completions of split tasks with that of their
    last subtask.
    """
    for name in state.open if state.counts[tasks.FAILED] else ():
        task = state.tasks[name]
        if task.status == tasks.FAILED and not task.attempts:
            return [("task_reopened", {"id": name, "reason": "resumed after its failure"})]
        if task.status == tasks.FAILED and task.action == escalation.IMPOSSIBLE:
            if not policies.of(state).held(state, task):
                said = task.diagnosis or {}
                error = str(task.history[-1]["error"]) if task.history else ""
                words = (said.get("reasoning") or "", said.get("blockers") or ())
                why = impossible.of_task(state, task, task.attempts, error, *words)
                return [("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why})]
    children: dict[str, list[Task]] = {}
    for task in state.tasks.values():
        children.setdefault(task.parent or "", []).append(task)
    done: dict[str, None] = {}
    for name in reversed(state.open):  # a parent is older than its subtasks
        task = state.tasks[name]
        if task.status == tasks.BLOCKED and task.block_kind == tasks.SPLIT and name in children:
            if all(one.status == tasks.COMPLETED or one.id in done for one in children[name]):
                done[name] = None
    return [("task_completed", {"id": name}) for name in done]
