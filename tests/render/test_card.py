"""The completion card: its words, a straight box."""

from __future__ import annotations

import pytest

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
    text = SHAPE
    for number in range(2, 40):
        text = text.replace("mustNot:", f"- C{number}: fact {number}\nmustNot:", 1)
        text += f"| C{number} | execution output | test -d x{number} |\n"
    book = Book().shaped(text=text)
    book.do(drafts.submit, [task()])
    rows = card.render(book.state).splitlines()
    assert sum(row[:1] in "✓~✗" for row in rows) == 26
    assert [row for row in rows if "and 16 more" in row] == ["~ and 16 more in the report"]


def test_the_documented_form() -> None:
    rows = shown("Add the counter store", "Answer with 429", reversal="2A")
    assert rows[:8] == [
        "<loop-complete>",
        "add rate limiting: 2 of 2 tasks, 1 of 1 criterion shown",
        "✓ C1 The 101st request of a minute is answered with 429",
        "    failed before · passes · fails without the work",
        "✓ M1 never: The signature of a public route handler changes",
        "    kept: git diff (a, b, c)",
        "✓ M2 never: A runtime dependency is added",
        "    kept: git diff --exit-code requirements.txt",
    ]
    assert rows[-2:] == ["1 wave · 0 s · $0.00 · .loop/001-limiter/report.md", "</loop-complete>"]
    inside = [row.strip("│ ").strip() for row in box(rows)[1:-1]]
    assert box(rows)[0].startswith("╭─ 🟢 SHIP ─")
    assert inside == [
        "Verified: execution output · Sure: ~90 % · Size: 5 points",
        "Undo: under a minute (type 2A)",
        "↳ Instead: none needed",
        "↳ Risk: edge cases",
    ]


def test_what_is_not_as_it_should_be_stands_in_the_block() -> None:
    book = Book().worked(task(verify="ls a"))
    book.line("task_changed", id="T-001", verify="ls b")
    book.line("proof_replaced", id="M2", command="git diff b", why="it was wrong", failed=True)
    row = {"severity": "WARNING", "issue": "it stands\nelsewhere", "place": "README.md"}
    row |= {"id": "F-001", "experts": ["technical-writer"]}
    book.line("review_thorough", experts=["technical-writer"], findings=[row], looked=False)
    files = [{"path": "a.py", "status": "M", "added": 4, "removed": 1}]
    files.append({"path": "tests/t.py", "status": "M", "added": 0, "removed": 12})
    more = {"tests": ["tests/t.py"], "ignored": [], "left_out": 0}
    book.line("changes_measured", wave=None, files=files, **more)
    book.line("decision_recorded", number=1, title="Settled once: naming")
    rows = " ".join(card.render(book.state).split())
    for words in (
        "1 thing open",
        "✗ C1 The 101st request of a minute is answered with 429 was not run",
        "! open: README.md: it stands elsewhere (warning, technical writer)",
        "! C1 not tried before the work: nobody has run it there",
        "! thorough review: did not look",
        "~ M2's proof was replaced after it failed (it was wrong): git diff --exit-code "
        "requirements.txt → git diff b",
        "~ T-001's check was replaced: ls a → ls b",
        "~ decided: 001 Settled once: naming",
        "~ an existing test changed: tests/t.py -12",
        "changed: a.py +4 -1, tests/t.py -12",
    ):
        assert words in rows


@pytest.mark.parametrize(
    ("changes", "head"), [({"reversal": "1"}, "🟡 MONITOR"), ({"reversal": "2A"}, "🟢 SHIP")]
)
def test_the_head(changes: dict, head: str) -> None:
    assert box(shown(**changes))[0].startswith(f"╭─ {head} ─")


def test_80_columns_are_enough_for_long_words() -> None:
    rows = shown(alternative="another way " * 30, risk="w" * 200)
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
    assert "observation, measurement, code" in " ".join(rows)
