"""Work on tasks: add, change, remove, complete, split. Deciders: (state, input) → journal lines;
refusals raise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from ..evidence import command
from ..journal import settings, stage, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from . import drafts, graph, outline

if TYPE_CHECKING:
    from ..journal.state import LoopState
    from ..journal.task import Task


def find(state: LoopState, task_id: str) -> Task:
    """The task of an id as typed (`t-3` too), or of an outline number (`1.2`). Raises UsageFault
    for neither, Refused for an unknown one."""
    wanted = (
        outline.named(state, task_id)
        if outline.is_number(task_id)
        else tasks.make_id(tasks.number(task_id))
    )
    task = state.tasks.get(wanted or "")
    if task is None:
        last = tasks.make_id(state.highest) if state.highest else "none"
        raise Refused(
            f"there is no task {wanted or task_id}",
            f"the newest is {last}; see loopkit task list",
            code="unknown",
        )
    return task


def submit(state: LoopState, rows: list) -> list[Change]:
    """`task add`: checked, counted, and in the stages that take tasks; a loop in review goes back
    to its waves."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW, doing="adding tasks")
    drafts.check_criteria(state, rows)
    drafts.check_size(state, len(rows))
    changes = drafts.added(state, rows)
    if state.stage == stage.REVIEW:
        changes.append(stage.move(state, stage.EXECUTING))
    return changes


def replaced(state: LoopState, rows: list, proposed: dict | None = None) -> list[Change]:
    """`task add --replace`: another plan in place of the present one, whose ids stay used; before
    the first attempt only.

    proposed: what the planner said beside its tasks (warning, risks, assumptions, questions).
    """
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, doing="replacing the plan")
    begun = next(
        (one for one in state.tasks.values() if one.attempts or one.status == tasks.COMPLETED), None
    )
    if begun is not None or state.waves:
        what = f"{begun.id} has been worked on" if begun else "a wave has been opened"
        raise Refused(
            f"{what}, so the plan is not replaced",
            "add, remove or split single tasks",
            code="wrong_state",
        )
    drafts.check_criteria(state, rows)
    drafts.check_size(state, len(rows) - state.planned)
    for row in rows:
        for one in row.get("blockedBy", ()):
            if one[:1] != "#" and (outline.is_number(one) or tasks.number(one) <= state.highest):
                raise Refused(
                    f"blocked by {one}, which is replaced",
                    "count from #1; nothing was changed",
                    code="contradiction",
                )
    given = proposed or {}
    lists = {name: list(given.get(name) or ()) for name in ("risks", "assumptions", "questions")}
    old = list(state.tasks)
    gone: list[Change] = [("task_removed", {"id": one}) for one in old]
    data = {"warning": given.get("warning") or "", **lists, "replaces": old}
    return [*gone, ("plan_proposed", data), *drafts.added(state, rows)]


def changed(
    state: LoopState, task_id: str, verify: str | None, blocked_by: list | None, files: list | None
) -> list[Change]:
    """`task set`: another command, other blockers, other files. Raises Refused for a circle, by
    name."""
    stage.running(state)
    task = find(state, task_id)
    if task.status == tasks.COMPLETED:
        raise Refused(f"{task.id} is completed", "add another task instead", code="wrong_state")
    data: dict = {"id": task.id}
    if verify is not None:
        command.accept(verify)
        data["verify"] = verify.strip()
    if files is not None:
        data["files"] = drafts.paths(files)
    if blocked_by is not None:
        wanted = list(dict.fromkeys(find(state, one).id for one in blocked_by))
        waits = graph.waits(state.tasks)
        waits[task.id] = [
            *wanted,
            *(one.id for one in state.tasks.values() if one.parent == task.id),
        ]
        circle = graph.cycle_from(task.id, waits)
        if circle:
            raise Refused(
                "cycle: " + " → ".join(circle),
                "drop one of these dependencies; nothing was changed",
                code="contradiction",
            )
        data["blockedBy"] = wanted
    if len(data) == 1:
        raise UsageFault("nothing to set", "give --verify, --blocked-by or --files")
    return [("task_changed", data)]


def removed(state: LoopState, task_id: str) -> list[Change]:
    """`task remove`: a parent that was split does not wait for it any longer."""
    stage.running(state)
    task = find(state, task_id)
    if task.status not in (tasks.PENDING, tasks.BLOCKED):
        raise Refused(
            f"{task.id} is {task.status}",
            "only pending and blocked tasks can be removed",
            code="wrong_state",
        )
    changes: list[Change] = [("task_removed", {"id": task.id})]
    parent = state.tasks.get(task.parent or "")
    if parent is not None and parent.block_kind == tasks.SPLIT:
        if any(one.parent == parent.id and one.id != task.id for one in state.tasks.values()):
            return changes + completed(state, task)[1:]
        changes.append(
            (
                "task_reopened",
                {"id": parent.id, "reason": "no subtask is left", "keep_evidence": True},
            )
        )
    return changes


