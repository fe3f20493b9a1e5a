"""What a loop proposes to keep: failures, what must hold, what was settled, how it went."""

from __future__ import annotations

import pytest

from loopkit.core.journal.events import Event
from loopkit.core.memory import learned, learning
from loopkit.core.plan import drafts
from loopkit.core.review import review
from loopkit.core.steps import attempts
from loopkit.store import tables
from tests.core.kit import Book, task

MASKED = tables.masks().masked

TRACE = """\
Traceback (most recent call last):
  File "limits.py", line 3, in count
ValueError: lost 3 counts
1 failed in 0.12s
"""


def failing(error: str = TRACE, panel: bool = True) -> Book:
    """T-001 failed once with this error; then a panel, if any, and it passed."""
    book = Book().planned(
        task("Count requests per key", files=["limits.py"]), task("Answer with 429")
    )
    book.wave()
    book.do(attempts.failed, "T-001", error, None)
    if panel:
        book.panel("T-001")
        book.do(drafts.split, "T-001", [task("Count them in one place")])
        while book.state.open:
            for task_id in list(book.state.running):
                book.verify(task_id)
            if book.state.open:
                from loopkit.core.steps import waves

                book.do(waves.closed) if book.state.wave else book.wave()
    return book


def of(book: Book, kind: str) -> list[dict]:
    return [
        row for row in learning.proposed(book.state, book.events, MASKED) if row["kind"] == kind
    ]


def test_a_task_that_failed_and_was_done_later() -> None:
    book = failing()
    (row,) = of(book, "failure")
    assert row["failure"] == "ValueError: lost 3 counts"
    assert row["root_cause"] == "the path; nothing"
    assert row["prevention"] == book.state.panels[-1]["consensus"]
    assert row["context"] == "Count requests per key (in: add rate limiting)"
    assert row["seen"] == 1 and row["loop"] == "001-limiter"


def test_what_failed_once_and_then_passed_teaches_nothing_by_itself() -> None:
    """`… failed → not known` is noise in the next loop."""
    book = failing(panel=False)
    assert len(of(book, "failure")) == 1, "while it is not solved it is worth knowing"
    book.verify("T-001")
    assert of(book, "failure") == []


def test_a_task_that_was_never_done_says_so() -> None:
    (row,) = of(failing(panel=False), "failure")
    assert row["prevention"] == "not solved" and row["root_cause"] == "not known"


def test_what_helped_where_no_error_was_told() -> None:
    book = failing("")
    assert of(book, "failure") == []
    (row,) = of(book, "discovery")
    assert (row["discovery"], row["confidence"], row["applies_to"]) == (
        book.state.panels[-1]["consensus"],
        0.7,
        "limits.py",
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (TRACE, "ValueError: lost 3 counts"),
        ("FAILED tests/test_a.py::test_b - assert 1 == 2\n=== 1 failed in 1s ===", None),
        ("x.py:3\nE   assert 429 == 200\nE    +  where 429 = f()\n1 failed", "assert 429 == 200"),
        ("ok\nerror[E0308]: mismatched types\n --> src/a.rs", "error[E0308]: mismatched types"),
        ("nothing known here\nlast words", "nothing known here"),
        (
            "app.test.js: TypeError: x is not a function",
            "app.test.js: TypeError: x is not a function",
        ),
        ("no error given", ""),
        ("", ""),
    ],
)
def test_the_line_by_which_an_error_is_known_again(error: str, line: str | None) -> None:
    assert learning.error_line(error) == (error.splitlines()[0] if line is None else line)


def test_a_must_not_that_came_true_or_nearly_did() -> None:
    book = Book().worked()
    book.line(
        "paused",
        verdict="must_not_breached",
        reason="M2 is broken: A runtime dependency is added (x exits 1)",
    )
    book.line("resumed")
    finding = {
        "severity": "BLOCKER",
        "issue": "handler takes a tenant",
        "verify": "ls",
        "violates": ["M1"],
    }
    book.review([{**finding, "place": "a.py:1", "reason": "x"}])
    rows = {row["source"].split(",")[0]: row for row in of(book, "constraint")}
    assert (
        rows["M2"]["constraint"] == "must not: A runtime dependency is added"
        and rows["M2"]["permanent"]
    )
    assert "came true" in rows["M2"]["source"] and "nearly broken" in rows["M1"]["source"]


def test_a_waived_finding_and_what_a_task_waited_for() -> None:
    book = Book().worked()
    book.review(
        [
            {
                "severity": "BLOCKER",
                "issue": "no backoff",
                "verify": "ls",
                "place": "a.py:1",
                "reason": "x",
            }
        ]
    )
    book.do(review.resolved, "F-001", "waive", "the proxy does it", "")
    book.line(
        "task_blocked", id="T-001", kind="permission", text="a token for the registry of the team"
    )
    book.line("task_blocked", id="T-001", kind="dependency", text="T-002")
    assert [(row["constraint"], row["permanent"]) for row in of(book, "constraint")] == [
        ("accepted: no backoff", False),
        ("a token for the registry of the team", False),
    ]


