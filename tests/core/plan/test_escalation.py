"""The clamp table, and a chain that always fails, through the real deciders."""

from __future__ import annotations

import itertools

import pytest

from loopkit.core.plan import drafts, escalation
from loopkit.core.steps import attempts, waves
from tests.core.kit import Book, task


def test_every_combination() -> None:
    for tried, depth in itertools.product(range(1, 8), range(9)):
        wanted = "retry" if tried < 3 else "replan" if depth < 5 else "impossible"
        assert escalation.clamp(tried, depth) == wanted


def test_an_always_failing_chain_takes_18_executions_and_5_replans() -> None:
    book = Book().planned(task("hopeless", "false"))
    executions = replans = 0
    current = "T-001"
    while book.state.session.status == "running":
        if book.state.tasks[current].panel_due:
            book.panel(current)
        book.wave()
        executions += 1
        changes = book.do(attempts.failed, current, "no", "impossible")
        book.do(waves.closed) if book.state.session.status == "running" else None
        action = changes[0][1]["action"]
        if action == "replan":
            replans += 1
            book.do(drafts.split, current, [task("smaller", "false")])
            current = list(book.state.tasks)[-1]
    assert (executions, replans) == (18, 5)
    assert (book.state.session.status, book.state.session.verdict) == ("failed", "impossible")
    assert "hopeless" in book.state.session.reason and "last error: no" in book.state.session.reason
    assert book.state.tasks[current].depth == 5


@pytest.mark.parametrize("suggested", [None, "retry", "replan", "impossible"])
def test_a_suggestion_never_changes_the_action(suggested: str | None) -> None:
    book = Book().planned()
    book.wave()
    data = book.do(attempts.failed, "T-001", "no", suggested)[0][1]
    assert data["action"] == "retry"
    assert data["clamped"] is (suggested not in (None, "retry"))


def test_own_settings_are_kept() -> None:
    book = Book(settings={"max_step_attempts": 1, "max_replan_depth": 0}).planned()
    book.wave()
    assert book.do(attempts.failed, "T-001", "no", None)[0][1]["action"] == "impossible"


@pytest.mark.parametrize(
    ("score", "issues", "wanted"),
    [
        (100, 5, "abort"),
        (0, 5, "abort"),
        (100, 4, "critical"),
        (0, 4, "critical"),
        (100, 3, "refocus"),
        (29, 0, "refocus"),
        (30, 0, "correct"),
        (100, 2, "correct"),
        (49, 0, "correct"),
        (50, 0, "remind"),
        (69, 1, "remind"),
        (70, 0, "none"),
        (100, 1, "none"),
        (None, 0, "none"),
    ],
)
def test_the_first_level_that_fits(score: int | None, issues: int, wanted: str) -> None:
    assert escalation.level(score, issues) == wanted


@pytest.mark.parametrize(
    ("score", "wanted"),
    [
        (100, "approve"),
        (70, "approve"),
        (69, "revise"),
        (50, "revise"),
        (49, "reject"),
        (None, "reject"),
    ],
)
def test_bands_of_a_score(score: int | None, wanted: str) -> None:
    assert escalation.band(score) == wanted


def test_a_score_between_thresholds_of_ones_own() -> None:
    assert [escalation.band(score, 90, 80) for score in (90, 89, 80, 79)] == [
        "approve",
        "revise",
        "revise",
        "reject",
    ]


def test_an_evidence_loop_says_as_much_about_its_end() -> None:
    book = Book(settings={"max_step_attempts": 1, "max_replan_depth": 0}).planned(
        task("hopeless"), task("fine")
    )
    book.wave()
    book.verify("T-002")
    book.do(attempts.failed, "T-001", "no token", None)
    reason = book.state.session.reason
    for words in (
        "goal: add rate limiting",
        "T-001 hopeless (1 attempt)",
        "last error: no token",
        "T-002 fine",
    ):
        assert words in reason
    assert "1 of 2 tasks were completed" in reason
