"""The same error has the same signature, on another machine and another day; different errors
differ."""

from __future__ import annotations

import pytest

from loopkit.core.evidence import signature

PYTEST = """\
$ pytest -q tests/test_limits.py
F                                                                        [100%]
=================================== FAILURES ===================================
______________________________ test_hundred_first ______________________________

    def test_hundred_first():
        raised = False
>       assert answer(101).status == 429
E       AssertionError: status is {status}
E         and more

{path}/tests/test_limits.py:{line}: AssertionError
=========================== short test summary info ============================
FAILED tests/test_limits.py::test_hundred_first - AssertionError: status is {status}
1 failed in {seconds}s
[exit 1 in {seconds} s]
"""

TRACEBACK = """\
Traceback (most recent call last):
  File "{path}/app.py", line {line}, in main
    raise ConnectionError(host)
app.errors.ConnectionError: no answer from 10.0.0.{line}:{port} after {seconds} s (request {uuid})
"""

UNITTEST = """\
F.
======================================================================
FAIL: test_sum (tests.test_bill.Bill.test_sum)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "{path}/tests/test_bill.py", line {line}, in test_sum
    self.assertEqual(total(), 3)
AssertionError: {line} != 3

----------------------------------------------------------------------
Ran 2 tests in {seconds}s

FAILED (failures=1)
"""

GO_TEST = """\
=== RUN   TestAdd
    add_test.go:{line}: Add returned {port}, want 3
--- FAIL: TestAdd ({seconds}s)
FAIL
FAIL	example.com/add	{seconds}s
"""

GO_PANIC = """\
panic: runtime error: index out of range [{line}] with length 3

goroutine 1 [running]:
main.main()
	{path}/main.go:{line} +0x{hex}
exit status 2
"""

NODE = """\
{path}/src/index.js:{line}
        throw new TypeError("x");
        ^

TypeError: Cannot read properties of undefined (reading 'total')
    at Object.<anonymous> ({path}/src/index.js:{line}:9)
"""

JEST = """\
FAIL src/sum.test.js
  ● adds › sums up

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: {line}
"""

TSC = "src/app.ts({line},5): error TS2322: Type 'string' is not assignable to type 'number'.\n"

RUST_PANIC = """\
running 1 test
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:{line}:5:
assertion `left == right` failed
  left: {port}
 right: 3
"""

RUSTC = """\
   Compiling add v0.1.0 ({path})
warning: unused variable: `x`
error[E0308]: mismatched types
 --> src/lib.rs:{line}:5
"""

GCC = """\
cc -c -o main.o main.c
main.c:{line}:5: warning: unused variable 'x'
main.c:{line}:10: error: unknown type name 'size'
make: *** [Makefile:{line}: main.o] Error 1
"""

MAKE = "make: *** No rule to make target '{path}/main.c', needed by 'main.o'.  Stop.\n"

LOG = (
    "2026-{month}-01T09:{month}:00.{line}Z worker[{port}] ERROR: disk /dev/sda{line} is full "
    "({hex})\n"
)

HERE = {
    "path": "/home/ann/project",
    "line": "12",
    "seconds": "0.12",
    "port": "5432",
    "hex": "7f3c2a9b10",
    "month": "11",
}
THERE = {
    "path": "/Users/bob/w",
    "line": "877",
    "seconds": "31.5",
    "port": "61000",
    "hex": "1a2b3c4d5e6f",
    "month": "02",
}
HERE |= {"uuid": "3f2504e0-4f89-11d3-9a0c-0305e82cc301", "status": "200"}
THERE |= {"uuid": "a1b2c3d4-0000-41d3-9a0c-0305e82cc3ff", "status": "503"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (PYTEST, "assertionerror: status is <n>"),
        (TRACEBACK, "app.errors.connectionerror: no answer from <host> after <n> (request <id>)"),
        (UNITTEST, "assertionerror: <n> != <n>"),
        (GO_TEST, "<path> add returned <n>, want <n>"),
        (GO_PANIC, "panic: runtime error: index out of range [<n>] with length <n>"),
        (NODE, "typeerror: cannot read properties of undefined (reading <text>)"),
        (JEST, "● adds › sums up"),
        (TSC, "<path> error ts2322: type <text> is not assignable to type <text>."),
        (RUST_PANIC, "panic: assertion <text> failed"),
        (RUSTC, "error[e0308]: mismatched types"),
        (GCC, "<path> error: unknown type name <text>"),
        (MAKE, "make: *** no rule to make target <text>, needed by <text>. stop."),
        (LOG, "<time> worker[<n>] error: disk <path> is full (<hex>)"),
    ],
    ids="pytest traceback unittest go-test go-panic node jest tsc rust-panic rustc gcc make log".split(),
)  # fmt: skip
def test_the_same_error_elsewhere_and_later(text: str, wanted: str) -> None:
    here, there = (text.format(**values) for values in (HERE, THERE))
    assert signature.of(here) == signature.of(there) == wanted