def test_what_reviews_settled_is_offered_their_fatigue_is_not() -> None:
    book = Book().worked()
    for kind in ("reversal", "category", "growth"):
        book.line(
            "decision_recorded",
            kind=kind,
            title=f"Settled: {kind}",
            context="tabs",
            choice="it stays",
            number=1,
        )
    (row,) = of(book, "discovery")
    assert row["discovery"] == "it stays" and row["applies_to"] == "Settled: reversal"
    assert row["confidence"] < 0.8, "one loop's taste is not sure"


@pytest.mark.parametrize(
    ("kind", "data", "outcome"),
    [
        ("loop_failed", {"verdict": "impossible", "reason": "x"}, "impossible: 1 of 1 tasks"),
        ("loop_cancelled", {"reason": ""}, "cancelled: 1 of 1 tasks"),
    ],
)
def test_a_loop_that_came_to_nothing_says_what_was_not_said(
    kind: str, data: dict, outcome: str
) -> None:
    book = Book().worked()
    book.line(kind, **data)
    assert of(book, "delegation") == []
    book = Book().worked()
    book.state.scores["values"]["scope"] = 1
    assert of(book, "delegation") == []
    book.line(kind, **data)
    (row,) = of(book, "delegation")
    assert row["outcome"].startswith(outcome)
    assert (row["spec_score"], row["fit_score"], row["shape_chosen"]) == (10, 65, "tool")
    assert row["verification_type"] == "execution output" and row["failure_pattern"] == "none"
    assert row["prevention"] == "make these explicit first: scope"


def test_a_loop_that_went_well_teaches_nothing() -> None:
    book = Book().worked()
    book.line("loop_completed", card="SHIP")
    assert learning.summary(book.state, book.events, MASKED) == []


def test_checks_that_proved_nothing_are_learnt() -> None:
    book = Book().worked()
    why = "passes before the work: proves nothing"
    old, new = book.state.criteria["C1"].command, "pytest tests/test_limits.py -k 429"
    book.line("proof_replaced", id="C1", command=new, why=why)
    book.line("task_changed", id="T-001", verify="pytest -q")
    rows = of(book, "failure")
    assert [(row["failure"], row["root_cause"], row["prevention"]) for row in rows] == [
        (f"its check `{old}` did not show it", why, new),
        ("its check `ls` did not show it", "not known", "pytest -q"),
    ]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("paused", {"reason": "the check of C1 cannot start: no such program: hugo"}),
        ("proof_tried", {"id": "C1", "why": "it cannot be started: no such program: hugo"}),
    ],
)
def test_a_program_that_is_missing_is_learnt(kind: str, data: dict) -> None:
    event = Event(kind, data, "", "")
    (row,) = learning.proposed(Book().state, [event], MASKED)
    assert row["constraint"] == "no such program: hugo"
    assert row["source"] == "the check of C1 could not start in 001-limiter"


def test_a_loop_that_ended_before_it_was_scored_proposes_nothing() -> None:
    book = Book()
    book.line("loop_cancelled", reason="")
    assert (
        learning.proposed(book.state, book.events, MASKED)
        == []
        == learning.summary(book.state, book.events, MASKED)
    )


def test_secrets_of_an_error_do_not_reach_a_proposal() -> None:
    (row,) = of(failing("ConnectionError: https://joe:geheim@host refused"), "failure")
    assert "geheim" not in str(row)


def test_every_proposal_can_be_read_again_and_the_same_state_gives_the_same_ones() -> None:
    book = failing()
    book.line("loop_cancelled", reason="")
    rows = learning.proposed(book.state, book.events, MASKED)
    assert rows == learning.proposed(book.state, book.events, MASKED)
    assert all(learned.entry(row, "project") for row in rows)
    assert [row["kind"] for row in rows] == ["failure"]


def test_the_summary_is_short_numbered_like_the_proposals_and_says_who_decides() -> None:
    book = failing()
    for number in range(9):
        book.line(
            "task_blocked", id="T-002", kind="external", text=f"service {number} \x1b[31m down"
        )
    lines = learning.summary(book.state, book.events, MASKED)
    assert [line.split(".")[0].strip() for line in lines[1:-1]] == ["1", "2", "3", "4", "5"]
    assert "5 more" in lines[-1] and "person decides" in lines[-1]
    assert all(len(line) <= 410 and line.isprintable() for line in lines)


def test_events_are_of_the_journal() -> None:
    event = Event("task_blocked", {"kind": "external", "text": "x"}, "", "")
    assert [row["kind"] for row in learning.proposed(Book().state, iter([event]), MASKED)] == [
        "constraint"
    ]
