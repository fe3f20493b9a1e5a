"""Clarifying a vague request: rounds, marked assumptions, the echo, the full order; what it does to
the scores."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.request import clarify, intake
from tests.core.kit import Book

GIVEN = {
    "echo": "Bring /search under 200 ms",
    "task": "t",
    "context": "c",
    "done": "d",
    "approved": True,
}
ALL = dict.fromkeys(stage.DIMENSIONS, "A) the likeliest")


def low(**data: Any) -> Book:
    book = Book(**data)
    book.score(1, 1, 0, 0, 0)
    return book


def test_answers_and_assumptions_are_recorded_and_marked() -> None:
    book = low()
    rest = {"scope": "/search only", "constraints": "[ASSUMPTION] no new dependency"}
    answers = dict.fromkeys(("outcome", "success", "done"), "A)")
    data = book.do(clarify.clarified, {**GIVEN, "answers": answers, "assumptions": rest})[0][1]
    assert data["assumptions"] == {
        "scope": "[ASSUMPTION] /search only",
        "constraints": "[ASSUMPTION] no new dependency",
    }
    assert (data["round"], data["by"], data["echo"]) == (1, "person", GIVEN["echo"])
    assert book.state.stage == stage.INTENT and not book.state.tasks


def test_two_rounds_of_questions_then_assumptions() -> None:
    book = low()
    for _ in range(clarify.MOST_ROUNDS):
        book.do(clarify.clarified, {**GIVEN, "answers": ALL})
    assert clarify.rounds_left(book.state) == 0
    with pytest.raises(Refused, match="2 rounds of questions were asked"):
        book.do(clarify.clarified, {**GIVEN, "answers": ALL})
    book.do(clarify.clarified, {**GIVEN, "assumptions": ALL})  # no round of questions
    assert book.state.rounds == clarify.MOST_ROUNDS


def test_what_the_person_answered_needs_no_second_yes() -> None:
    book = low()
    book.do(clarify.clarified, {**GIVEN, "approved": False, "answers": ALL})
    assert book.state.clarified is not None


def test_an_answer_of_an_earlier_round_stands() -> None:
    book = low()
    book.do(clarify.clarified, {**GIVEN, "answers": ALL})
    book.score(1, 1, 1, 0, 0)
    book.do(clarify.clarified, {**GIVEN, "assumptions": {"done": "x"}})
    assert set(book.state.clarified["answers"]) == set(stage.DIMENSIONS)


def test_where_nobody_can_be_asked_all_is_assumption() -> None:
    book = low(unattended=True)
    assert clarify.rounds_left(book.state) == 0
    with pytest.raises(Refused, match="nothing was answered"):
        book.do(clarify.clarified, {**GIVEN, "answers": ALL})
    data = book.do(clarify.clarified, {**GIVEN, "approved": False, "assumptions": ALL})[0][1]
    assert data["by"] == "nobody" and all(
        text.startswith(clarify.MARK) for text in data["assumptions"].values()
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"answers": {"outcome": "A"}},
            "scope, constraints, success, done: neither answered nor assumed",
        ),
        (
            {"assumptions": ALL, "approved": False},
            "nobody has agreed to what is assumed: outcome, scope, constraints, success, done",
        ),
    ],
)
def test_what_a_record_must_hold(changes: dict, words: str) -> None:
    with pytest.raises(LoopError) as caught:
        low().do(clarify.clarified, {**GIVEN, **changes})
    assert words in str(caught.value)


ORDER = {
    "objective": "o",
    "non_goals": list("abc"),
    "constraints": ["c"],
    "acceptance": list("abcdefg"),
    "must_nots": ["m", "n"],
    "stop_conditions": list("xyz"),
}


def test_an_order_goes_with_the_record() -> None:
    data = low().do(clarify.clarified, {**GIVEN, "answers": ALL, "order": ORDER})[0][1]
    assert data["order"]["objective"] == "o"


def test_an_assumption_is_not_explicit() -> None:
    book = low()
    book.do(
        clarify.clarified,
        {
            **GIVEN,
            "answers": {k: v for k, v in ALL.items() if k != "done"},
            "assumptions": {"done": "a bench"},
        },
    )
    with pytest.raises(Refused, match="done is an assumption"):
        intake.scored(book.state, dict.fromkeys(stage.DIMENSIONS, 2))
    book.score(2, 2, 2, 2, 1)
    assert (book.state.scores["spec"], book.state.stage) == (9, stage.SHAPE)


def test_unattended_and_still_vague_it_waits_with_the_reason() -> None:
    book = low(unattended=True)
    assert book.state.session.status == "running"  # first it is clarified
    book.do(clarify.clarified, {**GIVEN, "assumptions": ALL})
    book.score(1, 1, 1, 1, 0)
    session = book.state.session
    assert (session.status, session.verdict) == ("paused", "waiting")
    assert "spec 4/10 is under 5" in session.reason and "done" in session.reason
    assert book.state.stage == stage.INTENT and not book.state.tasks


def test_only_in_the_stage_intent() -> None:
    with pytest.raises(Refused, match="clarifying belongs to stage intent"):
        Book().shaped().do(clarify.clarified, {**GIVEN, "answers": ALL})


def test_what_was_clarified_reaches_the_shape() -> None:
    book = low()
    assert clarify.told(book.state) == []
    given = {
        **GIVEN,
        "echo": "Bring GET /search under 200 ms",
        "must_nots": ["Results change"],
        "order": ORDER,
    }
    answers = {name: "A)" for name in stage.DIMENSIONS if name != "scope"}
    book.do(
        clarify.clarified, {**given, "answers": answers, "assumptions": {"scope": "one endpoint"}}
    )
    told = clarify.told(book.state)
    assert told[:3] == [
        ("clarified", "Bring GET /search under 200 ms"),
        ("assumed, scope", "[ASSUMPTION] one endpoint"),
        ("must not", "Results change"),
    ]
    assert ("answered, done", "A)") in told
    assert ("must not", "m") in told and ("stop conditions", "x") in told
