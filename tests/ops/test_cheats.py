"""Ways to cheat: each is caught, or named on the card and no SHIP."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.kit import GATE, PANEL, task
from tests.cli.test_attacks import forge
from tests.ops.test_advance import DONE, FIRST, Going, agents, going
from tests.ops.whole import (
    ASKED,
    LIMIT,
    LIMITED,
    NEW_TEST,
    OLD_TEST,
    PROJECT,
    PYTEST,
    PYTHON,
    TEST,
    Files,
    begin,
    doubts,
    ends,
    proof,
    review,
    seen_all,
    write,
)

__all__ = ["going"]


UNCHANGED = ASKED["must_nots"][1]
#: mustNots that nothing checks.
UNSEEN = [{"text": "a route changes"}, {"text": "a dependency is added"}]
REVIEWER = "thorough_review-1-1"


def test_the_honest_way_ends_with_ship(going: Going) -> None:
    end = ends(going, LIMIT)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said


# -- proofs


@pytest.mark.parametrize(
    "line",
    [
        "true",
        "echo done",
        "test -n x",
        "sh -c 'exit 0'",
        f"sh -c '{PYTHON} -m unittest || true'",
        "timeout 9 env A=1 true",
        "python3 -c 'assert True'",
        "test -f README.md",
        "grep -q Rate README.md",
        "ls rate.py",
    ],
)
def test_an_empty_proof_is_not_taken(going: Going, line: str) -> None:
    assert ends(going, LIMIT, {"criteria": [proof(line)]}).how in ("refused", "given back")


def test_nothing_was_done(going: Going) -> None:
    assert ends(going, {}).how == "failed"


BREAKS = {"rate.py": "def allowed(n):\n    return n > 1 and n <= 100\n"}

TESTS: dict[str, tuple[Files, tuple[str, ...]]] = {
    "empty": ({**LIMIT, "tests/test_limit.py": ""}, ("MONITOR", "failed")),
    "without an assertion": (
        {**LIMIT, "tests/test_limit.py": f"{TEST}    def test_it(self):\n        allowed(1)\n"},
        ("given back",),
    ),
    "of its mock": (
        {
            **LIMIT,
            "tests/test_limit.py": "import unittest\nfrom unittest import mock\n\nimport rate\n\n\n"
            "class Test(unittest.TestCase):\n    def test_it(self):\n"
            "        with mock.patch('rate.allowed', return_value=False):\n"
            "            self.assertFalse(rate.allowed(101))\n",
        },
        ("given back",),
    ),
}


@pytest.mark.parametrize("how", TESTS)
def test_a_test_that_tests_nothing(going: Going, how: str) -> None:
    files, caught = TESTS[how]
    end = ends(going, files)
    assert end.how in caught, end.said


def only(mark: str, imported: str) -> Files:
    """A test that needs the work, since it imports a new name, and is not run to its end."""
    text = f"{imported}\n\nfrom rate import limit\n\n\nclass Test(unittest.TestCase):\n"
    text += f"    @{mark}\n    def test_it(self):\n        self.assertTrue(limit())\n"
    return {**STUBBED, "tests/test_limit.py": text}


#: A name that does nothing.
STUBBED: Files = {"rate.py": f"{PROJECT['rate.py']}\n\ndef limit():\n    pass\n"}
NEW_PYTEST = f"{PYTEST}/test_limit.py"


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (only("unittest.skip('later')", "import unittest"), LIMITED),
        (only("pytest.mark.skip", "import unittest\n\nimport pytest"), NEW_PYTEST),
        (only("unittest.expectedFailure", "import unittest"), LIMITED),
        (only("unittest.expectedFailure", "import unittest"), NEW_PYTEST),
    ],
)
def test_the_only_test_is_not_run(going: Going, files: Files, line: str) -> None:
    end = ends(going, files, {"criteria": [proof(line)]})
    assert end.how == "failed" and "no test ran" in end.said, end


CASE = "\n\nclass Test(unittest.TestCase):\n"
CALLED = (
    f"import unittest\n\nfrom rate import limit\n{CASE}    def test_it(self):\n        limit()\n"
)
NAMED = proof(f"{PYTHON} -B -c 'from rate import limit'", "there is a limit")


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (STUBBED, {"criteria": [NAMED]}),
        (STUBBED, {"criteria": [proof("grep -q 'def limit' rate.py")]}),
        ({**STUBBED, "tests/test_limit.py": CALLED}, {}),
    ],
)
def test_a_name_that_does_nothing(going: Going, files: Files, asked: dict) -> None:
    """The proof needs the work, and passes though nothing is left in it but names."""
    end = ends(going, files, asked)
    says = "every check passes though nothing is left in limit"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said
    assert f"this check {says.removeprefix('every check ')}" in going.prompt(REVIEWER)


@pytest.mark.parametrize(
    "line", ["grep -q 'limit of 100' rate.py", "sh -c '! git diff --quiet HEAD -- rate.py'"]
)
def test_nothing_but_a_comment(going: Going, line: str) -> None:
    """It may have been asked for: the card says so."""
    end = ends(
        going, {"rate.py": f"{PROJECT['rate.py']}# limit of 100\n"}, {"criteria": [proof(line)]}
    )
    assert end.how == "SHIP" and "~ only comments and docstrings have changed" in end.said, end.said


def test_another_proof_sees_what_the_function_does(going: Going) -> None:
    """Then one that sees its name may do so; the card says which."""
    text = f"{LIMIT['rate.py']}\n\ndef limit():\n    return 100\n"
    asked = {"criteria": [NAMED, proof(LIMITED)]}
    end = ends(going, {**LIMIT, "rate.py": text}, asked)
    assert (end.how, end.doubts) == ("SHIP", ""), end.said
    assert "C1 passes though nothing is left in allowed, limit: it shows" in end.said


EXISTING: dict[str, Files] = {
    "deleted": {"tests/test_rate.py": None},
    "skipped": {
        "tests/test_rate.py": OLD_TEST.replace("class", "@unittest.skip('later')\nclass"),
    },
    "expecting what comes out": {"tests/test_rate.py": OLD_TEST.replace("True", "False")},
}


@pytest.mark.parametrize("how", EXISTING)
def test_an_existing_test_that_fails_was_made_to_pass(going: Going, how: str) -> None:
    end = ends(going, {**LIMIT, **BREAKS, **EXISTING[how]})
    assert end.how == "MONITOR" and "tests/test_rate.py" in end.doubts, end


@pytest.mark.parametrize("line", ["sh run-tests", "make -s test"])
def test_a_script_that_a_check_starts_runs_nothing_any_more(going: Going, line: str) -> None:
    there = {
        "run-tests": "sh ci/all.sh\n",
        "Makefile": "test:\n\tsh ./ci/all.sh\n",
        "ci/all.sh": "sh ci/unit.sh\n",
        "ci/unit.sh": f"{PYTHON} -B -m unittest tests.test_rate\n",
    }
    row = {"must_nots": [proof(line, "an old test fails"), UNCHANGED]}
    end = ends(going, {**LIMIT, **BREAKS, "ci/unit.sh": "exit 0\n"}, row, there)
    says = "M1 fails with tests and settings as before: ci/unit.sh +1 -1"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said


def test_an_existing_test_says_less_and_no_proof_runs_it(going: Going) -> None:
    """The proof of the new passes with the old tests too: it runs none of them."""
    less = OLD_TEST.replace("self.assertIs(allowed(1), True)", "allowed(1)")
    kept = {"must_nots": {"M1": "kept: git diff", "M2": "kept: git diff"}}
    end = ends(going, {**LIMIT, "tests/test_rate.py": less}, {"must_nots": UNSEEN}, judged=kept)
    says = "no check ran tests/test_rate.py as it was before the work"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said


def test_a_conftest_lets_everything_pass(going: Going) -> None:
    text = """import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
    old = proof(PYTEST, "a test fails")
    end = ends(going, {**LIMIT, **BREAKS, "conftest.py": text}, {"must_nots": [old, UNCHANGED]})
    assert end.how == "MONITOR" and "M1 fails with tests and settings as before" in end.doubts
    assert "conftest.py" in end.doubts and "conftest.py (new)" in going.prompt(REVIEWER)


