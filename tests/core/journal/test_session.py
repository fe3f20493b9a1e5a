"""The part of the state that hooks fold alone: time, limits, owner, holds."""

from __future__ import annotations

import json

import pytest

from loopkit.core.journal import clock, verdict
from loopkit.core.journal.session import Session
from tests.core.kit import BEGIN, S1, S2, Book


def test_a_new_loop_runs_and_belongs_to_who_started_it(book: Book) -> None:
    session = book.state.session
    assert (session.status, session.stage, session.owner, session.owner_pid) == (
        "running",
        "intent",
        S1,
        1,
    )
    assert (session.started_at, session.spent_seconds, session.iteration) == (
        clock.stamp(BEGIN),
        0,
        0,
    )


def test_time_is_what_transcripts_and_headless_agents_gave(book: Book) -> None:
    book.now += 86400  # the journal's own stamps tell no time
    book.line("agents_dispatched", agents=1, worked=30, clock={"to": BEGIN + 30})
    book.line("subagent_stopped", agent_id="a", transcript="", worked=12)
    book.line("agent_ended", usd=None, seconds=8.9)
    book.line("paused", reason="x", worked=5, clock={"to": BEGIN + 50, "busy": {"a": BEGIN}})
    assert book.state.session.spent_seconds == 55
    assert book.state.session.clock == {"to": BEGIN + 50, "shift": 0, "busy": {"a": BEGIN}}


def test_what_is_said_while_the_loop_is_paused_is_not_its_own(book: Book) -> None:
    def since() -> str:
        return book.state.session.unread_since

    assert since() == clock.stamp(BEGIN)
    book.line("iteration_ended", by="hook", decision="hold", offsets={"a": 10})
    assert since() == ""
    book.now += 10
    book.line("resumed")
    assert since() == "", "it was running"
    book.line("paused", reason="x", offsets={"a": 20})
    book.now += 3600
    book.line("resumed")
    assert since() == clock.stamp(book.now)
    book.line("subagent_stopped", agent_id="a", transcript="", offsets={"a": 30})
    book.now += 10
    book.line("owner_changed", session_id=S1, client_pid=2)
    assert since() == "", "a new client goes on with the same transcript"
    book.line("owner_changed", session_id=S2, client_pid=2)
    assert since() == clock.stamp(book.now)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("achieved", "completed"),
        ("impossible", "failed"),
        ("cancelled", "aborted"),
        *((name, "paused") for name in sorted(verdict.LIMITS)),
        *((name, "paused") for name in ("stalled", "waiting", "must_not_breached")),
        ("planner_unusable", "paused"),
    ],
)
def test_each_verdict_implies_its_status(book: Book, name: str, status: str) -> None:
    book.line("iteration_ended", by="hook", decision="allow", verdict=name, reason="r")
    session = book.state.session
    assert (session.verdict, session.reason, session.status) == (name, "r", status)
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
