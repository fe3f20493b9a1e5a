"""The detectors: each just fires, each just does not, the first that fits wins; what a closed wave
records of it."""

from __future__ import annotations

import itertools

import pytest

from loopkit.core.health import monitor
from loopkit.core.journal import stage
from loopkit.core.journal.events import encode
from loopkit.core.journal.parts import Batch, History, Outcome
from loopkit.core.journal.state import LoopState
from loopkit.core.plan import drafts, work
from loopkit.core.review import review
from loopkit.core.steps import attempts, waves
from loopkit.core.steps.events import LOOP
from loopkit.render import files
from tests.core.kit import Book, task

RESULTS = {"p": "passed", "f": "failed", "b": "blocked"}


def batches(*rows: str) -> list[Batch]:
    """`"A:p B:f/boom"` is a batch in which A passed and B failed with signature boom."""
    made = []
    for number, row in enumerate(rows, 1):
        outcomes = {}
        for word in row.split():
            name, _, rest = word.partition(":")
            result, _, signature = rest.partition("/")
            outcomes[name] = Outcome(RESULTS[result], signature)
        made.append(Batch(number, outcomes))
    return made


def status(*rows: str) -> str:
    return monitor.judge(batches(*rows)).status


# Rates 1.0, 0.67, 0.5.
FALLING = ("A:p B:p", "C:p D:p E:f/x", "F:p G:f/y")


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # BLOCKED: the last batch, also the first
        (("A:b",), "BLOCKED"),
        (("A:p", "B:p C:b"), "BLOCKED"),
        (("A:b", "B:p"), "PROGRESSING"),
        # FLIP-FLOPPING: fail, pass, fail of one task
        (("A:f/x", "A:p", "A:f/y B:p"), "FLIP-FLOPPING"),
        (("A:f/x", "A:p"), "PROGRESSING"),
        (("A:p", "A:f/x B:p"), "PROGRESSING"),
        (("A:f/x", "A:p", "B:p"), "PROGRESSING"),
        (("A:p", "A:f/x B:p", "A:p"), "PROGRESSING"),  # nothing to recover while it passes
        (("A:f/x", "B:p", "A:p", "C:p", "A:f/y D:p"), "FLIP-FLOPPING"),  # attempts, not batches
        (("A:f/x", "A:b B:p", "A:p", "A:f/y B:p"), "FLIP-FLOPPING"),  # blocked is no attempt
        (("A:f/x B:p", "B:f/y A:p", "C:p"), "PROGRESSING"),  # not of two tasks
        # REGRESSING: two drops running
        (FALLING, "REGRESSING"),
        (("A:p", *FALLING), "REGRESSING"),
        (("A:p B:p", "C:p D:p E:f/x", "F:p G:p H:f/y"), "PROGRESSING"),  # 1.0, 0.67, 0.67
        (("A:p B:p", "C:p E:f/x"), "PROGRESSING"),  # one drop
        (("A:p B:p C:f/x", "D:p", "E:p F:f/y"), "PROGRESSING"),
        ((*FALLING, "H:p I:f/z"), "PROGRESSING"),
        # STALLED: nothing passed in three, or one error in each of three
        (("A:f/x", "B:f/y", "C:f/z"), "STALLED"),
        (("A:f/x", "B:f/y"), "PROGRESSING"),
        (("A:f/x", "B:f/y", "C:f/z D:p"), "PROGRESSING"),
        (("A:p", "B:f/x", "C:f/y", "D:f/z"), "STALLED"),
        (("A:f/x B:p", "C:p D:f/x", "E:p F:f/x G:f/y"), "STALLED"),
        (("A:f/x B:p", "C:p D:f/x"), "PROGRESSING"),
        (("A:f/x B:p", "C:p", "D:p F:f/x", "G:p H:f/x"), "PROGRESSING"),
        (("A:f/ B:p", "C:p D:f/", "E:p F:f/"), "PROGRESSING"),  # unknown errors are not the same
        # PROGRESSING: otherwise, and in the first batch always
        ((), "PROGRESSING"),
        (("A:f/x B:f/x",), "PROGRESSING"),
        (("A:p", "B:p", "C:p"), "PROGRESSING"),
    ],
)
def test_the_status_of_a_history(rows: tuple, wanted: str) -> None:
    assert status(*rows) == wanted


