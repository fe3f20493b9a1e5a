"""The completion card: its words, a straight box."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.plan import drafts
from loopkit.core.review import gate
from loopkit.core.steps import waves
from loopkit.render import card
from tests.core.kit import GATE, SHAPE, Book, same, task


def shown(*subjects: str, **changes: object) -> list[str]:
    book = (
        Book()
        .reviewed(*[task(subject) for subject in subjects or ("Add the counter store",)])
        .seen()
    )
    book.do(gate.decided, {**GATE, **changes}, same)
    book.do(gate.completed, same)
    return card.render(book.state).splitlines()


def box(rows: list[str]) -> list[str]:
    return [row for row in rows if row[:1] in "╭│╰"]


def test_a_long_list_is_cut() -> None:
    book = Book().planned(task("a"))
    book.do(drafts.split, "T-001", [task(f"part {number}") for number in range(40)])
    while book.state.open:
        book.wave()
        for name in list(book.state.running):
            book.verify(name)
        book.do(waves.closed)
    book.review([])
    book.seen()
    book.do(gate.decided, GATE, same)
    rows = card.render(book.state).splitlines()
    assert rows[26:28] == ["- T-025: ✓ part 23", "- and 16 more"] and rows[28][:1] == "╭"


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


@pytest.mark.parametrize(
    ("changes", "head"), [({"reversal": "1"}, "🟡 MONITOR"), ({"reversal": "2A"}, "🟢 SHIP")]
)
def test_the_head(changes: dict, head: str) -> None:
    assert box(shown(**changes))[0].startswith(f"╭─ {head} ─")


def test_80_columns_are_enough_for_long_words() -> None:
    rows = shown("long " * 100, alternative="another way " * 30, risk="w" * 200)
    assert max(map(card.columns, rows)) <= 80


@pytest.mark.parametrize(
    "text",
    [
        "日本語の長い文章" * 20,
        "🟢👩‍👩‍👧❤️" * 40,
        "‏" + "עברית " * 40,
        "é" * 200,
        "word " * 60,
        "w" * 300,
        "a" + "日" * 100,
    ],
)
def test_wide_letters_stay_within_80_columns(text: str) -> None:
    rows = shown(text, alternative=text, risk=text)
    assert max(map(card.columns, rows)) <= 80
    assert len({card.columns(row) for row in box(rows)}) == 1


def test_a_text_is_broken_at_blanks_and_nothing_is_lost() -> None:
    words = [f"word{number}" for number in range(30)]
    inside = [row.strip("│ ") for row in box(shown(alternative=" ".join(words)))]
    assert " ".join(inside).count("word") == 30
    assert all(row.rsplit(" ", 1)[-1] in words for row in inside if "word" in row)


def test_research_has_a_head_of_its_own() -> None:
    book = Book().reviewed().seen()
    book.do(gate.decided, {**GATE, "confidence": 60}, same)
    rows = box(card.render(book.state).splitlines())
    assert rows[0].startswith("╭─ 🔴 RESEARCH ─") and len({card.columns(row) for row in rows}) == 1


def test_every_type_of_proof_fits_into_the_box() -> None:
    text = SHAPE
    for number, kind in enumerate(("observation", "measurement", "code review"), 2):
        text = (
            text.replace("mustNot:", f"- C{number}: x is there\nmustNot:", 1)
            + f"| C{number} | {kind} | test -d x |\n"
        )
    book = Book().shaped(text=text)
    book.do(drafts.submit, [task()])
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.review([])
    book.seen()
    book.do(gate.decided, GATE, same)
    rows = box(card.render(book.state).splitlines())
    assert rows[0].startswith("╭─ 🟡 MONITOR ─") and len({card.columns(row) for row in rows}) == 1
    assert "observation, measurement, code" in rows[1]


def test_what_the_person_should_know_beside_the_card() -> None:
    book = Book().reviewed().seen()
    assert card.notes(book.state) == []
    row = {
        "id": "F-001",
        "severity": "WARNING",
        "issue": "no index\non user",
        "resolution": {"how": "unattended", "text": ""},
    }
    book.line("review_thorough", experts=["a", "b", "c"], findings=[row])
    book.line("decision_recorded", number=1, title="Settled once: naming")
    assert card.notes(book.state) == [
        "F-001 nobody could be asked about: no index on user",
        "decision 001: Settled once: naming",
    ]


TEXTS = some.text(some.characters(codec="utf-8"), min_size=1, max_size=120).filter(str.strip)


@given(TEXTS, TEXTS)
def test_the_box_is_straight_whatever_is_in_it(alternative: str, risk: str) -> None:
    assert len({card.columns(row) for row in box(shown(alternative=alternative, risk=risk))}) == 1


@pytest.mark.parametrize(
    ("line", "columns"),
    [("abc", 3), ("日本", 4), ("é", 1), ("e\u0301", 1), ("a\u200db\ufe0f", 2), ("🟢", 2), ("", 0)],
)
def test_columns(line: str, columns: int) -> None:
    assert card.columns(line) == columns