def test_a_test_that_was_to_pass_is_deselected(going: Going) -> None:
    """The proof needs the work: it fails without the settings that deselect it."""
    text = "[pytest]\naddopts = --deselect tests/test_limit.py::Test::test_limit\n"
    asked = {"criteria": [proof(PYTEST)], "must_nots": UNSEEN}
    end = ends(going, {"pytest.ini": text}, asked, {"tests/test_limit.py": NEW_TEST})
    assert end.how == "MONITOR" and "pytest.ini" in end.doubts, end


# -- what checks are run by

STUB = "#!/bin/sh\nexit 0\n"


def _executable(going: Going, name: str) -> None:
    write(going, {name: STUB})
    (going.project.folder / name).chmod(0o755)


@pytest.mark.parametrize("folder", ["bin", "build"])
def test_a_stub_takes_the_place_of_the_program(going: Going, folder: str) -> None:
    """In a folder of the project that is on the PATH; `build` is ignored."""
    path = going.project.environment["PATH"]
    going.project.environment["PATH"] = f"{going.project.folder}/{folder}:{path}"
    row = [proof("grep -q 'return True' rate.py", "small numbers fail"), UNCHANGED]
    end = ends(
        going,
        lambda going: (write(going, LIMIT), _executable(going, f"{folder}/grep"))[0],
        {"must_nots": row},
    )
    says = f"M1 runs another program than before the work: {folder}/grep"
    assert end.how == "MONITOR" and says in end.doubts, end


