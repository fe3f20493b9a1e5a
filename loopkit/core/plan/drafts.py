"""The plan and its changes: tasks added, replaced, changed, removed, split; what was gathered about
the code. Deciders: (state, input) → journal lines; refusals raise, and then nothing is recorded."""

from __future__ import annotations

import itertools
import posixpath

from ..evidence import command
from ..journal import prose, settings, stage, verdict
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from ..journal.events import Change
from ..journal.state import LoopState
from ..journal.task import Task
from . import outline
from .work import completed, find

LONGEST_SUBJECT, LONGEST_TEXT = 1000, 100_000
#: Patterns that are kept, and characters of each, at most.
MOST_PATTERNS, LONGEST_PATTERN = 10, 200


def paths(value: list[str], folder: str = "") -> list[str]:
    """Paths of files inside the project, relative to it, each in its shortest form. folder: where
    the session was opened, from which they are given; one that begins with it, or with `:/`, is
    meant from the project. Raises UsageFault for any other."""
    found = []
    for given in value:
        path = given.removeprefix(":/")
        parts = path.replace("\\", "/").split("/")
        outside = not parts[0] or parts[0][1:] == ":" or ".." in parts
        if outside or not path.strip() or "\0" in path:
            todo = "give it relative to where the session was opened, or :/path from the project"
            raise UsageFault(f"a file must be a path inside the project, not {given!r}", todo)
        from_project = not folder or path != given or path.startswith(folder + "/")
        found.append(posixpath.normpath(path if from_project else posixpath.join(folder, path)))
    return list(dict.fromkeys(found))


def shown_paths(state: LoopState, task: Task) -> list[str]:
    """A task's files from where the session was opened."""
    if not state.folder:
        return list(task.files)
    head = state.folder + "/"
    return [path[len(head) :] if path.startswith(head) else f":/{path}" for path in task.files]


def submit(state: LoopState, rows: list) -> list[Change]:
    """`task add`: in the stages that take tasks; a loop in review goes back to its waves."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW, doing="adding tasks")
    _check(state, rows, state.planned + len(rows))
    changes = added(state, rows)
    if state.stage == stage.REVIEW:
        changes.append(stage.move(state, stage.EXECUTING))
    return changes


def replaced(state: LoopState, rows: list, proposed: dict | None = None) -> list[Change]:
    """`task add --replace`: another plan, before the first attempt only; ids stay used. proposed:
    what the planner said beside its tasks (warning, risks, assumptions, questions)."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, doing="replacing the plan")
    every = state.tasks.values()
    worked_on = (task for task in every if task.attempts or task.status == tasks.COMPLETED)
    begun = next(worked_on, None)
    if begun is not None or state.waves:
        what = f"{begun.id} has been worked on" if begun else "a wave has been opened"
        what = f"{what}, so the plan is not replaced"
        raise Refused(what, "add, remove or split single tasks", code="wrong_state")
    _check(state, rows, len(rows))
    for word in itertools.chain.from_iterable(row.get("blockedBy", ()) for row in rows):
        if word[:1] != "#" and (outline.is_number(word) or tasks.number(word) <= state.highest):
            what = f"blocked by {word}, which is replaced"
            raise Refused(what, "count from #1; nothing was changed", code="contradiction")
    beside = proposed or {}
    lists = {name: list(beside.get(name) or ()) for name in ("risks", "assumptions", "questions")}
    old = list(state.tasks)
    gone: list[Change] = [("task_removed", {"id": task_id}) for task_id in old]
    data = {"warning": beside.get("warning") or "", **lists, "replaces": old}
    return [*gone, ("plan_proposed", data), *added(state, rows)]


def _check(state: LoopState, rows: list[dict], total: int) -> None:
    """Raises Refused where a task serves a criterion that SHAPE.md does not have, or the loop would
    have too many tasks (subtasks and remediation do not count)."""
    for name in itertools.chain.from_iterable(row.get("criteria", ()) for row in rows):
        if name not in state.criteria:
            what = f"there is no criterion {name}"
            raise Refused(what, f"SHAPE.md has: {', '.join(state.criteria)}; nothing was added")
    if total > settings.MOST_TASKS:
        what = f"{total} tasks, at most {settings.MOST_TASKS} in one loop"
        raise Refused(what, "cut the work into several loops, one after the other")


def added(
    state: LoopState, rows: list[dict], parent: str | None = None, **common: object
) -> list[Change]:
    """New tasks with the next ids. `#2` in `blockedBy` is the second of these rows; `parent` and
    `common` are set on each. Raises Refused for an unknown blocker or a circle, by name."""
    if parent:
        common["parent"] = parent
    first = state.highest + 1
    made = []
    for number, row in enumerate(rows, first):
        blockers = [_blocker(state, word, first, len(rows)) for word in row.get("blockedBy", ())]
        blocked_by = list(dict.fromkeys(blockers))
        files = {"files": paths(row["files"], state.folder)} if "files" in row else {}
        own = {**files, "id": tasks.make_id(number), "blockedBy": blocked_by}
        made.append({**row, **own, **common})
    waits = outline.waits(state.tasks) if parent else {}
    waits.update((row["id"], row["blockedBy"]) for row in made)
    if parent:
        waits[parent] += [row["id"] for row in made]
    for row in made:
        _check_circle(row["id"], waits)
    return [("task_added", {"task": row}) for row in made]


