"""`loopkit gate`, `verify` and `complete`: forms, refusals that make tasks, tiers, what a person is
told at the end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.kit import GATE, PANEL, S1, SEEN, SHAPE, Project, task


def test_the_form_is_that_of_the_kind_of_work(project: Project) -> None:
    project.reviewed()
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    said = project.ok("gate").out
    assert "try the four points of a build" in said
    assert '  runs: "<it runs: PASS how you know | FAIL what is wrong>"' in said
    assert "if it is a debug: root_cause (the root cause, with evidence)" in said
    assert "mustNot M1 (kept: git diff (" in said
    assert 'criteria:\n  M1: "<only if it is broken: FAIL what was seen>"' in said
    assert project.ok("gate").steps == ["loopkit gate --file -"]


def test_a_must_not_whose_files_are_watched_is_not_said_to_be_unchecked(project: Project) -> None:
    project.shaped(text=SHAPE + "| M1 | paths | api.py |\n")
    project.ok("task", "add", "--file", "-", given=[task()])
    project.ok("wave", "next")
    project.write("limiter.txt")
    assert project.verify("T-001").exit == 0
    project.ok("wave", "close")
    project.ok("review", "--thorough", "--file", "-", given={**SEEN, "findings": []})
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    assert "mustNot M1 (kept: unchanged: api.py): " in project.ok("gate").out


def test_a_debug_request_gets_the_points_of_debugging(project: Project) -> None:
    project.start("fix the crash of the limiter")
    project.score(2, 0, 0, 0, 0)
    project.ok("score", "--scope=2", "--constraints=2", "--success=2", "--done=2", "--kind=debug")
    project.ok("shape", "--accept", "-", given=SHAPE)
    project.ok("task", "add", "--file", "-", given=[task()])
    project.ok("wave", "next")
    project.write("limiter.txt")
    assert project.verify("T-001").exit == 0
    project.ok("wave", "close")
    project.review([])
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    said = project.ok("gate").out
    assert "  root_cause: " in said and "if it is a" not in said


def test_a_refusal_makes_a_task_that_is_asked_for_its_command(project: Project) -> None:
    project.reviewed()
    answer = project.gated(points={**GATE["points"], "edge_cases": "FAIL empty input crashes"})
    assert answer.exit == 1
    assert "gate refused: edge cases were tried: empty input crashes\nT-002 to fix it" in answer.out
    assert answer.steps == ['loopkit task set T-002 --verify "<command>"']
    project.refused(1, "gate", "--file", "-", given=GATE, says="")


def test_a_must_not_that_came_true_pauses_and_goes_on_with_its_task(project: Project) -> None:
    project.reviewed()
    answer = project.gated(criteria={"M1": "FAIL search() takes a second argument"})
    assert answer.exit == 1 and answer.waits == ["loopkit resume"]
    status = project.status
    assert (status["status"], status["verdict"]) == ("paused", "must_not_breached")
    assert not project.of("gate_result")[-1]["passed"]
    assert "M1 is broken" in project.ok("resume").out + project.of("paused")[-1]["reason"]
    asked = project.ok("next")
    assert asked.steps == ["loopkit submit --file -"]
    assert "T-002 pending: Gate: M1" in asked.out and '\nverify: "<command' in asked.out
    answer = project.ok("submit", "--file", "-", given={"verify": "test -f other.txt"})
    assert "T-002: test -f other.txt" in answer.out and answer.steps == ["loopkit allow"]


def test_research_says_what_is_missing(project: Project) -> None:
    project.reviewed()
    answer = project.gated(confidence=60)
    assert answer.exit == 1 and "confidence 60 % is under 70" in answer.out
    assert answer.steps == ["loopkit gate --file -"]


def test_a_failing_check_says_where_to_look_wider(project: Project) -> None:
    project.write("Makefile", "test:\n\tgo test\nbuild:\n\tgo build\n")
    project.planned(task(verify="test -f absent"))
    project.ok("wave", "next")
    said = [project.verify("T-001") for _ in range(4)]
    assert [one.exit for one in said] == [1, 1, 1, 1]
    for one in said[:3]:
        assert "look wider before you fix again: the project's own checks `make test`" in one.out
        assert one.steps == ["loopkit verify T-001 -- test -f absent"]
    assert "before you fix again: the project's own checks `make build`" in said[3].out
    assert [row["tier"] for row in project.of("task_verified")] == [
        "quick",
        "standard",
        "standard",
        "standard",
    ]


def test_a_project_without_commands_of_its_own(project: Project) -> None:
    project.planned(task(verify="test -f absent"))
    project.ok("wave", "next")
    assert "before you fix again: what stands around it" in project.verify("T-001").out


def test_what_a_person_should_know_is_told_after_the_card(project: Project) -> None:
    project.shaped(words=("--unattended",))
    project.ok("task", "add", "--file", "-", given=[task()])
    project.tried()
    project.ok("wave", "next")
    project.write("limiter.txt")
    assert project.verify("T-001").exit == 0
    project.ok("wave", "close")
    project.review(
        [
            {
                "severity": "WARNING",
                "issue": "no index on user",
                "reason": "slow",
                "place": "limiter.txt",
            }
        ]
    )
    assert project.gated().exit == 0
    card = project.ok("complete").out.partition("</loop-complete>\n")[0]
    assert "! open: limiter.txt: no index on user (warning, " in " ".join(card.split())


def test_cost_and_time_are_those_up_to_the_call_that_completes(project: Project) -> None:
    project.reviewed()
    assert project.gated().exit == 0
    file = Path(project.environment["HOME"], ".claude", "projects", "p", f"{S1}.jsonl")
    file.parent.mkdir(parents=True)
    usage = {"input_tokens": 0, "output_tokens": 100_000}  # 10 USD a million
    lines = []
    for minute in (0, 5):
        message = {"id": f"m{minute}", "model": "claude-sonnet-5", "content": [], "usage": usage}
        at = f"2099-01-01T00:0{minute}:00.000Z"
        lines.append(json.dumps({"type": "assistant", "timestamp": at, "message": message}) + "\n")
    file.write_text("".join(lines))
    assert "5 min · $2.00 of $25" in project.ok("complete").out
    assert "$2.00" in (project.root / project.name / "report.md").read_text()
    assert project.status["spent"]["usd"] == 2.0
    file.write_text("".join(lines) + lines[1].replace("m5", "m9"))
    assert project.status["spent"]["usd"] == 2.0, "what the person asks later is not the loop's"


def test_nothing_open_nothing_said(project: Project) -> None:
    assert "open" not in project.completed().out


def test_what_was_learnt_is_proposed_with_the_numbers_of_learn(project: Project) -> None:
    project.planned(task(verify="test -f limiter.txt"))
    project.ok("wave", "next")
    assert [project.verify("T-001").exit for _ in range(4)] == [1, 1, 1, 1]
    project.ok("wave", "close")
    names = zip(PANEL["experts"], ("systematic-debugger", "test-first-developer"), strict=True)
    panel = {**PANEL, "experts": [{**row, "name": name} for row, name in names]}
    project.ok("panel", "T-001", "--file", "-", given=panel)
    project.ok("wave", "next")
    project.write("limiter.txt")
    assert project.verify("T-001").exit == 0
    project.ok("wave", "close")
    project.review([])
    assert project.gated().exit == 0
    told = project.ok("complete").out.partition("</loop-complete>\n")[2]
    # a check that prints nothing leaves nothing to know the failure by again
    assert told.startswith("learnt in this loop, not kept yet:\n  1. [discovery] write the limiter")
    assert max(map(len, told.splitlines())) <= 80
