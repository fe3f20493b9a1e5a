"""Which calls of an agent count as a look at the work."""

from __future__ import annotations

import pytest

from loopkit.core.journal.parts import Changed
from loopkit.core.review import looking
from tests.core.kit import Book, task


@pytest.fixture(scope="module")
def book() -> Book:
    return Book().planned(task("a", "pytest -q tests/test_time.py", files=["src/app/time.py"]))


@pytest.mark.parametrize(
    "path",
    ["src/app/time.py", "/p/src/app/time.py", "src", "/p/src/app", ".", "/p", "/w/src/app/time.py"],
)
def test_a_changed_file_or_its_folder(book: Book, path: str) -> None:
    assert looking.looked({"read": [path]}, book.state.tasks.values(), "/p")


@pytest.mark.parametrize(
    "line",
    [
        "git diff 1234 5678",
        "git -C . show HEAD",
        "cat src/app/time.py",
        "python -c 'from app import time'",
        "git log -p",
        "rg def",
        "ls -l src/app/time.py && head -20 src/app/time.py",
        "cd src/app; sed -n '1,9p;12p' time.py",
        "git diff 1234 5678; pytest -q tests/test_time.py",
        "pytest -q tests/test_time.py -x && cat src/app/time.py",
    ],
)
def test_a_command_that_shows_it(book: Book, line: str) -> None:
    assert looking.looked({"commands": [line]}, book.state.tasks.values(), "/p")


@pytest.mark.parametrize(
    "seen",
    [
        {},
        {"read": [".loop/001-limiter/SHAPE.md", "src/app/timer.py", "other"]},
        {"commands": ["ls src", "date", "echo timetable", "pytest | grep passed"]},
        {"commands": ["ls -l src/app/time.py", "wc -l src/app/time.py | tail -1", "cd src/app"]},
        {"commands": ["test -s src/app/time.py && echo time.py", "git status src/app/time.py"]},
        {
            "commands": [
                "git diff --stat",
                "git diff --stat 1 2 -- src/app/time.py",
                "git show --name-only HEAD",
                "git diff -s 1 2",
                "git log",
            ]
        },
    ],
)
def test_anything_else_is_none(book: Book, seen: dict) -> None:
    assert not looking.looked(seen, book.state.tasks.values(), "/p")


def test_where_nobody_knows_what_was_changed_any_look_counts() -> None:
    rows = Book().planned(task()).state.tasks.values()
    assert looking.looked({"read": ["x"]}, rows, "/p") and not looking.looked({}, rows, "/p")


def test_what_was_measured_counts_before_what_is_said(book: Book) -> None:
    rows, changed = [*book.state.tasks.values()], [Changed("done.txt", "A", 1, 0, "todo.txt")]
    for path, counts in (("done.txt", True), ("todo.txt", True), ("src/app/time.py", False)):
        assert looking.looked({"read": [path]}, rows, "/p", changed) is counts
    assert not looking.looked({"commands": ["cat README.md"]}, [], "/p", changed)


@pytest.mark.parametrize("line", ["pytest -q tests/test_time.py", "loopkit verify T-001"])
def test_to_run_the_check_is_a_look_for_who_tries_the_work_alone(book: Book, line: str) -> None:
    rows, seen = book.state.tasks.values(), {"commands": [line]}
    assert looking.looked(seen, rows, "/p", tries=True)
    assert not looking.looked(seen, rows, "/p")
