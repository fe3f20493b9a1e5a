"""Tiers: their seconds, when a wider one is due."""

from __future__ import annotations

import pytest

from loopkit.core.evidence import command
from loopkit.core.plan import drafts
from loopkit.core.steps import waves
from tests.core.kit import Book, task


def test_the_seconds_of_the_tiers() -> None:
    assert {"quick": 5, "standard": 30, "thorough": 120} == command.SECONDS


@pytest.mark.parametrize(
    ("failures", "tier"),
    [
        (0, "quick"),
        (1, "standard"),
        (2, "standard"),
        (3, "standard"),
        (4, "thorough"),
        (40, "thorough"),
    ],
)
def test_the_tier_that_is_due(failures: int, tier: str) -> None:
    assert command.due_tier(failures) == tier


def test_a_slow_check_gets_one_remark() -> None:
    assert command.remark("quick", 4.9) is None
    said = "slow: 5.0 s, where under 5 s is good; narrow it if you can"
    assert command.remark("quick", 5.0) == said


def failing(book: Book) -> str:
    return book.verify("T-001", passed=False)[0][1]["tier"]


def test_failures_are_counted_over_attempts_until_one_passes_or_the_command_changes() -> None:
    book = Book().planned(task(verify="test -f a"))
    book.wave()
    assert [failing(book) for _ in range(4)] == ["quick", "standard", "standard", "standard"]
    book.do(waves.closed)
    book.panel("T-001")
    book.wave()
    assert (
        failing(book),
        book.state.tasks["T-001"].fix_cycles,
        book.state.tasks["T-001"].failing,
    ) == ("thorough", 1, 5)
    book.do(drafts.changed, "T-001", "test -f b", None, None)
    assert book.state.tasks["T-001"].failing == 0
    assert failing(book) == "quick"
    book.verify("T-001")
    assert (book.state.tasks["T-001"].failing, book.state.tasks["T-001"].evidence.tier) == (
        0,
        "standard",
    )


def test_a_journal_older_than_tiers_folds() -> None:
    book = Book().planned()
    book.wave()
    book.line("task_verified", id="T-001", passed=True, exit=0)
    book.line("criterion_verified", id="C1", passed=True, exit=0)
    assert book.state.tasks["T-001"].evidence.tier == book.state.criterion_evidence["C1"].tier == ""
