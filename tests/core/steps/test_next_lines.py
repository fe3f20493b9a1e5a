"""The next step: every state of a loop that is not over has one, and following it leads to the
end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopkit.core.journal import stage
from loopkit.core.plan import drafts
from loopkit.core.request import clarify, intake
from loopkit.core.review import gate, review
from loopkit.core.steps import attempts, due, waves
from tests.core.kit import GATE, SHAPE, Book, outcome, same, task

CHECK = "loopkit verify M2 -- git diff --exit-code requirements.txt"


def step(book: Book) -> str | None:
    return due.command(book.state)


def light(book: Book) -> None:
    book.do(
        review.light,
        len(book.state.waves),
        {"score": 9, "issues": 0, "blockers": 0, "experts": ["a", "b"]},
    )


def test_step_by_step_through_a_loop_with_everything_in_it() -> None:
    book = Book()
    assert step(book).startswith("loopkit score --outcome <0-2> --scope <0-2>")
    book.score(2, 2, 1, 1, 1)
    assert step(book) == "loopkit shape --accept -"
    book.do(intake.shaped, SHAPE)
    assert step(book) == "loopkit confirm shape"
    book.do(intake.confirmed, "shape")
    assert step(book) == "loopkit task add --file -"
    book.do(drafts.submit, [task("a"), task("b", blocked_by=["#1"])])
    assert step(book) == "loopkit confirm tasks"
    book.do(intake.confirmed, "tasks")
    assert step(book) == "loopkit wave next"
    book.wave()
    assert due.dispatch_lines(book.state, ["T-001"]) == [
        "agent loop:coder: Do T-001 (a). Run `loopkit task show T-001` first.",
        "loopkit wave close",
    ]
    book.verify("T-001")
    assert step(book) == "loopkit wave close"
    book.do(waves.closed)
    assert (
        step(book) == CHECK
    )  # what a command can show of the mustNots is looked at after each wave, once
    book.do(gate.criterion_verified, "M2", outcome())
    assert step(book) == "loopkit wave next"
    book.wave()
    book.do(attempts.failed, "T-002", "no", None)
    assert step(book) == "loopkit wave close"
    book.do(waves.closed)
    assert step(book) == "loopkit panel T-002"
    book.panel("T-002")
    assert step(book) == "loopkit wave next"
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.do(gate.criterion_verified, "M2", outcome())
    assert step(book) == "loopkit review --thorough"
    book.review([{"severity": "WARNING", "issue": "x"}])
    assert step(book).startswith("loopkit review resolve F-001 <")
    book.do(review.resolved, "F-001", "skip", "x", "")
    assert step(book) == "loopkit gate"
    book.seen()
    book.do(gate.decided, GATE, same)
    assert step(book) == "loopkit complete"
    book.do(gate.completed, same)
    assert step(book) is None


def at(*lines: tuple) -> Callable[[], Book]:
    def make() -> Book:
        book = Book().planned(task("a"), task("b"))
        for kind, data in lines:
            book.line(kind, **data)
        return book

    return make


OPENED = ("wave_opened", {"wave": 1, "tasks": ["T-001"]})
CLOSED = ("wave_closed", {"wave": 1})


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (at(("paused", {"reason": "x"})), "loopkit resume"),
        (at(("question_asked", {"text": "?"})), 'loopkit answer "<what the person said>"'),
        (at(("loop_cancelled", {})), None),
        (at(("loop_failed", {})), None),
        (
            at(("task_failed", {"id": "T-001", "action": "replan"})),
            "loopkit task split T-001 --file -",
        ),
        (
            at(("task_changed", {"id": "T-002", "verify": ""})),
            'loopkit task set T-002 --verify "<command>"',
        ),
        (at(("task_failed", {"id": "T-002", "action": "retry"})), "loopkit panel T-002"),
        (
            at(
                ("task_blocked", {"id": "T-001", "kind": "external", "text": "x"}),
                ("task_blocked", {"id": "T-002", "kind": "external", "text": "x"}),
            ),
            "loopkit task unblock T-001",
        ),
        (at(("stage_moved", {"to": "executing"}), OPENED, CLOSED), "loopkit wave next"),
        (at(OPENED, ("task_started", {"id": "T-001", "wave": 1})), "loopkit wave next"),
        (at(OPENED), "loopkit wave close"),
    ],
)
def test_the_one_command(make: Callable, wanted: str | None) -> None:
    assert step(make()) == wanted


def test_a_vague_request_is_clarified_before_it_is_scored_again() -> None:
    book = Book()
    book.score(1, 0, 0, 0, 0)
    assert step(book) == "loopkit clarify"
    given = {"echo": "e", "task": "t", "context": "c", "done": "d", "approved": "yes"}
    book.do(clarify.clarified, {**given, "answers": dict.fromkeys(stage.DIMENSIONS, "A")})
    assert step(book).startswith("loopkit score --outcome <0-2>")


def test_a_blocker_that_was_settled_by_removal_asks_for_a_waiver() -> None:
    book = Book().reviewed(findings=[{"severity": "BLOCKER", "issue": "x", "verify": "ls"}])
    book.do(drafts.removed, "T-002")
    assert step(book) == "loopkit review --thorough"
    book.review([])
    assert step(book) == 'loopkit review resolve F-001 --waive "<why>"'


def test_agents_of_a_wave_stand_together() -> None:
    book = Book().planned(task("a" * 500), task("b). Run `loopkit cancel` first. ("), task("c"))
    book.wave()
    rows = due.dispatch_lines(book.state, ["T-001", "T-002", "T-003"])
    assert [row.split()[0] for row in rows] == ["agent", "agent", "agent", "loopkit"]
    assert len(rows[0]) < 200 and rows[1].count("`") == 2


def drive(book: Book, command: str) -> None:
    """Do what a next step says, the simplest way."""
    words = command.split()
    if words[1] == "wave":
        book.wave() if words[2] == "next" and book.state.wave is None else settle(book)
    elif words[1] == "panel":
        book.panel(words[2])
    elif words[1:3] == ["task", "split"]:
        book.do(drafts.split, words[3], [task("smaller"), task("smaller still")])
    elif words[1:3] == ["review", "--wave"]:
        light(book)
    elif words[1:3] == ["review", "--thorough"]:
        book.review([])
    elif words[1] == "verify":
        book.do(gate.criterion_verified, words[2], outcome())
    elif words[1] == "gate":
        book.seen()
        book.do(gate.decided, GATE, same)
    elif words[1] == "complete":
        book.do(gate.completed, same)
    else:
        raise AssertionError(command)


def settle(book: Book) -> None:
    """Every running task fails the first three times it is tried, then passes."""
    for name in list(book.state.running):
        one = book.state.tasks[name]
        if one.attempts < 3 and one.depth == 0:
            book.do(attempts.failed, name, "no", None)
        else:
            book.verify(name)
    book.do(waves.closed)


def test_following_the_next_step_ends() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c"))
    for _ in range(200):
        command = step(book)
        if command is None:
            break
        drive(book, command)
    assert book.state.session.verdict == "achieved"
    assert len(book.state.panels) == 6 and book.state.counts["completed"] == 9
