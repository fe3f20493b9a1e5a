"""The fold: every counter that is kept up line by line is what a naive recount gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from loopkit.core.journal import task as tasks
from loopkit.core.journal.events import Event
from loopkit.core.journal.state import LoopState
from loopkit.core.steps.events import LOOP
from tests.core.kit import Book

IDS = [f"T-{number:03d}" for number in range(1, 5)]


def recount(state: LoopState) -> dict[str, Any]:
    """All that the fold counts, counted anew from the tasks."""
    everything = state.tasks
    unfinished = {one.id for one in everything.values() if one.status != tasks.COMPLETED}
    waiting = {
        one.id: sum(blocker in unfinished for blocker in one.blocked_by)
        for one in everything.values()
    }
    pending = [one for one in everything.values() if one.status == tasks.PENDING]
    free = [one.id for one in pending if not waiting[one.id]]
    counts = {
        name: sum(one.status == name for one in everything.values()) for name in tasks.STATUSES
    }
    return {
        "counts": counts,
        "waiting": waiting,
        "free": len(free),
        "open": unfinished,
        "running": {one.id for one in everything.values() if one.status == tasks.IN_PROGRESS},
        "due": {one.id for one in pending if one.panel_due},
        "bare": {one.id for one in pending if not one.verify},
        "planned": sum(one.parent is None and one.kind == "work" for one in everything.values()),
        "workable": counts[tasks.IN_PROGRESS] + counts[tasks.FAILED] + len(free),
        "is_free": set(free),
    }


def kept(state: LoopState) -> dict[str, Any]:
    """The same, as the fold keeps it."""
    return {
        "counts": state.counts,
        "waiting": state.waiting,
        "free": state.free,
        "open": set(state.open),
        "running": set(state.running),
        "due": set(state.due),
        "bare": set(state.bare),
        "planned": state.planned,
        "workable": state.workable,
        "is_free": {one.id for one in state.tasks.values() if state.is_free(one)},
    }


class Anything(RuleBasedStateMachine):
    """Random journal lines, also such that no decider would write."""

    def __init__(self) -> None:
        super().__init__()
        self.book = Book()

    @rule(
        name=some.sampled_from(IDS),
        blockers=some.lists(some.sampled_from([*IDS, "T-099"]), max_size=3),
        verify=some.sampled_from(["", "ls"]),
        parent=some.sampled_from([None, None, *IDS]),
        kind=some.sampled_from(["work", "work", "remediation"]),
    )
    def add(self, name: str, blockers: list, verify: str, parent: str | None, kind: str) -> None:
        row = {
            "id": name,
            "subject": name,
            "verify": verify,
            "blockedBy": blockers,
            "parent": parent,
            "kind": kind,
        }
        self.book.line("task_added", task=row)

    @rule(
        name=some.sampled_from(IDS),
        what=some.sampled_from(["task_started", "task_completed", "task_split", "task_removed"]),
    )
    def simple(self, name: str, what: str) -> None:
        self.book.line(what, id=name)

    @rule(name=some.sampled_from(IDS), keep=some.booleans())
    def reopen(self, name: str, keep: bool) -> None:
        self.book.line("task_reopened", id=name, keep_evidence=keep)

    @rule(name=some.sampled_from(IDS), kind=some.sampled_from(tasks.BLOCK_KINDS))
    def block(self, name: str, kind: str) -> None:
        self.book.line("task_blocked", id=name, kind=kind, text="x")

    @rule(name=some.sampled_from(IDS), action=some.sampled_from(["retry", "replan", "impossible"]))
    def fail(self, name: str, action: str) -> None:
        self.book.line("task_failed", id=name, action=action, attempt=1, error="e")

    @rule(name=some.sampled_from(IDS), passed=some.booleans())
    def verify(self, name: str, passed: bool) -> None:
        self.book.line("task_verified", id=name, passed=passed, exit=0, log="l", seconds=0.0)

    @rule(name=some.sampled_from(IDS), verify=some.sampled_from([None, "", "ls", "false"]))
    def change(self, name: str, verify: str | None) -> None:
        self.book.line("task_changed", id=name, **({} if verify is None else {"verify": verify}))

    @rule(
        name=some.sampled_from(IDS),
        blockers=some.lists(some.sampled_from([*IDS, "T-099"]), max_size=3),
    )
    def change_blockers(self, name: str, blockers: list) -> None:
        self.book.line("task_changed", id=name, blockedBy=blockers)

    @rule(name=some.sampled_from(IDS))
    def panel(self, name: str) -> None:
        self.book.line("panel_recorded", task=name)

    @precondition(lambda self: self.book.events)
    @rule(number=some.integers(1, 4), names=some.lists(some.sampled_from(IDS), max_size=2))
    def wave(self, number: int, names: list) -> None:
        self.book.line("wave_opened", wave=number, tasks=names)
        self.book.line("wave_closed", wave=number, completed=names, failed=[])

    @invariant()
    def counters_agree(self) -> None:
        assert kept(self.book.state) == recount(self.book.state)

    @invariant()
    def highest_is_never_below_an_id(self) -> None:
        numbers = [tasks.number(one) for one in self.book.state.tasks]
        assert self.book.state.highest >= max(numbers, default=0)


Anything.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestCounters = Anything.TestCase


def test_a_task_that_is_named_as_a_blocker_before_it_exists_is_waited_for() -> None:
    book = Book()
    book.line(
        "task_added", task={"id": "T-001", "subject": "a", "verify": "ls", "blockedBy": ["T-002"]}
    )
    book.line("task_added", task={"id": "T-002", "subject": "b", "verify": "ls"})
    assert book.state.waiting == {"T-001": 1, "T-002": 0} and book.state.free == 1
    book.line("task_completed", id="T-002")
    assert book.state.waiting["T-001"] == 0 and book.state.free == 1


def test_ids_are_never_used_again() -> None:
    book = Book()
    book.line("task_added", task={"id": "T-007", "subject": "a"})
    book.line("task_removed", id="T-007")
    assert (book.state.highest, book.state.tasks) == (7, {})


def test_another_command_takes_the_evidence_away() -> None:
    book = Book().planned()
    book.line("task_verified", id="T-001", passed=True, exit=0)
    book.line("task_changed", id="T-001", verify="ls")
    assert book.state.tasks["T-001"].evidence is not None
    book.line("task_changed", id="T-001", verify="false")
    assert book.state.tasks["T-001"].evidence is None


def test_history_keeps_what_was_tried() -> None:
    book = Book().planned()
    book.line(
        "task_failed", id="T-001", action="retry", attempt=1, approach="a", result="r", error="e"
    )
    row = book.state.tasks["T-001"]
    assert (row.attempts, row.stuck_count, row.status, row.panel_due) == (1, 1, "pending", True)
    assert [dict(entry) for entry in row.history] == [
        {"attempt": 1, "approach": "a", "result": "r", "error": "e", "at": book.events[-1].at}
    ]


def test_unknown_types_and_tasks_change_nothing_but_the_line_count() -> None:
    book = Book()
    before = kept(book.state)
    for kind in (
        "task_started",
        "task_failed",
        "task_removed",
        "from_the_future",
        "finding_resolved",
        "apply",
    ):
        book.line(kind, id="T-404")
    assert kept(book.state) == before
    assert book.state.lines == len(book.events) == 7


@given(
    some.lists(some.sampled_from(["a", "b", "c"]), max_size=6),
    some.lists(some.sampled_from(["a", "b", "c"]), max_size=6),
)
def test_a_learning_counts_once_however_often_it_is_confirmed(first: list, second: list) -> None:
    book = Book()
    book.line("recall_answered", shown=["a", "b", "c"], confirmed=first)
    book.line("recall_answered", shown=["a", "b", "c"], confirmed=second)
    assert sorted(book.state.recall_surfaced) == sorted(set(first + second))


@pytest.mark.parametrize("damage", [{}, {"task": {}}, {"task": {"subject": "no id"}}])
def test_a_line_without_its_fields_raises_nothing_but_attribute_errors(damage: dict) -> None:
    """The store turns these into a refusal that names the line."""
    with pytest.raises(AttributeError):
        LOOP.apply(Book().state, Event("task_added", damage, "2026-12-01T09:30:00Z", "person"))
