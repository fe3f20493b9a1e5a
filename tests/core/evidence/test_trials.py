"""Which proofs prove nothing, what is given in their place, what the verdict rests on."""

from __future__ import annotations

import pytest

from loopkit.core.evidence import changes, testfiles, trials
from loopkit.core.journal.errors import Refused
from loopkit.core.journal.parts import (
    BEFORE_WORK,
    GREEN,
    NOT_TRIED,
    OLD_TESTS,
    RED,
    WITHOUT_WORK,
    Changed,
)
from loopkit.core.plan import drafts
from loopkit.store import tables
from tests.core.kit import Book, outcome, task

SHAPE = """\
# Shape: Limits
criteria:
- C1: what is new
- C2 (keeps): what stays
mustNot:
- M1: a test fails
- M2: a dependency is added
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | pytest new |
| C2 | execution output | pytest old |
| M1 | execution output | pytest -q |
"""


@pytest.fixture
def book() -> Book:
    """C1 is new, C2 is kept, M1 has a check and M2 none; T-001's check is its own."""
    made = Book().shaped(2, 2, 2, 2, 2, text=SHAPE)
    made.do(drafts.submit, [task("write it", "pytest part")])
    return made


def tried(book: Book, *failing: str, **exits: int) -> None:
    for name, code in exits.items():
        ran = {**outcome(code == 0), "exit": code, "note": ""}
        name = name.replace("_", "-")
        line = trials.checks(book.state)[name]
        book.do(trials.tried_before, name, line, ran, list(failing))


def without(book: Book, result: str = RED, why: str = "") -> None:
    line = trials.checks(book.state)["C1"]
    book.do(trials.tried_apart, "C1", line, {WITHOUT_WORK: (result, why, None)})


def given(name: str, proof: str = "", keeps: bool = False) -> list[dict]:
    return [{"id": name, "proof": proof, "keeps": keeps, "why": "it looks"}]


def no(book: Book, rows: list[dict], says: str) -> None:
    with pytest.raises(Refused, match=says):
        trials.replaced(book.state, rows)


GOOD = {"C1": 1, "C2": 0, "M1": 0, "T_001": 1}


def test_each_proof_is_tried_once_before_the_first_wave(book: Book) -> None:
    assert trials.untried(book.state) == ["C1", "C2", "M1", "T-001"]
    tried(book, **GOOD)
    assert trials.untried(book.state) == [] and trials.vain(book.state) == {}
    book.wave()
    assert trials.untried(book.state) == []


def test_another_proof_is_tried_again(book: Book) -> None:
    tried(book, **GOOD)
    book.line("task_changed", id="T-001", verify="pytest other")
    assert trials.untried(book.state) == ["T-001"]


@pytest.mark.parametrize("name", ["C1", "T_001"])
def test_what_passes_before_the_work_proves_nothing(book: Book, name: str) -> None:
    tried(book, **{**GOOD, name: 0})
    asked = name.replace("_", "-")
    assert trials.vain(book.state) == {asked: "passes before the work: proves nothing"}
    no(book, [], f"nothing is said of {asked}")
    no(book, given("M1", "ls"), "the proof of M1 stands")
    no(book, given(asked), "give another one, or keeps: true")


@pytest.mark.parametrize("code", [126, 127])
@pytest.mark.parametrize("name", ["C1", "C2", "M1", "T_001"])
def test_what_cannot_be_started_shows_nothing_at_all(book: Book, name: str, code: int) -> None:
    tried(book, **{**GOOD, name: code})
    (why,) = trials.vain(book.state).values()
    assert why.startswith("it cannot be started")
    assert book.state.baselines == {}


def test_another_proof_takes_its_place_and_is_tried(book: Book) -> None:
    tried(book, **{**GOOD, "C1": 0})
    book.do(trials.replaced, given("C1", "pytest newer"))
    assert book.state.criteria["C1"].command == "pytest newer"
    assert trials.untried(book.state) == ["C1"]
    (row,) = book.state.replaced
    assert (row.id, row.old, row.new, row.failed) == ("C1", "pytest new", "pytest newer", False)


def test_a_task_may_keep_what_passes(book: Book) -> None:
    tried(book, **{**GOOD, "T_001": 0})
    book.do(trials.replaced, given("T-001", keeps=True))
    assert book.state.tasks["T-001"].keeps and trials.vain(book.state) == {}


