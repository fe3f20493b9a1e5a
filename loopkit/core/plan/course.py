"""How a loop goes: batches, what detectors say of them, recoveries, checkpoints, rollbacks.

A checkpoint's parent is the one before it on the branch; a rollback takes the branch back to its
target, where the next checkpoint continues it. What a rollback saves first (BEFORE) is beside it.
"""

from __future__ import annotations

from ..journal import parts, verdict
from ..journal import task as tasks
from ..journal.events import EventType, on
from ..journal.parts import BEFORE, Batch, Checkpoint, Outcome
from ..journal.session import AttemptsReset, QuestionAnswered, QuestionAsked
from . import events as plan
from .events import TaskDiagnosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Count, Flag, Number, ObjectId, Text
    from ..journal.state import LoopState

# -- what happens in an open wave


@on(plan.WaveOpened)
def _opened(event: plan.WaveOpened, state: LoopState) -> None:
    history = state.history
    history.failed, history.struck, history.broken = set(), {}, {}


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
    change = set.add if event.action == "replan" else set.discard
    change(state.history._replans, event.id)


@on(plan.TaskReopened)
def _reopened(event: plan.TaskReopened, state: LoopState) -> None:
    history = state.history
    if event.id in history._done:
        history._done.discard(event.id)
        history.broken[event.id] = event.signature


# -- batches and recoveries


@on(plan.WaveClosed)
def _closed(event: plan.WaveClosed, state: LoopState) -> None:
    history = state.history
    rows = event.outcomes.items()
    outcomes = {name: Outcome(row.result, row.signature) for name, row in rows}
    status = event.status if event.status in parts.STATUSES else ""
    confidence = event.confidence if event.confidence in parts.CONFIDENCES else ""
    trend = event.trend if event.trend in parts.TRENDS else ""
    batch = Batch(event.wave, outcomes, status, confidence, trend, event.recommendation)
    history.batches.append(batch)
    history.standing = "" if history.status == parts.PROGRESSING else history.status
    history.rolled_back = False


class Recovery(EventType):
    """One that waits or asks; the other plays have events of their own."""

    play: Text = ""
    counted: Flag = False
    also = {"Text": "status", "Count | None": "wave"}

    def fold(self, state: LoopState) -> None:
        history = state.history
        if self.play not in (parts.WAIT, parts.ASK):
            return
        if history.standing or history.rolled_back:
            history.recovered(self.play, self.counted)
        history.rolled_back = False
        history.asking = self.play == parts.ASK


@on(plan.TaskSplit)
def _split(event: plan.TaskSplit, state: LoopState) -> None:
    """A replan of the clamp table starts the window anew; another split counts where it was due."""
    history = state.history
    if event.id in history._replans:
        history._replans.discard(event.id)
        if history.standing in ("", parts.STALLED):
            history.recovered(parts.SPLIT, False)
    elif history.standing == parts.STALLED and event.id in history.failing():
        history.recovered(parts.SPLIT, True)


def looked_at(state: LoopState, task_id: str | None) -> None:
    """A panel, or in a supervised loop a diagnosis, has looked at a task's failure."""
    history = state.history
    if history.standing == parts.STALLED and task_id in history.failing():
        history.recovered(parts.PANEL, True)


@on(TaskDiagnosed)
def _diagnosed(event: TaskDiagnosed, state: LoopState) -> None:
    looked_at(state, event.id)


@on(QuestionAsked)
def _asked(event: QuestionAsked, state: LoopState) -> None:
    """Whoever asked: the person is at it now."""
    history = state.history
    if history.standing:
        history.recovered(parts.ASK, False)
    history.rolled_back = False


@on(AttemptsReset)
def _reset(event: AttemptsReset, state: LoopState) -> None:
    """A failed loop goes on, as a person has decided anew."""
    history = state.history
    history.used, history.since = {}, len(history.batches)
    history.standing, history.rolled_back = "", False


@on(QuestionAnswered)
def _answered(event: QuestionAnswered, state: LoopState) -> None:
    history = state.history
    history.used = {}
    if history.asking:
        history.asking, history.answer = False, event.text


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
        known = state.checkpoints
        if self.number in known.numbers:
            return
        made = Checkpoint(**{name: getattr(self, name) for name in Checkpoint._fields})
        made = known.numbers[self.number] = made._replace(
            tasks=tuple(self.tasks),
            left_out=tuple(self.left_out),
            parent=self.parent if self.parent in known.numbers else None,
            line=state.lines if self.line is None else self.line,
        )
        known.rows.append(made)
        if made.label != BEFORE:
            known.head = self.number
        elif known.begun is None:
            known.begun = self.number


class RolledBack(EventType):
    """count: of all files that changed; `files` names some."""

    number: Number
    saved: Number | None = None
    also = {"Text": "sha", "list[Text]": "files", "Count": "count"}
    reopened: list[Text] = []
    undo: Flag = False

    def fold(self, state: LoopState) -> None:
        self._recover(state)
        known = state.checkpoints
        target = known.numbers.get(self.number)
        if target is None:
            return
        known.head, known.begun = target.number, None
        known.saved = known.saved if self.saved is None else self.saved
        if state.session.status not in verdict.FINAL:
            self._take_back(state, target.line)
            self._bring_back(state)

    def _recover(self, state: LoopState) -> None:
        history = state.history
        if not self.undo:
            history.rolled_back = history.standing == parts.FLIP_FLOPPING
            counted = history.standing in (parts.FLIP_FLOPPING, parts.REGRESSING)
            history.recovered(parts.ROLLBACK, counted)
            history.broken.clear()

    def _bring_back(self, state: LoopState) -> None:
        """What the undone rollback had opened is done again as soon as its check says so. An undo
        that is undone takes it away once more."""
        known = state.checkpoints
        known.away = not (self.undo and known.away)
        earlier = known.reopened if self.undo else ()
        known.reopened = tuple(dict.fromkeys((*earlier, *self.reopened)))
        back = () if known.away else known.reopened
        for task in list(state.tasks.values()):
            is_back = task.id in back and task.status == tasks.PENDING
            if task.back != is_back:
                state.put(task._replace(back=is_back))

    def _take_back(self, state: LoopState, line: int) -> None:
        """Nothing counts that was seen on a tree which is gone: after this line."""
        self._withdraw(state, line)
        parents = {task.parent for task in state.tasks.values()}
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
            state.shown.clear()
        state.gate = None

    def _withdraw(self, state: LoopState, line: int) -> None:
        """What a review said of that tree teaches nothing, nor does a rollback that is undone."""
        log, source = state.decision_log, "rollback" if self.undo else "review"
        later = [row for row in log.anti_patterns if row["line"] > line]
        gone = [row for row in later if row.get("source") == source]
        log.anti_patterns = [row for row in log.anti_patterns if row not in gone]
        log.withdrawn += gone
        log.kinds -= {row.get("category") for row in gone}
