"""Work on tasks: found, completed, failed, blocked, merged out of worktrees. Deciders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ..journal import prose, settings, stage, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from ..journal.parts import Row
from ..journal.state import LoopState
from ..journal.task import Task
from . import outline

#: Seconds without a line in the journal after which a session is no longer taken to be at work,
#: unless its client lives.
HEARTBEAT = 120
#: Brings the next result into the project's own tree; says so where there is none.
MERGE = "loopkit wave merge"
#: Paths that a line names at the most.
NAMED = 10


def find(state: LoopState, task_id: str) -> Task:
    """The task of an id (`t-3` too), or an outline number (`1.2`). Raises UsageFault, Refused."""
    if outline.is_number(task_id):
        wanted = outline.named(state, task_id)
    else:
        wanted = tasks.make_id(tasks.number(task_id))
    task = state.tasks.get(wanted or "")
    if task is None:
        last = tasks.make_id(state.highest) if state.highest else "none"
        what = f"there is no task {wanted or task_id}"
        raise Refused(what, f"the newest is {last}; see loopkit task list", code="unknown")
    return task


def waiting_again(state: LoopState, again: Iterable[str]) -> list[Change]:
    """Completed parents of tasks that are opened again wait for their subtasks again."""
    changes: list[Change] = []
    opened = list(again)
    for name in opened:
        parent = state.tasks.get(state.tasks[name].parent or "")
        if parent is not None and parent.status == tasks.COMPLETED and parent.id not in opened:
            opened.append(parent.id)
            children = [task.id for task in state.tasks.values() if task.parent == parent.id]
            changes.append(("task_split", {"id": parent.id, "subtasks": children}))
    return changes


def completed(
    state: LoopState, task: Task, before: Iterable[str] = (), again: Collection[str] = ()
) -> list[Change]:
    """Completion of a task and of every parent whose last subtask it was. `before`: tasks that the
    same step completes, `again`: those that it opens again."""
    changes: list[Change] = [("task_completed", {"id": task.id})]
    done = {task.id, *before}
    parent = state.tasks.get(task.parent or "")
    while parent and parent.status == tasks.BLOCKED and parent.block_kind == tasks.SPLIT:
        children = [child for child in state.tasks.values() if child.parent == parent.id]
        if any(
            child.id in again or child.status != tasks.COMPLETED and child.id not in done
            for child in children
        ):
            break
        changes.append(("task_completed", {"id": parent.id}))
        done.add(parent.id)
        parent = state.tasks.get(parent.parent or "")
    return changes


def failure(
    state: LoopState,
    task: Task,
    result: str,
    error: str,
    suggested: str | None = None,
    **judged: object,
) -> Change:
    """The line of a failed attempt: the clamp table names the action (rule: Clamp-down escalation).
    judged: `score`, `feedback`, `level` of a judgement, `approach` that was taken."""
    from . import escalation  # only failures pay for it

    attempts = task.attempts + 1
    most, deep = settings.of(state, "max_step_attempts"), settings.of(state, "max_replan_depth")
    action = escalation.clamp(attempts, task.depth, most, deep)
    clamped, raised = escalation.weigh(action, suggested)
    data = {
        "id": task.id,
        "attempt": attempts,
        "approach": _approach(state, task),
        "result": result,
        "error": error[-2000:],
        "action": action,
        "suggested": suggested,
        "clamped": clamped,
        "raised": raised,
        # an attempt that failed without a score is worth as much as a rejected one
        "level": escalation.level(settings.of(state, "revision_threshold") - 1, 0),
        **judged,
    }
    return ("task_failed", data)


def _approach(state: LoopState, task: Task) -> str:
    if task.coded is not None:
        return str(task.coded.get("summary", ""))[:500]
    for panel in reversed(state.panels):
        if panel.get("task") == task.id:
            return str(panel.get("consensus", ""))[:500]
    return tasks.AS_DESCRIBED


def end(state: LoopState, task: Task, failed: Change) -> list[Change]:
    """The end of the loop after a failure that leaves nothing else; no line after another one."""
    from . import escalation

    data = failed[1]
    if data["action"] != escalation.IMPOSSIBLE:
        return []
    why = escalation.task_ended(state, task, data["attempt"], data["error"])
    return [("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why})]


def escalated(state: LoopState, task_id: str, data: dict) -> dict:
    """What is told of a recorded failure, as a record."""
    task = state.tasks[task_id]
    return {
        "task": task.id,
        **{key: data.get(key) for key in ("action", "clamped", "raised")},
        "attempts": task.attempts,
        "max_attempts": settings.of(state, "max_step_attempts"),
        "depth": task.depth,
        "max_depth": settings.of(state, "max_replan_depth"),
        "level": data.get("level"),
    }


def running(state: LoopState) -> list[str]:
    """Tasks of the open wave that still run."""
    names = state.wave.tasks if state.wave else ()
    return [task_id for task_id in names if task_id in state.running]


def proven(task: Task) -> bool:
    """A check of the task has passed since it was dispatched, and none has failed after it."""
    return task.evidence is not None and task.evidence.passed and task.evidence.line > task.handed


def checked(task: Task) -> bool:
    """Its check has run since its agent answered."""
    return task.evidence is not None and task.evidence.line > (task.coded or {}).get("line", 0)


def blocked(state: LoopState, task_id: str, kind: str, text: str) -> list[Change]:
    """`task block`: the task waits for something outside the loop, told by kind and text."""
    stage.running(state)
    task = find(state, task_id)
    if kind not in tasks.BLOCK_KINDS:
        raise UsageFault(f"block kind {kind!r}", "use " + ", ".join(tasks.BLOCK_KINDS))
    if not text.strip():
        todo = f'loopkit task block {task.id} --kind {kind} --reason "<what is needed>"'
        raise UsageFault("no reason given", todo)
    tasks.moved(task, tasks.BLOCKED)
    return [("task_blocked", {"id": task.id, "kind": kind, "text": text.strip()})]


def unblocked(state: LoopState, task_id: str, said: str = "") -> list[Change]:
    """`task unblock`: what the task waited for is there; also while the loop is paused for it.
    said: by the person, of what it was blocked by; whoever does it is told."""
    task = find(state, task_id)
    if state.session.status in verdict.FINAL:
        stage.running(state)  # says so; a pause may be for the very thing that is there now
    if task.status != tasks.BLOCKED or task.block_kind == tasks.SPLIT:
        what = f"{task.id} is {task.block_kind or task.status}, nothing to unblock"
        raise Refused(what, "see loopkit task list", code="wrong_state")
    changes: list[Change] = []
    if said.strip():
        told = f"It was blocked: {task.block_text}\nThe person said: {said.strip()}"
        described = "\n\n".join(filter(None, [task.description, told]))
        changes.append(("task_changed", {"id": task.id, "description": described}))
    if state.session.question is not None and state.history.asking:  # it was asked about this
        changes.append(("question_answered", {"text": said.strip() or f"{task.id} can go on"}))
    again = {"id": task.id, "reason": "unblocked", "keep_evidence": True}
    return [*changes, ("task_reopened", again)]


def unproven(state: LoopState) -> list[Task]:
    """Completed tasks without passing evidence, but for those whose subtasks completed them."""
    parents = {task.parent for task in state.tasks.values()}
    done = [task for task in state.tasks.values() if task.status == tasks.COMPLETED]
    shown = [task for task in done if task.evidence is not None and task.evidence.passed]
    return [task for task in done if task.id not in parents and task not in shown]


def stale(state: LoopState, digest: Callable[[str], str]) -> list[Task]:
    """Completed tasks whose files are not what their evidence saw. digest: a file's, by path."""
    return [
        task
        for task in state.tasks.values()
        if task.status == tasks.COMPLETED and task.evidence is not None and task.files
        if any(digest(path) != seen for path, seen in task.evidence.files.items())
    ]


