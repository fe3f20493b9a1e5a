"""Reviews that decide, by the command line: a loop with approval = review from its plan to its
end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.kit import Project, task

PLAN = {
    "tasks": [
        {"description": "The module, empty", "verify": "test -f base.txt", "complexity": "simple", "scaffold": True,
         "files": ["base.txt"], "group": "Base"},
        {"description": "The limiter", "verify": "test -f limiter.txt", "complexity": "simple", "files": ["limiter.txt"],
         "group": "Limits", "criteria": ["C1"]},
        {"description": "Its documents", "verify": "test -f doc.md", "complexity": "simple", "files": ["doc.md"],
         "group": "Limits", "dependencies": [1]},
    ],
    "risks": ["two clients behind one address"],
}  # fmt: skip
FINE = {"build": "passed", "tests": "passed", "findings": []}
BLOCKER = {"severity": "Critical", "issue": "the key is a header", "guidance": "use the address"}
DECISION = {
    "title": "Key by address",
    "context": "c",
    "choice": "the connection's address",
    "alternatives": ["a header"],
}


def reviewed(project: Project, *rows: dict) -> Project:
    """A loop with approval = review, its plan submitted by the planner, or (`rows`) added by the
    session."""
    project.shaped(words=("--approval", "review"))
    if rows:
        project.ok("task", "add", "--file", "-", given=list(rows))
    else:
        project.ok("wave", "next")
        project.ok("reply", "plan", "--file", "-", given=PLAN)
    return project


def approved(project: Project, *rows: dict) -> Project:
    reviewed(project, *rows)
    project.ok("review", "--plan")
    project.ok("review", "--plan", "--file", "-", given={"findings": []})
    return project


def handed(project: Project) -> list[str]:
    """Open the next wave, let every check of it pass; its tasks."""
    answer = project.ok("wave", "next", "--json").json
    for name in answer["tasks"]:
        path = project.tasks[name]["files"][0]
        project.write(path)
        assert project.verify(name).exit == 0
    return answer["tasks"]


def verdicts(project: Project, value: str = "approved") -> dict:
    return {name: value for name, row in project.tasks.items() if row["status"] == "in_progress"}


def test_the_plan_review_is_given_to_its_agent_with_the_decisions(project: Project) -> None:
    reviewed(project)
    project.ok("decide", "--file", "-", given=DECISION)
    answer = project.ok("review", "--plan")
    agent, reply = answer.steps
    prompt = agent.split("`")[1]
    assert (
        agent.startswith("agent loop:plan-review: Review the plan")
        and reply == "loopkit review --plan --file -"
    )
    text = (project.folder / prompt).read_text(encoding="utf-8")
    assert "Key by address" in text and "The limiter" in text and "severity: <BLOCKER" in text
    assert "loopkit review --plan --file -" in text and "loopkit reply" not in text
    again = project.ok("review", "--plan")
    assert again.steps == ["loopkit review --plan --file -"] and "has been asked" in again.out
    assert len(project.of("role_asked")) == 2, "planner and reviewer, once each"


def test_a_plan_with_a_blocker_goes_back_to_the_planner_who_is_told_why(project: Project) -> None:
    reviewed(project)
    answer = project.ok(
        "review", "--plan", "--file", "-", given={"findings": [BLOCKER], "missing": ["a test"]}
    )
    assert "plan review: NEEDS REVISION" in answer.out and answer.steps == ["loopkit wave next"]
    assert "001-correctness-key-header.md" in answer.out or "learnings/001-" in answer.out
    agent = project.ok("wave", "next").steps[0]
    assert agent.startswith("agent loop:planner: ")
    prompt = (project.folder / agent.split("`")[1]).read_text(encoding="utf-8")
    assert "the key is a header" in prompt and "a test" in prompt
    project.ok("reply", "plan", "--file", "-", given=PLAN)
    assert list(project.tasks) == ["T-004", "T-005", "T-006"]
    assert "APPROVED" in project.ok("review", "--plan", "--file", "-", given={"findings": []}).out
    assert project.ok("wave", "next").steps[0].startswith("agent loop:scaffold: Do T-004 ")


def test_a_plan_review_that_names_no_blocker_is_told_what_counts(project: Project) -> None:
    reviewed(project)
    prompt = project.ok("review", "--plan").steps[0].split("`")[1]
    assert "a BLOCKER sends the plan back" in (project.folder / prompt).read_text(encoding="utf-8")
    given = {"status": "NEEDS REVISION", "missing": ["a test"], "findings": []}
    answer = project.ok("review", "--plan", "--file", "-", given=given)
    assert (
        "plan review: APPROVED\nmissing: a test\nthe review says NEEDS REVISION but names no "
        "BLOCKER" in answer.out
    )


def test_the_person_is_asked_when_the_revisions_are_used_up(project: Project) -> None:
    project.root.mkdir(exist_ok=True)
    (project.root / "config.toml").write_text("max_plan_revisions = 0\n")
    reviewed(project)
    answer = project.ok("review", "--plan", "--file", "-", given={"findings": [BLOCKER]})
    assert "the person is asked" in answer.out and "the key is a header" in answer.out
    assert project.status["status"] == "awaiting_approval"
    project.refused(1, "wave", "next", says="a question is open")
    answer = project.ok("review", "--plan", "--waive", "it is an internal tool")
    assert answer.steps == ["loopkit wave next"]


def test_a_whole_loop_with_scaffold_and_batches(project: Project) -> None:
    approved(project)
    opened = project.ok("wave", "next")
    assert (
        opened.steps[0].startswith("agent loop:scaffold: Do T-001 ")
        and "wave 1 opened (SCAFFOLD): T-001" in opened.out
    )
    project.write("base.txt")
    passed = project.verify("T-001")
    assert "its judgement is still to come" in passed.out and passed.steps == [
        "loopkit review --scaffold"
    ]
    project.refused(
        1, "wave", "close", says="nobody has judged T-001; next: loopkit review --scaffold"
    )
    asked = project.ok("review", "--scaffold")
    assert asked.steps[0].startswith("agent loop:review: Review batch 1 of loop ")
    assert asked.steps[0].endswith("Run `loopkit review --scaffold --prompt batch` first.")
    assert asked.steps[1] == "loopkit review --scaffold --file -"
    given = {**FINE, "verdicts": {"1.1": "approved"}}
    assert project.ok("review", "--scaffold", "--file", "-", given=given).steps == [
        "loopkit wave close"
    ]
    project.ok("wave", "close")
    assert project.verify("M2").steps == ["loopkit wave next"]
    for number in (2, 3):
        handed(project)
        given = {**FINE, "verdicts": verdicts(project)}
        project.ok("review", "--wave", str(number), "--file", "-", given=given)
        project.ok("wave", "close")
        assert project.verify("M2").exit == 0
    assert project.status["stage"] == "review"
    project.review([])
    assert project.gated().exit == 0
    assert "<loop-complete>" in project.ok("complete").out


def test_changes_are_the_error_of_the_next_attempt(project: Project) -> None:
    approved(
        project,
        task("limiter", files=["limiter.txt"]),
        task("doc", verify="test -f doc.md", files=["doc.md"]),
    )
    handed(project)
    rows = {"T-001": "approved", "T-002": "changes"}
    given = {
        **FINE,
        "verdicts": rows,
        "findings": [{**BLOCKER, "task": "T-002", "category": "docs"}],
    }
    answer = project.ok("review", "--wave", "1", "--file", "-", given=given)
    assert "T-001 completed" in answer.out and "T-002 failed, attempt 1: retry" in answer.out
    assert "anti-pattern 001: avoid: the key is a header; instead: use the address" in answer.out
    assert "attempt 1 failed" in project.ok("task", "show", "T-002").out
    assert project.ok("wave", "close", "--json").json["failed"] == ["T-002"]


def test_the_prompt_of_a_batch_changes_nothing_and_shows_decisions_first_that_touch_it(
    project: Project,
) -> None:
    approved(project, task("limiter", files=["limiter.txt"], description="by address"))
    project.ok(
        "decide", "--file", "-", given={**DECISION, "title": "of elsewhere", "files": ["other.py"]}
    )
    project.ok("decide", "--file", "-", given={**DECISION, "files": ["limiter.txt"]})
    project.ok("wave", "next")
    before = project.files()
    answer = project.ok("review", "--wave", "1", "--prompt", "batch", session="somebody-else")
    assert project.files() == before and answer.steps == []
    assert answer.out.index("decision 002: Key by address") < answer.out.index(
        "decision 001: of elsewhere"
    )
    for words in (
        '"T-001": "<approved | changes>"',
        "new files are not in it: read them",
        "its check has not passed",
        "## What must not happen",
        "- M1: ",
        "contradicts: [2]",
    ):
        assert words in answer.out
    assert "no passing check yet: T-001" in project.ok("review", "--wave", "1").out


def test_failed_tests_approve_nothing(project: Project) -> None:
    approved(project, task("limiter", files=["limiter.txt"]))
    handed(project)
    given = {**FINE, "tests": "failed", "verdicts": {"T-001": "approved"}}
    answer = project.ok("review", "--wave", "1", "--file", "-", given=given)
    assert "tests failed, so nothing is approved" in answer.out
    assert project.tasks["T-001"]["status"] == "pending"


def test_a_contradiction_that_the_batch_review_finds(project: Project) -> None:
    approved(project, task("limiter", files=["limiter.txt"]))
    project.ok("decide", "--file", "-", given=DECISION)
    handed(project)
    row = {**BLOCKER, "task": "T-001", "contradicts": [1]}
    given: dict[str, Any] = {**FINE, "verdicts": {"T-001": "approved"}, "findings": [row]}
    project.refused(
        1,
        "review",
        "--wave",
        "1",
        "--file",
        "-",
        given=given,
        says="T-001 is approved, yet a BLOCKER",
    )
    given["verdicts"] = {"T-001": "changes"}
    project.ok("review", "--wave", "1", "--file", "-", given=given)
    assert "contradicts decision 001" in project.tasks["T-001"]["history"][0]["error"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--wave", "1", "--scaffold"), "give one of --wave N, --thorough, --plan, --scaffold"),
        ((), "give one of --wave N"),
        (("--wave", "1", "--waive", "x"), "--waive goes with --plan"),
    ],
)
def test_one_kind_of_review_at_a_time(project: Project, words: tuple, says: str) -> None:
    project.planned()
    project.refused(2, "review", *words, says=says)


def test_in_a_loop_on_evidence_nothing_of_this_holds(project: Project) -> None:
    project.worked()
    project.refused(1, "review", "--plan", says="approval = review, this one has evidence")
    project.refused(1, "review", "--scaffold", says="approval = review, this one has evidence")
    answer = project.ok(*"review --wave 1 --score 8".split())
    assert "review of wave 1 recorded: 8/10, 0 issues, 0 blockers" in answer.out


def test_what_belongs_to_another_review_is_refused(project: Project) -> None:
    reviewed(project)
    words = ("review", "--plan", "--file", "-", "--waive", "x")
    project.refused(2, *words, given={"findings": []}, says="both --file and --waive")
    project.ok("review", "--plan", "--file", "-", given={"findings": []})
    project.ok("wave", "next")
    project.refused(
        2,
        "review",
        "--wave",
        "1",
        "--score",
        "9",
        says="a batch review decides, so it needs verdicts",
    )


def test_a_plan_that_asks_first_is_shown_as_such(project: Project) -> None:
    project.shaped(words=("--approval", "review"))
    project.ok("wave", "next")
    project.ok(
        "reply",
        "plan",
        "--file",
        "-",
        given={"tasks": [], "questions": ["per key or per address?"]},
    )
    text = (project.root / project.name / "plan.md").read_text(encoding="utf-8")
    assert "Status: NEEDS_CLARIFICATION" in text and "- per key or per address?" in text
    project.ok("answer", "per address")
    project.ok("wave", "next")
    project.ok("reply", "plan", "--file", "-", given=PLAN)
    assert "Status: DRAFT" in (project.root / project.name / "plan.md").read_text(encoding="utf-8")


def test_one_reviewer_at_a_time(project: Project) -> None:
    approved(
        project,
        task("limiter", files=["limiter.txt"]),
        task("doc", verify="test -f doc.md", files=["doc.md"]),
    )
    handed(project)
    asked = project.ok("review", "--wave", "1")
    assert sum(step.startswith("agent ") for step in asked.steps) == 1
    again = project.ok("review", "--wave", "1")
    assert (
        again.steps == ["loopkit review --wave 1 --file -"]
        and "T-001: <approved | changes>" in again.out
    )
    # another check has run, or another session goes on: the reviewer has to look again
    assert project.verify("T-001").exit == 0
    assert project.ok("review", "--wave", "1").steps == asked.steps
    project.ok("resume", "--take-over", session="session-two")
    assert project.ok("review", "--wave", "1", session="session-two").steps == asked.steps
    rows = {"T-001": "changes", "T-002": "approved"}
    given = {**FINE, "verdicts": rows, "findings": [{**BLOCKER, "task": "T-001"}]}
    project.ok("review", "--wave", "1", "--file", "-", given=given, session="session-two")
    assert len([one for one in project.of("role_asked") if one["role"] == "review"]) == 3
