"""The clamp table, and a chain that always fails, through the real deciders."""

from __future__ import annotations

import itertools

import pytest

from loopkit.core import escalation, waves, work
from tests.core.kit import Book, task


def test_every_combination() -> None:
    for attempts, depth in itertools.product(range(1, 8), range(9)):
        wanted = "retry" if attempts < 3 else "replan" if depth < 5 else "impossible"
        assert escalation.clamp(attempts, depth) == wanted


def test_an_always_failing_chain_takes_18_executions_and_5_replans() -> None:
    book = Book().planned(task("hopeless", "false"))
    executions = replans = 0
    current = "T-001"
    while book.state.session.status == "running":
        if book.state.tasks[current].panel_due:
            book.panel(current)
        book.wave()
        executions += 1
        changes = book.do(work.failed, current, "no", "impossible")
        book.do(waves.closed) if book.state.session.status == "running" else None
        action = changes[0][1]["action"]
        if action == "replan":
            replans += 1
            book.do(work.split, current, [task("smaller", "false")])
            current = list(book.state.tasks)[-1]
    assert (executions, replans) == (18, 5)
    assert (book.state.session.status, book.state.session.verdict) == ("failed", "impossible")
    assert "hopeless" in book.state.session.reason and "last error: no" in book.state.session.reason
    assert book.state.tasks[current].depth == 5


@pytest.mark.parametrize("suggested", [None, "retry", "replan", "impossible"])
def test_a_suggestion_never_changes_the_action(suggested: str | None) -> None:
    book = Book().planned()
    book.wave()
    data = book.do(work.failed, "T-001", "no", suggested)[0][1]
    assert data["action"] == "retry"
    assert data["clamped"] is (suggested not in (None, "retry"))


def test_own_settings_are_kept() -> None:
    book = Book(settings={"max_step_attempts": 1, "max_replan_depth": 0}).planned()
    book.wave()
    assert book.do(work.failed, "T-001", "no", None)[0][1]["action"] == "impossible"
