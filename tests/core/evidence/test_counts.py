"""Whether a runner ran any test, as the usual ones print it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopkit.core.evidence import command
from loopkit.store import tables

NONE = """\
============ 3 skipped in 0.01s ============
1 xfailed in 0.02s
\x1b[33m2 skipped\x1b[0m, \x1b[33m7 deselected\x1b[0m\x1b[33m in 0.10s\x1b[0m
no tests ran in 0.00s
Ran 0 tests in 0.000s
ok  \texample.org/shop\t0.003s [no tests to run]
?   \texample.org/shop/cmd\t[no test files]
test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s
Tests:       2 skipped, 2 total
      Tests  1 skipped (1)
No tests found, exiting with code 0
No test files found, exiting with code 0
  0 passing (2ms)
# pass 0
ℹ pass 0
0 examples, 0 failures
2 examples, 0 failures, 2 pending
[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3
Skipped!  - Failed:     0, Passed:     0, Skipped:     1, Total:     1, Duration: 3 ms - a.dll (net8.0)
ok | 0 passed | 0 failed | 3 filtered out (2ms)
 0 pass
No tests executed!""".splitlines()  # noqa: E501
SOME = """\
============ 1 passed, 3 skipped in 0.01s ============
1 passed, 143 subtests passed in 1.71s
1 xpassed in 0.02s
2 tests collected in 0.01s
Ran 1 test in 0.000s
ok  \texample.org/shop\t(cached)
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s
Tests:       2 skipped, 1 passed, 3 total
      Tests  1 passed | 1 skipped (2)
Tests: 3, Assertions: 3, Skipped: 1.
  1 passing (2ms)
# pass 1
2 examples, 0 failures, 1 pending
[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1
Passed!  - Failed:     0, Passed:     1, Skipped:     1, Total:     2, Duration: 3 ms - a.dll (net8.0)
ok | 1 passed (2 steps) | 0 failed (2ms)
 1 pass
it passes
0 problems found in 3 files""".splitlines()


@pytest.mark.parametrize("line", NONE)
def test_none_ran(line: str) -> None:
    assert command.none_ran(f"collected 3 items\n\n{line}\n", tables.counts())


@pytest.mark.parametrize("line", SOME)
def test_some_ran(line: str) -> None:
    assert not command.none_ran(f"collected 3 items\n\n{line}\n", tables.counts())


def test_the_counts_of_several_runs_are_taken_together() -> None:
    for line in NONE:
        assert not command.none_ran(f"Ran 1 test in 0.1s\n{line}\n", tables.counts())


@pytest.mark.parametrize("skipped", [0, 1, 2])
def test_unittest_says_on_another_line_how_many_were_skipped(skipped: int) -> None:
    end = f"OK (skipped={skipped})" if skipped else "OK"
    text = f"ss\n{'-' * 70}\nRan 2 tests in 0.001s\n\n{end}\n"
    assert command.none_ran(text, tables.counts()) is (skipped == 2)


@pytest.mark.parametrize("row", tables.counts(), ids=lambda row: str(row["name"]))
def test_each_row_has_a_line_here(row: dict) -> None:
    assert set(row) <= {"name", "line", "ran", "less"}
    text = [*NONE, *SOME, *Path(__file__).read_text(encoding="utf-8").splitlines()]
    text += ["OK (skipped=1)"]
    assert any(re.match(row["line"], line) for line in text)
