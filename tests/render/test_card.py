"""The completion card: its words, a straight box."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core import gate
from loopkit.render import card
from tests.core.kit import GATE, Book, same, task


def shown(*subjects: str, **changes: object) -> list[str]:
    book = Book().reviewed(*[task(subject) for subject in subjects or ("Add the counter store",)]).seen()
    book.do(gate.decided, {**GATE, **changes}, same)
    book.do(gate.completed, same)
    return card.render(book.state).splitlines()


def box(rows: list[str]) -> list[str]:
    return [row for row in rows if row[:1] in "╭│╰"]


def test_the_documented_form() -> None:
    rows = shown("Add the counter store", "Answer with 429")
    assert rows[:4] == [
        "<loop-complete>",
        "All tasks verified:",
        "- T-001: ✓ Add the counter store",
        "- T-002: ✓ Answer with 429",
    ]
    assert rows[-1] == "</loop-complete>"
    inside = [row.strip("│ ").strip() for row in box(rows)[1:-1]]
    assert box(rows)[0].startswith("╭─ 🟢 SHIP ─")
    assert inside == [
        "Verified: execution output",
        "Tasks: 2/2 complete",
        "Subjective: ~90% · Type 2B · 5pt",
        "↳ Alt: none needed",
        "↳ Risk: edge cases",
    ]


@pytest.mark.parametrize(("changes", "head"), [({"reversal": "1"}, "🟡 MONITOR"), ({"reversal": "2A"}, "🟢 SHIP")])
def test_the_head(changes: dict, head: str) -> None:
    assert box(shown(**changes))[0].startswith(f"╭─ {head} ─")


def test_80_columns_are_enough_for_long_words() -> None:
    rows = shown("long " * 100, alternative="another way " * 30, risk="w" * 200)
    assert max(map(card.columns, rows)) <= 80


TEXTS = some.text(some.characters(codec="utf-8"), min_size=1, max_size=120).filter(str.strip)


@given(TEXTS, TEXTS)
def test_the_box_is_straight_whatever_is_in_it(alternative: str, risk: str) -> None:
    assert len({card.columns(row) for row in box(shown(alternative=alternative, risk=risk))}) == 1


@pytest.mark.parametrize(("line", "columns"), [("abc", 3), ("日本", 4), ("é", 1), ("e\u0301", 1), ("🟢", 2), ("", 0)])
def test_columns(line: str, columns: int) -> None:
    assert card.columns(line) == columns
