"""A loop worked on without a session: one agent at a time, within its limits and the person's
leave."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from loopkit.core.steps import kinds
from loopkit.engine import run
from loopkit.engine.agents import Answer, Prompt
from loopkit.engine.agents.script import Script
from loopkit.engine.process import Deadlines
from loopkit.ops import headless, start
from loopkit.ops.workspace import Workspace
from tests.cli.kit import Project
from tests.core import roles
from tests.ops.kit import WANTED, Case, asked, check, part, planned, writes


class Spy:
    """A script's agent that notes what it is asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.prompts: list[tuple[Prompt, Deadlines, str]] = []
        self.role = ""

    def run(self, prompt: Prompt, schema: Any, deadlines: Deadlines, folder: Any) -> Answer:
        self.prompts.append((prompt, deadlines, self.role))
        return self.script.run(prompt, schema, deadlines, folder)

    def interrupt(self) -> None:
        self.script.interrupt()


class Alone(Case):
    """A loop that is begun and run without a session."""

    def begin(self, approval: str = "evidence", **most: str) -> None:
        options = start.Options(approval=approval, most=most)
        start.start(Workspace(self.notes.append), "add rate limiting to the API", options)

    def go(self) -> Iterator[run.Record]:
        path = self.project.folder.parent / "script.yaml"
        path.write_text(json.dumps({"steps": self.steps}))
        self.spy = Spy(Script(str(path), environment={"PATH": os.environ["PATH"]}))

        def of(role: str) -> Spy:
            self.spy.role = role
            return self.spy

        driver = headless.Driver(self.notes.append, headless.Agents(of))
        for record in run.run(driver, self.spy, self.project.folder, side_by_side=1):
            if isinstance(record, run.Answered):
                driver.ended(record.step, record.answer)
            yield record

    def end(self) -> run.Ended:
        *_, last = self.go()
        assert isinstance(last, run.Ended)
        return last


@pytest.fixture
def alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> Alone:
    case = Alone(project, monkeypatch)
    folder = project.folder.parent / "own"
    folder.mkdir()
    (folder / "config.toml").write_text('verify_allow = ["grep *"]\n')
    monkeypatch.setenv("LOOPKIT_CONFIG_DIR", str(folder))
    case.steps |= {
        "score": asked(part("a"), part("b")),
        "implementation T-001": writes("a", "good", cost=0.25),
        "implementation T-002": writes("b", "good", cost=0.5),
    }
    return case


def test_one_task_after_the_other_to_its_card(alone: Alone) -> None:
    alone.begin()
    assert alone.end() == run.Ended("over")
    assert alone.completed, alone.notes
    project = alone.project
    assert [row["tasks"] for row in project.of("wave_opened")] == [["T-001"], ["T-002"]]
    told = {(prompt.kind, prompt.subject): role for prompt, _, role in alone.spy.prompts}
    assert told[kinds.SCORE, None] == headless.PLANNER
    assert told[kinds.IMPLEMENTATION, "T-001"] == headless.CODER
    assert told[kinds.THOROUGH_REVIEW, None] == headless.REVIEWER
    assert told[kinds.GATE, None] == headless.SUPERVISOR
    limits = {prompt.kind: limit.total for prompt, limit, _ in alone.spy.prompts}
    assert limits[kinds.IMPLEMENTATION] == 3600 and limits[kinds.GATE] == 600
    assert project.snapshot["spent"]["usd"] == pytest.approx(0.75)
    assert project.snapshot["iteration"] == 2


def test_what_was_asked_and_answered_lies_in_the_loops_folder(alone: Alone) -> None:
    alone.begin()
    alone.end()
    folder = alone.project.root / alone.project.snapshot["loop"]
    prompts = {path.name for path in (folder / "prompts").glob("*.md")}
    assert {"implementation-T-001-1.md", "score-1.md", "gate-1.md"} <= prompts
    prompt = next(one for one, _, _ in alone.spy.prompts if one.subject == "T-001")
    assert prompt.text == (folder / "prompts" / "implementation-T-001-1.md").read_text()
    assert prompt.text.startswith("loop:implementation-T-001-1\n")
    answer = json.loads((folder / "answers" / "implementation-T-001-1.json").read_text())
    assert answer == {"text": "wrote a.txt\n", "by": "run"}


