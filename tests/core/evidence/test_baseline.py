"""Baselines: failing names as runners print them, and what counts as worse."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.evidence import baseline
from loopkit.core.journal.errors import LimitReached, Refused, UsageFault
from loopkit.store import tables
from tests.core.kit import Book

PYTEST = """\
F.E                                                                      [100%]
=================================== FAILURES ===================================
________________________________ test_p[a - b] _________________________________
E       AssertionError: boom [1] - z
=========================== short test summary info ============================
FAILED tests/test_x.py::test_p[a - b] - AssertionError: boom [1] - z
FAILED tests/test_x.py::T::test_u - assert 1 == 2
SUBFAILED(i=1) tests/test_x.py::T::test_s - AssertionError: 1 != 0
ERROR tests/test_x.py::test_e - ValueError: no
ERROR tests/test_y.py - ModuleNotFoundError: No module named 'nothing'
3 failed, 2 passed, 2 errors in 0.60s
"""
PYTEST_LIVE = """\
tests/test_x.py::test_a PASSED                                           [ 33%]
tests/test_x.py::test_b[x y] FAILED                                      [ 66%]
tests/test_x.py::test_c ERROR                                            [100%]
"""
UNITTEST = """\
FE.
======================================================================
ERROR: test_err (test_x.T.test_err)
----------------------------------------------------------------------
Traceback (most recent call last):
KeyError: 'x'
======================================================================
FAIL: test_s (test_x.T.test_s) (i=1)
----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""
JEST = """\
PASS src/b.test.js
FAIL src/sum.test.js (5.12 s)
  ● Console

    console.log
  ● adds › 1 and 2

    expect(received).toBe(expected)

  ● adds › 2 and 2
FAIL src/broken.test.ts
  ● Test suite failed to run

    Cannot find module './x'
Summary of all failing tests
FAIL src/sum.test.js
  ● adds › 1 and 2

Test Suites: 2 failed, 1 passed, 3 total
"""
JEST_TREE = """\
FAIL ./sum.test.js
  adds
    ✓ 1 and 1 (2 ms)
    ✕ 1 and 2 (5 ms)
"""
VITEST = """\
 ❯ src/a.test.ts (2 tests | 1 failed) 5ms
   × adds > one 4ms
 FAIL  src/a.test.ts > adds > one
AssertionError: expected 3 to be 2
"""
MOCHA = """\
  Array
    1) finds it
    ✔ is empty

  1 passing (5ms)
  2 failing

  1) Array
       #indexOf()
         finds it:
     AssertionError: 1 == 2
      at Context.<anonymous> (test.js:5:7)

  2) "before each" hook in "Map":
     Error: no
"""
GO = """\
=== RUN   TestAdd
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/negative (0.01s)
        add_test.go:9: got 3
FAIL
FAIL\texample.com/a\t0.003s
ok  \texample.com/b\t0.002s
--- FAIL: TestAdd (0.00s)
FAIL
exit status 1
FAIL\texample.com/c\t0.003s
FAIL\texample.com/d [build failed]
FAIL
"""
CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/cr-f73a538893013b88)

running 3 tests
test tests::b ... ok
test tests::c - should panic ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.10s
     Running tests/it.rs (target/debug/deps/it-c402cc767e4d8483)
test tests::b ... FAILED
   Doc-tests cr
test src/lib.rs - f (line 2) ... FAILED
"""
TAP = """\
TAP version 13
ok 1 - good
not ok 2 - bad # time=5ms
not ok 3 - later # TODO not yet
not ok 4 skipped # SKIP no network
    not ok 1 - inner
not ok 5
1..5
"""
OTHERS = """\
rspec ./spec/a_spec.rb:12 # Cart adds an item
AppTest > adds() FAILED
[ERROR]   CartTest.testAdd:25 expected:<1> but was:<2>
  Failed Shop.CartTests.Adds [12 ms]
  3 - parse_dates (Failed)
1) CartTest::testAdd
(fail) adds > one [0.21ms]
    FAIL [   0.005s] shop tests::adds
FAILED: obj/main.o
\x1b[31mFAILED coloured\x1b[0m
"""


NODE = """\
▶ suite
  ✖ adds (1.561455ms)
    AssertionError [ERR_ASSERTION]: 1 == 2
  ✔ ok (0.178785ms)
✖ suite (4.758083ms)
✖ later (0.099738ms) # TODO
ℹ fail 2

✖ failing tests:

test at a.test.js:2:23
✖ adds (1.561455ms)
"""

MORE = """\
adds ... FAILED (5ms)
adds ... ok (5ms)
FAILED | 3 passed | 1 failed (10ms)
  1) test greets the world (HelloTest)
  1) Failure:
