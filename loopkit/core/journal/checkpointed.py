"""Checkpoints of a loop and the line they stand on, folded from the journal.

A checkpoint's parent is the one before it on the line; a rollback takes the line back to its
target, where the next checkpoint continues it. What a rollback saves first (BEFORE) is a checkpoint
beside the line.
"""

from __future__ import annotations

from . import task as tasks
from . import verdict
from .record import Record

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Event
    from .state import LoopState

START, SCAFFOLD, BATCH, BEFORE = "start", "scaffold", "batch-", "before-rollback"


class Checkpoint(Record):
    """One tree that was kept.

    tree, sha: object ids of the tree and its commit · head: the commit that HEAD named then ·
    tasks: what the batch worked on · parent: number of the one before it · good: no task of its
    batch failed · wave: the wave it was made after · place: the working tree, "." for the main one
    · line: journal lines when the tree was taken · target, undo: of a BEFORE one, the rollback that
    it was saved for · plain: see engine/checkpoints.py.
    """

    number: int
    sha: str
    tree: str
    label: str = ""
    tasks: tuple = ()
    parent: int | None = None
    good: bool = False
    left_out: tuple = ()
    head: str | None = None
    wave: int | None = None
    place: str = "."
    line: int = 0
    target: int | None = None
    undo: bool = False
    plain: str | None = None
    at: str = ""


class Checkpointed:
    """Checkpoints and rollbacks of one loop; changed only by FOLDS.

    checkpoints: in the journal's order · numbers: the same by number · head: number of the newest
    one on the line · begun: the BEFORE one of a rollback that has not come to its end · saved: the
    BEFORE one of the newest rollback · completed: {task id: journal line of its completion}.
    """

    def __init__(self) -> None:
        self.checkpoints: list[Checkpoint] = []
        self.numbers: dict[int, Checkpoint] = {}
        self.head: int | None = None
        self.begun: int | None = None
        self.saved: int | None = None
        self.completed: dict[str, int] = {}


def _made(state: LoopState, data: dict, event: Event) -> None:
    own, number = state.checkpointed, data["number"]
    if number in own.numbers:
        return
    known = {name: data[name] for name in Checkpoint._fields if name in data}
    parent = known.get("parent")
    if parent not in own.numbers:
        known["parent"] = None
    known |= {
        "tasks": tuple(data.get("tasks", ())),
        "left_out": tuple(data.get("left_out", ())),
        "at": event.at,
    }
    one = Checkpoint(**{"line": state.lines, **known})
    own.checkpoints.append(one)
    own.numbers[number] = one
    if one.label != BEFORE:
        own.head = number
    elif own.begun is None:
        own.begun = number


def _rolled_back(state: LoopState, data: dict, event: Event) -> None:
    own = state.checkpointed
    target = own.numbers.get(data["number"])
    if target is None:
        return
    own.head, own.begun = target.number, None
    own.saved = data.get("saved", own.saved)
    if state.session.status in verdict.FINAL:
        return
    parents = {one.parent for one in state.tasks.values()}
    for task in list(state.tasks.values()):
        if (
            task.id in data.get("reopened", ())
            and task.id in parents
            and task.status == tasks.PENDING
        ):
            state._put(
                task._replace(status=tasks.BLOCKED, block_kind=tasks.SPLIT)
            )  # its subtasks complete it
        elif task.evidence is not None and task.evidence.line > target.line:
            state._put(task._replace(evidence=None))
    for name, seen in list(state.criterion_evidence.items()):
        if seen.line > target.line:
            del state.criterion_evidence[name]
    if state.thorough is not None and state.thorough["line"] > target.line:
        state.thorough = None
    state.gate = None


def _completed(state: LoopState, data: dict, event: Event) -> None:
    state.checkpointed.completed[data.get("id", "")] = state.lines


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {
    "checkpoint_made": _made,
    "rolled_back": _rolled_back,
    "task_completed": _completed,
}
