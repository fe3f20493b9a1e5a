"""Tasks and waves: the events that change them."""

from __future__ import annotations

from ..evidence.events import Check
from ..journal import task as tasks
from ..journal.events import EventType, Fields, on
from ..journal.parts import Wave
from ..journal.session import AttemptsReset
from ..journal.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Anything, Count, Flag, TaskId, Text
    from ..journal.state import LoopState

#: Reason of a task_reopened whose attempt was cut short: it is not counted.
INTERRUPTED = "interrupted"


class TaskRow(Fields):
    id: TaskId
    subject: Text = ""
    verify: Text = ""
    activeForm: Text = ""
    description: Text = ""
    blockedBy: list[Text] = []
    parent: Text | None = None
    depth: Count = 0
    complexity: Text = "medium"
    criteria: list[Text] = []
    files: list[Text] = []
    scaffold: Flag = False
    group: Anything = None
    kind: Text = "work"
    native: Text | None = None

    @classmethod
    def fits(cls, data: object) -> bool:
        """Its parent has a lower number, as every parent has: so no task is its own ancestor."""
        if not super().fits(data):
            return False
        own, parent = data["id"], data.get("parent")  # type: ignore[index, attr-defined]
        return parent is None or (
            TaskRow.fields()["id"].fits(parent) and int(parent[2:]) < int(own[2:])
        )


class TaskAdded(EventType):
    task: TaskRow

    def fold(self, state: LoopState) -> None:
        row = self.task
        if row.id in state.tasks:
            return
        values = {name: getattr(row, name) for name in TaskRow.fields()}
        values.update(active_form=values.pop("activeForm"), blocked_by=values.pop("blockedBy"))
        values.update((name, tuple(values[name])) for name in ("blocked_by", *_LISTS))
        state.add(Task(**values))


class OfTask(Fields):
    """An event about one task."""

    id: Text = ""

    def task_in(self, state: LoopState) -> Task | None:
        """The task, if it is there."""
        return state.tasks.get(self.id)


class TaskChanged(OfTask, EventType):
    """Those of the fields that are named."""

    subject: Text = ""
    verify: Text = ""
    description: Text = ""
    files: list[Text] = []
    criteria: list[Text] = []
    complexity: Text = ""
    blockedBy: list[Text] = []

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        changes = {name: value for name, value in self.data.items() if name in _CHANGEABLE}
        changes.update((name, tuple(changes[name])) for name in _LISTS if name in changes)
        if changes.get("verify", task.verify) != task.verify:
            changes["evidence"], changes["failing"] = None, 0
            if task.verify:
                changes["checks_before"] = (*task.checks_before, task.verify)
        state.put(task._replace(**changes))
        if "blockedBy" in self.data:
            state.block_by(state.tasks[task.id], tuple(self.blockedBy))


_LISTS = ("files", "criteria")
_CHANGEABLE = ("subject", "verify", "description", "complexity", *_LISTS)


class TaskStarted(OfTask, EventType):
    wave: Count | None = None

    def fold(self, state: LoopState) -> None:
        state.change(
            self.id,
            status=tasks.IN_PROGRESS,
            wave=self.wave,
            handed=state.lines,
            handed_at=self.at,
            fix_cycles=0,
            action=None,
            interrupted=False,
        )
        wave = state.wave
        if wave is not None and self.id in state.tasks and self.id not in wave.tasks:
            state.waves[-1] = wave._replace(tasks=(*wave.tasks, self.id))


class TasksHanded(EventType):
    """Running tasks were given to agents once more."""

    ids: list[Text] = []

    def fold(self, state: LoopState) -> None:
        for task_id in self.ids:
            state.change(task_id, handed=state.lines, handed_at=self.at)


class TaskVerified(Check, OfTask, EventType):
    """worktree: where it ran; then it says nothing of the project's own tree."""

    run: Count | None = None
    signature: Text = ""
    worktree: Text | None = None
    also = {"Text": "command"}

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        state.evidence_count += 1
        failed = not self.passed
        state.put(
            task._replace(
                evidence=task.evidence if self.worktree else self.evidence(self.at, state.lines),
                runs=task.runs + 1 if self.run is None else self.run,
                fix_cycles=task.fix_cycles + failed,
                failing=task.failing + 1 if failed else 0,
                stale=False,
            )
        )


class TaskCompleted(OfTask, EventType):
    def fold(self, state: LoopState) -> None:
        state.change(self.id, status=tasks.COMPLETED, block_kind=None, block_text="")


