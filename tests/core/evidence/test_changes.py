"""What was measured as changed: patterns, what nobody named, what must not have changed."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.evidence import changes
from loopkit.core.journal.errors import UsageFault
from loopkit.core.journal.parts import MINE, UNDO, Changed, Criterion, Touched
from tests.core.kit import Book, task
from tests.core.steps.test_context import book

M1 = Criterion("M1", "the contract changes", None, None, True, False, ("tests/contract.py",))
M2 = Criterion("M2", "b.py changes", None, None, True)


def watched(*rows: dict) -> Book:
    """A loop whose mustNots are M1, by paths, and M2, in words."""
    one = book(*(rows or [task("Alpha", files=["a.py"])]))
    one.state.criteria |= {"M1": M1, "M2": M2}
    return one


def measured(one: Book, *rows: Changed, wave: int | None = 1, **more: Any) -> None:
    kind, data = changes.event(wave, list(rows), (), **more)
    one.line(kind, **data)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.py", "a.py", True),
        ("a.py", "src/a.py", False),
        ("./a.py", "a.py", True),
        ("src", "src/deep/a.py", True),
        ("src/", "src/a.py", True),
        ("src", "src2/a.py", False),
        ("src/*", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**", "src/deep/er/a.py", True),
        ("**/a.py", "a.py", True),
        ("**/a.py", "x/y/a.py", True),
        ("src/**/a.py", "src/a.py", True),
        ("**/*.sql", "db/1.sql", True),
        ("a?.py", "ab.py", True),
        ("a?.py", "a/.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("a+b(1).py", "a+b(1).py", True),
        ("a.py", "aXpy", False),
        ("über, all.py", "über, all.py", True),
    ],
)
def test_a_pattern_names_files(pattern: str, path: str, expected: bool) -> None:
    assert changes.matches(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["", " ", ".", "/", "/etc/passwd", "~/x", "../x", "a/../b"])
def test_what_can_be_no_pattern(pattern: str) -> None:
    assert changes.pattern_fault(pattern)
    assert changes.pattern_fault("a\\b") and changes.pattern_fault("a\nb")
    assert not changes.pattern_fault(".github/**") and not changes.pattern_fault("a..b")


def test_what_no_task_named_by_either_path() -> None:
    rows = [Changed("a.py", "M", 1, 1), Changed("lib/x.py", "A", 3, 0), Changed("new.py", "R", 0, 0, "a.py")]  # fmt: skip
    assert changes.outside(rows, {"a.py", "lib"}) == [rows[2]]
    assert [changes.told(row) for row in rows] == [
        "a.py +1 -1",
        "lib/x.py (new) +3",
        "new.py (was a.py)",
    ]


def test_an_event_is_bounded_and_folds_to_the_same() -> None:
    rows = [Changed(f"{n}.py", "M", None, None) for n in range(changes.MOST + 3)]
    one = watched()
    kind, data = changes.event(None, rows, [f"build/{n}" for n in range(9)] + [".env"])
    one.line(kind, **data)
    known = one.state.changes
    assert (known.whole, known.left_out) == (rows[: changes.MOST], 3)
    assert known.ignored == [".env", "build/ (9 files)"]
    assert len(changes.event(None, [], [f"d{n}/x" for n in range(99)])[1]["ignored"]) == 41


def test_evidence_does_not_stand_for_what_is_first_seen_to_have_changed_later() -> None:
    one = watched()
    measured(one, Changed("a.py", "M", 1, 0))
    line = one.state.lines
    rows = [Changed("a.py", "M", 1, 0), Changed("b.py", "D", 0, 1), Changed("new", "A", 1, 0)]
    measured(one, *rows, wave=None)
    assert changes.unvouched(one.state, line) == ["b.py"]
    assert changes.unvouched(one.state, one.state.lines) == []


def test_a_path_that_must_not_change_is_found_once_for_what_it_holds() -> None:
    one = watched()
    marks = {"a.py": "1", "tests/contract.py": "2"}
    found = changes.broken(one.state, marks)
    assert [(row.criterion, row.path) for row in found] == [("M1", "tests/contract.py")]
    for kind, data in changes.judged(one.state, found, 1):
        one.line(kind, **data)
    assert changes.broken(one.state, marks) == []
    assert changes.broken(one.state, {"tests/contract.py": ""}), "it is another change"


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("b.py changes", "b.py", True),
        ("b.py changes", "src/b.py", True),
        ("src/b.py changes", "lib/b.py", False),
        ("tests/test_b.py fails", "b.py", False),
        ("a new b.pyi appears", "b.py", False),
        ("the lib folder grows", "lib", True),
        ("nothing in docs", "src/docs", False),
        ("the parser must not build a tree", "build", False),
        ("setup takes longer", "setup", False),
        ("anything in docs/ is deleted", "docs", True),
        ("`Makefile` is touched", "Makefile", True),
        ("the file LICENSE changes", "LICENSE", True),
        ("`b.py` is touched.", "b.py", True),
    ],
)
def test_a_file_that_a_must_not_names_in_words(text: str, path: str, found: bool) -> None:
    one = watched()
    one.state.criteria["M2"] = M2._replace(text=text)
    assert bool(changes.broken(one.state, {path: "1"})) is found


def test_words_do_not_stand_against_the_plan_nor_beside_a_command() -> None:
    one = watched(task("Alpha", files=["b.py"]))
    assert changes.broken(one.state, {"b.py": "1"}) == [], "it was to be changed"
    one = watched()
    one.state.criteria["M2"] = M2._replace(command="test -f x")
    assert changes.broken(one.state, {"b.py": "1"}) == [], "the command says it"


@pytest.mark.parametrize(
    ("row", "unattended", "expected"),
    [
        (Touched("M1", "tests/contract.py", "coder (Edit)"), False, "must_not_breached"),
        (Touched("M1", "tests/contract.py", "coder (Edit)"), True, "must_not_breached"),
        (Touched("M1", "tests/contract.py"), False, "asked"),
        (Touched("M1", "tests/contract.py"), True, "waiting"),
        (Touched("M2", "b.py", "coder (Edit)"), False, "asked"),
        (Touched("M2", "b.py", "coder (Edit)"), True, "waiting"),
    ],
)
def test_what_follows(row: Touched, unattended: bool, expected: str) -> None:
    one = watched()
    one.state.session.unattended = unattended
    for kind, data in changes.judged(one.state, [row], 1):
        one.line(kind, **data)
    session = one.state.session
    assert (session.verdict or "asked") == expected
    assert row.path in (session.reason or session.question or "")
    assert bool(session.question) is (expected == "asked")


@pytest.mark.parametrize(
    ("text", "how"),
    [("mine", MINE), ("Mine, go on", MINE), ("1", MINE), ("undo it", UNDO), ("2.", UNDO)],
)
def test_an_answer_settles_what_was_asked_and_nothing_else(text: str, how: str) -> None:
    one = watched()
    one.state.changes.touched.append(Touched("M1", "tests/contract.py", "coder", "0"))
    rows = [Touched("M2", "b.py", "", "1")]
    for kind, data in changes.judged(one.state, rows, None):
        one.line(kind, **data)
    for kind, data in changes.settled(one.state, text):
        one.line(kind, **data)
    assert [row.how for row in one.state.changes.touched] == ["", how]
    left = changes.open_rows(one.state, {"tests/contract.py", "b.py"})
    assert [row.path for row in left] == ["tests/contract.py", *(["b.py"] if how == UNDO else [])]
    assert changes.open_rows(one.state, set()) == []


def test_an_answer_that_says_neither_is_no_answer() -> None:
    one = watched()
    for kind, data in changes.judged(one.state, [Touched("M2", "b.py")], None):
        one.line(kind, **data)
    for text in ("hm", "not mine", "determine it"):
        with pytest.raises(UsageFault, match="neither"):
            changes.settled(one.state, text)
