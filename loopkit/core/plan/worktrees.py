"""Tasks that are worked on in git worktrees of their own: where each one is, what may be merged,
what may go."""

from __future__ import annotations

from ..journal import prose, verdict
from ..journal import task as tasks
from ..journal.errors import Refused
from ..journal.events import EventType, on
from ..journal.parts import Row
from .events import TaskCompleted, TaskFailed, TaskRemoved, TaskVerified, WaveClosed, WaveOpened

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..journal.events import Change, Text, WorktreePath
    from ..journal.state import LoopState
    from ..journal.task import Task

#: Seconds without a line in the journal after which a session is no longer taken to be at work,
#: unless its client lives.
HEARTBEAT = 120
#: Brings the next result into the project's own tree; says so where there is none.
MERGE = "loopkit wave merge"
#: Paths that a line names at the most, characters of one.
NAMED, LONGEST_NAME = 10, 300


# -- events


class WorktreeMade(EventType):
    task: Text
    path: WorktreePath
    branch: Text = ""
    base: Text = ""
    tree: Text = ""
    also = {"list[Text]": "left_out"}

    def fold(self, state: LoopState) -> None:
        row = Row(self.task, self.path, self.branch, self.base, self.tree, False, "", False)
        state.worktrees.rows[row.path] = row
        state.worktrees.current[row.task] = row.path


class WorktreeMerged(EventType):
    task: Text = ""
    path: WorktreePath = ""
    tree: Text = ""
    also = {"list[Text]": "files"}

    def fold(self, state: LoopState) -> None:
        row = state.worktrees.of(self.task)
        if row is not None:
            state.records += 1
            merged = row._replace(merged=self.tree or "-", checked=False)
            state.worktrees.rows[row.path] = merged


class WorktreeRemoved(EventType):
    task: Text = ""
    path: WorktreePath = ""

    def fold(self, state: LoopState) -> None:
        own = state.worktrees
        row = own.rows.pop(self.path, None)
        if row is not None and own.current.get(row.task) == row.path:
            del own.current[row.task]


@on(WaveOpened)
def _opened(event: WaveOpened, state: LoopState) -> None:
    if event.worktrees:
        state.worktrees.wave = len(state.waves)


@on(TaskVerified)
def _verified(event: TaskVerified, state: LoopState) -> None:
    own = state.worktrees
    row = own.of(event.id)
    if row is None:
        return
    if event.worktree:
        own.rows[row.path] = row._replace(passed=event.passed)
    elif row.merged:
        own.rows[row.path] = row._replace(checked=True)


@on(TaskFailed, TaskCompleted, TaskRemoved)
def _ended(event: TaskFailed | TaskCompleted | TaskRemoved, state: LoopState) -> None:
    """An attempt is over: the next one has a worktree of its own."""
    state.worktrees.current.pop(event.id, None)


@on(WaveClosed)
def _closed(event: WaveClosed, state: LoopState) -> None:
    state.worktrees.current.clear()


# -- what others ask


def used(state: LoopState) -> bool:
    """Whether the open wave works in worktrees."""
    return state.wave is not None and state.worktrees.wave == len(state.waves)


def apart(state: LoopState, task_id: str) -> Row | None:
    """The worktree in which a task's check runs; None where it runs in the project's own tree:
    without one, or merged."""
    row = state.worktrees.of(task_id)
    return row if row is not None and not row.merged else None


def earlier(state: LoopState, task_id: str) -> list[Row]:
    """Worktrees of a task's attempts that came to nothing."""
    now = state.worktrees.current.get(task_id)
    return [
        one
        for one in state.worktrees.rows.values()
        if one.task == task_id and one.path != now and not one.merged
    ]


def _running(state: LoopState) -> list[Row]:
    """The present worktrees of running tasks."""
    own = state.worktrees
    return [
        own.rows[path]
        for task, path in own.current.items()
        if path in own.rows and task in state.running
    ]


def unmerged(state: LoopState) -> list[str]:
    """Running tasks whose check has passed in their worktree and that wait to be merged."""
    return [row.task for row in _running(state) if row.passed and not row.merged]


def unchecked(state: LoopState) -> list[str]:
    """Running tasks that were merged and whose check has not run in the project's own tree yet."""
    return [row.task for row in _running(state) if row.merged and not row.checked]


def command(state: LoopState) -> str | None:
    """What brings the open wave's work together: a check that is due after a merge, then the next
    merge; or None."""
    for one in unchecked(state):
        return f"loopkit verify {one} -- {state.tasks[one].verify}"
    for one in unmerged(state):
        return f"{MERGE} {one}"
    return None


def check_settled(state: LoopState) -> None:
    """Raises Refused where work of the open wave is still to be brought together."""
    step = command(state)
    if step is None:
        return
    names, what = unchecked(state), "merged and not checked since"
    if not names:
        names, what = unmerged(state), "passed in a worktree and not merged"
    raise Refused(
        f"{', '.join(names)} {what}",
        f"next: {step}; to give an attempt up: loopkit task fail {names[0]}",
    )


def check_merge(state: LoopState, task: Task) -> Row:
    """The worktree of a task that may be merged now. Raises Refused: none, merged already, not
    passed, another one's check is due first."""
    row = state.worktrees.of(task.id)
    if row is None or task.status != tasks.IN_PROGRESS:
        raise Refused(f"{task.id} has no worktree that is worked in", "see loopkit worktree list")
    again = f"loopkit verify {task.id} -- {task.verify}"
    if row.merged:
        raise Refused(f"{task.id} is merged already", f"next: {again}")
    if not row.passed:
        raise Refused(f"the check of {task.id} has not passed in its worktree", f"next: {again}")
    for one in unchecked(state):
        step = f"loopkit verify {one} -- {state.tasks[one].verify}"
        raise Refused(f"{one} was merged and its check has not run since", f"next: {step}")
    return row


def merged(row: Row, files: list[str], tree: str) -> list[Change]:
    """`wave merge`: these files are in the project's own tree now."""
    return [("worktree_merged", {"task": row.task, "path": row.path, "files": files, "tree": tree})]


def named(paths: list[str]) -> str:
    """A few paths for one line; a name may hold anything."""
    more = f", and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(prose.clean(one, LONGEST_NAME) for one in paths[:NAMED]) + more


def in_use(state: LoopState, path: str, age: float, alive: bool) -> bool:
    """Whether somebody may be at work in a worktree: an attempt in it goes on, and its session
    lives or did just now.

    age: seconds since the newest line of the journal · alive: whether the owner's client runs.
    """
    if state.session.status in verdict.FINAL:
        return False
    task = next((one for one, place in state.worktrees.current.items() if place == path), None)
    if task is None or task not in state.tasks:
        return False
    going_on = state.tasks[task].status == tasks.IN_PROGRESS or state.tasks[task].interrupted
    return going_on and (alive or age < HEARTBEAT)