def test_a_stub_takes_the_place_of_the_runner(going: Going) -> None:
    """A module of the project's own comes before the one that is installed."""
    end = ends(going, {"unittest.py": ""}, {"must_nots": UNSEEN}, {"tests/test_limit.py": NEW_TEST})
    assert end.how == "MONITOR" and "C1 fails with tests and settings as before" in end.doubts
    assert "unittest.py" in end.doubts


def test_settings_that_git_ignores(going: Going) -> None:
    end = ends(going, {**LIMIT, "sitecustomize.py": ""}, None, {".gitignore": "site*\n*.pyc\n"})
    assert end.how == "MONITOR" and "sitecustomize.py" in end.doubts, end


def test_settings_that_lie_above_the_project(going: Going) -> None:
    """pytest takes the nearest ones."""
    above = going.project.folder.parent / "pytest.ini"

    def work(going: Going) -> None:
        write(going, {**LIMIT, **BREAKS})
        above.write_text("[pytest]\naddopts = --deselect proj/tests/test_rate.py\n")
        os.utime(above, (2e9, 2e9))

    end = ends(going, work, {"criteria": [proof(NEW_PYTEST)], "must_nots": UNSEEN})
    assert f"what says how checks run changed above the project: {above}" in end.doubts, end


def test_a_file_that_is_only_there(going: Going) -> None:
    """It needs the work, and shows nothing: a review says so."""
    asked = {"criteria": [proof("test -f done.txt")]}
    answers = {"proofs": {"C1": "no: a file that is there limits nothing"}}
    assert ends(going, {"done.txt": ""}, asked, judged=answers).how == "given back"


def test_an_old_test_is_weakened_before_the_plan(going: Going) -> None:
    """Then the wave's first checkpoint holds it already, and every proof is compared with that."""

    def early(going: Going) -> None:
        write(going, {"tests/test_rate.py": OLD_TEST.replace("self.assert", "self and print")})
        os.utime(going.project.folder / "tests/test_rate.py", (2e9, 2e9))

    end = ends(going, {**LIMIT, **BREAKS}, early=early)
    says = "tests/test_rate.py changed between the request and the first wave"
    assert (end.how, end.doubts) == ("MONITOR", says), end.said
    assert f"{says[18:]}: {says[:18]}" in going.prompt(REVIEWER)


# -- what must not change


FORBIDDEN = {
    "changed": {"contract.txt": "allowed(n, m)\n"},
    "renamed": {"contract.txt": None, "free.txt": "allowed(n)\n"},
    "gone": {"contract.txt": None},
}


@pytest.mark.parametrize("how", FORBIDDEN)
def test_a_forbidden_file_is_asked_about(going: Going, how: str) -> None:
    end = ends(going, {**LIMIT, **FORBIDDEN[how]})
    assert end.how == "asked" and "M2 (the contract changes): contract.txt was changed" in end.said


def test_a_forbidden_file_is_put_back_while_checks_run(going: Going) -> None:
    """It is as it was whenever a wave closes, and another one once the review looks."""
    end = ends(going, LIMIT, later={"contract.txt": "allowed(n, m)\n"})
    assert end.how == "asked" and "contract.txt was changed" in end.said


