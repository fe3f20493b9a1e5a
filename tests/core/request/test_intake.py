"""From a request to a shape."""

from __future__ import annotations

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import LimitReached, Refused, UsageFault
from loopkit.core.request import intake
from tests.core.kit import SHAPE, Book

TITLES = ["a", "b", "c", "d", "e"]


def test_spec_four_stays_five_goes_on() -> None:
    book = Book()
    book.score(1, 1, 1, 1, 0)
    assert (book.state.stage, book.state.scores["spec"]) == ("intent", 4)
    book.score(1, 1, 1, 1, 1)
    assert (book.state.stage, book.state.scores["fit"], book.state.shape) == (
        "shape",
        25,
        "colleague",
    )


def test_every_score_is_recorded_also_one_that_stays() -> None:
    book = Book()
    book.score(0, 0, 0, 0, 0)
    assert [event.type for event in book.events] == ["loop_started", "scored"]
    assert book.events[-1].data["values"] == dict.fromkeys(
        ("outcome", "scope", "constraints", "success", "done"), 0
    )


def test_an_overrule_is_recorded_and_lets_a_low_spec_pass() -> None:
    book = Book()
    book.score(0, 0, 2, 2, 0)  # spec 4, fit 30
    book.do(intake.overruled, "the person knows")
    assert book.state.stage == "shape" and book.state.overruled == "the person knows"
    assert ("spec_overruled", {"why": "the person knows"}) in [
        (event.type, event.data) for event in book.events
    ]


def test_an_overrule_does_not_lift_a_fit_under_25() -> None:
    book = Book()
    book.score(1, 1, 1, 1, 0)
    book.line("recall_answered", shown=TITLES, confirmed=TITLES[:2])
    book.score(1, 1, 1, 1, 0)
    assert book.state.scores["fit"] == 24
    book.do(intake.overruled, "please")
    assert book.state.stage == "intent" and book.state.overruled == "please"
    book.line("recall_answered", shown=TITLES, confirmed=TITLES[2:3])
    book.score(1, 1, 1, 1, 0)
    assert (book.state.stage, book.state.scores["fit"]) == ("shape", 26)


def test_an_overrule_needs_scores_and_a_reason() -> None:
    book = Book()
    with pytest.raises(Refused, match="not scored"):
        intake.overruled(book.state, "x")
    book.score(1, 1, 1, 1, 0)
    with pytest.raises(Refused, match="no reason"):
        intake.overruled(book.state, "  ")


@pytest.mark.parametrize(("count", "fit"), [(5, 35), (6, 35)])
def test_five_and_six_confirmed_learnings_give_ten(count: int, fit: int) -> None:
    book = Book()
    titles = list("abcdef")
    book.do(intake.recall_answered, titles, list(range(1, count + 1)), [])
    book.score(1, 1, 1, 1, 1)
    assert book.state.scores["fit"] == fit


def test_answers_to_recall_are_all_kept() -> None:
    book = Book()
    changes = book.do(intake.recall_answered, TITLES, [1, 3], [2])
    assert changes == [
        ("recall_answered", {"shown": TITLES, "confirmed": ["a", "c"], "dismissed": ["b"]})
    ]
    assert book.state.recall_surfaced == ["a", "c"]


@pytest.mark.parametrize(("confirm", "dismiss"), [([0], []), ([6], []), ([], [-1]), ([1], [9])])
def test_a_learning_that_was_not_shown(confirm: list, dismiss: list) -> None:
    with pytest.raises(Refused, match="there is no learning"):
        intake.recall_answered(Book().state, TITLES, confirm, dismiss)


def test_a_learning_is_confirmed_or_dismissed_not_both() -> None:
    with pytest.raises(Refused, match="both"):
        intake.recall_answered(Book().state, TITLES, [1, 2], [2])


def test_after_the_tasks_only_a_proof_may_grow_stronger() -> None:
    book = Book().planned()
    with pytest.raises(Refused, match="M2 is another"):
        intake.shaped(book.state, SHAPE.replace("A runtime", "Any"))
    with pytest.raises(Refused, match="nothing is stronger"):
        intake.shaped(book.state, SHAPE)
    book.do(intake.shaped, SHAPE + "| M1 | execution output | make api-check |\n")
    assert book.state.criteria["M1"].command == "make api-check"
    assert book.state.tasks and book.state.stage == "decompose"


def test_a_shape_can_be_submitted_again_before_the_tasks() -> None:
    book = Book().shaped()
    book.do(intake.shaped, SHAPE.replace("- M2", "- M3: nothing else breaks\n- M2"))
    assert book.state.stage == "decompose" and "M3" in book.state.criteria


@pytest.mark.parametrize("verdict", ["limit_iterations", "limit_time", "limit_budget"])
def test_a_limit_refuses_with_its_own_exit_code(verdict: str) -> None:
    book = Book()
    book.line("iteration_ended", by="hook", decision="allow", verdict=verdict, reason="r")
    with pytest.raises(LimitReached, match=verdict) as caught:
        stage.running(book.state)
    assert caught.value.exit_code == 75


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("paused", {"reason": "lunch"}, "lunch"),
        ("loop_cancelled", {"reason": "x"}, "is over .cancelled."),
        ("question_asked", {"text": "which one?"}, "which one?"),
    ],
)
def test_what_does_not_run_is_refused(kind: str, data: dict, words: str) -> None:
    book = Book()
    book.line(kind, **data)
    with pytest.raises(Refused, match=words) as caught:
        stage.running(book.state)
    assert not isinstance(caught.value, UsageFault) and caught.value.exit_code == 1
