"""verify, wave, review, gate, complete: evidence, and everything that is refused without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopkit.store.loop import Loop
from tests.cli.kit import GATE, SHAPE, Project, task

BLOCKER = {
    "severity": "BLOCKER",
    "issue": "no doc",
    "guidance": "write it",
    "verify": "test -f doc.md",
}
WARNING = {"severity": "WARNING", "issue": "long function", "guidance": "cut it"}
LIGHT = ("--score", "8", "--issues", "0", "--blockers", "0")


@pytest.fixture
def working(project: Project) -> Project:
    """Two tasks, the second waits for the first; wave 1 open."""
    project.planned(task(), task("use it", "test -f use.txt", blocked_by=["#1"]))
    project.ok("wave", "next")
    return project


# -- waves and evidence


def test_a_wave_hands_its_tasks_to_agents_in_order(project: Project) -> None:
    project.planned(task("a"), task("b"), task("c", blocked_by=["#1"]))
    answer = project.ok("wave", "next")
    assert answer.out.startswith("wave 1 opened: T-001, T-002")
    assert answer.steps == [
        "agent loop:coder: Do T-001 (a). Run `loopkit task show T-001` first.",
        "agent loop:coder: Do T-002 (b). Run `loopkit task show T-002` first.",
        "loopkit wave close",
    ]
    assert project.snapshot["wave"] == {"number": 1, "open": True}
    assert project.tasks["T-001"]["metadata"]["wave"] == 1


def test_task_show_ends_with_the_check(working: Project) -> None:
    answer = working.ok("task", "show", "T-001")
    assert answer.steps == ["loopkit verify T-001 -- test -f limiter.txt"]
    assert "must not: A runtime dependency is added" in answer.out


def test_evidence_completes_a_task(working: Project) -> None:
    working.write("limiter.txt")
    answer = working.verify("T-001")
    assert answer.exit == 0
    assert answer.out.startswith("T-001 completed: exit 0 in ")
    assert f"evidence .loop/{working.name}/evidence/T-001-1.log" in answer.out
    assert answer.steps == ["loopkit wave close"]
    row = working.tasks["T-001"]
    assert (row["status"], row["evidence"]["passed"], row["evidence"]["exit"]) == (
        "completed",
        True,
        0,
    )
    log = (working.root / working.name / row["evidence"]["log"]).read_text()
    assert log.startswith("$ test -f limiter.txt\n") and "[exit 0 in " in log


def test_a_check_that_fails_completes_nothing(working: Project) -> None:
    answer = working.verify("T-001")
    assert (answer.exit, answer.err) == (1, "")
    assert answer.out.startswith("T-001 not passed: exit 1")
    assert answer.steps == ["loopkit verify T-001 -- test -f limiter.txt"]
    assert working.tasks["T-001"]["status"] == "in_progress"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("T-001", "--", "ls"), 1, "not the stored command of T-001"),
        (("T-001", "--", "test", "-f", "limiter.txt", ";", "ls"), 1, "not the stored command"),
        (("T-001", "--", "test -f limiter.txt"), 1, "not the stored command"),
        (("T-002", "--", "test", "-f", "use.txt"), 1, "T-002 is pending, not in progress"),
        (("T-009", "--", "ls"), 1, "there is no task T-009"),
        (("C9", "--", "ls"), 1, "no criterion or mustNot C9"),
        (("M1", "--", "ls"), 1, "M1 has no command"),
        (("X-001", "--", "ls"), 2, "neither a task nor a criterion"),
        (("T-001",), 1, "nobody has allowed the check"),
        ((), 2, ""),
    ],
)
def test_checks_that_are_not_run(working: Project, words: tuple, code: int, says: str) -> None:
    working.write("limiter.txt")
    working.refused(code, "verify", *words, says=says)


def test_a_command_runs_without_a_shell_and_with_its_own_words(project: Project) -> None:
    project.planned(task("a", "seq -s '|' -f '%g a b $HOME * --json' 1"))
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 0
    log = (project.root / project.name / "evidence" / "T-001-1.log").read_text()
    assert "\n1 a b $HOME * --json\n" in log


@pytest.mark.parametrize(
    ("verify", "code"),
    [("no-such-program-here", 127), ("sh -c 'exit 7'", 7), ("sh -c 'kill -9 $$'", 137)],
)
def test_how_a_check_ended_is_evidence(project: Project, verify: str, code: int) -> None:
    project.planned(task("a", verify))
    project.ok("wave", "next")
    answer = project.verify("T-001")
    assert answer.exit == 1 and f"exit {code}" in answer.out
    assert project.tasks["T-001"]["evidence"]["exit"] == code


def test_three_fixes_then_the_attempt_has_failed(working: Project) -> None:
    for left in (3, 2, 1):
        assert f"({left} more before the attempt counts as failed)" in working.verify("T-001").out
    answer = working.verify("T-001")
    assert "T-001 failed, attempt 1: retry" in answer.out
    assert working.tasks["T-001"]["attempts"] == 1


def test_closing_a_wave_fails_what_has_no_evidence_and_asks_for_a_panel(working: Project) -> None:
    answer = working.ok("wave", "close")
    assert answer.out.startswith("wave 1 closed: 0 completed, 1 failed")
    assert answer.steps == ["loopkit panel T-001"]
    working.refused(1, "wave", "close", says="no wave is open")
    working.refused(1, "wave", "next", says="no task is ready (2 open); next: loopkit panel T-001")


def test_the_last_wave_leads_to_review(working: Project) -> None:
    for name in ("limiter.txt", "use.txt"):
        working.write(name)
    working.verify("T-001")
    assert working.ok("wave", "close").steps == ["loopkit verify M2 -- test ! -f forbidden.txt"]
    assert working.verify("M2").steps == ["loopkit wave next"]
    working.ok("wave", "next")
    working.verify("T-002")
    working.ok("wave", "close")
    assert working.snapshot["stage"] == "review"


def test_sequential_takes_one(project: Project) -> None:
    project.planned(task("a"), task("b"))
    assert project.ok("wave", "next", "--sequential", "--json").json["tasks"] == ["T-001"]


def test_at_most_six_in_a_wave(project: Project) -> None:
    project.planned(*[task(str(number)) for number in range(8)])
    assert len(project.ok("wave", "next", "--json").json["tasks"]) == 6
    project.refused(1, "task", "start", "T-007", says="wave 1 is full")


def test_a_loop_that_ends_while_a_check_runs_takes_no_evidence(project: Project) -> None:
    project.planned(task("a", "sh end.sh"))
    project.ok("wave", "next")
    line = {**project.lines[-1], "type": "loop_cancelled", "data": {"reason": "by hand"}}
    project.write("line.json", json.dumps(line) + "\n")
    project.write("end.sh", f"cat line.json >> .loop/{project.name}/ledger.jsonl\n")
    answer = project.verify("T-001")
    assert answer.exit == 1 and "is over (cancelled)" in answer.err
    assert project.lines[-1]["type"] == "loop_cancelled"
    assert project.tasks["T-001"]["evidence"] is None


# -- skipping


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("shape", "--accept", "-"), "the loop is in intent"),
        (("task", "add", "a", "--verify", "ls"), "the loop is in intent"),
        (("wave", "next"), "the loop is in intent"),
        (("review", "--thorough", "--file", "-"), "the loop is in intent"),
        (("gate", "--file", "-"), "the loop is in intent"),
        (("complete",), "the loop is in intent"),
    ],
)
def test_skipping_from_the_start(project: Project, words: tuple, says: str) -> None:
    project.start()
    given = {"findings": []} if words[0] == "review" else GATE
    said = project.refused(1, *words, given=SHAPE if words[0] == "shape" else given, says=says)
    assert "next: loopkit score" in said


def test_completing_without_evidence(working: Project) -> None:
    working.refused(1, "complete", says="the loop is in executing")
    working.refused(1, "review", "--thorough", "--file", "-", given={"findings": []})
    working.refused(1, "gate", "--file", "-", given=GATE)


# -- reviews


def test_a_light_review_is_stored_and_shown(working: Project) -> None:
    working.write("limiter.txt")
    working.verify("T-001")
    working.refused(1, "review", "--wave", "1", *LIGHT, says="wave 1 is not closed")
    working.ok("wave", "close")
    prompt = working.ok("review", "--wave", "1")
    assert "ask 2 to 3 experts" in prompt.out and prompt.steps[0].startswith(
        "loopkit review --wave 1"
    )
    working.ok("review", "--wave", "1", *LIGHT)
    row = {"score": 8, "issues": 0, "blockers": 0, "by": "hand"}
    assert working.snapshot["reviews"] == {"wave_1": row}
    assert "Review wave_1: 8/10, 0 issues, 0 blockers" in working.ok("status").out
    loop = Loop(str(working.root), working.name)
    loop.record([("review_light", {"wave": wave, "score": 7}) for wave in range(2, 100)], "person")
    said = working.ok("status").out
    assert (
        "Reviews of earlier waves: 95" in said
        and said.count("Review wave_") == 4
        and "Review wave_99" in said
    )
    assert said.count("\n") <= 40


def test_a_light_review_never_blocks(working: Project) -> None:
    working.write("limiter.txt")
    working.verify("T-001")
    working.ok("wave", "close")
    given = {"score": 1, "findings": [BLOCKER]}
    working.ok("review", "--wave", "1", "--file", "-", given=given)
    working.ok("wave", "next")
    assert working.snapshot["reviews"]["wave_1"]["blockers"] == 1


def test_blockers_of_light_reviews_are_handed_to_the_thorough_one(project: Project) -> None:
    project.worked()
    project.ok(
        "review",
        "--wave",
        "1",
        "--file",
        "-",
        given={"score": 1, "findings": [BLOCKER]},
    )
    prompt = project.ok("review", "--thorough").out
    assert (
        "no doc" in prompt
        and "M2 A runtime dependency is added" in prompt
        and "ask 3 to 4 experts" in prompt
    )


REVIEWS: list[tuple[int, tuple, Any, str]] = [
    (2, (), None, "give one of --wave N, --thorough"),
    (2, ("--wave", "1", "--thorough"), None, "give one of --wave N, --thorough"),
    (
        2,
        ("--wave", "1", "--score", "11", "--experts", "a,b"),
        None,
        "score: must be at most 10, not 11",
    ),
    (1, ("--wave", "1", "--score", "5", "--experts", "simplifier"), None, "1 expert;"),
    (1, ("--wave", "1", "--score", "5", "--experts", "nobody,never"), None, "was not asked"),
    (1, ("--wave", "1", "--score", "5", "--blockers", "3"), None, "3 blockers are counted"),
    (
        1,
        ("--thorough", "--file", "-"),
        {"experts": ["nobody", "never", "nope"], "findings": []},
        "nobody, never, nope was not asked; asked are: ",
    ),
    (2, ("--thorough", "--file", "-"), {"experts": ["a", "b", "c"]}, "findings: must be given"),
    (
        2,
        ("--thorough", "--file", "-"),
        {"findings": [{**BLOCKER, "verify": ""}]},
        "verify",
    ),
    (
        1,
        ("--thorough", "--file", "-"),
        {"findings": [{**WARNING, "violates": ["M2"]}]},
        "M2",
    ),
    (2, ("--thorough", "--file", "-"), "- a\n- b\n", ""),
]


def test_reviews_that_cannot_be_taken(project: Project) -> None:
    project.worked()
    for code, words, given, says in REVIEWS:
        project.refused(code, "review", *words, given=given, says=says)


def test_blockers_become_tasks_and_the_review_is_repeated_until_none_is_left(
    project: Project,
) -> None:
    project.worked()
    answer = project.review([BLOCKER, WARNING])
    assert "F-001 BLOCKER → T-002" in answer.out and "blockers left: 1" in answer.out
    assert project.snapshot["stage"] == "executing"
    project.refused(1, "review", "resolve", "F-001", "--approve", says="F-001 is a blocker")
    project.ok("wave", "next")
    project.write("doc.md")
    assert project.verify("T-002").exit == 0
    project.ok("wave", "close")
    assert "loopkit review" in project.verify("M2").steps[0]
    project.ok("review", "resolve", "F-002", "--skip", "covered by the next loop")
    project.refused(1, "gate", "--file", "-", given=GATE, says="the thorough review has not passed")
    project.review([])
    thorough = project.snapshot["reviews"]["thorough"]
    assert (thorough["passed"], thorough["blockers_remaining"]) == (True, 0)


@pytest.mark.parametrize(
    "how",
    [("--approve",), ("--discuss", "said"), ("--skip", "later"), ("--task", "--verify", "ls")],
)
def test_a_warning_keeps_the_gate_shut_until_it_is_acknowledged(
    project: Project, how: tuple
) -> None:
    project.reviewed(findings=[WARNING])
    answer = project.lk("gate")
    assert answer.exit == 1 and "the thorough review has not passed" in answer.out
    project.refused(2, "review", "resolve", "F-001", says="give exactly one")
    project.refused(
        2, "review", "resolve", "F-001", "--approve", "--skip", "x", says="give exactly one"
    )
    project.ok("review", "resolve", "F-001", *how)
    assert project.snapshot["stage"] == ("executing" if "--task" in how else "review")


def test_unattended_warnings_are_acknowledged_as_such(project: Project) -> None:
    project.write("limiter.txt")
    project.shaped(words=("--unattended",))
    project.ok("task", "add", "--file", "-", given=[task()])
    project.ok("wave", "next")
    project.verify("T-001")
    project.ok("wave", "close")
    project.review([WARNING])
    assert project.of("review_thorough")[0]["findings"][0]["resolution"]["how"] == "unattended"
    assert project.snapshot["reviews"]["thorough"]["passed"]


# -- gate


def test_the_gate_lists_what_is_missing_with_the_command_to_run(project: Project) -> None:
    project.reviewed()
    answer = project.lk("gate")
    assert answer.exit == 1 and answer.err == ""
    assert "C1 has not been verified" in answer.out and "M2 has not been verified" in answer.out
    assert answer.steps == ["loopkit verify C1 -- test -f limiter.txt"]
    assert project.lk("gate", "--json").json["missing"] == [
        "C1 has not been verified",
        "M2 has not been verified",
    ]
    project.refused(1, "gate", "--file", "-", given=GATE, says="C1 has not been verified")


def test_the_gate_shows_its_form_when_all_checks_are_there(project: Project) -> None:
    project.reviewed()
    assert project.verify("C1").steps == ["loopkit verify M2 -- test ! -f forbidden.txt"]
    assert project.verify("M2").steps == ["loopkit gate"]
    answer = project.ok("gate")
    assert answer.steps == ["loopkit gate --file -"]
    assert (
        '  edge_cases: "<edge cases were tried: PASS' in answer.out and "root_cause" in answer.out
    )


def test_a_gate_that_passes_leads_to_complete(project: Project) -> None:
    project.reviewed()
    answer = project.gated()
    assert (answer.exit, answer.out.splitlines()[0], answer.steps) == (
        0,
        "gate passed: MONITOR; thorough review: submitted by hand",
        ["loopkit complete"],
    )


def test_a_gate_that_refuses_makes_tasks_and_leads_back(project: Project) -> None:
    project.reviewed()
    answer = project.gated(points={**GATE["points"], "edge_cases": "FAIL empty input crashes"})
    assert answer.exit == 1 and answer.err == ""
    assert (
        "gate refused: edge cases were tried: empty input crashes" in answer.out
        and "T-002 to fix it" in answer.out
    )
    assert project.snapshot["stage"] == "executing"
    assert project.tasks["T-002"]["kind"] == "remediation"
    assert answer.steps == ['loopkit task set T-002 --verify "<command>"']
    project.refused(1, "complete", says="the loop is in executing")


def test_a_criterion_that_does_not_hold_makes_a_task_with_its_check(project: Project) -> None:
    project.reviewed()
    (project.folder / "limiter.txt").unlink()
    answer = project.verify("C1")
    assert answer.exit == 1 and "C1 not shown" in answer.out
    project.verify("M2")
    assert project.lk("gate", "--file", "-", given=GATE).exit == 1
    assert project.tasks["T-002"]["verify"] == "test -f limiter.txt"


def test_stale_evidence_is_listed_and_made_anew(project: Project) -> None:
    project.reviewed(task(files=["limiter.txt"]))
    project.write("limiter.txt", "changed\n")
    answer = project.lk("gate")
    assert answer.exit == 1
    assert "T-001: its files changed after its evidence" in answer.out
    assert answer.steps == ["loopkit verify T-001 -- test -f limiter.txt"]
    said = project.refused(1, "gate", "--file", "-", given=GATE)
    assert "next: loopkit verify T-001" in said
    assert "verified again" in project.verify("T-001").out
    assert project.lk("gate").steps == ["loopkit verify C1 -- test -f limiter.txt"]


def test_an_edit_while_the_check_runs_makes_its_evidence_stale(project: Project) -> None:
    project.reviewed(
        task("a", "sh -c 'test -f limiter.txt && echo x >> limiter.txt'", files=["limiter.txt"])
    )
    assert "T-001: its files changed after its evidence" in project.lk("gate").out


def test_files_that_change_after_the_gate_stop_completion(project: Project) -> None:
    project.reviewed(task(files=["limiter.txt"]))
    project.gated()
    project.write("limiter.txt", "changed\n")
    project.refused(
        1, "complete", says="its files changed after its evidence; next: loopkit verify T-001"
    )


def test_a_breached_must_not_pauses_at_once(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    project.write("forbidden.txt")
    answer = project.verify("M2")
    assert answer.exit == 1 and "M2 broken, the loop is paused" in answer.out
    assert answer.waits == ["loopkit resume"]
    snapshot = project.snapshot
    assert (snapshot["status"], snapshot["verdict"]) == ("paused", "must_not_breached")
    project.refused(1, "wave", "close", says="paused (must_not_breached)")


def test_assumption_alone_blocks_completion(project: Project) -> None:
    project.write("limiter.txt")
    project.shaped(
        text=SHAPE.replace(
            "| C1 | execution output | test -f limiter.txt |", "| C1 | assumption | |"
        )
    )
    project.ok("task", "add", "--file", "-", given=[task()])
    project.ok("wave", "next")
    project.verify("T-001")
    project.ok("wave", "close")
    project.review([])
    project.verify("M2")
    given = {**GATE, "criteria": {"C1": "PASS I think so"}}
    project.refused(1, "gate", "--file", "-", given=given, says="C1 rests on assumption alone")


ANSWERS: list[tuple[int, dict, str]] = [
    (2, {"kind": "party"}, "kind: must be one of"),
    (1, {"points": {"runs": "PASS x"}}, "no answer for point edge_cases"),
    (1, {"points": {**GATE["points"], "runs": "could not decide"}}, "no answer for point runs"),
    (2, {"confidence": 200}, "confidence: must be at most 100"),
    (2, {"reversal": "3"}, "reversal: must be one of"),
    (2, {"size": 14}, "size: must be one of"),
    (2, {"risk": ""}, "risk: must say something"),
]


def test_answers_that_cannot_be_taken(project: Project) -> None:
    project.reviewed()
    project.verify("C1")
    project.verify("M2")
    for code, changes, says in ANSWERS:
        project.refused(code, "gate", "--file", "-", given={**GATE, **changes}, says=says)


# -- the end


def test_completion_prints_list_and_box(project: Project) -> None:
    out = project.completed().out
    assert out.startswith("<loop-complete>\n") and "\n</loop-complete>\n" in out
    rows = out.splitlines()
    for words in (
        "1 of 1 task, 1 of 1 criterion shown",
        "! thorough review: submitted by hand",
        "╭─ 🟡 MONITOR ─",
        "Verified: execution output · Sure: ~90 % · Size: 5 points",
        "Undo: under five minutes (type 2B)",
        "↳ Instead: none needed",
        "↳ Risk: edge cases",
        f".loop/{project.name}/report.md",
    ):
        assert sum(words in row for row in rows) == 1
    snapshot = project.snapshot
    assert (snapshot["stage"], snapshot["status"], snapshot["verdict"]) == (
        "complete",
        "completed",
        "achieved",
    )
    assert "next:" not in out


def test_monitor_and_research(project: Project) -> None:
    project.reviewed()
    assert "RESEARCH" in project.gated(confidence=69).out
    project.refused(1, "complete", says="RESEARCH: confidence 69 % is under 70")
    assert "MONITOR" in project.gated(reversal="1").out
    assert "🟡 MONITOR" in project.ok("complete").out


def test_nothing_is_changed_after_the_end(project: Project) -> None:
    project.completed()
    for words in (
        ("complete",),
        ("wave", "next"),
        ("task", "add", "a", "--verify", "ls"),
        ("verify", "T-001", "--", "test", "-f", "limiter.txt"),
        ("verify", "C1", "--", "test", "-f", "limiter.txt"),
        ("pause",),
        ("resume",),
        ("ask", "?"),
        ("score", "--overrule", "x"),
    ):
        project.refused(1, *words, says="is over (achieved)")


def test_a_whole_loop_leaves_every_move_in_the_ledger(project: Project) -> None:
    project.completed()
    moves = [(row["from"], row["to"]) for row in project.of("stage_moved")]
    assert moves == [
        ("intent", "shape"),
        ("shape", "decompose"),
        ("decompose", "executing"),
        ("executing", "review"),
        ("review", "complete"),
    ]
    assert all(set(line) == {"v", "at", "type", "by", "data"} for line in project.lines)
    assert {line["by"] for line in project.lines} == {"session:session-one"}


def test_a_completion_that_was_cut_off_is_recorded_by_the_next_wave(project: Project) -> None:
    project.write("limiter.txt")
    project.planned()
    project.ok("task", "split", "T-001", "--file", "-", given=[task("a"), task("b")])
    project.ok("wave", "next")
    for name in ("T-002", "T-003"):
        assert project.verify(name).exit == 0
    lines = project.ledger.read_bytes().splitlines(keepends=True)
    assert b'"task_completed"' in lines[-1] and b'"T-001"' in lines[-1]
    project.ledger.write_bytes(b"".join(lines[:-1]))
    (project.root / "workflow-state.json").unlink()
    project.ok("wave", "close")
    assert "T-001 completed" in project.ok("wave", "next").out
    assert project.tasks["T-001"]["status"] == "completed"


def test_the_empty_task_panel_is_told_of_once_on_a_machine_where_somebody_is(
    project: Project,
) -> None:
    """Whoever works in many loops has heard it; under -p nobody sees a panel."""
    said, alone = "task panel stays empty", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    project.planned(task("a", "ls"))
    assert said not in project.ok("wave", "next", **alone).out
    told = []
    for _ in range(2):
        project.ok("cancel")
        project.planned(task("a", "ls"))
        told.append(said in project.ok("wave", "next").out)
    assert told == [True, False]