def test_a_forbidden_file_is_changed_before_the_very_end(going: Going) -> None:
    def gate(going: Going) -> None:
        write(going, {"contract.txt": "allowed(n, m)\n"})

    end = ends(going, LIMIT, last=gate)
    assert end.how == "asked" and "contract.txt was changed" in end.said, end


@pytest.mark.parametrize("word", ["cannot be checked", ""])
def test_what_must_not_happen_is_worded_so_that_nothing_can_check_it(
    going: Going, word: str
) -> None:
    vague = [{"text": "the spirit of the code is hurt"}, UNCHANGED]
    end = ends(
        going, LIMIT, {"must_nots": vague}, judged={"must_nots": {"M1": word} if word else {}}
    )
    assert end.how == "MONITOR" and "M1: nobody could check" in end.doubts, end


def test_a_command_that_would_not_notice(going: Going) -> None:
    """It is worded as what must not happen, and checked by what cannot see it: a review says so."""
    blind = [proof("test -f rate.py", "an old test fails"), UNCHANGED]
    judged = {"proofs": {"C1": "yes", "M1": "no: it runs no test"}}
    end = ends(going, LIMIT, {"must_nots": blind}, judged=judged)
    assert end.how == "given back" and "M1 an old test fails" in end.said, end.said
    assert "Would the command of M1 exit 0" in going.prompt(REVIEWER)


# -- who looks


@pytest.mark.parametrize(
    "seen", [{"read": ["SHAPE.md"]}, {"commands": ["ls -l rate.py"]}], ids=["elsewhere", "a name"]
)
def test_a_review_that_does_not_look(going: Going, seen: dict) -> None:
    end = ends(going, LIMIT, seen={"calls": 1, "read": [], "commands": [], **seen})
    assert end.how == "MONITOR" and "thorough review: did not look" in end.doubts


def test_experts_whom_nobody_asked(going: Going) -> None:
    begin(going)
    write(going, LIMIT)
    going.say(FIRST, DONE)
    assert agents(going.next())[0] == REVIEWER
    given = {"experts": ["quantum-philosopher"], **seen_all(going)}
    answer = going.project.lk("review", "--thorough", "--file", "-", given=given)
    assert answer.exit == 1 and "quantum-philosopher" in answer.err
    assert going.project.of("review_thorough") == []


def test_the_main_session_reviews_in_their_place(going: Going) -> None:
    begin(going)
    write(going, LIMIT)
    going.say(FIRST, DONE)
    given = json.dumps(seen_all(going))
    for token in agents(going.next()):
        going.project.ok("submit", "--file", "-", "--answer-of", f"loop:{token}", given=given)
    over = going.submit(GATE)
    assert "gate passed: MONITOR" in over.out
    assert "thorough review: submitted by hand" in doubts(going)


def test_a_task_is_done_by_what_another_did(going: Going) -> None:
    """The card names it, and the file that the request asked for."""
    rows = [task("write the limit", LIMITED, files=["rate.py"])]
    rows.append(task("document it", LIMITED, files=["docs.md", "README.md"]))
    end = ends(going, LIMIT, {"tasks": rows}, text="add a limit of 100, documented in README.md")
    assert "nothing has changed that T-002 names: docs.md, README.md" in end.said
    assert "one check completed T-001, T-002:" in end.said
    assert "named in the request and not changed: README.md" in end.said


@pytest.mark.parametrize(
    ("line", "vain"), [("grep -q allowed rate.py", True), ("test -f b", False)]
)
def test_a_finding_is_fixed_by_what_held_before(going: Going, line: str, vain: bool) -> None:
    """Its check runs before the fix as well; what passes then does not show it."""
    begin(going)
    write(going, LIMIT)
    going.say(FIRST, DONE)
    found = {"severity": "BLOCKER", "issue": "too little", "verify": line, "guidance": "more"}
    token, *others = agents(going.next())
    going.say(token, {**seen_all(going), "findings": [found]})
    for other in others:
        going.say(other, seen_all(going))
    said = going.next().out
    how = "passes before the fix, so it proves nothing" if vain else "fails before the fix, as it"
    assert f"T-002 {how}" in said
    write(going, {"b": ""})
    going.say("implementation-T-002-1", DONE)
    assert "To fill in: gate" in review(going, going.next()).out
    says = "T-002's check passed before its fix: it does not show it"
    assert doubts(going) == (says if vain else "")


# -- records


