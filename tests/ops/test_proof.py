"""Proofs put to the trial by `loopkit next`: before the first wave, and at the end."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal.parts import NOT_TRIED
from loopkit.engine import process, without
from loopkit.engine.process import Outcome
from loopkit.ops import advance
from loopkit.ops import proof as proofs
from loopkit.ops.workspace import Workspace
from loopkit.store import leave, place
from loopkit.store.loop import Loop
from tests.cli.kit import GATE, REQUEST, S1, Answer, Project
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
FIVE_MINUTES = 300.0


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
    assert "M1 kept" in review.out and "1 failure, each as before" in review.out
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


def test_a_wave_opened_by_hand_tries_the_proofs_that_may_run(going: Going) -> None:
    """What failed before the work is known on this way too."""
    going.project.write("check.py", "print('FAILED tests/t.py::old')\nraise SystemExit(1)\n")
    going.allow()
    asked(going, NEW, must_nots=(proof("python3 check.py", "a test fails"),))
    going.allow("python3 *")
    opened = going.project.ok("wave", "next").out
    assert "M1 fails before the work: only what fails newly counts (1 name)" in opened
    assert tried(going) == [("M1", "before", "red")]  # nobody has allowed the others


def test_no_wave_is_opened_by_hand_over_a_proof_that_proves_nothing(going: Going) -> None:
    going.project.write("readme.txt", "limits\n")
    going.allow()
    asked(going, NEW, proof("grep -q limits readme.txt"))
    going.allow("*")
    no = going.project.lk("wave", "next")
    assert no.exit == 1 and no.steps == ["loopkit next"]
    assert "no wave: the proof of C2 passes before the work: proves nothing" in no.out
    assert going.project.of("wave_opened") == []


# -- at the end


def trial(going: Going) -> tuple:
    row = going.project.of("proof_tried")[-1]
    return row["id"], row["when"], row["result"], row["why"]


def at_the_end(going: Going, line: str = check("limiter"), **files: str) -> Answer:
    """One criterion with this proof; the work writes the part's file, and these."""
    asked(going, proof(line))
    for name, text in files.items():
        (going.project.folder / "tests").mkdir(exist_ok=True)
        going.project.write(name.replace("__", "/").replace("_py", ".py"), text)
    going.did("limiter")
    return going.next()


def test_each_criterion_fails_again_without_the_work(going: Going) -> None:
    review = at_the_end(going)
    assert trial(going) == ("C1", "without", "red", "")
    assert "C1 shown" in review.out and "fails without the work" in review.out
    assert (going.project.folder / "limiter.txt").read_text() == "good\n"
    runs = going.project.root / going.project.name / "evidence"
    heads = [one.read_text().split("\n")[0] for one in sorted(runs.glob("C1-[0-9]*"))]
    assert heads == ["[with the work, apart from the real tree]", "[without the work]"]


def test_a_proof_that_does_not_need_the_work_is_given_back(going: Going) -> None:
    """A test that the loop wrote itself, which passed on the old files too."""
    going.project.write("limiter.txt", "bad\n")
    line, text = "python3 tests/shown.py", "raise SystemExit(not open('limiter.txt').read())\n"
    back = at_the_end(going, line, tests__shown_py=text)
    assert trial(going)[1:3] == ("without", "green")
    assert back.steps == FORM and "passes without the work too: proves nothing" in back.out
    says = "C1 was to be new"
    assert says in going.no("submit", "--file", "-", given=[{"id": "C1", "keeps": True}])
    review = going.submit([{"id": "C1", "proof": check("limiter")}])
    assert agents(review)[0] == "thorough_review-1-1" and trial(going)[2] == "red"


def test_a_test_that_looks_at_nothing_is_not_tried(going: Going) -> None:
    line = "python3 tests/shown.py"
    review = at_the_end(going, line, tests__shown_py="raise SystemExit(0)\n")
    assert trial(going)[2:] == (
        "not tried",
        "it passes with emptied files too: it does not look at them",
    )
    assert "not tried without the work" in review.out


def test_a_loop_in_which_nothing_changed_ends_nowhere(going: Going) -> None:
    """Every check passes by what git ignores, and no file has changed."""
    going.project.write(".git/info/exclude", "limiter.txt\n")
    back = at_the_end(going)
    assert trial(going) == ("C1", "without", "green", "no file has changed since the start")
    assert back.steps == FORM