def test_one_criterion_at_least_is_new(book: Book) -> None:
    tried(book, **{**GOOD, "C1": 0})
    book.do(trials.replaced, given("C1", keeps=True))
    vain = trials.vain(book.state)
    assert set(vain) == {"C1", "C2"} and "no criterion fails before" in vain["C1"]
    book.do(trials.replaced, given("C1", "pytest newer"))
    assert not book.state.criteria["C1"].keeps
    tried(book, C1=1)
    assert trials.vain(book.state) == {}


def test_a_must_not_may_do_without_a_check_that_cannot_start(book: Book) -> None:
    tried(book, **{**GOOD, "M1": 127})
    book.do(trials.replaced, given("M1"))
    assert not book.state.criteria["M1"].command and trials.vain(book.state) == {}


def test_what_fails_before_and_is_kept_has_a_baseline_by_itself(book: Book) -> None:
    tried(book, "t::a", **{**GOOD, "M1": 1})
    assert book.state.baselines["pytest -q"]["failures"] == ["t::a"]
    assert trials.vain(book.state) == {} and trials.untold(book.state) == []


def test_what_names_nothing_cannot_be_compared(book: Book) -> None:
    tried(book, **{**GOOD, "C2": 1})
    assert trials.untold(book.state) == [
        "C2 failed before the work too and names nothing to compare"
    ]


def test_what_passes_without_the_work_needs_another_proof(book: Book) -> None:
    tried(book, **GOOD)
    book.wave()
    without(book, GREEN)
    assert trials.vain(book.state) == {"C1": "passes without the work too: proves nothing"}
    no(book, given("C1", keeps=True), "C1 was to be new")
    no(book, given("C1"), "give another one")
    book.do(trials.replaced, given("C1", "pytest newer"))
    assert trials.vain(book.state) == {}
    assert trials.gaps(book.state) == [
        "C1 not tried before the work: nobody has run it there",
        "C1 not tried without the work: nobody has run it there",
    ]


def test_the_third_proof_that_proves_nothing_is_a_persons(book: Book) -> None:
    tried(book, **GOOD)
    book.wave()
    for number in range(trials.MOST_REPLACED):
        assert book.state.session.status == "running"
        without(book, GREEN)
        book.do(trials.replaced, given("C1", f"pytest newer {number}"))
    assert (book.state.session.status, book.state.session.verdict) == ("paused", "waiting")


def test_the_verdict_rests_on_red_before_and_red_without(book: Book) -> None:
    assert len(trials.gaps(book.state)) == 2
    tried(book, **GOOD)
    assert len(trials.gaps(book.state)) == 1
    without(book, NOT_TRIED, "no overlay can be made")
    assert trials.gaps(book.state) == ["C1 not tried without the work: no overlay can be made"]
    without(book)
    assert trials.gaps(book.state) == []
    assert trials.of(book.state, "C1", BEFORE_WORK).result == RED
    assert trials.of(book.state, "C1", WITHOUT_WORK).result == RED


def test_what_no_command_shows_is_told() -> None:
    rows = SHAPE.replace("| C1 | execution output | pytest new |", "| C1 | observation | |")
    book = Book().shaped(text=rows.replace("| C2 | execution output |", "| C2 | code review |"))
    assert trials.gaps(book.state) == [
        "C1 rests on observation alone",
        "C2 rests on code review alone",
    ]


def test_a_time_out_before_the_work_is_not_tried(book: Book) -> None:
    tried(book, **{**GOOD, "C1": 124})
    assert trials.of(book.state, "C1", BEFORE_WORK).result == NOT_TRIED
    assert trials.vain(book.state) == {} and len(trials.gaps(book.state)) == 2


# -- what a check itself is made of

WORK = Changed("src/a.py", "M", 1, 1)
NEW_TEST, CONFTEST = (
    Changed("tests/test_new.py", "A", 9, 0),
    Changed("tests/conftest.py", "A", 9, 0),
)
ADDED, CUT = Changed("tests/test_a.py", "M", 2, 0), Changed("tests/test_b.py", "M", 1, 1)
GONE = Changed("tests/test_c.py", "D", 0, 9)
MOVED = Changed("tests/test_e.py", "R", 0, 0, "tests/test_d.py")
SETTINGS, STUB = Changed("pyproject.toml", "M", 1, 0), Changed("pytest.py", "A", 1, 0)


