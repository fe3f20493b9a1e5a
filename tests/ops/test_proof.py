"""Proofs put to the trial by `loopkit next`: before the first wave, and at the end."""

from __future__ import annotations

from typing import Any

from tests.cli.kit import REQUEST, Answer
from tests.ops.kit import check, part
from tests.ops.test_advance import FIRST, FORM, Going, agents, going

__all__ = ["going"]


def asked(going: Going, *criteria: dict, must_nots: tuple = (), tasks: tuple = ()) -> Answer:
    """Up to what follows a request with these criteria."""
    going.project.start("add rate limiting to the API")
    going.next()
    row: dict[str, Any] = {**REQUEST, "criteria": list(criteria), "tasks": list(tasks)}
    row["tasks"] = row["tasks"] or [part("limiter")]
    row["must_nots"] = [*must_nots, *REQUEST["must_nots"]][:2]
    return going.submit(row)


def proof(line: str, text: str = "there is a limit", **more: Any) -> dict:
    return {"text": text, "proof": line, **more}


def tried(going: Going) -> list[tuple]:
    return [(row["id"], row["when"], row["result"]) for row in going.project.of("proof_tried")]


NEW = proof(check("limiter"))


def test_each_proof_is_red_before_the_first_agent_starts(going: Going) -> None:
    begun = asked(going, NEW)
    assert agents(begun) == [FIRST]
    assert "C1 fails before the work, as it must" in begun.out
    assert tried(going) == [("C1", "before", "red"), ("T-001", "before", "red")]
    folder = going.project.root / going.project.name / "evidence"
    assert [one.name for one in folder.iterdir()] == ["C1-before-1.log"]  # one command, one run


def test_a_proof_that_passes_before_the_work_is_given_back(going: Going) -> None:
    going.project.write("readme.txt", "limits\n")
    back = asked(going, NEW, proof("grep -q limits readme.txt", "it is documented"))
    assert back.steps == FORM and going.project.of("wave_opened") == []
    line = "  C2 it is documented: `grep -q limits readme.txt` passes before the work"
    assert line in back.out and "C1 there" not in back.out
    assert back.out.count("keeps: <true") == 1
    says = "passes before the work: proves nothing"
    same = [{"id": "C2", "proof": "grep -q limits readme.txt"}]
    assert says in going.no("submit", "--file", "-", given=same)
    begun = going.submit([{"id": "C2", "proof": "grep -q 'limits:' readme.txt"}])
    assert agents(begun) == [FIRST] and "C2 fails before the work, as it must" in begun.out


def test_what_stays_is_said_to_be_kept(going: Going) -> None:
    going.project.write("readme.txt", "limits\n")
    asked(going, NEW, proof("grep -q limits readme.txt"))
    begun = going.submit([{"id": "C2", "keeps": True}])
    assert agents(begun) == [FIRST]
    assert going.project.of("proof_replaced")[0]["keeps"] is True


def test_nothing_new_is_no_request(going: Going) -> None:
    going.project.write("readme.txt", "limits\n")
    back = asked(going, proof("grep -q limits readme.txt", keeps=True))
    assert back.steps == FORM and "no criterion fails before the work" in back.out


def test_a_check_that_cannot_start_is_given_back(going: Going) -> None:
    back = asked(going, NEW, must_nots=(proof("no-such-linter src", "a fault is added"),))
    assert back.steps == FORM and "M1 a fault is added" in back.out
    assert "cannot be started: no such program: no-such-linter" in back.out
    assert agents(going.submit([{"id": "M1"}])) == [FIRST]  # it may do without


def test_what_failed_before_the_work_is_no_breach_at_the_end(going: Going) -> None:
    """A mustNot's check that names what fails: only what fails newly counts."""
    going.project.write("check.py", "print('FAILED tests/t.py::old')\nraise SystemExit(1)\n")
    runs = (proof("python3 check.py", "a test fails"),)
    begun = asked(going, NEW, must_nots=runs)
    assert "M1 fails before the work: only what fails newly counts (1 name)" in begun.out
    going.did("limiter")
    review = going.next()
    assert "M1 holds" in review.out and "1 failure, each as before" in review.out
    assert going.project.of("paused") == []


def test_what_fails_newly_is_a_breach(going: Going) -> None:
    going.project.write("check.py", "print('FAILED tests/t.py::old')\nraise SystemExit(1)\n")
    asked(going, NEW, must_nots=(proof("python3 check.py", "a test fails"),))
    going.project.write("check.py", "print('FAILED tests/t.py::new')\nraise SystemExit(1)\n")
    going.did("limiter")
    going.next()
    assert going.project.of("paused")[-1]["verdict"] == "must_not_breached"


def test_nothing_runs_that_nobody_allowed(going: Going) -> None:
    going.allow()
    waits = asked(going, NEW)
    assert waits.steps == ["loopkit allow"] and tried(going) == []