def test_different_errors_differ() -> None:
    errors = [
        "ValueError: the amount is negative",
        "ValueError: the amount is no number",
        "TypeError: the amount is negative",
        "./a.go:5:2: undefined: foo",
        "./a.go:5:2: undefined: bar",
        "error[E0308]: mismatched types",
        "error[E0277]: mismatched types",
        "src/a.ts(3,5): error TS2322: Type 'a'",
        "src/a.ts(3,5): error TS2345: Type 'a'",
        "sh: 1: foo: not found",
        "make: *** [Makefile:3: test] Error 1",
        "fatal: not a git repository",
        "Segmentation fault (core dumped)",
    ]
    assert len({signature.of(one) for one in errors}) == len(errors)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "There was 1 failure:\n\n1) ATest::testX\nFailed asserting that 3 matches expected "
            "4.\n",
            "failed asserting that <n> matches expected <n>.",
        ),
        (
            "> Task :compile\n> Task :test FAILED\n\nBillTest > adds() FAILED\n",
            "billtest > adds() failed",
        ),
        (
            "[xUnit.net 00:00:00.23]     Bill.Adds [FAIL]\n  Failed Bill.Adds [12 ms]\n",
            "failed bill.adds [<n>]",
        ),
        (
            "F401 [*] `os` imported but unused\n --> a.py:1:8\n\nFound 1 error.\n",
            "f401 [*] <text> imported but unused",
        ),
        (
            "FAIL a.test.js\n  ● Test suite failed to run\n\n    Cannot find module './x'\n",
            "cannot find module <text>",
        ),
        (
            '*****\nFile "a.py", line 3, in a\nFailed example:\n    f()\nExpected:\n    1\nGot:\n '
            "   2\n",
            "f()",
        ),
    ],
    ids="phpunit gradle xunit ruff jest-suite doctest".split(),
)
def test_headings_of_runners_are_no_error(text: str, wanted: str) -> None:
    assert signature.of(text) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error at 0x7f3c2a", "error at 0xDEADBEEF01"),
        ("error in commit 8f3e2a1", "error in commit 0123456789abcdef0123456789abcdef01234567"),
        ("error: T-003 failed", "error: T-1204 failed"),
        ("error: open C:\\Users\\Ann\\x.py", "error: open ~/w/y.py"),
        ("error: open ./x/y", "error: open ../z"),
        ("error: http://localhost:8080/a?b=1 failed", "error: https://ci.example.com/c failed"),
        ("error: failed on Mon Dec  1 09:30:00 2026", "error: failed on Tue Feb 12 21:01:59 2027"),
        ("error: failed on 2026-12-01 09:30:00,123", "error: failed on 2027-01-31T10:00:00+02:00"),
        ("error: failed after 0.9 s", "error: failed after 850ms"),
        ("error: key 'a' is missing", "error: key 'it is b' is missing"),
        ("error: “a” is missing", "error: “b c” is missing"),
        ("\x1b[31merror: red\x1b[0m", "error: red"),
        ("ERROR:   Wide", "error: wide"),
        ("error: 1,024 of 2_048 bytes", "error: 3 of 4 bytes"),
        ("error: thread-3 died", "error: thread-14 died"),
        ("error: connect to 10.0.0.1:80", "error: connect to 192.168.100.10:8080"),
        ("error: connect to [::1]:80", "error: connect to [fe80::1%eth0]:8080"),
        ("  3:5  error  no semicolon", "  13:15  error  no semicolon"),
        ("make: *** No rule to make target", "make[2]: *** No rule to make target"),
    ],
)
def test_what_differs_from_run_to_run_is_replaced(one: str, other: str) -> None:
    assert signature.of(one) == signature.of(other) != ""


def test_an_apostrophe_opens_no_quotation() -> None:
    assert signature.of("error: can't open it, it's locked") == "error: can't open it, it's locked"


@pytest.mark.parametrize("text", ["", "\n \n", "$ make\n\n[exit 1 in 0.0 s]\n"])
def test_a_text_without_words_has_none(text: str) -> None:
    assert signature.of(text) == ""


def test_without_a_word_of_trouble_the_first_line_counts() -> None:
    assert signature.of("$ ./check\nthe colour is blue\nthe sky too\n") == "the colour is blue"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "/" * 1_000_000,
        "x/" * 100_000,
        "'" * 100_000,
        ("1:1:" * 90 + "\n") * 2000,
        ("a.b." * 90 + "\n") * 2000,
        "error: " + "1,1.1-" * 50_000,
        ("-" * 390 + "\n") * 300,
        ("[1:1](1,1) " * 30 + "\n") * 2000,
    ],
)
def test_long_input_is_bounded(text: str) -> None:
    assert len(signature.of(text)) <= signature.LONGEST
    assert len(signature.line_of(text)) <= signature.LONGEST_LINE


def test_an_error_far_down_is_still_found() -> None:
    assert signature.of("fine\n" * 100_000 + "ValueError: 3\n") == "valueerror: <n>"
