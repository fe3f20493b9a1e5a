"""PROGRESS.md, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.plan import outline
from loopkit.core.steps import attempts, waves
from tests.core.kit import Book, task


def rendered(book: Book) -> str:
    return outline.progress(book.state)


def section(text: str, head: str) -> list[str]:
    """The lines of a section, blank ones left out."""
    rows = text.splitlines()
    start = next(number for number, row in enumerate(rows) if row.startswith(f"## {head}"))
    found = []
    for row in rows[start + 1 :]:
        if row.startswith("## "):
            break
        if row:
            found.append(row)
    return found


def test_the_documented_example() -> None:
    book = Book(task="Add rate limiting to the API\nand more words").planned(
        task("Add the counter store"),
        task("Count requests per key", blocked_by=["#1"]),
        task("Answer with 429", blocked_by=["#2"]),
    )
    book.line("limits_set", iterations=25, usd=25.0, seconds=7200)
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.wave()
    for _ in range(4):
        book.line(
            "iteration_ended",
            by="hook",
            decision="hold",
            usage={"claude-sonnet-5": [0, 77_500, 0, 0]},
        )
    text = rendered(book)
    rows = [row for row in text.splitlines() if row]
    assert rows == [
        "# Loop Progress: Add rate limiting to the API",
        "**Status:** Wave 2 of 3 | Iteration 4 | Cost: $3.10/$25",
        "## ✅ Completed (Wave 1)",
        "- [x] T-001: Add the counter store",
        "## 🔄 In Progress (Wave 2)",
        "- [ ] T-002: Count requests per key (loop:coder)",
        "## ⏳ Pending (Wave 3+)",
        "- [ ] T-003: Answer with 429 (blocked by T-002)",
        "## 📊 Metrics",
        "- Tasks: 1/3 complete",
        "- Stuck count: 0",
        "- Counsel consulted: No",
    ]


def test_a_loop_that_was_just_started() -> None:
    text = rendered(Book())
    assert "**Status:** Wave 0 of 0 | Iteration 0 | Cost: $0.00\n" in text
    assert "- Tasks: 0/0 complete" in text


def test_failures_panels_and_splits() -> None:
    book = Book().planned(task("a"), task("b"), task("c"))
    book.wave()
    book.do(attempts.failed, "T-001", "no", None)
    book.do(attempts.failed, "T-002", "no", None)
    book.panel("T-001")
    book.do(waves.closed)
    book.line("task_failed", id="T-002", action="replan")
    book.line("task_split", id="T-003")
    text = rendered(book)
    assert section(text, "⏳") == [
        "- [ ] T-001: a (failed 1×)",
        "- [ ] T-002: b (failed, to be split)",
        "- [ ] T-003: c (split into smaller tasks)",
    ]
    assert "- Stuck count: 4" in text and "- Counsel consulted: Yes (1)" in text


def test_blocked_tasks_have_their_reason_on_one_line() -> None:
    book = Book().planned(task("a"))
    book.line("task_blocked", id="T-001", kind="permission", text="needs a\nsignature")
    assert section(rendered(book), "⛔") == ["- [ ] T-001: a (permission: needs a signature)"]
    assert "⛔" not in rendered(Book().planned())


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("paused", {"reason": "lunch"}, "**Paused**: lunch"),
        ("loop_cancelled", {"reason": "by hand"}, "**Aborted**: by hand"),
    ],
)
def test_what_does_not_run_says_so(kind: str, data: dict, words: str) -> None:
    book = Book().planned()
    assert "**Paused" not in rendered(book)
    book.line(kind, **data)
    assert words in rendered(book).splitlines()


def test_a_completed_loop_has_nothing_more_to_say() -> None:
    book = Book().planned()
    book.line("loop_completed")
    assert "**Completed" not in rendered(book)


def test_models_without_a_price_are_named() -> None:
    book = Book()
    book.line("iteration_ended", by="hook", decision="hold", usage={"mystery": [1, 2, 3, 4]})
    assert "Cost: 10 tokens (no price for mystery)" in rendered(book)


def test_a_circle_in_the_ledger_does_not_stop_it() -> None:
    book = Book().planned(task("a"), task("b"))
    book.line("task_changed", id="T-001", blockedBy=["T-002"])
    book.line("task_changed", id="T-002", blockedBy=["T-001"])
    assert "- Tasks: 0/2 complete" in rendered(book)


@given(
    some.lists(some.text(some.characters(), min_size=1), min_size=1, max_size=5),
    some.text(some.characters()),
)
def test_any_words_stay_within_their_line(subjects: list[str], text: str) -> None:
    book = Book(task=text).planned()
    book.line("task_removed", id="T-001")
    for number, subject in enumerate(subjects, 2):
        book.line("task_added", task={"id": f"T-{number:03d}", "subject": subject, "verify": "ls"})
        book.line("task_blocked", id=f"T-{number:03d}", kind="external", text=subject)
    rows = rendered(book).split("\n")
    assert sum(row.startswith("- [ ] T-") for row in rows) == len(subjects)
    assert sum(row.startswith("## ") for row in rows) == 5