def _check_circle(task_id: str, waits: dict[str, list[str]]) -> None:
    circle = outline.cycle_from(task_id, waits)
    if circle:
        todo = "drop one of these dependencies; nothing was changed"
        raise Refused("cycle: " + " → ".join(circle), todo, code="contradiction")


def _blocker(state: LoopState, word: str, first: int, count: int) -> str:
    if word[:1] == "#" and word[1:].isdigit() and word.isascii():
        position = int(word[1:9])
        if not 1 <= position <= count:
            what = f"blocked by {word[:20]}, but {count} tasks were submitted"
            raise Refused(what, "count from #1; nothing was added")
        return tasks.make_id(first + position - 1)
    known = outline.named(state, word) if outline.is_number(word) else word
    number = 0 if known is None else tasks.number(known)
    wanted = word if known is None else tasks.make_id(number)
    if wanted not in state.tasks and not first <= number < first + count:
        todo = "see loopkit task list; nothing was added"
        raise Refused(f"blocked by {wanted}, which does not exist", todo)
    return wanted


def changed(
    state: LoopState, task_id: str, verify: str | None, blocked_by: list | None, files: list | None
) -> list[Change]:
    """`task set`: another command, other blockers, other files. Refused for a circle."""
    stage.running(state)
    task = find(state, task_id)
    if task.status == tasks.COMPLETED:
        raise Refused(f"{task.id} is completed", "add another task instead", code="wrong_state")
    data: dict = {"id": task.id}
    if verify is not None:
        command.accept(verify)
        data["verify"] = verify.strip()
    if files is not None:
        data["files"] = paths(files, state.folder)
    if blocked_by is not None:
        wanted = list(dict.fromkeys(find(state, word).id for word in blocked_by))
        waits = outline.waits(state.tasks)
        below = [other.id for other in state.tasks.values() if other.parent == task.id]
        waits[task.id] = wanted + below
        _check_circle(task.id, waits)
        data["blockedBy"] = wanted
    if len(data) == 1:
        raise UsageFault("nothing to set", "give --verify, --blocked-by or --files")
    return [("task_changed", data)]


def removed(state: LoopState, task_id: str) -> list[Change]:
    """`task remove`: a parent that was split does not wait for it any longer."""
    stage.running(state)
    task = find(state, task_id)
    if task.status not in (tasks.PENDING, tasks.BLOCKED):
        what = f"{task.id} is {task.status}"
        raise Refused(what, "only pending and blocked tasks can be removed", code="wrong_state")
    changes: list[Change] = [("task_removed", {"id": task.id})]
    parent = state.tasks.get(task.parent or "")
    if parent is None or parent.block_kind != tasks.SPLIT:
        return changes
    if any(other.parent == parent.id and other is not task for other in state.tasks.values()):
        return changes + completed(state, task)[1:]
    data = {"id": parent.id, "reason": "no subtask is left", "keep_evidence": True}
    return [*changes, ("task_reopened", data)]


def split(state: LoopState, task_id: str, rows: list) -> list[Change]:
    """`task split`: subtasks one level deeper, for which the parent waits. Raises Refused."""
    stage.running(state)
    task = find(state, task_id)
    if task.status not in (tasks.FAILED, tasks.PENDING):
        what = f"{task.id} is {task.status}"
        raise Refused(what, "only failed and pending tasks are split", code="wrong_state")
    if not rows:
        what = f"{task.id} cannot be split into nothing"
        raise Refused(what, "submit at least one subtask", code="unanswered")
    if task.depth >= settings.of(state, "max_replan_depth"):
        what = f"{task.id} is {task.depth} levels deep already"
        raise Refused(what, "work on it as it is", code="out_of_bounds")
    inherited = [blocker for blocker in task.blocked_by if blocker in state.open]
    rows = [{**row, "blockedBy": [*row.get("blockedBy", ()), *inherited]} for row in rows]
    changes = added(state, rows, task.id, depth=task.depth + 1, kind=task.kind)
    subtasks = [data["task"]["id"] for _, data in changes]
    return [*changes, ("task_split", {"id": task.id, "subtasks": subtasks})]


def remediation(
    state: LoopState, subject: str, verify: str, description: str, files: list, first: int
) -> Change:
    """A task that fixes what a review or the gate found; first: ids this step has used."""
    row = {
        "id": tasks.make_id(state.highest + 1 + first),
        "subject": subject[:LONGEST_SUBJECT],
        "verify": verify,
        "description": description,
        "files": files,
        "kind": "remediation",
    }
    return ("task_added", {"task": row})


def patterns(state: LoopState, text: str) -> list[Change]:
    """A gatherer's answer, kept for context.md: its lines that say something, without list marks
    and fences, the first ones. They take the place of those before."""
    if state.session.status in verdict.FINAL:
        return []
    rows = (" ".join(row.strip().lstrip("-*• ").split()) for row in text.splitlines())
    kept = [row for row in rows if row and not row.startswith(("```", "#"))][:MOST_PATTERNS]
    return [("patterns_gathered", {"lines": [prose.clean(row, LONGEST_PATTERN) for row in kept]})]