class TaskFailed(OfTask, EventType):
    """An attempt came to nothing. action: what the clamp table says; the rest is told."""

    attempt: Count = 0
    approach: Text = ""
    result: Text = ""
    error: Text = ""
    action: Text | None = None
    also = {"Text | None": "suggested", "Flag": "clamped raised"}
    score: Count | None = None
    feedback: Text | None = None
    level: Text | None = None

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        state.attempts += 1
        names = ["attempt", "approach", "result", "error"]
        names += [one for one in ("score", "feedback") if getattr(self, one) is not None]
        entry = {**{name: getattr(self, name) for name in names}, "at": self.at}
        state.put(
            task._replace(
                status=tasks.PENDING if self.action == "retry" else tasks.FAILED,
                attempts=task.attempts + 1,
                stuck_count=task.stuck_count + 1,
                action=self.action,
                history=(*task.history, entry),
            )
        )


class TaskBlocked(OfTask, EventType):
    kind: Text | None = None
    text: Text = ""

    def fold(self, state: LoopState) -> None:
        state.change(self.id, status=tasks.BLOCKED, block_kind=self.kind, block_text=self.text)


class TaskSplit(OfTask, EventType):
    also = {"list[Text]": "subtasks", "Text": "analysis resolution warning"}

    def fold(self, state: LoopState) -> None:
        state.change(
            self.id, status=tasks.BLOCKED, block_kind=tasks.SPLIT, block_text="", action=None
        )


class TaskReopened(OfTask, EventType):
    reason: Text | None = None
    signature: Text = ""
    keep_evidence: Flag = False

    def fold(self, state: LoopState) -> None:
        state.change(
            self.id,
            status=tasks.PENDING,
            block_kind=None,
            block_text="",
            fix_cycles=0,
            interrupted=self.reason == INTERRUPTED,
            **{} if self.keep_evidence else {"evidence": None},
        )


class TaskRemoved(OfTask, EventType):
    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is not None:
            state.remove(task)


class NativeConflict(OfTask, EventType):
    """The client's task list says something else than the ledger, which stands."""

    also = {"Text | None": "list ledger"}


@on(AttemptsReset)
def _reset(event: AttemptsReset, state: LoopState) -> None:
    anew = dict.fromkeys(("attempts", "stuck_count", "panel_for", "fix_cycles", "failing"), 0)
    for task_id in event.ids:
        state.change(task_id, **anew, action=None)


class WaveOpened(EventType):
    wave: Count | None = None
    tasks: list[Text] = []
    sequential: Flag = False
    worktrees: Flag = False

    def fold(self, state: LoopState) -> None:
        state.waves.append(Wave(self.wave, tuple(self.tasks), self.sequential, False, (), ()))


class OutcomeRow(Fields):
    result: Text
    signature: Text = ""


class WaveClosed(EventType):
    """outcomes: none in journals older than they are; the rest is what the detectors say."""

    wave: Count | None = None
    completed: list[Text] = []
    failed: list[Text] = []
    outcomes: dict[str, OutcomeRow] | None = None
    status: Text = ""
    confidence: Text = ""
    trend: Text = ""
    recommendation: Text = ""

    def fold(self, state: LoopState) -> None:
        if state.waves:
            done, failed = tuple(self.completed), tuple(self.failed)
            state.waves[-1] = state.waves[-1]._replace(closed=True, completed=done, failed=failed)
            state.wave_closed_line = state.lines


# -- outline numbers


@on(TaskAdded)
def _numbered(event: TaskAdded, state: LoopState) -> None:
    row, trail = event.task, state.decision_log
    if row.id in trail.outline:
        return
    if row.parent in trail.outline:
        above, beside = trail.outline[row.parent], row.parent
    else:
        name = str(row.group) if type(row.group) in (str, int) else ""
        above = str(trail.groups.setdefault(name, len(trail.groups) + 1))
        beside = "group " + name
    trail.children[beside] = trail.children.get(beside, 0) + 1
    number = f"{above}.{trail.children[beside]}"
    trail.outline[row.id] = number
    trail.ids[number] = row.id


@on(TaskRemoved)
def _unnumbered(event: TaskRemoved, state: LoopState) -> None:
    trail = state.decision_log
    if not state.tasks:  # another plan begins
        for table in (trail.outline, trail.ids, trail.groups, trail.children):
            table.clear()


class PatternsGathered(EventType):
    """What was gathered about the code."""

    lines: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.decision_log.patterns = list(self.lines)