# -- worktrees of tasks: where each one is, what may be merged, what may go


def in_worktrees(state: LoopState) -> bool:
    """Whether the open wave works in worktrees."""
    return state.wave is not None and state.worktrees.wave == len(state.waves)


def isolated(state: LoopState, task_id: str) -> Row | None:
    """The worktree in which a task's check runs; None without one, or once it is merged."""
    row = state.worktrees.of(task_id)
    return row if row is not None and not row.merged else None


def earlier_worktrees(state: LoopState, task_id: str) -> list[Row]:
    """Those of a task's attempts that came to nothing."""
    now = state.worktrees.current.get(task_id)
    rows = state.worktrees.rows.values()
    return [row for row in rows if row.task == task_id and row.path != now and not row.merged]


def _worktrees(state: LoopState) -> list[Row]:
    """The present ones of running tasks."""
    rows = [state.worktrees.of(task_id) for task_id in state.worktrees.current]
    return [row for row in rows if row is not None and row.task in state.running]


def unmerged(state: LoopState) -> list[str]:
    """Running tasks whose check has passed in their worktree and that wait to be merged."""
    return [row.task for row in _worktrees(state) if row.passed and not row.merged]


def unchecked(state: LoopState) -> list[str]:
    """Running tasks that were merged and whose check has not run in the project's own tree yet."""
    return [row.task for row in _worktrees(state) if row.merged and not row.checked]