CartTest#test_adds [test/cart_test.rb:5]:
00:01 +3 -1: cart adds one [E]
Test Case '-[AppTests.CartTests testAdds]' failed (0.1 seconds).
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("FAILED a\nFAILED b\n", ["a", "b"]),
        ("FAIL: x\nnot ok y\n--- FAIL: z\n", ["x", "y", "z"]),
        (
            PYTEST,
            [
                "tests/test_x.py::test_p[a - b]",
                "tests/test_x.py::T::test_u",
                "tests/test_x.py::T::test_s",
                "tests/test_x.py::test_e",
                "tests/test_y.py",
            ],
        ),
        (PYTEST_LIVE, ["tests/test_x.py::test_b[x y]", "tests/test_x.py::test_c"]),
        (UNITTEST, ["test_err (test_x.T.test_err)", "test_s (test_x.T.test_s) (i=1)"]),
        (
            JEST,
            [
                "src/sum.test.js › adds › 1 and 2",
                "src/sum.test.js › adds › 2 and 2",
                "src/broken.test.ts › Test suite failed to run",
            ],
        ),
        (JEST_TREE, ["./sum.test.js"]),
        (VITEST, ["src/a.test.ts > adds > one"]),
        (MOCHA, ["Array › #indexOf() › finds it", '"before each" hook in "Map"']),
        (
            GO,
            [
                "example.com/a: TestAdd",
                "example.com/a: TestAdd/negative",
                "example.com/c: TestAdd",
                "example.com/d",
            ],
        ),
        (
            CARGO,
            ["src/lib.rs: tests::c - should panic", "tests/it.rs: tests::b", "cr: src/lib.rs - f"],
        ),
        (TAP, ["bad", "inner", "test 5"]),
        (NODE, ["adds", "suite"]),
        (
            MORE,
            [
                "adds",
                "test greets the world (HelloTest)",
                "CartTest#test_adds",
                "cart adds one",
                "-[AppTests.CartTests testAdds]",
            ],
        ),
        (
            OTHERS,
            [
                "./spec/a_spec.rb Cart adds an item",
                "AppTest > adds()",
                "CartTest.testAdd",
                "Shop.CartTests.Adds",
                "parse_dates",
                "CartTest::testAdd",
                "adds > one",
                "shop tests::adds",
                "obj/main.o",
                "coloured",
            ],
        ),
        ("", []),
        (
            "FAILED (failures=2)\nFAIL 2/3\nFAILED 3 tests\nERROR: could not connect\nFAIL\n== "
            "FAILED ==\n",
            [],
        ),
    ],
)
def test_names(text: str, names: list) -> None:
    assert baseline.names(text, tables.runners()) == names


@pytest.mark.parametrize("row", tables.runners(), ids=lambda row: str(row["name"]))
def test_each_row_has_an_output_here_and_a_hint_in_it(row: dict) -> None:
    assert set(row) <= {"name", "hint", "failed", "no_name"}
    fitting = [
        line
        for line in Path(__file__).read_text(encoding="utf-8").splitlines()
        if re.match(row["failed"], line)
    ]
    assert fitting and all(re.search(row["hint"], line) for line in fitting)


def test_times_counts_and_messages_are_no_part_of_a_name() -> None:
    before = (
        "FAILED a - expected 3, got 4\n  ✕ adds (5 ms)\nnot ok 3 - b # time=2ms\n--- FAIL: TestX "
        "(0.00s)\n"
    )
    after = (
        "--- FAIL: TestX (1.25s)\nnot ok 9 - b # time=7ms\n  ✕ adds (12 ms)\nFAILED a - expected "
        "3, got 5\n"
    )
    assert sorted(baseline.names(before, tables.runners())) == sorted(
        baseline.names(after, tables.runners())
    )


def test_what_real_runners_print(tmp_path: Path) -> None:
    source = (
        "import unittest\nclass T(unittest.TestCase):\n def test_a(self): self.fail('x')\n def "
        "test_b(self): pass\n"
    )
    (tmp_path / "test_it.py").write_text(source)
    seen = []
    for words in (("-m", "pytest", "-q", "-p", "no:cacheprovider"), ("-m", "unittest", "test_it")):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        seen.append(baseline.names(done.stdout, tables.runners()))
    assert seen[0] == ["test_it.py::T::test_a"] and seen[1][0].startswith("test_a (test_it.T")