def waiting_again(state: LoopState, again: Iterable[str]) -> list[Change]:
    """Completed parents of tasks that are opened again wait for their subtasks again."""
    changes: list[Change] = []
    found = list(again)
    for name in found:
        parent = state.tasks.get(state.tasks[name].parent or "")
        if parent is not None and parent.status == tasks.COMPLETED and parent.id not in found:
            found.append(parent.id)
            children = [one.id for one in state.tasks.values() if one.parent == parent.id]
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
    while (
        parent is not None and parent.status == tasks.BLOCKED and parent.block_kind == tasks.SPLIT
    ):
        children = [one for one in state.tasks.values() if one.parent == parent.id]
        if any(
            one.id in again or one.status != tasks.COMPLETED and one.id not in done
            for one in children
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

    judged: `score`, `feedback`, `level` of a judgement, `approach` that was taken.
    """
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


def end(state: LoopState, task: Task, failed: Change) -> list[Change]:
    """The end of the loop after a failure that leaves nothing else; no line after another one."""
    from . import escalation, impossible

    data = failed[1]
    if data["action"] != escalation.IMPOSSIBLE:
        return []
    why = impossible.of_task(state, task, data["attempt"], data["error"])
    return [("loop_failed", {"verdict": verdict.IMPOSSIBLE, "reason": why})]


def running(state: LoopState) -> list[str]:
    """Tasks of the open wave that still run."""
    return [one for one in (state.wave.tasks if state.wave else ()) if one in state.running]


def proven(task: Task) -> bool:
    """A check of the task has passed since it was dispatched, and none has failed after it."""
    return task.evidence is not None and task.evidence.passed and task.evidence.line > task.handed


def checked(task: Task) -> bool:
    """Its check has run since its agent answered."""
    return task.evidence is not None and task.evidence.line > (task.coded or {}).get("line", 0)


def escalated(state: LoopState, task_id: str, data: dict) -> dict:
    """What is told of a recorded failure as a record: action, clamped, raised, attempts, depth,
    their maxima, level."""
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


def _approach(state: LoopState, task: Task) -> str:
    if task.coded is not None:
        return str(task.coded.get("summary", ""))[:500]
    for panel in reversed(state.panels):
        if panel.get("task") == task.id:
            return str(panel.get("consensus", ""))[:500]
    return tasks.AS_DESCRIBED


def blocked(state: LoopState, task_id: str, kind: str, text: str) -> list[Change]:
    """`task block`: the task waits for something outside the loop; `kind` says for what, `text`
    tells a person."""
    stage.running(state)
    task = find(state, task_id)
    if kind not in tasks.BLOCK_KINDS:
        raise UsageFault(f"block kind {kind!r}", "use " + ", ".join(tasks.BLOCK_KINDS))
    if not text.strip():
        raise UsageFault(
            "no reason given",
            f'loopkit task block {task.id} --kind {kind} --reason "<what is needed>"',
        )
    tasks.moved(task, tasks.BLOCKED)
    return [("task_blocked", {"id": task.id, "kind": kind, "text": text.strip()})]


def unblocked(state: LoopState, task_id: str) -> list[Change]:
    """`task unblock`: what the task waited for is there; also while the loop is paused for it."""
    task = find(state, task_id)
    if state.session.status in verdict.FINAL:
        stage.running(state)  # says so; a pause may be for the very thing that is there now
    if task.status != tasks.BLOCKED or task.block_kind == tasks.SPLIT:
        raise Refused(
            f"{task.id} is {task.block_kind or task.status}, nothing to unblock",
            "see loopkit task list",
            code="wrong_state",
        )
    return [("task_reopened", {"id": task.id, "reason": "unblocked", "keep_evidence": True})]


def split(state: LoopState, task_id: str, rows: list) -> list[Change]:
    """`task split`: subtasks one level deeper, the parent waits for them. Raises Refused where none
    is given."""
    stage.running(state)
    task = find(state, task_id)
    if task.status not in (tasks.FAILED, tasks.PENDING):
        raise Refused(
            f"{task.id} is {task.status}",
            "only failed and pending tasks are split",
            code="wrong_state",
        )
    if not rows:
        raise Refused(
            f"{task.id} cannot be split into nothing",
            "submit at least one subtask",
            code="unanswered",
        )
    deep = settings.of(state, "max_replan_depth")
    if task.depth >= deep:
        raise Refused(
            f"{task.id} is {task.depth} levels deep already",
            "work on it as it is",
            code="out_of_bounds",
        )
    inherited = [one for one in task.blocked_by if one in state.open]
    rows = [{**row, "blockedBy": [*row.get("blockedBy", ()), *inherited]} for row in rows]
    changes = drafts.added(state, rows, parent=task.id, depth=task.depth + 1, kind=task.kind)
    subtasks = [change[1]["task"]["id"] for change in changes]
    return [*changes, ("task_split", {"id": task.id, "subtasks": subtasks})]


def remediation(
    state: LoopState, subject: str, verify: str, description: str, files: list, first: int
) -> Change:
    """A task that fixes what a review or the gate found; `first` is how many ids this step has used
    already."""
    row = {
        "id": tasks.make_id(state.highest + 1 + first),
        "subject": subject[: drafts.LONGEST_SUBJECT],
        "verify": verify,
        "description": description,
        "files": files,
        "kind": "remediation",
    }
    return ("task_added", {"task": row})


def unproven(state: LoopState) -> list[Task]:
    """Completed tasks without passing evidence, those apart that were completed by their
    subtasks."""
    parents = {task.parent for task in state.tasks.values()}
    return [
        task
        for task in state.tasks.values()
        if task.status == tasks.COMPLETED
        and not (task.evidence is not None and task.evidence.passed)
        and task.id not in parents
    ]


def stale(state: LoopState, digest: Callable[[str], str]) -> list[Task]:
    """Completed tasks whose files are no longer what their evidence saw; `digest(path)` is a file's
    present digest."""
    found = []
    for task in state.tasks.values():
        if task.status == tasks.COMPLETED and task.evidence is not None and task.files:
            if any(digest(path) != seen for path, seen in task.evidence.files.items()):
                found.append(task)
    return found