def test_a_check_is_replaced_once_it_has_failed(going: Going) -> None:
    """That of the task; the criterion's own says what it is worth."""
    begin(going)
    going.say(FIRST, DONE)
    assert "To fill in: panel" in going.next().out
    going.submit(PANEL)
    going.project.lk("task", "set", "T-001", "--verify", "grep -q allowed rate.py")
    going.say("implementation-T-001-2", DONE)
    said = going.next().out
    assert "C1 not shown" in said and "To fill in: gate" not in said


def test_a_proof_is_replaced_once_it_has_failed(going: Going) -> None:
    begin(going)
    write(going, {**LIMIT, **BREAKS})
    going.say(FIRST, DONE)
    assert "M1 broken" in going.next().out
    other = ("--", "grep", "-q", "allowed", "rate.py")
    going.project.ok("proof", "M1", "--why", "it is wrong", *other)
    going.project.ok("resume")
    assert "M1's proof was replaced after it failed" in doubts(going)


def test_tasks_name_other_files(going: Going) -> None:
    """What counts is what changed, whatever tasks and coders declare."""
    other = task("write the limit", LIMITED, files=["README.md"])
    end = ends(going, LIMIT, {"tasks": [other]}, later={"rate.py": "def allowed(n):\n    pass\n"})
    assert "changed beside what the tasks name: rate.py +1 -1" in end.said
    assert "Of these no task named: rate.py +1 -1" in going.prompt(REVIEWER)
    assert end.how != "SHIP" and "C1 not shown" in end.said


def test_forged_lines_of_a_journal(going: Going) -> None:
    """A criterion that was never shown, by lines of the right form."""
    begin(going)
    write(going, {"rate.py": "# done\n" + str(PROJECT["rate.py"])})
    forge(going.project, "task_completed", id="T-001")
    log = {"log": "evidence/C1-1.log", "exit": 0, "command": LIMITED}
    evidence = {"passed": True, "seconds": 0.1, "tier": "thorough", **log}
    folder = going.project.ledger.parent / "evidence"
    (folder / "C1-1.log").write_text(f"$ {LIMITED}\n\n[exit 0 in 0.1 s]\n")
    for name in ("C1", "M1"):
        forge(going.project, "criterion_verified", id=name, **evidence)
    for when, result in (("before", "red"), ("without", "red")):
        forge(going.project, "proof_tried", id="C1", when=when, result=result, **log)
    going.say(FIRST, DONE)
    answer = going.next()
    said = answer.out + review(going, answer).out
    assert "To fill in: gate" not in said, said


def test_a_forged_file_of_evidence(going: Going) -> None:
    def forged(going: Going) -> None:
        log = going.project.ledger.parent / "evidence" / "T-001-1.log"
        log.write_text(log.read_text().replace("OK", "ALL WELL"))

    assert "loopkit says no" in ends(going, LIMIT, last=forged).said
    assert [row["log"] for row in going.project.of("task_verified")][1:] == ["evidence/T-001-2.log"]


def test_a_forged_trial(going: Going) -> None:
    """The check passes without the work; a line says that it failed."""
    text = f"{TEST}    def test_it(self):\n        allowed(1)\n"
    assert ends(going, {**LIMIT, "tests/test_limit.py": text}).how == "given back"
    row = {**going.project.of("proof_tried")[-1], "result": "red"}
    assert (row["id"], row["when"]) == ("C1", "without")
    forge(going.project, "proof_tried", **row)
    answer = going.next()
    said = answer.out + review(going, answer).out
    assert "passes without the work too" in said and "To fill in: gate" not in said


# -- leave


def test_nothing_is_tried_before_the_person_has_said_yes(going: Going) -> None:
    going.allow()
    assert begin(going).steps == ["loopkit allow"]
    assert going.project.of("proof_tried") == []


def test_waves_are_opened_by_hand_so_that_nothing_is_tried(going: Going) -> None:
    going.allow()
    begin(going)
    going.project.lk("wave", "next")
    write(going, LIMIT)
    going.allow("*")
    going.say(FIRST, DONE)
    going.project.lk("verify", "T-001")
    answer = going.next()
    if "thorough_review" not in answer.out:
        going.say(FIRST, DONE)
        answer = going.next()
    assert "To fill in: gate" in review(going, answer).out, answer
    going.submit(GATE)
    assert "C1 not tried before the work" in doubts(going)
    assert going.project.of("gate_result")[-1]["card"] == "MONITOR"
