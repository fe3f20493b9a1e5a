"""How a loop has gone: its batches with their outcomes, what the detectors said, recoveries. Folded
from the journal."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Event
    from .state import LoopState

PROGRESSING, STALLED, BLOCKED, REGRESSING, FLIP_FLOPPING = (
    "PROGRESSING",
    "STALLED",
    "BLOCKED",
    "REGRESSING",
    "FLIP-FLOPPING",
)
STATUSES = (BLOCKED, FLIP_FLOPPING, REGRESSING, STALLED, PROGRESSING)
INITIALIZING = "INITIALIZING"
CONFIDENCES, TRENDS = ("high", "medium", "low"), ("improving", "stable", "declining")

#: What a task came to in a batch. A blocked one was no attempt.
PASSED, FAILED, HELD_UP = "passed", "failed", "blocked"
#: result: one of these three · signature: of its error, "" where it has none.
Outcome = namedtuple("Outcome", "result signature", defaults=("",))

#: A closed wave. outcomes: {task: Outcome}; the rest is what the detectors said of it, status "" in
#: journals older than they are.
Batch = namedtuple(
    "Batch", "wave outcomes status confidence trend recommendation", defaults=("", "", "", "")
)

#: How a recovery goes.
ROLLBACK, SPLIT, PANEL, WAIT, ASK = "rollback", "split", "panel", "wait", "ask"
#: status: that of the batch before it · wave: that batch's · counted: towards the number after
#: which a person is asked.
Recovery = namedtuple("Recovery", "status play wave counted")


class Course:
    """Closed batches and recoveries of one loop; changed only by FOLDS.

    since: the first batch of the present window · standing: the status that no recovery has
    answered yet, or "" · rolled_back: a flip-flop has been rolled back and the person has not been
    asked yet · used: {status: counted recoveries since a person's last answer} · answer: what the
    person said when a recovery asked last, or "".

    Of the open wave: tasks of which an attempt `failed` in it, `struck` {task: signature of its
    newest check, where that failed}, `broken` {task: signature} for completed ones that were found
    broken in it.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.since = 0
        self.standing = ""
        self.rolled_back = False
        self.recoveries: list[Recovery] = []
        self.used: dict[str, int] = {}
        self.asking = False
        self.answer = ""
        self.failed: set[str] = set()
        self.struck: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self._done: set[str] = set()
        self._replans: set[str] = set()

    @property
    def window(self) -> list[Batch]:
        """The batches since the last recovery, those apart in which nothing was tried."""
        return [one for one in self.batches[self.since :] if one.outcomes]

    @property
    def status(self) -> str:
        """What the detectors said of the last batch."""
        return (self.batches[-1].status or PROGRESSING) if self.batches else INITIALIZING

    @property
    def undone(self) -> bool:
        """The last batch has been rolled back."""
        last = self.recoveries[-1] if self.recoveries else None
        return last is not None and last.play == ROLLBACK and self.since == len(self.batches)

    def failing(self) -> list[str]:
        """The tasks that failed in the last batch."""
        last = self.batches[-1].outcomes if self.batches else {}
        return [one for one, outcome in last.items() if outcome.result == FAILED]

    def recovered(self, play: str, counted: bool) -> None:
        """The window starts anew after a recovery, or the same batches would ask for it again at
        once."""
        wave = self.batches[-1].wave if self.batches else None
        self.recoveries.append(Recovery(self.standing or self.status, play, wave, counted))
        if counted:
            self.used[self.standing] = self.used.get(self.standing, 0) + 1
        self.since = len(self.batches)
        self.standing = ""


# -- what happens in an open wave


def _opened(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    course.failed, course.struck, course.broken = set(), {}, {}


def _task_completed(state: LoopState, data: dict, event: Event) -> None:
    course, name = state.course, data.get("id", "")
    course._done.add(name)
    course.broken.pop(name, None)  # mended: there is nothing to recover


def _task_verified(state: LoopState, data: dict, event: Event) -> None:
    course, name = state.course, data.get("id", "")
    if data.get("passed"):
        course.struck.pop(name, None)
    else:
        course.struck[name] = data.get("signature", "")


def _task_failed(state: LoopState, data: dict, event: Event) -> None:
    course, name = state.course, data.get("id", "")
    course.failed.add(name)
    if data.get("action") == "replan":
        course._replans.add(name)
    else:
        course._replans.discard(name)


def _task_reopened(state: LoopState, data: dict, event: Event) -> None:
    course, name = state.course, data.get("id", "")
    if name in course._done:
        course._done.discard(name)
        course.broken[name] = data.get("signature", "")


# -- batches and recoveries


def _closed(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    rows = data.get("outcomes")
    if rows is None:  # older than outcomes
        outcomes = {one: Outcome(PASSED) for one in data.get("completed", ())}
        outcomes.update((one, Outcome(FAILED)) for one in data.get("failed", ()))
    else:
        outcomes = {
            one: Outcome(row["result"], row.get("signature", "")) for one, row in rows.items()
        }
    status, confidence, trend = [
        data[name] if data.get(name) in words else ""
        for name, words in (("status", STATUSES), ("confidence", CONFIDENCES), ("trend", TRENDS))
    ]
    said = data.get("recommendation", "")
    course.batches.append(Batch(data.get("wave"), outcomes, status, confidence, trend, said))
    course.standing = "" if course.status == PROGRESSING else course.status
    course.rolled_back = False


def _recovery(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    if data.get("play") not in (WAIT, ASK):  # the others have lines of their own
        return
    if course.standing or course.rolled_back:
        course.recovered(data["play"], bool(data.get("counted")))
    course.rolled_back = False
    course.asking = data.get("play") == ASK


def _rolled_back(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    if data.get("undo"):
        return
    course.rolled_back = course.standing == FLIP_FLOPPING
    course.recovered(ROLLBACK, course.standing in (FLIP_FLOPPING, REGRESSING))
    course.broken.clear()


def _split(state: LoopState, data: dict, event: Event) -> None:
    """A replan of the clamp table starts the window anew and is not counted; another split counts
    where one was due."""
    course, name = state.course, data.get("id", "")
    if name in course._replans:
        course._replans.discard(name)
        if course.standing in ("", STALLED):
            course.recovered(SPLIT, False)
    elif course.standing == STALLED and name in course.failing():
        course.recovered(SPLIT, True)


def _panel(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    if course.standing == STALLED and data.get("task") in course.failing():
        course.recovered(PANEL, True)


def _asked(state: LoopState, data: dict, event: Event) -> None:
    """Whoever asked: the person is at it now."""
    course = state.course
    if course.standing:
        course.recovered(ASK, False)
    course.rolled_back = False


def _diagnosed(state: LoopState, data: dict, event: Event) -> None:
    """In a supervised loop it takes the place of a panel."""
    _panel(state, {"task": data.get("id")}, event)


def _reset(state: LoopState, data: dict, event: Event) -> None:
    """A failed loop goes on, as a person has decided anew."""
    course = state.course
    course.used, course.since, course.standing, course.rolled_back = (
        {},
        len(course.batches),
        "",
        False,
    )


def _answered(state: LoopState, data: dict, event: Event) -> None:
    course = state.course
    course.used = {}
    if course.asking:
        course.asking, course.answer = False, data.get("text", "")


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {
    "wave_opened": _opened,
    "task_completed": _task_completed,
    "task_verified": _task_verified,
    "task_failed": _task_failed,
    "task_reopened": _task_reopened,
    "wave_closed": _closed,
    "recovery": _recovery,
    "rolled_back": _rolled_back,
    "task_split": _split,
    "panel_recorded": _panel,
    "task_diagnosed": _diagnosed,
    "question_asked": _asked,
    "question_answered": _answered,
    "attempts_reset": _reset,
}
