"""The part of the state that hooks fold alone: time, limits, owner, holds."""

from __future__ import annotations

import json

import pytest

from loopkit.core.journal import clock, stage, verdict
from loopkit.core.journal.session import Session
from loopkit.core.plan import drafts
from loopkit.core.request import intake
from tests.core.kit import BEGIN, S1, S2, Book, task


def test_a_new_loop_runs_and_belongs_to_who_started_it(book: Book) -> None:
    session = book.state.session
    assert (session.status, session.stage, session.owner, session.owner_pid) == (
        "running",
        "intent",
        S1,
        1,
    )
    assert (session.started_at, session.running_since, session.iteration) == (
        clock.stamp(BEGIN),
        BEGIN,
        0,
    )


def test_only_running_time_counts(book: Book) -> None:
    def later(seconds: int, kind: str, **data: object) -> int:
        book.now += seconds
        book.line(kind, **data)
        return book.state.session.seconds(book.now)

    assert later(10, "notice_given", name="x") == 10
    assert later(10, "paused", reason="by hand") == 20
    assert later(1000, "resumed") == 20
    assert later(5, "question_asked", text="?") == 25
    assert later(1000, "question_answered", text="!") == 25
    assert later(5, "question_asked", text="?") == 30
    assert later(100, "paused", reason="x") == 30
    assert later(100, "question_answered", text="!") == 30
    assert later(100, "resumed") == 30
    assert later(7, "loop_cancelled", reason="x") == 37
    assert later(999, "notice_given", name="x") == 37


def test_waiting_for_a_confirmation_takes_no_time() -> None:
    book = Book()
    book.now += 10
    book.shaped(2, 2, 1, 1, 1)
    session = book.state.session
    assert stage.confirmation(book.state) == "shape" and session.running_since is None
    book.now += 1000
    assert session.seconds(book.now) == 10
    book.line("paused", reason="x")
    book.line("resumed")
    book.now += 1000
    book.do(intake.confirmed, "shape")
    book.now += 5
    assert session.seconds(book.now) == 15
    book.do(drafts.submit, [task()])
    book.now += 1000
    book.line("question_asked", text="?")
    book.line("question_answered", text="!")
    book.do(intake.confirmed, "tasks")
    book.now += 5
    assert session.seconds(book.now) == 20


def test_an_answer_that_nobody_asked_for_loses_no_time(book: Book) -> None:
    book.now += 60
    book.line("question_answered", text="!")
    assert book.state.session.seconds(book.now) == 60


def test_a_clock_that_went_back_counts_as_no_time(book: Book) -> None:
    assert book.state.session.seconds(BEGIN - 500) == 0


@pytest.mark.parametrize("name", sorted(verdict.STATUS_OF))
def test_each_verdict_implies_its_status(book: Book, name: str) -> None:
    book.line("iteration_ended", by="hook", decision="allow", verdict=name, reason="r")
    session = book.state.session
    assert (session.verdict, session.reason, session.status) == (name, "r", verdict.STATUS_OF[name])
    assert session.running_since is None


def test_statuses_of_the_verdicts() -> None:
    assert {name for name, status in verdict.STATUS_OF.items() if status == "paused"} == {
        "limit_iterations",
        "limit_time",
        "limit_budget",
        "stalled",
        "waiting",
        "must_not_breached",
        "planner_unusable",
    }
    assert verdict.STATUS_OF["achieved"] == "completed"
    assert verdict.STATUS_OF["impossible"] == "failed"
    assert verdict.STATUS_OF["cancelled"] == "aborted"
    assert verdict.FINAL == {"completed", "failed", "aborted"}


@pytest.mark.parametrize("first", ["loop_completed", "loop_failed", "loop_cancelled"])
@pytest.mark.parametrize(
    "late", ["paused", "resumed", "loop_cancelled", "loop_completed", "iteration_ended"]
)
def test_the_first_end_stands_whatever_is_written_behind_it(
    book: Book, first: str, late: str
) -> None:
    """A hook, or a check that ran, may not have seen the end."""
    book.line(first, reason="x")
    session = book.state.session
    before = (session.status, session.verdict, session.reason)
    book.line(late, by="hook", decision="allow", verdict="limit_time", reason="late")
    assert (session.status, session.verdict, session.reason) == before


def test_usage_is_added_up_by_model(book: Book) -> None:
    book.line(
        "iteration_ended",
        by="hook",
        decision="hold",
        usage={"m": [1, 2, 3, 4]},
        offsets={"a": 10},
        message_ids=["x"],
    )
    book.line(
        "iteration_ended",
        by="hook",
        decision="hold",
        usage={"m": [1, 0, 0, 1], "n": [5, 5, 5, 5]},
        offsets={"b": 3},
    )
    session = book.state.session
    assert session.usage == {"m": [2, 2, 3, 5], "n": [5, 5, 5, 5]}
    assert (session.offsets, session.message_ids, session.iteration) == (
        {"a": 10, "b": 3},
        ["x"],
        2,
    )


def test_holds_in_a_row_are_counted_by_fingerprint(book: Book) -> None:
    session = book.state.session
    for mark, count in (("a", 1), ("a", 2), ("b", 1), ("a", 1), ("a", 2)):
        book.line("iteration_ended", by="hook", decision="hold", fingerprint=mark)
        assert (session.hold_fingerprint, session.hold_count) == (mark, count)
    book.line("resumed")
    assert (session.hold_fingerprint, session.hold_count) == ("a", 2), "it ran already"
    book.line("paused", reason="lunch")
    book.line("resumed")
    assert (session.hold_fingerprint, session.hold_count) == ("", 0)


def test_only_lines_of_others_break_the_quiet_after_a_hold(book: Book) -> None:
    session = book.state.session
    book.line("iteration_ended", by="hook", decision="hold", fingerprint="a")
    book.line("subagent_stopped", by="hook", agent_id="1", transcript="t")
    assert session.hold_quiet
    book.line("task_started", id="T-001")
    assert not session.hold_quiet


def test_another_owner_begins_without_holds(book: Book) -> None:
    book.line("iteration_ended", by="hook", decision="hold", fingerprint="a")
    book.line("owner_changed", session_id=S2, client_pid=7, unattended=True)
    session = book.state.session
    assert (session.owner, session.owner_pid, session.unattended, session.hold_count) == (
        S2,
        7,
        True,
        0,
    )
    book.line("owner_changed", session_id=S1, client_pid=8)
    assert session.unattended


def test_limits_can_be_set_one_by_one(book: Book) -> None:
    book.line("limits_set", iterations=10, usd=5.0, seconds=60)
    book.line("limits_set", usd=None)
    session = book.state.session
    assert (session.limit_iterations, session.limit_usd, session.limit_seconds) == (10, None, 60)


def test_a_failed_turn_is_remembered_until_the_loop_goes_on(book: Book) -> None:
    book.line("stop_failed", by="hook", error="rate_limit", text="resets 1pm")
    assert book.state.session.failure["error"] == "rate_limit"
    assert (book.state.session.status, book.state.session.iteration) == ("running", 0)
    book.line("resumed")
    assert book.state.session.failure is None


def test_dump_and_load(book: Book) -> None:
    book.line(
        "iteration_ended", by="hook", decision="hold", usage={"m": [1, 2, 3, 4]}, fingerprint="a"
    )
    dumped = json.loads(json.dumps(book.state.session.dump()))
    assert Session.load(dumped).dump() == book.state.session.dump()
    del dumped["owner"]
    with pytest.raises(KeyError):
        Session.load(dumped)