# A history that fires one status, and how it is made to fire several at once.
SIGNS = {
    "BLOCKED": ("", "", "Z:b"),
    "FLIP-FLOPPING": ("Q:f/q", "Q:p", "Q:f/r"),
    "REGRESSING": ("R1:p R2:p R3:p R4:p R5:p R6:p", "R1:p R2:f/r", "R3:f/s R4:f/t"),
    "STALLED": ("S:f/same", "S:f/same", "S:f/same"),
}
ORDER = ("BLOCKED", "FLIP-FLOPPING", "REGRESSING", "STALLED", "PROGRESSING")


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ORDER[:-1], 2)))
def test_the_first_that_fits_wins(first: str, second: str) -> None:
    both = [f"{one} {two}" for one, two in zip(SIGNS[first], SIGNS[second], strict=True)]
    assert status(*both) == first
    assert status(*[row.replace("Z:b", "") for row in SIGNS[second]]) in (second, "PROGRESSING")
    assert status(*SIGNS[second]) == second
    without = {"BLOCKED": "Z:b", "FLIP-FLOPPING": "Q:f/r"}.get(first)
    if without:  # take the first sign away and the second shows
        assert status(*[row.replace(without, "") for row in both]) == second


@pytest.mark.parametrize("sign", ORDER[:-1])
def test_everything_wins_against_progress(sign: str) -> None:
    assert status(*[f"{row} P{place}:p" for place, row in enumerate(SIGNS[sign])]) == sign


@pytest.mark.parametrize(
    ("rows", "confidence", "trend"),
    [
        (("A:p", "B:p"), "high", "stable"),
        (("A:p",), "medium", "stable"),
        (("A:p", "B:p C:f/x"), "medium", "declining"),  # 0.5 is not under half
        (("A:p B:p", "B:p C:f/x D:f/y"), "low", "declining"),
        (("A:p B:f/x", "B:p", "C:p"), "high", "stable"),
        (("A:p B:f/x", "B:p"), "medium", "improving"),
        (("A:p", "B:b"), "low", "stable"),  # not PROGRESSING
        (FALLING, "low", "declining"),
        (("A:f/x", "B:f/y", "C:f/z"), "low", "stable"),
    ],
)
def test_confidence_and_trend(rows: tuple, confidence: str, trend: str) -> None:
    said = monitor.judge(batches(*rows))
    assert (said.confidence, said.trend) == (confidence, trend)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (("A:p",), "continue"),
        (("A:f/x", "B:f/y", "C:f/z"), "retry-with-change"),
        (("T-001:b T-002:p T-003:b",), "unblock:T-001,T-003"),
        (FALLING, "rollback"),
        (("A:f/x", "A:p", "A:f/y B:p"), "rollback"),
    ],
)
def test_the_recommendation_until_recoveries_are_used_up(rows: tuple, wanted: str) -> None:
    said = monitor.judge(batches(*rows))
    assert said.recommendation == wanted
    assert monitor.judge(batches(*rows), {said.status: 1}).recommendation == wanted
    used_up = "continue" if said.status == "PROGRESSING" else "escalate"
    assert monitor.judge(batches(*rows), {said.status: 2}).recommendation == used_up


def test_failures_in_a_row_and_the_same_error_in_a_row() -> None:
    rows = batches("A:f/x", "B:p", "C:f/x D:f/y", "E:f/y", "F:f/y F2:f/z")
    assert (monitor.failures(rows), monitor.same_error(rows)) == (3, (3, "y"))
    rows = batches("A:f/x", "B:p")
    assert (monitor.failures(rows), monitor.same_error(rows)) == (0, (0, ""))


# -- what a closed wave records


def closed(book: Book) -> dict:
    return next(data for kind, data in book.do(waves.closed) if kind == "wave_closed")


def test_a_closed_wave_records_each_outcome() -> None:
    book = Book().planned(task("a"), task("b"), task("c"), task("d"), task("e"))
    book.wave()
    book.verify("T-001")
    book.verify("T-002", passed=False, output="ValueError: row 17 of /tmp/x.csv")
    book.do(attempts.failed, "T-003", "TypeError: 'x' is 3", None)
    book.do(work.blocked, "T-004", "permission", "sign")
    data = closed(book)
    assert data["outcomes"] == {
        "T-001": {"result": "passed"},
        "T-002": {"result": "failed", "signature": "valueerror: row <n> of <path>"},
        "T-003": {"result": "failed", "signature": "typeerror: <text> is <n>"},
        "T-005": {"result": "failed", "signature": "no verification ran"},
        "T-004": {"result": "blocked"},
    }
    named = ("status", "confidence", "trend", "recommendation")
    assert [data[one] for one in named] == ["BLOCKED", "low", "stable", "unblock:T-004"]
    assert book.state.history.batches[-1].outcomes["T-002"] == (
        "failed",
        "valueerror: row <n> of <path>",
    )


