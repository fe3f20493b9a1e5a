"""What was gathered about the code: which lines are kept, and until when."""

from __future__ import annotations

from loopkit.core.plan import drafts
from tests.core.kit import Book


def test_the_first_lines_that_say_something_take_the_place_of_those_before() -> None:
    book = Book()
    book.do(drafts.patterns, "# Found\n```\n- limits:   app/limits.py\n\n* tests: tests/\n```\n")
    assert book.state.decision_log.patterns == ["limits: app/limits.py", "tests: tests/"]
    book.do(drafts.patterns, "\n".join(f"- pattern {number} {'x' * 300}" for number in range(30)))
    kept = book.state.decision_log.patterns
    assert len(kept) == drafts.MOST_PATTERNS and kept[-1].startswith("pattern 9 ")
    assert all(len(one) <= drafts.LONGEST_PATTERN for one in kept)


def test_a_loop_that_is_over_keeps_its_record() -> None:
    book = Book()
    book.line("loop_cancelled")
    assert book.do(drafts.patterns, "- late: app/x.py") == []
