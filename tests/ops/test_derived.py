"""What stands in a loop's folder for people and agents."""

from __future__ import annotations

from loopkit.core.journal.state import LoopState
from loopkit.ops import derived
from tests.core.kit import Book


def test_there_is_a_report_from_the_thorough_review_on() -> None:
    book = Book().worked()
    assert not derived.reported(book.state)
    book.review([])
    assert derived.reported(book.state) and not derived.reported(LoopState("001-x"))