def test_the_check_tells_the_error_not_the_one_who_gives_up() -> None:
    book = Book().planned()
    book.wave()
    book.verify("T-001", passed=False, output="ValueError: 3")
    book.do(attempts.failed, "T-001", "I have tried everything", None)
    assert closed(book)["outcomes"]["T-001"]["signature"] == "valueerror: <n>"


def test_failures_without_a_word_are_not_the_same() -> None:
    book = Book().planned(task("a"), task("b"))
    book.wave()
    for name in ("T-001", "T-002"):
        book.verify(name, passed=False, output="")
        book.do(attempts.failed, name, "", None)
    marks = {row["signature"] for row in closed(book)["outcomes"].values()}
    assert len(marks) == 2 and "" not in marks


def second_wave() -> Book:
    """T-001 was completed in the first wave, T-002 is at work in the second."""
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c", blocked_by=["#2"]))
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.wave()
    return book


def test_a_task_completed_earlier_and_found_broken_counts_as_failed() -> None:
    book = second_wave()
    book.verify("T-002")
    book.verify("T-001", passed=False, output="ValueError: 3")
    data = closed(book)
    assert data["outcomes"]["T-001"] == {"result": "failed", "signature": "valueerror: <n>"}
    assert data["outcomes"]["T-002"] == {"result": "passed"}
    assert (data["completed"], data["failed"]) == (["T-002"], ["T-001"])
    assert monitor.rate(book.state.history.batches[-1]) == 0.5


def test_a_task_that_passed_and_broke_within_its_batch_counts_as_failed() -> None:
    book = second_wave()
    book.verify("T-002")
    book.verify("T-002", passed=False, output="ValueError: 3")
    data = closed(book)
    assert data["outcomes"] == {"T-002": {"result": "failed", "signature": "valueerror: <n>"}}
    assert data["failed"] == ["T-002"] and book.state.stage == "executing"


def test_one_that_was_found_broken_and_failed_again_is_counted_once() -> None:
    book = second_wave()
    book.verify("T-002")
    book.verify("T-002", passed=False, output="ValueError: 3")
    book.do(waves.started, "T-002")
    assert closed(book)["failed"] == ["T-002"]


def test_a_task_that_failed_and_is_blocked_now_is_blocked() -> None:
    book = Book().planned()
    book.wave()
    book.do(attempts.failed, "T-001", "no", None)
    book.panel("T-001")
    book.do(waves.started, "T-001")
    book.do(work.blocked, "T-001", "permission", "sign")
    assert closed(book)["outcomes"] == {"T-001": {"result": "blocked"}}


def test_what_is_fixed_within_the_batch_has_not_failed() -> None:
    book = second_wave()
    book.verify("T-002")
    book.verify("T-001", passed=False)
    book.do(waves.started, "T-001")
    book.verify("T-001")
    data = closed(book)
    assert data["outcomes"] == {"T-002": {"result": "passed"}, "T-001": {"result": "passed"}}


def test_a_flip_flop_of_a_completed_task_is_seen() -> None:
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#2"]))
    book.wave()
    book.verify("T-002")
    book.do(attempts.failed, "T-001", "no", None)
    book.do(waves.closed)
    book.panel("T-001")
    book.wave()
    book.verify("T-001")
    book.verify("T-003", passed=False)
    book.do(waves.closed)
    book.panel("T-003")
    book.wave()
    book.verify("T-001", passed=False)
    book.verify("T-003")
    assert closed(book)["status"] == "FLIP-FLOPPING"


def test_unblocked_and_removed_tasks_leave_no_outcome() -> None:
    book = Book().planned(task("a"), task("b"), task("c"))
    book.wave()
    book.do(work.blocked, "T-001", "external", "later")
    book.do(work.unblocked, "T-001")
    book.do(work.blocked, "T-002", "external", "later")
    book.do(drafts.removed, "T-002")
    book.verify("T-003")
    data = closed(book)
    assert data["outcomes"] == {"T-003": {"result": "passed"}}
    assert data["status"] == "PROGRESSING"


