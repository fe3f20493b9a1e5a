"""Decisions and anti-patterns as rules: numbers, what touches what, what supersedes what, what a
check comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit import replies
from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.memory import decisions
from loopkit.core.review import convergence, review
from loopkit.core.steps import due, waves
from loopkit.core.steps.events import LOOP
from loopkit.replies import memory
from tests.core.kit import SUBMITTED, Book, outcome, task

ONE = {
    "title": "Stream rows",
    "context": "c",
    "choice": "a generator",
    "alternatives": ["a file: too large"],
}
LESSON = {"what": "the key was a header", "why": "clients set it", "avoid": "use the address"}


def decided(book: Book, **fields: Any) -> dict:
    return book.do(decisions.recorded, {**ONE, **fields})[0][1]


def numbers(rows: list[dict]) -> list[int]:
    return [one["number"] for one in rows]


# -- numbers


def test_one_counter_for_decisions_anti_patterns_and_what_reviews_decide() -> None:
    book = Book().worked()
    decided(book)
    book.do(decisions.avoided, LESSON)
    rows: list[dict] = [
        {"severity": "BLOCKER", "issue": f"{word} at a.py:3", "verify": "ls"}
        for word in ("tabs", "spaces")
    ]
    book.review(rows[:1])  # an anti-pattern
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review(
        [
            {**rows[1], "reverses": "F-001"},
            {**rows[1], "issue": "no test in b.py", "category": "tests"},
        ]
    )  # a decision, then an anti-pattern
    assert numbers(book.state.decisions) == [1, 4] and numbers(
        book.state.decision_log.anti_patterns
    ) == [
        2,
        3,
        5,
    ]
    assert book.state.decisions[1]["kind"] in convergence.KINDS


def test_a_number_that_a_journal_left_out_is_not_given_again() -> None:
    book = Book()
    book.line("decision_recorded", number=7, title="t")
    assert decided(book)["number"] == 8


@pytest.mark.parametrize(
    ("word", "number"),
    [(2, 2), ("2", 2), ("002", 2), ("D2", 2), ("decision 002", 2), ("d-2", 2), (True, None), (0, None), ("two", None),
     ("²", None), (-1, None), ("1" * 7, None), ("1" * 6, 111111), ({}, None), (1.5, None)],
)  # fmt: skip
def test_how_a_number_may_be_written(word: object, number: int | None) -> None:
    assert decisions.number_of(word) == number


@pytest.mark.parametrize("value", [1, "1", [1], ["001"], "001, 001", "decision 1", "D1"])
def test_numbers_are_taken_alone_or_in_a_list(value: object) -> None:
    book = Book()
    decided(book)
    assert decided(book, supersedes=value)["supersedes"] == [1]


@pytest.mark.parametrize("value", [None, "none", "", "-", []])
def test_none_is_none(value: object) -> None:
    assert decided(Book(), depends_on=value, supersedes=value)["depends_on"] == ""


# -- superseding


def test_a_chain_of_superseding() -> None:
    book = Book()
    decided(book)
    decided(book, depends_on=[1])
    decided(book, supersedes=1)
    decided(book, supersedes=[2, 3])
    assert numbers(decisions.live(book.state)) == [4]
    assert [decisions.status(book.state, one) for one in (1, 2, 3, 4)] == [
        "SUPERSEDED by 003", "SUPERSEDED by 004", "SUPERSEDED by 004", "DECISION",
    ]  # fmt: skip
    with pytest.raises(Refused, match="decision 001 is SUPERSEDED by 003; name that one"):
        decided(book, depends_on=1)


def test_what_depends_on_a_superseded_one_is_named() -> None:
    book = Book()
    for depends in (None, [1], [1, 2], [2]):
        decided(book, depends_on=depends)
    assert decisions.dependents(book.state, [1]) == [2, 3]


def test_nothing_is_decided_in_a_loop_that_is_over_but_while_it_waits() -> None:
    book = Book()
    book.line("question_asked", text="which?")
    decided(book)
    book.line("paused", verdict=None, reason="by hand")
    decided(book)
    book.line("loop_cancelled")
    with pytest.raises(Refused, match="is over"):
        decided(book)


# -- touching


def test_touching_by_file_folder_and_words() -> None:
    book = Book()
    decided(book, files=["app/export.py"])
    decided(book, files=["app"])
    decided(book, files=["./app/"])
    decided(book, context="round 1, F-001 at app/export.py:3: x")
    others = "myapp/export.py, app/export.python or xapp/export.py and app/export.pyx."
    decided(book, files=["app/export.pyc", "ap"], context=others)
    book.do(decisions.avoided, {**LESSON, "files": ["app/export.py"]})
    book.do(decisions.avoided, LESSON)
    assert numbers(decisions.touching(book.state, ["app/export.py"])) == [1, 2, 3, 4, 6, 7]
    assert numbers(decisions.touching(book.state, ["app"])) == [1, 2, 3, 4, 5, 6, 7], (
        "the whole folder"
    )
    assert numbers(decisions.touching(book.state, ["docs/a.md"])) == [4, 7], (
        "what names no file is about all of them"
    )
    assert numbers(decisions.touching(book.state, [])) == [1, 2, 3, 4, 5, 6, 7], (
        "who names no file may touch any"
    )
    decided(book, supersedes=2)
    assert 2 not in numbers(decisions.touching(book.state, ["app/export.py"]))


def test_all_live_ones_are_in_view_those_that_touch_first() -> None:
    book = Book()
    for files in ([], ["b.py"], ["a.py"]):
        decided(book, files=files)
    assert numbers(decisions.in_view(book.state, ["a.py"])) == [3, 1, 2]


def test_a_line_of_each_kind() -> None:
    book = Book()
    row = decided(book, title="a\nb")
    assert decisions.line(row) == "decision 001: a b: a generator"
    lesson = book.do(decisions.avoided, LESSON)[0][1]
    assert (
        decisions.line(lesson)
        == "anti-pattern 002: avoid: the key was a header; instead: use the address"
    )
    assert len(decisions.line({**row, "choice": "x" * 10**6}, 50)) == 50


# -- Invalidated If


def checked(book: Book, number: int, true: bool) -> list:
    return book.do(decisions.checked, number, outcome(passed=true))


def test_only_a_command_is_checked_and_once_after_each_wave() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    decided(book, invalidated_if="$  test -f x ")
    decided(book, invalidated_if="somebody says so, like $ 5")
    assert decisions.due(book.state) == [], "no wave has closed"
    for name in ("T-001", "T-002"):
        book.wave()
        book.verify(name)
        book.do(waves.closed)
        book.seen()
        assert decisions.due(book.state) == [(1, "test -f x")]
        assert due.command(book.state) == "loopkit verify D1 -- test -f x"
        checked(book, 1, False)
        assert decisions.due(book.state) == []
        book.do(review.light, len(book.state.waves), {"score": 9, "experts": ["a", "b"]})


def test_one_that_has_come_true_is_found_once_and_keeps_the_gate_shut_until_it_is_superseded() -> (
    None
):
    book = Book().reviewed()
    decided(book, invalidated_if="$ ls", files=["a.py"])
    assert review.passed(book.state)
    assert [kind for kind, _ in checked(book, 1, True)] == [
        "decision_checked",
        "decision_invalidated",
    ]
    assert [kind for kind, _ in checked(book, 1, True)] == ["decision_checked"]
    finding = book.state.findings["F-001"]
    assert (finding.source, finding.contradicts, finding.files) == ("decision", (1,), ("a.py",))
    assert "decision 001 no longer holds: Stream rows" in finding.issue
    assert not review.passed(book.state) and "resolve F-001 <--task" in str(due.command(book.state))
    decided(book, supersedes=1)
    assert review.passed(book.state) and due.command(book.state) == "loopkit gate"


def test_or_until_a_task_has_fixed_it() -> None:
    book = Book().reviewed()
    decided(book, invalidated_if="$ ls")
    checked(book, 1, True)
    book.do(review.resolved, "F-001", "task", "", "ls")
    assert not review.passed(book.state)
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([])
    assert review.passed(book.state)


def test_a_superseded_one_is_not_checked() -> None:
    book = Book().worked()
    decided(book, invalidated_if="$ ls")
    assert decisions.due(book.state) == [(1, "ls")]
    decided(book, supersedes=1)
    assert decisions.due(book.state) == []


# -- whatever is submitted

JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.text(max_size=20)
    | some.floats(allow_nan=False),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    some.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            sorted({*memory.Decision.model_fields, *memory.Lesson.model_fields}), JSON
        ),
    )
)
def test_any_record_is_taken_or_refused_in_one_line(row: dict) -> None:
    book = Book()
    decided(book)
    for decide in (decisions.recorded, decisions.avoided):
        for whole in (row, {**ONE, **row}, {**LESSON, **row}):
            try:
                changes = decide(book.state, replies.check(SUBMITTED[decide], whole))
            except LoopError as error:
                assert str(error).strip()
                continue
            assert json.loads(json.dumps(changes)) == [list(one) for one in changes]
            assert all(LOOP.types[kind].fits(data) for kind, data in changes)
