"""When a task may start, what follows a check that ran or a failed attempt; refusals raise."""

from __future__ import annotations

from ..evidence import command
from ..journal import stage, verdict
from ..journal import task as tasks
from ..journal.errors import NotYet, Refused
from ..journal.events import Change
from ..journal.state import LoopState
from ..journal.task import Task
from ..plan import work
from . import kinds, policies

#: The error of an attempt that was given up without one.
NO_ERROR = "no error given"


def startable(state: LoopState, task: Task) -> bool:
    """Whether a pending task waits for nothing: no blocker, panel, split or missing command."""
    return state.is_free(task) and not _wants(state, task)


def _wants(state: LoopState, task: Task) -> tuple[str, str] | None:
    """(why a task may not start though nothing blocks it, kind of the step that comes first)."""
    held = policies.of(state).held(state, task)
    if held:
        return held, kinds.OPEN_WAVE
    if task.id in state.narrow:
        return f"{task.id} has used up its attempts", kinds.SPLIT
    if task.panel_due:
        return f"{task.id} failed and no panel has looked at it", kinds.PANEL
    return None if task.verify else (f"{task.id} has no verification command", kinds.SET_CHECK)


def check_start(state: LoopState, task: Task) -> None:
    """Raises Refused where a task may not start."""
    tasks.moved(task, tasks.IN_PROGRESS)
    open_blockers = [blocker for blocker in task.blocked_by if blocker in state.open]
    if open_blockers:
        raise NotYet(f"{task.id} waits for {', '.join(open_blockers)}")
    wants = _wants(state, task)
    if wants:
        why, kind = wants
        raise Refused(why, "next: " + kinds.KINDS[kind].command.format(subject=task.id))
    stage.check_seen(state, task.id)


def check_verify(state: LoopState, task_id: str, given: list[str]) -> Task:
    """The task that a verification is about. Refused unless it runs, with its stored command."""
    stage.running(state)
    task = work.find(state, task_id)
    late = task.id in state.interrupted or task.back  # its agent was not gone after all
    if task.status not in (tasks.IN_PROGRESS, tasks.COMPLETED) and not late:
        raise NotYet(f"{task.id} is {task.status}, not in progress")
    if not command.same(task.verify, given):
        todo = f"next: loopkit verify {task.id} -- {task.verify}"
        raise Refused(f"not the stored command of {task.id}", todo, code="other_command")
    stage.check_seen(state, task.id)
    return task


def verified(state: LoopState, task: Task, outcome: dict) -> list[Change]:
    """What follows a verification that ran. `outcome`: passed, exit, log, seconds, head, files,
    output (last lines); worktree, if it ran in one: nothing follows before it is merged."""
    row = {"id": task.id, "run": task.runs + 1, "command": task.verify}
    row["tier"] = command.due_tier(task.failing)
    row.update(command.kept(outcome))
    mark = {}
    if not outcome["passed"]:
        from ..evidence import signature  # its patterns are only paid for where something failed

        mark["signature"] = outcome.get("signature") or signature.of(outcome["output"])
    isolated = {"worktree": outcome["worktree"]} if outcome.get("worktree") else {}
    changes: list[Change] = [("task_verified", {**row, **mark, **isolated})]
    if task.back:  # what was done is there again
        return changes + (work.completed(state, task) if outcome["passed"] else [])
    if task.id in state.interrupted:
        changes.insert(0, ("task_started", {"id": task.id, "wave": task.wave}))
    if not command.is_startable(outcome):
        return changes + unchecked(task, outcome)
    if task.status != tasks.COMPLETED:
        return changes + policies.of(state).on_verified(state, task, outcome)
    if not outcome["passed"]:
        why = f"verification now exits {outcome['exit']}"
        changes.append(("task_reopened", {"id": task.id, "reason": why, **mark}))
        changes += work.waiting_again(state, [task.id])
        if state.stage == stage.REVIEW:
            changes.append(stage.move(state, stage.EXECUTING))
    return changes


def unchecked(task: Task, outcome: dict) -> list[Change]:
    """What follows a check that cannot start: no attempt has failed, and nobody's work mends it. An
    agent that is at work is told, a task that is done waits for the person."""
    why = f"its check cannot start: {outcome['note'] or 'exit ' + str(outcome['exit'])}"
    if task.status == tasks.COMPLETED:
        return [("paused", {"verdict": verdict.WAITING, "reason": f"{task.id}: {why}"})]
    if task.coded is None:
        return []
    return [("task_blocked", {"id": task.id, "kind": "external", "text": why})]


def failed(state: LoopState, task_id: str, error: str, suggested: str | None) -> list[Change]:
    """`task fail`: the attempt is given up."""
    stage.running(state)
    task = work.find(state, task_id)
    tasks.moved(task, tasks.FAILED)
    return _failure(state, task, "given up", error or NO_ERROR, suggested)


def astray(state: LoopState, task: Task, base: str, reported: str) -> list[Change]:
    """A result that began at another commit than it was given: one attempt, both commits named."""
    given = f"the worktree of {task.id} was given {base} to begin with"
    error = f"{given}, its work begins at {reported}"
    return _failure(state, task, "began at another commit than it was given", error)


def conflict(state: LoopState, task: Task, paths: list[str]) -> list[Change]:
    """A result that contradicts what others have done meanwhile: one attempt, its paths named."""
    error = f"changed meanwhile by others as well: {work.named_paths(paths)}; "
    error += "do it again on top of what is there now"
    return _failure(state, task, "cannot be merged", error)


def _failure(
    state: LoopState, task: Task, result: str, error: str, suggested: str | None = None
) -> list[Change]:
    failure = work.failure(state, task, result, error, suggested)
    return policies.of(state).on_failed(state, task, failure)
