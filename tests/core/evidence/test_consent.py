"""Which checks of a loop may run."""

from __future__ import annotations

import pytest

from loopkit.core.evidence import consent
from tests.core.kit import Book, task


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("pytest tests/test_a.py -q", "pytest tests/test_a.py -q"),
        ("pytest  'tests/test_a.py'  -q", "pytest tests/test_a.py -q"),
        ("pytest tests/test_b.py::test_c -q -x", "pytest tests/test_a.py"),
        ("pytest", "pytest tests/test_a.py"),
        (".venv/bin/python -m pytest tests/b", ".venv/bin/python -m pytest tests/a -q"),
        ("python3.12 -m pytest tests/b", "python3.12 -m pytest tests/a"),
        ("timeout 60 pytest tests/b", "timeout 60 pytest tests/a"),
        ("env CI=1 pytest tests/b", "env CI=1 pytest tests/a"),
        ("go test ./limits/... -run TestX", "go test ./..."),
        ("npm test -- limits.test.js", "npm test"),
        ("test -f notes.txt", "test ! -f limiter.txt"),
        ("sh -c 'a && b'", "sh -c 'a && b'"),
    ],
)
def test_what_is_covered_by_a_command(line: str, allowed: str) -> None:
    assert consent.is_covered(line, [allowed], [])


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("pytest -p evil tests", "pytest tests"),
        ("pytest --rootdir=/ tests", "pytest tests"),
        ("pytest /tmp/evil", "pytest tests"),
        ("pytest ../other", "pytest tests"),
        ("pytest tests/../../other", "pytest tests"),
        ("pytest ~/x", "pytest tests"),
        ("pytest https://example.test/x", "pytest tests"),
        ("pytest 'tests; rm x'", "pytest tests"),
        ("pytest tests; rm x", "pytest tests"),
        ("env CI=2 pytest tests", "env CI=1 pytest tests"),
        ("timeout 60 rm tests", "timeout 60 pytest tests"),
        ("timeout 60 pytest tests", "pytest tests"),
        ("/tmp/pytest tests", "pytest tests"),
        ("python -c evil", "python -c good"),
        ("python tools/evil.py", "python tools/good.py"),
        ("sh -c reboot", "sh -c 'a && b'"),
        ("make evil", "make check"),
        ("npm run evil", "npm run test"),
        ("rm tests", "pytest tests"),
        ("bad 'quote", "bad 'quote"),
    ],
)
def test_what_is_not(line: str, allowed: str) -> None:
    assert not consent.is_covered(line, [allowed], [])


@pytest.mark.parametrize(
    ("pattern", "line", "fits"),
    [
        ("*", "anything at all", True),
        ("pytest *", "pytest tests -q", True),
        ("pytest *", "pytest", True),
        ("pytest *", "pytest-evil tests", False),
        ("pytest tests/*", "pytest tests/[x].py", True),
        ("pytest [a-z]", "pytest a", False),
        ("npm test", "npm test -- x", False),
    ],
)
def test_a_pattern_is_about_the_check_as_written(pattern: str, line: str, fits: bool) -> None:
    assert consent.is_covered(line, [], [pattern]) == fits


def test_no_pattern_fits_what_would_need_a_shell() -> None:
    assert not consent.is_covered("pytest; rm x", [], ["*"])


def test_all_checks_of_a_loop_are_asked_for_once() -> None:
    book = Book().planned(
        task("One", "test -f 1.txt"), task("Two", "test  -f 1.txt"), task("Three")
    )
    rows = consent.checks(book.state)
    assert rows[0] == ("T-001, T-002", "test -f 1.txt")
    whose = " ".join(names for names, _ in rows)
    assert all(name in whose for name, one in book.state.criteria.items() if one.command)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("./check.sh --all", "./check.sh"),
        ("scripts/check", "scripts/check"),
        ("sh check.sh", "check.sh"),
        ("sh -e check.sh", "check.sh"),
        ("env X=1 timeout 5 bash scripts/check", "scripts/check"),
        ("python3.12 tools/check.py -v", "tools/check.py"),
        ("node check.mjs", "check.mjs"),
        ("bash check", "check"),
        ("python -W error -X dev -m pytest tests", ""),
        ("python -m pytest tests", ""),
        ("python -c 'print(1)'", ""),
        ("sh -c 'a'", ""),
        ("pytest tests/test_new.py", ""),
        ("test -f x", ""),
    ],
)
def test_the_file_that_is_the_program(line: str, file: str) -> None:
    assert consent.program_file(line) == file
