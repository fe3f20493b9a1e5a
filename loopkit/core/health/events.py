"""How a loop goes: batches and what the detectors say of them, recoveries, checkpoints and
rollbacks.

A checkpoint's parent is the one before it on the line; a rollback takes the line back to its
target, where the next checkpoint continues it. What a rollback saves first (BEFORE) is a checkpoint
beside the line.
"""

from __future__ import annotations

from ..journal import parts, verdict
from ..journal import task as tasks
from ..journal.events import EventType, on
from ..journal.parts import BEFORE, FAILED, PASSED, Batch, Checkpoint, Outcome
from ..journal.session import AttemptsReset, QuestionAnswered, QuestionAsked
from ..plan import events as plan
from ..plan.roles import TaskDiagnosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.kinds import Count, Flag, Number, ObjectId, Text
    from ..journal.state import LoopState

# -- what happens in an open wave


@on(plan.WaveOpened)
def _opened(event: plan.WaveOpened, state: LoopState) -> None:
    course = state.history
    course.failed, course.struck, course.broken = set(), {}, {}


@on(plan.TaskCompleted)
def _completed(event: plan.TaskCompleted, state: LoopState) -> None:
    state.history._done.add(event.id)
    state.history.broken.pop(event.id, None)  # fixed: there is nothing to recover
    state.checkpoints.completed[event.id] = state.lines


@on(plan.TaskVerified)
def _verified(event: plan.TaskVerified, state: LoopState) -> None:
    if event.passed:
        state.history.struck.pop(event.id, None)
    else:
        state.history.struck[event.id] = event.signature


@on(plan.TaskFailed)
def _failed(event: plan.TaskFailed, state: LoopState) -> None:
    state.history.failed.add(event.id)
    if event.action == "replan":
        state.history._replans.add(event.id)
    else:
        state.history._replans.discard(event.id)


@on(plan.TaskReopened)
def _reopened(event: plan.TaskReopened, state: LoopState) -> None:
    course = state.history
    if event.id in course._done:
        course._done.discard(event.id)
        course.broken[event.id] = event.signature


# -- batches and recoveries


@on(plan.WaveClosed)
def _closed(event: plan.WaveClosed, state: LoopState) -> None:
    course = state.history
    if event.outcomes is None:  # older than outcomes
        outcomes = {one: Outcome(PASSED) for one in event.completed}
        outcomes.update((one, Outcome(FAILED)) for one in event.failed)
    else:
        rows = event.outcomes.items()
        outcomes = {one: Outcome(row.result, row.signature) for one, row in rows}
    status, confidence, trend = [
        word if word in words else ""
        for word, words in (
            (event.status, parts.STATUSES),
            (event.confidence, parts.CONFIDENCES),
            (event.trend, parts.TRENDS),
        )
    ]
    batch = Batch(event.wave, outcomes, status, confidence, trend, event.recommendation)
    course.batches.append(batch)
    course.standing = "" if course.status == parts.PROGRESSING else course.status
    course.rolled_back = False


class Recovery(EventType):
    """One that waits or asks; the other plays have events of their own."""

    play: Text = ""
    counted: Flag = False
    also = {"Text": "status", "Count | None": "wave"}

    def fold(self, state: LoopState) -> None:
        course = state.history
        if self.play not in (parts.WAIT, parts.ASK):
            return
        if course.standing or course.rolled_back:
            course.recovered(self.play, self.counted)
        course.rolled_back = False
        course.asking = self.play == parts.ASK


@on(plan.TaskSplit)
def _split(event: plan.TaskSplit, state: LoopState) -> None:
    """A replan of the clamp table starts the window anew and is not counted; another split counts
    where one was due."""
    course = state.history
    if event.id in course._replans:
        course._replans.discard(event.id)
        if course.standing in ("", parts.STALLED):
            course.recovered(parts.SPLIT, False)
    elif course.standing == parts.STALLED and event.id in course.failing():
        course.recovered(parts.SPLIT, True)


