"""The request in one form: what is asked for when, and that all of it is recorded or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import replies
from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.request import clarify, intake
from loopkit.core.steps import request
from tests.core.kit import SHAPE, Book, task

TITLES = ["[failure] one", "[decision] two", "[success] three"]
FORM: dict[str, Any] = {
    "scores": dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 2),
    "kind": "build",
    "topics": "api",
    "title": "Rate limiting",
    "criteria": [{"text": "there is a limit", "proof": "test -f limiter.txt"}],
    "must_nots": [
        {"text": "a route changes"},
        {"text": "a dependency is added", "proof": "git diff --exit-code requirements.txt"},
    ],
    "tasks": [task("write it"), task("then this", blocked_by=[1])],
}


def submit(book: Book, titles: list[str] | None = None, **fields: Any) -> list[str]:
    """Submit the form with these fields; the types of what was recorded."""
    row = replies.check("request", {**FORM, **fields})
    return [kind for kind, _ in book.do(request.submitted, row, titles or [])]


def test_only_what_the_loop_has_not_got_yet_is_asked_for() -> None:
    book = Book()
    rest = ["title", "criteria", "must_nots", "tasks"]
    assert request.wanted(book.state) == ["scores", "kind", "topics", *rest]
    book.score()
    assert request.wanted(book.state) == rest
    book.do(intake.shaped, SHAPE)
    assert request.wanted(book.state) == ["tasks"]
    submit(book)
    assert request.wanted(book.state) == []
    book.wave()
    assert request.wanted(book.state) == []


@pytest.mark.parametrize("approval", ["supervisor", "review"])
def test_where_a_planner_plans_no_tasks_are_asked_for(approval: str) -> None:
    book = Book(approval=approval)
    assert "tasks" not in request.wanted(book.state)
    kinds = submit(book)
    assert "shape_saved" in kinds and "task_added" not in kinds


def test_a_clear_request_is_recorded_in_one_go() -> None:
    book = Book()
    kinds = submit(book)
    assert [one for one in kinds if one != "stage_moved"] == [
        *("scored", "shape_saved", "task_added", "task_added")
    ]
    state = book.state
    assert state.stage == "decompose" and state.tasks["T-002"].blocked_by == ("T-001",)
    assert [one.id for one in state.criteria.values()] == ["C1", "M1", "M2"]
    assert state.criteria["C1"].command == "test -f limiter.txt"
    assert book.of("scored")[0]["topics"] == ["api"] and book.of("scored")[0]["kind"] == "build"


def test_scores_that_are_too_low_are_recorded_alone() -> None:
    book = Book()
    assert submit(book, scores=dict.fromkeys(FORM["scores"], 0)) == ["scored"]
    assert book.state.stage == "intent" and not book.state.tasks and clarify.due(book.state)


def test_what_waits_for_the_person_is_asked_for_later() -> None:
    """The shape has to be confirmed first: the tasks come after that."""
    book = Book()
    kinds = submit(book, scores=dict.fromkeys(FORM["scores"], 1))
    assert "shape_saved" in kinds and "task_added" not in kinds
    assert book.state.stage == "shape"
    book.do(intake.confirmed, "shape")
    assert request.wanted(book.state) == ["tasks"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"scores": None}, "scores must be given"),
        ({"kind": None, "criteria": []}, "kind must be given"),
        ({"criteria": [], "tasks": []}, "criteria, tasks must be given"),
        ({"must_nots": []}, "must_nots must be given"),
        ({"tasks": []}, "tasks must be given"),
        ({"must_nots": FORM["must_nots"][:1]}, "1 mustNot, at least 2"),
        ({"criteria": [{"text": "it is there"}]}, "nothing would show C1"),
        ({"tasks": [task(blocked_by=["T-009"])]}, "T-009"),
        ({"tasks": [task(criteria=["C7"])]}, "C7"),
        ({"topics": ["music"]}, "music"),
    ],
)
def test_a_fault_anywhere_records_nothing(fields: dict, says: str) -> None:
    book = Book()
    before = len(book.events)
    with pytest.raises(LoopError, match=says):
        submit(book, **fields)
    assert len(book.events) == before and book.state.stage == "intent" and not book.state.tasks


def test_what_was_learnt_before_is_answered_with_it() -> None:
    book = Book()
    assert "recall_answered" in submit(book, TITLES, learnings=[3, 1, 3])
    (row,) = book.of("recall_answered")
    assert row["confirmed"] == [TITLES[0], TITLES[2]] and row["dismissed"] == [TITLES[1]]
    with pytest.raises(Refused, match="no learning 4"):
        submit(Book(), TITLES, learnings=[4])
    assert "recall_answered" not in submit(Book())
    none = Book()
    submit(none, TITLES)
    assert none.of("recall_answered")[0]["dismissed"] == TITLES


def test_deciding_changes_no_state_until_it_is_recorded() -> None:
    book = Book()
    row = replies.check("request", FORM)
    assert request.submitted(book.state, row, [])
    assert book.state.stage == "intent" and not book.state.tasks and book.state.scores is None