def _check_of(state: LoopState, task_id: str) -> str:
    return f"loopkit verify {task_id} -- {state.tasks[task_id].verify}"


def merge_command(state: LoopState) -> str | None:
    """What brings the open wave's work together: the check after a merge, the next merge."""
    checks = [_check_of(state, task_id) for task_id in unchecked(state)]
    return next(iter(checks + [f"{MERGE} {task_id}" for task_id in unmerged(state)]), None)


def check_settled(state: LoopState) -> None:
    """Raises Refused where work of the open wave is still to be brought together."""
    step = merge_command(state)
    if step is None:
        return
    names, what = unchecked(state), "merged and not checked since"
    if not names:
        names, what = unmerged(state), "passed in a worktree and not merged"
    what = f"{', '.join(names)} {what}"
    raise Refused(what, f"next: {step}; to give an attempt up: loopkit task fail {names[0]}")


def check_merge(state: LoopState, task: Task) -> Row:
    """The worktree of a task that may be merged now. Raises Refused: none, merged already, not
    passed, another one's check is due first."""
    row = state.worktrees.of(task.id)
    if row is None or task.status != tasks.IN_PROGRESS:
        raise Refused(f"{task.id} has no worktree that is worked in", "see loopkit worktree list")
    again = f"next: {_check_of(state, task.id)}"
    if row.merged:
        raise Refused(f"{task.id} is merged already", again)
    if not row.passed:
        raise Refused(f"the check of {task.id} has not passed in its worktree", again)
    for other in unchecked(state):
        step = f"next: {_check_of(state, other)}"
        raise Refused(f"{other} was merged and its check has not run since", step)
    return row


def merged(row: Row, files: list[str], tree: str) -> list[Change]:
    """`wave merge`: these files are in the project's own tree now."""
    return [("worktree_merged", {"task": row.task, "path": row.path, "files": files, "tree": tree})]


def named_paths(paths: list[str]) -> str:
    """A few paths for one line; a name may hold anything."""
    return prose.few(paths, NAMED)


def worktree_in_use(state: LoopState, path: str, age: float, alive: bool) -> bool:
    """Whether somebody may be at work in a worktree: an attempt in it goes on, and its session
    lives or did just now. age: of the journal in seconds · alive: the owner's client runs."""
    if state.session.status in verdict.FINAL:
        return False
    current = state.worktrees.current.items()
    task = state.tasks.get(next((name for name, where in current if where == path), ""))
    going_on = task is not None and (task.status == tasks.IN_PROGRESS or task.interrupted)
    return going_on and (alive or age < HEARTBEAT)


def files_of(task: Task) -> list[str]:
    """The files that a task names, and those that its coder did."""
    return list(dict.fromkeys([*task.files, *((task.coded or {}).get("files") or ())]))
