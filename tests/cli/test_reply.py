"""loopkit reply and what wave next hands out: a supervised loop by its commands, and by nothing but its `next:` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import Answer, Project

GOOD = {"score": 82, "approved": True, "recommendation": "approve", "feedback": "it does what was asked"}
IMPLEMENTED = {"status": "complete", "summary": "wrote it", "filesModified": ["limiter.txt"]}
PASSED = {"status": "passed", "testsRun": 1, "testsPassed": 1, "testsFailed": 0}
FAILED = {
    "status": "failed",
    "testsRun": 1,
    "testsPassed": 0,
    "testsFailed": 1,
    "failures": [{"testName": "limit", "error": "no 429", "severity": "critical"}],
}
DIAGNOSIS = {"decision": "retry", "reasoning": "the wrong file was written"}


def piece(text: str, verify: str = "test -f limiter.txt", complexity: str = "simple", **fields: Any) -> dict:
    return {"description": text, "complexity": complexity, "verify": verify, **fields}


def plan(*rows: dict) -> dict:
    return {"tasks": list(rows) or [piece("count"), piece("answer"), piece("tell")]}


def supervised(project: Project, *words: str) -> Project:
    return project.shaped(words=("--approval", "supervisor", *words))


def reply(project: Project, what: str, given: object, code: int = 0) -> Answer:
    answer = project.lk("reply", *what.split(), "--file", "-", given=given)
    assert answer.exit == code, answer
    return answer


def approved(project: Project, *rows: dict, words: tuple = ()) -> Project:
    """A supervised loop whose plan is approved."""
    supervised(project, *words)
    project.ok("wave", "next")
    reply(project, "plan", plan(*rows))
    project.ok("wave", "next")
    reply(project, "verification plan", GOOD)
    return project


def test_a_whole_supervised_loop(project: Project) -> None:
    supervised(project)
    asked = project.ok("wave", "next")
    assert asked.steps == [
        f"agent loop:planner: Plan the work. Read `.loop/{project.name}/briefs/plan-1.md` first.",
        "loopkit reply plan --file -",
    ]
    answer = reply(project, "plan", plan())
    assert "T-003 added: tell" in answer.out and answer.steps == ["loopkit wave next"]
    assert project.ok("wave", "next").steps[0].startswith("agent loop:plan-review: Review the plan.")
    assert "score 82, approved" in reply(project, "verification plan", GOOD).out
    opened = project.ok("wave", "next")
    assert [one.split(":")[1] for one in opened.steps[:3]] == ["coder"] * 3
    assert opened.steps[3:] == [f"loopkit reply implementation T-00{number} --file -" for number in (1, 2, 3)]
    assert reply(project, "implementation T-001", IMPLEMENTED).steps == opened.steps[4:]
    for number in (2, 3):
        answer = reply(project, f"implementation T-00{number}", IMPLEMENTED)
    assert answer.steps == ["loopkit wave next"]
    assert project.ok("wave", "next").steps[3:] == [f"loopkit reply test T-00{number} --file -" for number in (1, 2, 3)]
    project.refused(1, "reply", "test", "T-001", "--file", "-", given=PASSED, says="next: loopkit verify T-001 -- test")
    project.write("limiter.txt")
    for number in (1, 2, 3):
        verified = project.verify(f"T-00{number}")
        assert (verified.exit, verified.steps) == (0, []) and "can be handed in now" in verified.out
        assert project.tasks[f"T-00{number}"]["status"] == "in_progress"
        answer = reply(project, f"test T-00{number}", PASSED)
    assert project.ok("wave", "next").steps[0].startswith("agent loop:supervisor: Judge T-001 (count).")
    project.refused(1, "wave", "close", says="nobody has judged T-001, T-002, T-003")
    for number in (1, 2, 3):
        answer = reply(project, f"verification T-00{number}", GOOD)
        assert f"T-00{number} completed" in answer.out
    assert answer.steps == ["loopkit wave close"]
    closed = project.ok("wave", "close")
    assert closed.steps == ["loopkit verify M2 -- test ! -f forbidden.txt"] and "light review" not in closed.out
    assert project.verify("M2").steps == ["loopkit wave next"]
    assert project.ok("wave", "next").steps[1:] == ["loopkit reply verification goal --file -"]
    answer = reply(project, "verification goal", GOOD)
    assert "reached" in answer.out and answer.steps == ["loopkit review --thorough"]
    project.review([])
    project.gated()
    project.ok("complete")
    assert (project.status["verdict"], project.status["execution"]) == ("achieved", "completed")
    kinds = [one["kind"] for one in project.of("role_asked")]
    assert kinds == ["plan", "verification", *["implementation"] * 3, *["test"] * 3, *["verification"] * 4]


@pytest.fixture
def executing(project: Project) -> Project:
    """The wave with T-001 to T-003 is open, the coders are at work."""
    approved(project)
    project.ok("wave", "next")
    return project


def test_a_reply_that_does_not_fit_is_asked_for_once_more(executing: Project) -> None:
    answer = reply(executing, "implementation T-001", {"status": "done"}, code=1)
    assert "does not fit: status: 'done' is none of complete, blocked, needs_clarification" in answer.out
    brief = f".loop/{executing.name}/briefs/implementation-T-001-2.md"
    assert answer.steps[0].endswith(f"Read `{brief}` first.")
    assert "'done' is none of" in (executing.folder / brief).read_text()
    assert answer.steps[1] == "loopkit reply implementation T-001 --file -"
    answer = reply(executing, "implementation T-001", "I have done it all, trust me")
    assert executing.of("task_coded")[-1]["summary"] == "I have done it all, trust me"


def test_a_plan_in_a_numbered_list_is_taken_the_second_time(project: Project) -> None:
    supervised(project)
    project.write("Makefile", "test:\n\tpytest -q\n")
    project.ok("wave", "next")
    text = "1. count the requests | simple\n2. answer with 429\n3. tell | complex\n"
    reply(project, "plan", text, code=1)
    answer = reply(project, "plan", text)
    assert [row["complexity"] for row in project.tasks.values()] == ["simple", "medium", "complex"]
    assert {row["verify"] for row in project.tasks.values()} == {"make test"}
    assert answer.steps == ["loopkit wave next"]


def test_a_plan_without_a_known_test_command_is_refused_and_the_third_pauses(project: Project) -> None:
    supervised(project)
    project.ok("wave", "next")
    for _ in range(2):
        assert reply(project, "plan", "1. a\n2. b\n3. c", code=1).steps[0].startswith("agent loop:planner")
    answer = reply(project, "plan", "1. a\n2. b\n3. c", code=1)
    assert answer.waits == ["loopkit resume"]
    assert (project.status["status"], project.status["verdict"]) == ("paused", "planner_unusable")
    project.ok("resume")
    assert project.ok("wave", "next").steps[1] == "loopkit reply plan --file -"
    reply(project, "plan", plan())


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("test T-001", 1, "no test T-001 is awaited, but a implementation; next: loopkit reply implementation T-001"),
        ("plan", 1, "no plan is awaited; next: loopkit wave next"),
        ("verification goal", 1, "no verification goal is awaited"),
        ("test T-009", 1, "there is no task T-009"),
        ("test", 2, "a test of what?"),
        ("plan T-001", 2, "a plan is about the whole loop"),
        ("praise T-001", 2, "'praise' is not one of"),
    ],
)
def test_replies_nobody_asked_for(executing: Project, words: str, code: int, says: str) -> None:
    executing.refused(code, "reply", *words.split(), "--file", "-", given=PASSED, says=says)


def test_no_replies_in_a_loop_of_evidence(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    says = "no role's reply is taken in this loop"
    project.refused(1, "reply", "test", "T-001", "--file", "-", given=PASSED, says=says)


def test_task_fail_tells_what_the_rule_made_of_a_suggestion(executing: Project) -> None:
    answer = executing.ok(
        "task", "fail", "T-001", "--suggest", "impossible", "--error-file", "-", "--json", given="no token"
    ).json
    wanted = {"task": "T-001", "action": "retry", "clamped": True, "raised": False, "attempts": 1, "max_attempts": 3}
    wanted |= {"depth": 0, "max_depth": 5, "level": "correct"}
    assert {key: answer[key] for key in wanted} == wanted


def test_add_replace(project: Project) -> None:
    project.planned()
    rows = [{"subject": "b", "verify": "true"}, {"subject": "c", "verify": "true"}]
    answer = project.ok("task", "add", "--replace", "--file", "-", given=rows)
    assert "T-001 replaced" in answer.out
    assert list(project.tasks) == ["T-002", "T-003"]
    project.ok("wave", "next")
    project.refused(
        1, "task", "add", "--replace", "--file", "-", given=rows, says="replacing the plan belongs to stage"
    )


# -- the always-failing task, by its `next:` lines only


def follow(project: Project, step: str, count: dict) -> Answer:
    """Do what a next line says; every check fails, whatever the roles say of it."""
    words = step.split()
    if words[1] == "reply":
        kind = words[2]
        count[kind] = count.get(kind, 0) + 1
        given: dict = {
            "plan": plan(piece("the hopeless one", "false"), piece("later", "false", dependencies=[0]), piece("last")),
            "verification": GOOD,
            "implementation": IMPLEMENTED,
            "fix": {"status": "fixed", "summary": "now it works", "testsPass": True},
            "test": PASSED,
            "diagnosis": {"decision": "impossible", "reasoning": "cannot be done", "blockers": ["no token"]},
            "replan": {"analysis": "too large", "subtasks": [piece("smaller", "false"), piece("rest", "false")]},
        }[kind]
        return project.lk("reply", *words[2:], given=given)
    if words[1] == "verify":
        return project.lk("verify", words[2], "--", *words[4:])
    return project.lk(*words[1:])


def test_an_always_failing_task_by_its_next_lines(project: Project) -> None:
    (project.root).mkdir()
    (project.root / "config.toml").write_text("max_fix_cycles = 0\n")
    supervised(project, "--iterations", "none")
    project.write("limiter.txt")
    count: dict[str, int] = {}
    steps = ["loopkit wave next"]
    for _ in range(600):
        step = next(one for one in steps if not one.startswith("agent "))
        answer = follow(project, step, count)
        if answer.exit == 1 and "next: loopkit verify" in answer.err:
            follow(project, answer.err.split("next: ")[1].strip(), count)
            answer = follow(project, step, count)
        steps = answer.steps
        if not steps:
            if project.status["status"] in ("failed", "completed"):
                break
            steps = [project.status["next"]]
    assert project.status["verdict"] == "impossible" and project.status["execution"] == "failed"
    assert len(project.of("task_failed")) >= 18
