"""Guidance that comes with a step: each text once in a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.core.steps import kinds
from loopkit.core.steps.kinds import FORM, KINDS
from loopkit.ops import guides
from loopkit.ops.workspace import Workspace
from tests.cli.kit import ROOT, Project, surroundings

RULES = "# How this loop goes on"


def told(project: Project, *steps: str) -> str:
    with surroundings(project.folder, project.env()):
        workspace = Workspace(print)
        return guides.due(workspace, workspace.own_loop(), [kinds.step(one) for one in steps])


def test_each_text_is_told_once(project: Project) -> None:
    project.start()
    first = told(project, kinds.SHAPE)
    heads = (RULES, "# The request", "# How: shape", "# How: decomposition")
    assert [first.count(one) for one in heads] == [1] * len(heads)
    assert sorted(map(first.index, heads)) == list(map(first.index, heads))
    lines = len(project.lines)
    assert told(project, kinds.SHAPE) == told(project, kinds.TASKS) == ""
    assert len(project.lines) == lines  # nothing told, nothing recorded
    assert told(project, kinds.PANEL).startswith("# How: panel")
    assert [row["name"] for row in project.of("notice_given")] == [
        "guide rules",
        "guide request",
        "guide plugins/hope/skills/shape",
        "guide skills/decomposition",
        "guide plugins/counsel/skills/panel",
    ]


def test_where_a_planner_cuts_the_work_the_form_does_not(project: Project) -> None:
    project.start("add a limit", "--approval", "supervisor")
    text = told(project, kinds.SCORE)
    assert "# How: shape" in text and "# How: decomposition" not in text


def test_beside_agents_the_rules_and_the_request_are_enough(project: Project) -> None:
    project.start()
    text = told(project)
    assert text.startswith(RULES) and "# The request" in text and "# How: " not in text


def test_it_is_told_again_after_a_resume(project: Project) -> None:
    project.start()
    told(project, kinds.SHAPE)
    project.ok("pause", "for lunch")
    project.ok("resume")
    assert RULES in told(project, kinds.SHAPE)


def test_a_skill_loses_its_head_and_its_example(project: Project) -> None:
    project.start()
    text = told(project, *guides._SKILLS)
    assert "**By itself.**" not in text and "description: " not in text


def test_what_is_missing_is_not_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.start()
    monkeypatch.setattr(guides.place, "plugin_root", lambda: str(tmp_path))
    assert told(project, kinds.SHAPE).startswith("# The request")
    assert [row["name"] for row in project.of("notice_given")] == ["guide request"]


def test_each_form_has_its_skill_and_each_skill_is_there() -> None:
    forms = {kind for kind, row in KINDS.items() if row.who == FORM}
    needless = {kinds.RESOLVE, kinds.SET_CHECK, kinds.GATE_AGAIN}
    assert forms - set(guides._SKILLS) == needless
    for skill in {one for names in guides._SKILLS.values() for one in names}:
        assert (ROOT / skill / "SKILL.md").is_file()
