"""The shipped pipelines, really executed: as many agents as they say, results handed on."""

from __future__ import annotations

import json

import pytest

from loopkit.core.pipeline import definitions
from loopkit.engine.agents import Answer, Prompt
from loopkit.engine.agents.script import Script
from tests.cli.kit import Project

OPEN = "PLATEAU: false\nREASONING: there is more"


@pytest.mark.parametrize(("name", "each"), [("quick", 3), ("full", 5), ("deep", 8)])
def test_each_stage_runs_as_often_as_it_may_and_hands_its_results_on(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, each: int
) -> None:
    asked: list[Prompt] = []
    real = Script.run

    def run(self: Script, prompt: Prompt, *more: object) -> Answer:
        asked.append(prompt)
        answer = real(self, prompt, *more)  # type: ignore[arg-type]
        return answer._replace(text=f"found by {prompt.kind} {prompt.subject}\n{answer.text}")

    monkeypatch.setattr(Script, "run", run)
    monkeypatch.setitem(definitions._STAGE, "delay", ("delay", lambda value: 0.0))
    rows = {stage: {"text": OPEN} for stage in ("plan", "tasks")}
    project.write("s.yaml", json.dumps({"steps": rows}))
    words = ("run", f"{name}-refine", "auth", "--agent", "script", "--script", "s.yaml", "--json")
    answer = project.lk(*words, session=None)
    assert answer.exit == 75, answer
    assert [prompt.kind for prompt in asked] == ["plan"] * each + ["tasks"] * each
    assert json.loads(answer.out)["completion_reason"] == "max_iterations"
    for prompt in asked[each:]:
        assert all(f"found by plan {n}" in prompt.text for n in range(1, each + 1))
    assert "docs/plans/auth.tasks.yaml" in asked[-1].text


@pytest.mark.parametrize("kind", ["tasks", "beads"])
def test_two_votes_in_a_row_end_a_stage_and_not_across_stages(
    project: Project, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setitem(definitions._STAGE, "delay", ("delay", lambda value: 0.0))
    done = {"text": "PLATEAU: true\nREASONING: nothing more"}
    rows = {"plan 1": {"text": OPEN}, "plan": done, kind: done}
    project.write("s.yaml", json.dumps({"steps": rows}))
    name = {"tasks": "quick-refine", "beads": "quick-refine-beads"}[kind]
    words = ("run", name, "auth", "--agent", "script", "--script", "s.yaml", "--json")
    answer = project.lk(*words, session=None)
    assert answer.exit == 0, answer
    history = json.loads(answer.out)["history"]
    assert [row["stage"] for row in history] == ["plan"] * 3 + [kind] * 2