@pytest.mark.parametrize(
    ("rows", "of_new", "of_kept"),
    [
        ([WORK, NEW_TEST], [], []),
        ([WORK, NEW_TEST, CONFTEST], [], [NEW_TEST, CONFTEST]),
        ([WORK, ADDED], [], [ADDED]),
        ([ADDED, NEW_TEST], [ADDED], [ADDED, NEW_TEST]),  # only tests
        ([WORK, CUT, NEW_TEST], [CUT], [CUT, NEW_TEST]),
        ([WORK, GONE], [GONE], [GONE]),
        ([WORK, MOVED], [], [MOVED]),
        ([WORK, SETTINGS], [SETTINGS], [SETTINGS]),
        ([WORK, STUB], [STUB], [STUB]),
    ],
)
def test_a_check_has_to_pass_as_it_was(rows: list, of_new: list, of_kept: list) -> None:
    line = "python3 -B -m pytest tests"
    assert testfiles.old_tests(rows, line, False, tables.tests()) == of_new
    assert testfiles.old_tests(rows, line, True, tables.tests()) == of_kept


def test_a_script_that_is_the_check_is_a_test(book: Book) -> None:
    script = Changed("check.py", "M", 1, 1)
    assert testfiles.old_tests([WORK, script], "python3 check.py", True, tables.tests()) == [script]
    assert testfiles.old_tests([WORK, STUB], "grep -q a b", True, tables.tests()) == []


def measured(book: Book, *rows: Changed, ignored: tuple = ()) -> None:
    checks = testfiles.of_checks(rows, ignored, book.state, tables.tests())
    event = changes.event(None, list(rows), ignored, None, checks)
    book.do(lambda state: [event])


def test_changed_tests_and_settings_are_named(book: Book) -> None:
    packages = "node_modules/a/package.json"
    measured(book, WORK, ADDED, CUT, MOVED, SETTINGS, ignored=("conftest.py", packages))
    assert changes.notes(book.state) == [
        "an existing test changed: tests/test_b.py +1 -1",
        "what says how checks run changed: pyproject.toml +1",
        "what says how checks run changed: conftest.py (git ignores it)",
    ]
    assert trials.weakened(book.state) == [
        "no check ran tests/test_b.py as it was before the work",
        "git ignores what says how checks run, and it changed: conftest.py",
    ]


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("pytest -q", True),
        ("npm test", True),
        ("env A=b.c /usr/bin/python3 -B -m pytest", True),
        ("pytest -c setup.cfg", True),
        ("python -m unittest discover -s tests -t .", True),
        ("pytest tests/test_b.py::Test::test_it", True),
        ("pytest tests/", True),
        ("go test ./...", True),
        ("python3 -m unittest -q tests.test_b.Test.test_it", True),
        ("python3 -m unittest -q tests.test_new", False),
        ("python3 -m unittest tests.test_new.Test", False),
        ("pytest -q tests/test_new.py other", False),
    ],
)
def test_which_files_a_runner_runs(line: str, runs: bool) -> None:
    assert testfiles.runs(line, "tests/test_b.py", "") is runs


def test_a_check_of_other_tests_says_nothing_of_one_that_lost_something(book: Book) -> None:
    measured(book, WORK, CUT)
    line = "python -m unittest tests.test_new"
    book.do(trials.tried_apart, "M1", line, {OLD_TESTS: (GREEN, "", None)})
    says = ["no check ran tests/test_b.py as it was before the work"]
    assert trials.weakened(book.state) == says


def test_what_passes_as_it_was_is_no_doubt(book: Book) -> None:
    measured(book, WORK, CUT)
    book.do(trials.tried_apart, "M1", "pytest -q", {OLD_TESTS: (GREEN, "", None)})
    assert trials.weakened(book.state) == []
    book.do(
        trials.tried_apart, "M1", "pytest -q", {OLD_TESTS: (RED, "tests/test_b.py +1 -1", None)}
    )
    says = "M1 fails with tests and settings as before: tests/test_b.py +1 -1"
    assert trials.weakened(book.state) == [says]
