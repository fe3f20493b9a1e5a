"""The Stop table, row by row, in order, with the last value before and the first value of each
limit."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.steps import snapshot, stop
from tests.core.kit import S1, S2, Book, task

NOTHING: dict[str, Any] = {}


def turn(
    book: Book, session: str = S1, background: bool = False, forced: bool = False, **more: Any
) -> stop.Decision:
    """One Stop as the hook has it decided; recorded as the hook records it."""
    view = snapshot.build(book.state, 0)
    decision = stop.first_rows(book.state.session, view, session, int(background), "")
    if decision is None:
        seen, active = more.get("seen", NOTHING), more.get("active", False)
        decision = stop.last_rows(book.state.session, view, forced, active, seen)
    if decision.record is not None:
        book.line("iteration_ended", by="hook", **decision.record)
    return decision


def rows(decision: stop.Decision) -> tuple:
    return decision.row, decision.decision


@pytest.fixture
def loop() -> Book:
    return Book().planned(task("write the limiter", "test -f limiter.txt"), task("use it", "ls"))


# -- row 2


def test_another_session_is_let_go_silently(loop: Book) -> None:
    assert turn(loop, S2) == (2, "allow", None, "", "", "")
    assert turn(loop, "") == (2, "allow", None, "", "", "")


def test_an_empty_owner_is_nobody() -> None:
    book = Book(session_id="").planned()
    assert turn(book, "") == (2, "allow", None, "", "", "")


@pytest.mark.parametrize(
    "line",
    [
        ("paused", {"reason": "x"}),
        ("loop_cancelled", {"reason": "x"}),
        ("loop_failed", {}),
        ("question_asked", {"text": "?"}),
    ],
)
def test_paused_over_or_asking_is_let_go_silently(loop: Book, line: tuple) -> None:
    loop.line(line[0], **line[1])
    assert turn(loop, background=True) == (2, "allow", None, "", "", "")


def test_the_intent_stage_is_a_conversation(book: Book) -> None:
    assert turn(book) == (2, "allow", None, "", "", "")


@pytest.mark.parametrize("values", [(2, 2, 1, 1, 1), (1, 1, 1, 1, 1)])
def test_awaiting_a_confirmation_is_let_go_silently(values: tuple) -> None:
    book = Book().shaped(*values)
    assert snapshot.build(book.state, 0)["status"] == "awaiting_approval"
    assert turn(book) == (2, "allow", None, "", "", "")


# -- rows 3 and 4


def test_background_work_lets_go_and_counts_nothing(loop: Book) -> None:
    for _ in range(9):
        assert turn(loop, background=True) == (3, "allow", None, "", "", "")
    assert loop.state.session.iteration == 0
    assert rows(turn(loop)) == (9, "hold")


def test_a_complete_stage_lets_go(loop: Book) -> None:
    loop.line("stage_moved", to="complete")
    assert turn(loop) == (4, "allow", None, "", "", "")
    assert rows(turn(loop, background=True)) == (3, "allow")


# -- row 5


def test_the_iteration_limit_at_its_value(loop: Book) -> None:
    loop.line("limits_set", iterations=3, usd=None, seconds=None)
    for _ in range(2):
        assert rows(turn(loop)) == (9, "hold")
    decision = turn(loop)
    assert rows(decision) == (5, "allow")
    session = loop.state.session
    assert (session.status, session.verdict, session.iteration) == ("paused", "limit_iterations", 3)
    assert "3 of 3 iterations" in session.reason and "--iterations +3" in decision.text
    assert turn(loop) == (2, "allow", None, "", "", "")


@pytest.mark.parametrize(("seconds", "row"), [(7199, 9), (7200, 5), (6 * 3600, 5)])
def test_the_time_limit_at_its_value(loop: Book, seconds: int, row: int) -> None:
    loop.line("limits_set", iterations=None, usd=None, seconds=7200)
    loop.line("subagent_stopped", agent_id="a", transcript="", worked=1000)
    decision = turn(loop, seen={"worked": seconds - 1000})
    assert decision.row == row and loop.state.session.spent_seconds == seconds
    if row == 5:
        assert loop.state.session.verdict == "limit_time"
        assert "of 2 h used" in decision.text
        assert f"/loop:resume --time +{2 if seconds == 7200 else 8}h" in decision.text


def test_a_day_in_which_nobody_worked_uses_up_nothing(loop: Book) -> None:
    loop.line("limits_set", iterations=None, usd=None, seconds=7200)
    loop.now += 86400
    assert turn(loop).row == 9
    assert loop.state.session.spent_seconds == 0


def test_the_advice_raises_every_limit_that_is_reached(loop: Book) -> None:
    loop.line("limits_set", iterations=1, usd=10.0, seconds=7200)
    usage = {"claude-sonnet-5": [0, 3_000_000, 0, 0]}  # 10 USD a million
    decision = turn(loop, seen={"usage": usage, "worked": 4 * 3600})
    assert loop.state.session.verdict == "limit_iterations"
    assert "/loop:resume --iterations +1 --time +4h --usd +40" in decision.text


@pytest.mark.parametrize(("tokens", "row"), [(999_999, 9), (1_000_000, 5)])
def test_the_money_limit_at_its_value_counts_what_this_turn_used(
    loop: Book, tokens: int, row: int
) -> None:
    seen = {"usage": {"claude-sonnet-5": [0, tokens, 0, 0]}}  # 10 USD a million
    loop.line("limits_set", iterations=None, usd=10.0, seconds=None)
    decision = turn(loop, seen=seen)
    assert decision.row == row
    assert loop.state.session.usage == {"claude-sonnet-5": [0, tokens, 0, 0]}
    if row == 5:
        assert loop.state.session.verdict == "limit_budget" and "--usd +10" in decision.text


def test_no_limit_no_end(loop: Book) -> None:
    loop.line("limits_set", iterations=None, usd=None, seconds=None)
    loop.now += 10**7
    for number in range(60):
        loop.line(
            "criterion_verified", id=f"C{number}", passed=True
        )  # progress, so that row 7 does not fit
        assert rows(turn(loop, seen={"usage": {"claude-opus-5": [10**9, 0, 0, 0]}})) == (9, "hold")


def test_a_limit_comes_before_waiting_and_stalling(loop: Book) -> None:
    loop.line("limits_set", iterations=1)
    loop.line("task_blocked", id="T-001", kind="permission", text="sign")
    loop.line("task_blocked", id="T-002", kind="external", text="wait")
    assert turn(loop).row == 5


# -- row 6


def test_only_human_tasks_left_pauses_and_names_them(loop: Book) -> None:
    loop.line("task_blocked", id="T-001", kind="permission", text="needs a signature")
    assert rows(turn(loop)) == (9, "hold")  # the second is free
    loop.line("task_blocked", id="T-002", kind="external", text="the bank answers")
    decision = turn(loop)
    assert rows(decision) == (6, "allow")
    assert loop.state.session.verdict == "waiting" and loop.state.session.status == "paused"
    for word in ("T-001", "write the limiter", "needs a signature", "T-002", "the bank answers"):
        assert word in loop.state.session.reason and word in decision.text


def test_tasks_that_wait_for_blocked_ones_do_not_hold() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    book.line("task_blocked", id="T-001", kind="information", text="which one?")
    assert turn(book).row == 6


def test_a_split_is_no_human_task() -> None:
    book = Book().planned(task("a"))
    book.line(
        "task_added",
        task={"id": "T-002", "subject": "b", "verify": "ls", "parent": "T-001", "depth": 1},
    )
    book.line("task_split", id="T-001")
    assert turn(book).row == 9
    book.line("task_blocked", id="T-002", kind="external", text="wait")
    assert turn(book).row == 6


def test_an_empty_ready_set_is_not_done() -> None:
    book = Book().planned(task("a"))
    book.wave()
    assert turn(book).row == 9
    book.line("task_failed", id="T-001", action="replan", attempt=3)
    assert turn(book).row == 9


# -- row 7


@pytest.mark.parametrize("most", [1, 3, 7])
def test_holds_without_progress_end_after_max_idle_stops(most: int) -> None:
    book = Book(settings={"max_idle_stops": most}).planned()
    for _ in range(most):
        assert rows(turn(book)) == (9, "hold")
    decision = turn(book)
    assert rows(decision) == (7, "allow")
    assert (book.state.session.verdict, book.state.session.status) == ("stalled", "paused")
    assert f"{most} turns without any progress" in book.state.session.reason
    assert "/counsel:panel" in decision.text
    assert turn(book) == (2, "allow", None, "", "", "")


def test_progress_starts_the_count_again(loop: Book) -> None:
    for number in range(1, 6):
        for _ in range(3):
            assert turn(loop).row == 9
        loop.line("review_light", wave=number, score=5)
    for _ in range(3):
        assert turn(loop).row == 9
    assert turn(loop).row == 7


def test_going_on_clears_the_count(loop: Book) -> None:
    for _ in range(4):
        turn(loop)
    loop.line("resumed")
    for _ in range(3):
        assert turn(loop).row == 9
    assert turn(loop).row == 7


# -- row 8


def test_a_forced_stop_without_activity_is_let_go_and_nothing_is_recorded(loop: Book) -> None:
    assert turn(loop).row == 9
    before = len(loop.events)
    for _ in range(12):
        assert turn(loop, forced=True) == (8, "allow", None, "", "", "")
    assert len(loop.events) == before and loop.state.session.status == "running"
    assert turn(loop).row == 9


def test_a_forced_stop_after_activity_holds(loop: Book) -> None:
    assert turn(loop).row == 9
    assert turn(loop, forced=True, active=True).row == 9
    loop.line("notice_given", name="x")
    assert turn(loop, forced=True).row == 9


def test_a_forced_stop_before_any_hold_of_ours_holds(loop: Book) -> None:
    assert turn(loop, forced=True).row == 9


def test_stalling_comes_before_row_8(loop: Book) -> None:
    for _ in range(3):
        assert turn(loop, forced=True, active=True).row == 9
    assert turn(loop, forced=True).row == 7


# -- row 9


def test_a_hold_records_what_was_seen(loop: Book) -> None:
    seen = {
        "usage": {"m": [1, 2, 3, 4]},
        "offsets": {"t": 9},
        "message_ids": ["x"],
        "transcript_offset": 9,
    }
    decision = turn(loop, seen=seen)
    mark = snapshot.fingerprint(loop.state)
    assert decision.record == {"decision": "hold", "fingerprint": mark, **seen}
    assert loop.state.session.last_hold_offset == 9


def test_a_hold_names_the_open_tasks_the_next_step_and_the_way_out(loop: Book) -> None:
    text = turn(loop).text
    for word in (
        "Loop 001 “add rate limiting”",
        "write the limiter",
        "use it",
        "next: loopkit next",
        "/loop:cancel",
    ):
        assert word in text