def looked_at(state: LoopState, task_id: str | None) -> None:
    """A panel has looked at a task's failure."""
    course = state.history
    if course.standing == parts.STALLED and task_id in course.failing():
        course.recovered(parts.PANEL, True)


@on(TaskDiagnosed)
def _diagnosed(event: TaskDiagnosed, state: LoopState) -> None:
    """In a supervised loop it takes the place of a panel."""
    looked_at(state, event.id)


@on(QuestionAsked)
def _asked(event: QuestionAsked, state: LoopState) -> None:
    """Whoever asked: the person is at it now."""
    course = state.history
    if course.standing:
        course.recovered(parts.ASK, False)
    course.rolled_back = False


@on(AttemptsReset)
def _reset(event: AttemptsReset, state: LoopState) -> None:
    """A failed loop goes on, as a person has decided anew."""
    course = state.history
    course.used, course.since = {}, len(course.batches)
    course.standing, course.rolled_back = "", False


@on(QuestionAnswered)
def _answered(event: QuestionAnswered, state: LoopState) -> None:
    course = state.history
    course.used = {}
    if course.asking:
        course.asking, course.answer = False, event.text


# -- checkpoints


class CheckpointMade(EventType):
    """The fields of a Checkpoint."""

    number: Number
    sha: ObjectId
    tree: ObjectId
    label: Text = ""
    tasks: list[Text] = []
    parent: Count | None = None
    good: Flag = False
    left_out: list[Text] = []
    head: ObjectId | None = None
    wave: Count | None = None
    place: Text = "."
    line: Count | None = None
    target: Count | None = None
    undo: Flag = False
    plain: Text | None = None

    def fold(self, state: LoopState) -> None:
        own = state.checkpoints
        if self.number in own.numbers:
            return
        made = Checkpoint(**{name: getattr(self, name) for name in Checkpoint._fields})
        made = own.numbers[self.number] = made._replace(
            tasks=tuple(self.tasks),
            left_out=tuple(self.left_out),
            parent=self.parent if self.parent in own.numbers else None,
            line=state.lines if self.line is None else self.line,
        )
        own.rows.append(made)
        if made.label != BEFORE:
            own.head = self.number
        elif own.begun is None:
            own.begun = self.number


class RolledBack(EventType):
    """count: of all files that changed; `files` names some."""

    number: Number
    saved: Number | None = None
    also = {"Text": "sha", "list[Text]": "files", "Count": "count"}
    reopened: list[Text] = []
    undo: Flag = False

    def fold(self, state: LoopState) -> None:
        self._recover(state)
        own = state.checkpoints
        target = own.numbers.get(self.number)
        if target is None:
            return
        own.head, own.begun = target.number, None
        own.saved = own.saved if self.saved is None else self.saved
        if state.session.status not in verdict.FINAL:
            self._take_back(state, target.line)

    def _recover(self, state: LoopState) -> None:
        course = state.history
        if not self.undo:
            course.rolled_back = course.standing == parts.FLIP_FLOPPING
            course.recovered(
                parts.ROLLBACK, course.standing in (parts.FLIP_FLOPPING, parts.REGRESSING)
            )
            course.broken.clear()

    def _take_back(self, state: LoopState, line: int) -> None:
        """Nothing counts that was seen on a tree which is gone: after this line."""
        parents = {one.parent for one in state.tasks.values()}
        for task in list(state.tasks.values()):
            split = task.id in self.reopened and task.id in parents
            if split and task.status == tasks.PENDING:  # its subtasks complete it
                state.put(task._replace(status=tasks.BLOCKED, block_kind=tasks.SPLIT))
            elif task.evidence is not None and task.evidence.line > line:
                state.put(task._replace(evidence=None))
        for name, seen in list(state.criterion_evidence.items()):
            if seen.line > line:
                del state.criterion_evidence[name]
        if state.thorough is not None and state.thorough["line"] > line:
            state.thorough = None
        state.gate = None