def test_a_check_that_nobody_allowed_pauses_with_the_pattern_to_add(alone: Alone) -> None:
    os.environ.pop("LOOPKIT_CONFIG_DIR")
    alone.begin()
    assert alone.end().why == run.AT_PERSON
    snapshot = alone.project.snapshot
    assert (snapshot["status"], snapshot["verdict"]) == ("paused", "waiting")
    assert (
        "--checks 'grep -qx good a.txt'" in snapshot["reason"] or "'grep *'" in snapshot["reason"]
    )
    assert not alone.project.of("task_started")


def test_money_and_attempts_are_limits(alone: Alone) -> None:
    alone.begin(usd="0.2")
    alone.end()
    assert alone.project.snapshot["verdict"] == "limit_budget"
    budgets = [one.budget for one, _, _ in alone.spy.prompts]
    assert budgets[0] == pytest.approx(0.2)


def test_iterations_limit_attempts_and_not_what_follows(alone: Alone) -> None:
    alone.begin(iterations="1")
    alone.end()
    assert alone.project.snapshot["verdict"] == "limit_iterations"
    assert [row["id"] for row in alone.project.of("task_completed")] == ["T-001"]


def test_an_agent_that_was_cut_off_is_followed_by_one_that_is_told(alone: Alone) -> None:
    alone.steps["implementation T-001"] = [
        {"outcome": "transient", "error": "overloaded", "cost": 0.1},
        *writes("a", "good"),
    ]
    alone.begin()
    ended = alone.end()
    assert (ended.why, ended.text) == (run.FAILED, "transient: overloaded")
    headless.stop(alone.notes.append, "overloaded")
    assert alone.project.snapshot["spent"]["usd"] == pytest.approx(0.1)
    alone.project.lk("resume")
    alone.steps["implementation T-001"] = writes("a", "good")
    assert alone.end() == run.Ended("over")
    prompt = next(one for one, _, _ in alone.spy.prompts if one.subject == "T-001")
    assert "Work was cut off here" in prompt.text and "git status" in prompt.text
    assert alone.project.of("task_failed") == []


@pytest.mark.parametrize("policy", ["review", "supervisor"])
def test_policies_with_roles_come_to_their_card(alone: Alone, policy: str) -> None:
    rows = [
        {"description": f"write {name}", "complexity": "simple", "verify": check(name)}
        for name in "ab"
    ]
    score = {"reply": roles.scored(90)}
    first = {"supervisor": 1, "review": 1}[policy]
    batch = {"build": "passed", "tests": "passed", "lint": "none", "findings": []}
    alone.steps |= {
        "score": {"reply": WANTED},
        "plan": planned(*rows),
        "plan_review": {"reply": {"score": 90, "summary": "whole", "findings": []}},
        "plan_verdict": {"reply": {"score": 90, "summary": "whole", "findings": []}},
        **{
            f"implementation T-00{n + first}": {
                **writes(name, "good")[0],
                "reply": roles.implemented(),
            }
            for n, name in enumerate("ab")
        },
        **{
            f"batch_review {n}": {"reply": {**batch, "verdicts": {f"T-00{n}": "approved"}}}
            for n in (1, 2)
        },
        "test": {"reply": roles.saw()},
        "verdict": score,
        "goal_verdict": score,
    }
    alone.begin(policy)
    assert alone.end() == run.Ended("over")
    assert alone.completed
    cut = "Work was cut off here"
    assert not [prompt.kind for prompt, _, _ in alone.spy.prompts if cut in prompt.text]
    told = {prompt.kind: role for prompt, _, role in alone.spy.prompts}
    wanted = {"plan": "planner", "implementation": "coder"}
    if policy == "supervisor":
        wanted |= {"plan_verdict": "supervisor", "test": "tester", "verdict": "supervisor"}
    assert wanted.items() <= told.items()