def test_a_huge_output_takes_little_time() -> None:
    """A name each, and lines that nearly look like one."""
    text = "".join(f"FAILED tests/x.py::test_{number}[{'a' * 50} - b\n" for number in range(3000))
    text += (
        "FAILED "
        + "[" * 100_000
        + "\n"
        + "not ok " * 20_000
        + "\n"
        + (" " * 900 + "FAILED\n") * 200
    )
    assert len(baseline.names(text, tables.runners())) >= 3000


BEFORE = {"exit": 1, "failures": ["a", "b"]}
NAMELESS = {"exit": 2, "failures": []}
GREEN = {"exit": 0, "failures": []}


@pytest.mark.parametrize(
    ("before", "exit_code", "failing", "regression", "new", "says"),
    [
        (BEFORE, 1, ["a", "b"], False, [], "no regression: 2 failures, each as before"),
        (BEFORE, 1, ["a", "b", "c"], True, ["c"], "regression, failing since the baseline: c"),
        (BEFORE, 1, ["c"], True, ["c"], "regression, failing since the baseline: c"),
        (BEFORE, 1, ["b"], False, [], "no regression: 1 failure, each as before, 1 fewer"),
        (BEFORE, 3, ["b"], False, [], "no regression: 1 failure"),
        (BEFORE, 0, [], False, [], "no regression: it passes"),
        (BEFORE, 0, ["c"], True, ["c"], "regression"),
        (BEFORE, 1, [], True, [], "cannot be compared: exit 1 and no failing name (was exit 1)"),
        (
            BEFORE,
            139,
            ["a"],
            True,
            [],
            "cannot be compared: it did not come to its end (exit 139, was 1)",
        ),
        (BEFORE, 124, ["a"], True, [], "did not come to its end"),
        (
            NAMELESS,
            2,
            [],
            False,
            [],
            "no regression: exit 2 as before; it names nothing to compare",
        ),
        (NAMELESS, 3, [], True, [], "cannot be compared: exit 3 and no failing name (was exit 2)"),
        (GREEN, 0, [], False, [], "no regression: it passes"),
        (GREEN, 1, [], True, [], "cannot be compared: exit 1 and no failing name (was exit 0)"),
        (GREEN, 1, ["c"], True, ["c"], "regression"),
    ],
)
def test_compare(
    before: dict, exit_code: int, failing: list, regression: bool, new: list, says: str
) -> None:
    found = baseline.compare(before, exit_code, failing)
    assert (found.regression, found.new) == (regression, new) and says in found.said


def test_recorded_once_for_each_command() -> None:
    book = Book()
    row: dict[str, Any] = {"exit": 1, "log": "evidence/baseline-1.log", "note": ""}
    book.do(baseline.recorded, "pytest -q", row, ["a"], False)
    book.do(baseline.recorded, "ruff check .", {**row, "exit": 0}, [], False)
    with pytest.raises(Refused, match="recorded already"):
        book.do(baseline.recorded, "pytest -q", row, ["a"], False)
    book.do(baseline.recorded, "pytest -q", row, ["a", "b"], True)
    assert baseline.known(book.state, "pytest -q")["failures"] == ["a", "b"]
    with pytest.raises(Refused, match="no baseline of `pytest` is recorded") as caught:
        baseline.known(book.state, "pytest")
    assert "`pytest -q`; `ruff check .`" in str(caught.value.todo)


def test_what_did_not_run_or_fails_everywhere_is_no_baseline() -> None:
    state = Book().state
    for code in (124, 126, 127):
        with pytest.raises(Refused, match="no baseline: no such program"):
            baseline.recorded(
                state, "x", {"exit": code, "log": "l", "note": "no such program: x"}, [], False
            )
    with pytest.raises(Refused, match="2001 names fail, at most 2000"):
        baseline.recorded(
            state, "x", {"exit": 1, "log": "l", "note": ""}, [str(n) for n in range(2001)], False
        )
    with pytest.raises(UsageFault, match="line break"):
        baseline.check_new(state, "sh -c 'a\nb'", False)
    book = Book()
    book.line("paused", verdict="limit_time", reason="r")
    with pytest.raises(LimitReached):
        baseline.check_new(book.state, "x", False)
