"""Waves: who goes together, and what closing one records."""

from __future__ import annotations

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.plan import work
from loopkit.core.steps import attempts, waves
from tests.core.kit import Book, task


def opened(changes: list) -> list:
    return next(data["tasks"] for kind, data in changes if kind == "wave_opened")


def test_at_most_six_in_ledger_order() -> None:
    book = Book().planned(*[task(str(number)) for number in range(8)])
    assert opened(book.wave()) == [f"T-00{number}" for number in range(1, 7)]


def test_only_what_waits_for_nothing() -> None:
    book = Book().planned(
        task("a", blocked_by=["#3"]), task("b", blocked_by=["#1"]), task("c"), task("d")
    )
    assert opened(book.wave()) == ["T-003", "T-004"]


def test_tasks_that_name_the_same_file_are_kept_apart() -> None:
    book = Book().planned(
        task("a", files=["x"]), task("b", files=["y", "x"]), task("c", files=["y"]), task("d")
    )
    assert opened(book.wave()) == ["T-001", "T-003", "T-004"]


def test_however_the_same_file_is_written() -> None:
    book = Book().planned(
        task("a", files=["./app//x.py"]),
        task("b", files=["app/x.py"]),
        task("c", files=["app/y.py"]),
    )
    assert opened(book.wave()) == ["T-001", "T-003"]


def test_a_complex_task_is_not_split_first_where_nobody_supervises() -> None:
    assert opened(Book().planned(task("a", complexity="complex")).wave()) == ["T-001"]


def test_sequential_takes_one() -> None:
    book = Book().planned(task("a"), task("b"))
    changes = book.do(waves.next_wave, True)
    assert opened(changes) == ["T-001"]
    assert book.state.wave.sequential


def test_an_open_wave_is_not_opened_again(executing: Book) -> None:
    assert executing.wave() == []


def test_tasks_with_a_panel_due_or_without_a_command_stay_behind() -> None:
    book = Book().planned(task("a"), task("b"))
    book.line("task_added", task={"id": "T-003", "subject": "native"})
    book.line("task_changed", id="T-003", verify="ls")
    book.wave()
    book.do(attempts.failed, "T-001", "no", None)
    book.do(waves.closed)
    book.line("task_added", task={"id": "T-004", "subject": "native"})
    book.line("task_added", task={"id": "T-005", "subject": "good", "verify": "ls"})
    assert opened(book.wave()) == ["T-005"]


def test_nothing_ready_names_the_next_step(executing: Book) -> None:
    executing.do(attempts.failed, "T-001", "no", None)
    executing.do(waves.closed)
    with pytest.raises(Refused, match=r"no task is ready \(2 open\)") as caught:
        executing.wave()
    assert caught.value.todo == "next: loopkit panel T-001"


def test_nothing_open_is_review() -> None:
    with pytest.raises(Refused, match="every task is completed"):
        Book().worked().wave()


def test_closing_fails_what_has_no_passing_evidence() -> None:
    book = Book().planned(task("a"), task("b"), task("c"))
    book.wave()
    book.verify("T-001")
    book.verify("T-002", passed=False)
    changes = book.do(waves.closed)
    assert changes[-1][0] == "wave_closed"
    assert (
        changes[-1][1].items()
        >= {"wave": 1, "completed": ["T-001"], "failed": ["T-002", "T-003"]}.items()
    )
    errors = {data["id"]: data["error"] for kind, data in changes if kind == "task_failed"}
    assert errors == {"T-002": "verification exits 1", "T-003": "no verification ran"}
    assert [book.state.tasks[one].attempts for one in ("T-001", "T-002", "T-003")] == [0, 1, 1]
    assert book.state.wave is None and book.state.stage == "executing"


def test_closing_completes_what_has_passing_evidence_though_the_program_died_before_it_said_so(
    executing: Book,
) -> None:
    executing.line("task_verified", id="T-001", passed=True, exit=0, log="l", seconds=0.1, run=1)
    changes = executing.do(waves.closed)
    assert [kind for kind, _ in changes] == ["task_completed", "wave_closed"]
    assert changes[-1][1].items() >= {"wave": 1, "completed": ["T-001"], "failed": []}.items()


def test_closing_with_the_last_such_task_leads_to_review() -> None:
    book = Book().planned()
    book.wave()
    book.line("task_verified", id="T-001", passed=True, exit=0, log="l", seconds=0.1, run=1)
    book.do(waves.closed)
    assert book.state.stage == "review"


def test_a_failure_is_counted_once(executing: Book) -> None:
    executing.do(attempts.failed, "T-001", "no", None)
    changes = executing.do(waves.closed)
    assert [kind for kind, _ in changes] == ["wave_closed"]
    assert changes[0][1]["failed"] == ["T-001"]


def test_the_last_task_leads_to_review(executing: Book) -> None:
    executing.verify("T-001")
    executing.do(waves.closed)
    assert executing.state.stage == "executing"
    executing.wave()
    executing.verify("T-002")
    assert executing.do(waves.closed)[-1] == ("stage_moved", {"from": "executing", "to": "review"})


def test_without_a_wave_nothing_is_closed() -> None:
    with pytest.raises(Refused, match="no wave is open"):
        waves.closed(Book().planned().state)


def test_blocked_tasks_do_not_fail_with_their_wave(executing: Book) -> None:
    executing.do(work.blocked, "T-001", "external", "later")
    executing.do(waves.closed)
    assert executing.state.tasks["T-001"].attempts == 0


def test_the_third_failure_asks_for_a_split(executing: Book) -> None:
    for attempt in (1, 2, 3):
        executing.do(waves.closed)
        assert executing.state.tasks["T-001"].attempts == attempt
        if attempt < 3:
            executing.panel("T-001")
            executing.wave()
    assert executing.state.tasks["T-001"].status == "failed"
    with pytest.raises(Refused) as caught:
        executing.wave()
    assert caught.value.todo == "next: loopkit task split T-001 --file -"