def test_the_same_command_on_the_same_files_runs_once(going: Going) -> None:
    asked(going, NEW, proof(check("limiter"), "and the same once more"))
    going.did("limiter")
    going.next()
    results = [one for one in tried(going) if one[1] == "without"]
    assert results == [("C1", "without", "red"), ("C2", "without", "red")]
    runs = going.project.root / going.project.name / "evidence"
    assert len(list(runs.glob("C2-[0-9]*"))) == 0


def test_the_real_tree_has_a_call_of_its_own_where_time_is_short(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that takes long and does not pass apart from the real tree."""
    apart = {"passed": False, "seconds": 1e9, "exit": 1, "log": "evidence/C1-1.log"}
    why = "it does not pass apart from the real tree"
    found = [without.Tried(apart, None, None, NOT_TRIED, why)]
    monkeypatch.setattr(without, "tried", lambda *given: found.pop())
    short = at_the_end(going)
    assert short.steps == ["loopkit next"] and "C1" not in short.out
    assert trial(going) == ("C1", "without", "not tried", why)
    review = going.next()
    assert "C1 shown: exit 0" in review.out
    assert trial(going)[2:] == ("not tried", why) and not found
    assert going.project.of("proof_tried")[-1]["log"] == ""


def test_a_trial_that_is_cut_is_begun_anew(going: Going, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advance, "MOST_SECONDS", 0)
    asked(going, NEW)
    going.next()  # its proof before the work
    going.next()
    going.did("limiter")
    outs = [going.next() for _ in range(3)]
    assert all(one.steps == ["loopkit next"] and "C1 " not in one.out for one in outs[:2])
    assert "not tried without the work: no time is left" in outs[2].out


def test_in_part_of_a_project_a_check_s_own_file_is_no_work(going: Going) -> None:
    """A check's folder is where the session was opened: what it names lies there."""
    project = going.project
    project.folder /= "part"
    project.folder.mkdir()
    asked(going, proof("python3 shown.py"), tasks=(part("more"),))
    project.write("shown.py", "raise SystemExit(0)\n")
    going.did("more")
    going.next()
    why = "it passes with emptied files too: it does not look at them"
    assert trial(going)[:3] == ("C1", "without", "not tried") and why in trial(going)[3]


def test_without_git_it_says_so(going: Going) -> None:
    shutil.rmtree(going.project.folder / ".git")
    review = at_the_end(going)
    assert "C1 shown" in review.out and "is in no git repository" in review.out


def test_what_a_proof_came_to_is_not_said_of_another(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once: while the check runs, the person puts another in its place."""
    asked(going, NEW)
    going.did("limiter")
    run = proofs.run

    def slow(workspace: Workspace, *given: Any) -> Any:
        found = run(workspace, *given)
        monkeypatch.setattr(proofs, "run", run)
        proofs.correct(workspace, "C1", ["test", "-f", "limiter.txt"], "shorter")
        return found

    monkeypatch.setattr(proofs, "run", slow)
    assert "not the stored command of C1" in going.next().out
    assert going.project.of("criterion_verified") == []


# -- a wrong proof, on the person's word


def test_a_wrong_proof_is_corrected_on_the_persons_word(going: Going) -> None:
    asked(going, proof(check("limiter")), must_nots=(proof("test ! -f limiter.txt", "it moves"),))
    going.did("limiter")
    broken = going.next()
    line = ("proof", "M1", "--why", "it is the very file", "--", "test", "!", "-f", "moved.txt")
    assert 'the person may correct it: loopkit proof M1 --why "<why>"' in broken.out
    project = going.project
    alone = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    project.refused(1, *line, says="only the person corrects a proof", **alone)
    project.refused(1, "proof", "M1", "--", "ls", says="no reason given")
    project.refused(1, "proof", "M9", "--why", "x", "--", "ls", says="there is no proof of M9")
    project.refused(1, "proof", "C1", "--why", "x", "--", *check("limiter").split(), says="already")
    project.ok(*line)
    (row,) = project.of("proof_replaced")
    assert row["failed"] and row["command"] == "test '!' -f moved.txt"
    assert "word" not in row, "nobody was asked in the client's dialog"
    project.ok("resume")
    assert agents(going.next())[0] == "thorough_review-1-1"


@pytest.mark.parametrize(
    ("line", "asks", "result", "card"),
    [
        ("grep -c good limiter.txt", True, "red", "SHIP"),
        ("grep -c good limiter.txt", False, None, "MONITOR"),
        ("test -d .", True, "green", None),
    ],
    ids=["the person's yes", "the session's own", "it proves nothing"],
)
def test_a_corrected_proof_is_tried_with_all_the_work_taken_away(
    going: Going, line: str, asks: bool, result: str | None, card: str | None
) -> None:
    """The proof cannot pass, whatever is done; the other one was red before the work as well."""
    asked(going, proof("grep -qx bad limiter.txt"), tasks=(part("limiter", criteria=["C1"]),))
    going.did("limiter")
    going.next()
    project = going.project
    assert project.of("criterion_verified")[-1]["passed"] is False
    words = ["--asked", _word(project, line)] if asks else []
    said = project.ok("proof", "C1", *words, "--why", "a slip", "--", *line.split()).out
    tries = [row for row in project.of("proof_tried") if row["command"] == line]
    assert [row["result"] for row in tries] == ([result] if result else [])
    assert project.of("proof_replaced")[-1].get("word", "") == ("person" if asks else "")
    if result == "red":
        assert "C1 fails before the work, as it must" in said
    if card is None:
        assert "C1 passes before the work, so it proves nothing" in said
        assert going.next().steps == FORM
        return
    for _ in range(4):
        going.next()
        if "review_asked" in [one["type"] for one in project.lines]:
            break
    gate = going.reviewed()
    assert "criterion_verified" in [one["type"] for one in project.lines]
    over = going.submit(GATE)
    assert f" {card} " in over.out, gate.out + over.out
    assert "C1's proof was replaced" in over.out


def _word(project: Project, line: str) -> str:
    """That of the call to which the person says yes in the client's dialog."""
    state = Loop(str(project.root), project.name).state
    asked = leave.Leave(str(project.folder), [], [])
    data = place.data_dir(project.env())
    return leave.request(data, S1, state.session.token, asked, [line])


def test_checks_of_five_minutes_run_once_each_however_many_calls_that_takes(
    going: Going, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock of our own: every run of a check takes five minutes, or all that is left."""
    ahead, ran = [0.0], Counter()
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead[0])

    def slow(run: Callable) -> Callable:
        def begun(arguments: list, folder: str, log: str, seconds: float, env: dict) -> Outcome:
            outcome: Outcome = run(arguments, folder, log, seconds, env)
            if not log.endswith(".log"):  # it tries whether an overlay can be made
                return outcome
            took = min(FIVE_MINUTES, seconds)
            ahead[0] += took
            if took < FIVE_MINUTES:
                return outcome._replace(exit=124, seconds=took)
            about = Path(log).read_text().split("\n")[0]
            ran[Path(log).stem.rpartition("-")[0], about] += 1
            return outcome._replace(seconds=took)

        return begun

    monkeypatch.setattr(process, "run", slow(process.run))
    monkeypatch.setattr(without, "run", slow(without.run))
    going.project.start("add rate limiting to the API")
    going.next()
    tasks = [part("a"), part("b")]
    shown = [{"text": text, "proof": f"grep -c good {text}.txt"} for text in "ab"]
    answer = going.submit(REQUEST | {"criteria": shown, "tasks": tasks})
    calls = 1
    while answer.steps == ["loopkit next"]:
        answer, calls = going.next(), calls + 1
    assert agents(answer) == [FIRST, "implementation-T-002-1"] and calls > 2
    for number, name in enumerate("ab", 1):
        going.did(name, task=number)
    answer = going.next()
    while answer.steps == ["loopkit next"]:
        answer = going.next()
    assert set(agents(answer)) <= {"thorough_review-1-1", "thorough_review-2-1"}
    going.reviewed()
    assert going.submit(GATE).out.count("<loop-complete>") == 1
    assert ran and set(ran.values()) == {1}, ran
    names = {name for name, _ in ran}
    assert names >= {"C1-before", "C2-before", "T-001-before", "T-001", "T-002", "C1", "C2"}
