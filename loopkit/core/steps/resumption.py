"""How a loop pauses, asks, ends and goes on, and what becomes of its tasks then."""

from __future__ import annotations

from ..journal import limits, prose, stage, verdict
from ..journal import task as tasks
from ..journal.errors import LimitReached, Refused
from ..journal.events import Change
from ..journal.state import LoopState
from ..journal.task import Task
from ..plan import escalation, work
from ..plan.events import INTERRUPTED
from ..plan.events import is_out as out
from . import kinds, policies

#: What agents are asked about a task, as the journal counts it.
_OF_TASK = tuple(kind.asked for kind in kinds.KINDS.values() if kind.agent)
#: Why a failed task is pending again.
RESUMED = "resumed after its failure"


def reopened(state: LoopState, same_client: bool = False) -> list[Change]:
    """Make work that was cut short pending again (rule: Resume); no attempt is counted for it.

    same_client: that of the agents, so that what was dispatched is worked on still.

    Completed tasks and tasks that wait for their subtasks stay as they are, and so does one whose
    check has passed where that alone completes it, or leads to its review or its merge.
    """
    isolated = {*work.unmerged(state), *work.unchecked(state)}
    keeps = policies.of(state).keeps
    parents = {task.parent for task in state.tasks.values()}
    changes: list[Change] = []
    for task in state.tasks.values():
        reason = ""
        if task.status == tasks.IN_PROGRESS:
            stays = keeps(task) or task.id in isolated
            at_work = same_client and any(out(state, f"{kind} {task.id}") for kind in _OF_TASK)
            reason = "" if stays or at_work else INTERRUPTED
        elif task.status == tasks.FAILED:
            reason = RESUMED
        elif task.status == tasks.BLOCKED and task.block_kind == tasks.SPLIT:
            reason = "" if task.id in parents else "it was split into nothing"
        if reason:
            changes.append(("task_reopened", {"id": task.id, "reason": reason}))
    return changes


def again(state: LoopState) -> list[Change]:
    """`resume --again`: a loop that failed is tried once more, its unfinished tasks with all their
    attempts. The person's own decision; Refused for any other loop."""
    session = state.session
    if session.status != verdict.FAILED:
        over = session.status in verdict.FINAL
        what = f"is over ({session.verdict})" if over else "has not failed"
        raise Refused(f"loop {state.name} {what}", "--again is for loops that ended as impossible")
    return anew(state)


def anew(state: LoopState) -> list[Change]:
    """Unfinished tasks get all their attempts again."""
    return [("attempts_reset", {"ids": list(state.open)}), *reopened(state)]


def resumed(
    state: LoopState,
    token: str,
    owner: list[Change],
    failed_again: bool,
    answer: str | None,
    most: dict[str, str],
    same_client: bool = False,
) -> list[Change]:
    """Let a loop go on.

    token: what this machine knows it by; another than before where it was adopted · owner: the
    event of the session that takes it over, if one does · failed_again: a loop that failed is tried
    once more · answer: the person's, to the open question · most: limits as typed · same_client:
    its agents were started in this client, which lives.
    """
    session = state.session
    changes: list[Change] = [("adopted", {"token": token})] if token != session.token else []
    cut_short = bool(owner) or session.status == verdict.PAUSED
    again_now = reopened(state, same_client) if cut_short else []
    tasks_again = again(state) if failed_again else again_now
    present = dict(zip(("iterations", "usd", "seconds"), session.most, strict=True))
    chosen = {kind: limits.amount(text, present[kind], kind) for kind, text in most.items()}
    if chosen:
        changes.append(("limits_set", chosen))
    changes += owner
    if answer is not None:
        if session.question is None:
            raise Refused("no question is open", "see loopkit status; go on without --answer")
        changes += [*_settled(state, answer), ("question_answered", {"text": answer})]
    elif session.status != verdict.PAUSED and session.question is not None:
        return [*changes, *tasks_again]
    if session.verdict in verdict.LIMITS:
        _check_raised(state, tuple({**present, **chosen}.values()))
    kept = {"same_client": True} if same_client else {}
    return [*changes, *tasks_again, ("resumed", {"from": session.verdict, **kept})]


def _check_raised(state: LoopState, most: tuple) -> None:
    """Raises LimitReached where the limit that paused the loop still stands."""
    session = state.session
    over = limits.reached(*session.spent, most)
    if over:
        todo = f"raise: loopkit resume {limits.raising(*session.spent, most)}"
        raise LimitReached(f"still at its limit: {over[1]}", todo)


def alone(state: LoopState, step: kinds.Step) -> list[Change]:
    """What becomes of a decision of the person's where nobody can be asked: its default, or a pause
    that names it. Nothing for what is somebody else's."""
    if step.kind == kinds.RESOLVE:
        from ..review import review

        finding = state.findings[str(step.subject)]
        if finding.severity != review.BLOCKER:
            return review.put_off(state)
    each_wave = "wave" in stage.needs(state.shape)
    if step.kind == kinds.CONFIRM and step.subject == "shape" and not each_wave:
        moved = [stage.move(state, stage.DECOMPOSE)] if state.stage == stage.SHAPE else []
        return [("confirmed", {"what": "shape", "default": True}), *moved]
    what = {
        kinds.ANSWER: f"a question is open: {prose.short(state.session.question or '', 200)}",
        kinds.CONFIRM: f"the person confirms the {step.subject}",
        kinds.UNBLOCK: f"{step.subject} is blocked",
        kinds.RESOLVE: f"{step.subject} is a blocker that only a waiver settles",
    }.get(step.kind)
    if what is None or step.kind == kinds.RESOLVE and not finding.task:
        return []
    why = f"{what}, and nobody can be asked; in a terminal: /loop:resume"
    return [("paused", {"verdict": verdict.WAITING, "reason": why})]


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
    return [*_settled(state, text), ("question_answered", {"text": text})]


def _settled(state: LoopState, text: str) -> list[Change]:
    """What the answer says of files that must not have changed, where it is about them."""
    if not state.changes.asked:
        return []
    from ..evidence import changes

    return changes.settled(state, text)


def belated(state: LoopState) -> list[Change]:
    """What should have been recorded with the event before it: whoever wrote that was killed.

    The end of the loop after a failure that nothing can fix; failed tasks that are to be tried
    again, since a person gave them all attempts anew; completions of split tasks.
    """
    for task in (state.tasks[name] for name in state.open if state.counts[tasks.FAILED]):
        if task.status == tasks.FAILED and not task.attempts:
            return [("task_reopened", {"id": task.id, "reason": RESUMED})]
        impossible_now = task.status == tasks.FAILED and task.action == escalation.IMPOSSIBLE
        if impossible_now and not policies.of(state).held(state, task):
            diagnosis = task.diagnosis or {}
            error = str(task.history[-1]["error"]) if task.history else ""
            words = (diagnosis.get("reasoning") or "", diagnosis.get("blockers") or ())
            why = escalation.task_ended(state, task, task.attempts, error, *words)
            return [("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why})]
    children: dict[str, list[Task]] = {}
    for task in state.tasks.values():
        children.setdefault(task.parent or "", []).append(task)
    done: dict[str, None] = {}
    for name in reversed(state.open):  # a parent is older than its subtasks
        task = state.tasks[name]
        if task.status == tasks.BLOCKED and task.block_kind == tasks.SPLIT and name in children:
            if all(row.status == tasks.COMPLETED or row.id in done for row in children[name]):
                done[name] = None
    return [("task_completed", {"id": name}) for name in done]