def test_an_empty_batch_says_nothing() -> None:
    book = Book().planned(task("a"), task("b"))
    book.wave()
    for name in ("T-001", "T-002"):
        book.do(work.blocked, name, "external", "later")
        book.do(work.unblocked, name)
    data = closed(book)
    assert (data["outcomes"], data["status"]) == ({}, "PROGRESSING")
    assert book.state.history.window == []


def test_a_window_starts_anew_after_a_recovery() -> None:
    book = Book().planned(*[task(str(number)) for number in range(3)])
    for _ in range(2):
        book.wave()
        for name in list(book.state.running):
            book.do(attempts.failed, name, "no", None)
        book.do(waves.closed)
        for name in list(book.state.due):
            book.panel(name)
    assert [one.wave for one in book.state.history.window] == [1, 2]
    book.line("rolled_back", number=1, sha="0" * 40, reopened=[])
    assert book.state.history.window == []
    book.wave()
    for name in list(book.state.running):
        book.do(work.blocked, name, "external", "x")
        book.do(work.unblocked, name)
    assert closed(book)["status"] == "PROGRESSING"


def test_the_journal_folds_to_the_same_course() -> None:
    book = second_wave()
    book.verify("T-001", passed=False)
    book.do(waves.closed)
    again = LoopState("001-limiter")
    for event in book.events:
        read = LOOP.decode(encode(event).rstrip(b"\n"))
        assert read is not None
        LOOP.apply(again, read)
    assert again.history.__dict__ == book.state.history.__dict__


# -- loop-state.md


def test_the_state_file_before_and_after_the_first_batch() -> None:
    book = Book().planned(task("a"), task("b"))
    shown = files.loop_state(book.state)
    for line in (
        "**Iteration**: 0",
        "**Status**: INITIALIZING",
        "**Confidence**: medium",
        "- Trend: stable",
    ):
        assert line in shown.splitlines(), shown
    assert files.batches_line(book.state) == ""
    book.wave()
    assert "**Current batch**: 1: T-001, T-002" in files.loop_state(book.state)
    book.verify("T-001")
    book.verify("T-002", passed=False, output="ValueError: 3")
    book.do(waves.closed)
    shown = files.loop_state(book.state).splitlines()
    for line in (
        "# Loop State: 001-limiter",
        "**Iteration**: 1",
        "**Status**: PROGRESSING",
        "**Current batch**: none open",
        "| iter | attempted | passed | failed | notes |",
        "| 1 | 2 | 1 | 1 | T-002 failed |",
        "- Consecutive failures: 1",
        "- Same error in a row: 1 (valueerror: <n>)",
        "continue",
    ):
        assert line in shown
    assert (
        files.batches_line(book.state)
        == "Batches: PROGRESSING, confidence medium, trend stable, continue"
    )


def test_the_state_file_stays_under_fifty_lines_after_a_hundred_batches() -> None:
    book = Book().planned(task("a" * 900))
    for number in range(1, 101):
        rows = {
            f"T-{place:03d}": {"result": "failed", "signature": "s" * 160} for place in range(1, 26)
        }
        book.line("wave_opened", wave=number, tasks=[])
        said = {
            "status": "STALLED",
            "confidence": "low",
            "trend": "stable",
            "recommendation": "retry-with-change",
        }
        book.line("wave_closed", wave=number, completed=[], failed=[], outcomes=rows, **said)
        book.line("recovery", status="STALLED", play="panel", wave=number, counted=True)
    shown = files.loop_state(book.state)
    assert len(shown.splitlines()) < 50
    assert "**Iteration**: 100" in shown and "| 81 |" in shown and "| 80 |" not in shown
    assert max(map(len, shown.splitlines())) < 260


def test_a_new_course_is_empty() -> None:
    course = History()
    assert (course.status, course.window, course.failing(), course.undone) == (
        "INITIALIZING",
        [],
        [],
        False,
    )


def test_loops_of_one_or_two_waves_go_as_before() -> None:
    book = Book().worked(task("a"), task("b", blocked_by=["#1"]))
    assert [one.status for one in book.state.history.batches] == ["PROGRESSING"] * 2
    assert book.state.stage == "review" and book.state.history.recoveries == []
    assert review.passed(book.state) is False
    stage.running(book.state)
