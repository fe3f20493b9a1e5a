"""loopkit doctor: each planted fault is found, and --fix rebuilds derived files only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit.core import clock
from loopkit.engine import doctor
from loopkit.store import loops
from tests.cli.kit import S1, S2, Project, task


@pytest.fixture
def healthy(project: Project) -> Project:
    Path(project.environment["LOOPKIT_DATA"]).mkdir()
    return project.planned(task("a"), task("b"))


def examine(project: Project, **more: Any) -> tuple[int, list[list[str]]]:
    answer = project.lk("doctor", "--json", **more)
    assert answer.exit == answer.json["exit"]
    return answer.exit, answer.json["findings"]


def append(project: Project, kind: str, **data: Any) -> None:
    line = {"v": 1, "at": clock.stamp(1_800_000_000), "type": kind, "by": "person", "data": data}
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_a_healthy_loop(healthy: Project) -> None:
    before = healthy.files()
    code, rows = examine(healthy)
    assert code == 0, rows
    assert {level for level, _ in rows} <= {"ok", "note"}
    text = "\n".join(line for _, line in rows)
    for words in (
        "loopkit runs on Python",
        "hooks SessionEnd, SessionStart",
        "let go",
        "ledger of 001-",
        "this session",
    ):
        assert words in text
    assert healthy.files() == before


def test_without_a_loop(project: Project) -> None:
    Path(project.environment["LOOPKIT_DATA"]).mkdir()
    code, rows = examine(project)
    assert code == 0 and ["ok", "no loop in this project"] in rows


def no_command(project: Project) -> None:
    append(project, "task_added", task={"id": "T-003", "subject": "native"})


def same_failure(project: Project) -> None:
    for attempt in (1, 2, 3):
        append(project, "task_failed", id="T-001", attempt=attempt, error="it says no", action="retry")
        append(project, "panel_recorded", task="T-001", attempt=attempt)


def circle(project: Project) -> None:
    append(project, "task_changed", id="T-001", blockedBy=["T-002"])
    append(project, "task_changed", id="T-002", blockedBy=["T-001"])


def no_panel(project: Project) -> None:
    append(project, "task_failed", id="T-001", attempt=1, error="x", action="retry")


def no_limits(project: Project) -> None:
    append(project, "limits_set", iterations=None, seconds=None)


def no_price(project: Project) -> None:
    append(project, "iteration_ended", decision="hold", usage={"mystery": [1, 1, 1, 1]})


def paused(project: Project) -> None:
    append(project, "iteration_ended", decision="allow", verdict="stalled", reason="3 turns without any progress")


def died(project: Project) -> None:
    append(project, "stop_failed", error="rate_limit", text="resets 1pm")


def no_snapshot(project: Project) -> None:
    (project.root / loops.SNAPSHOT).unlink()


def edited_snapshot(project: Project) -> None:
    path = project.root / loops.SNAPSHOT
    path.write_bytes(path.read_bytes().replace(b'"running"', b'"completed"'))


def damaged_line(project: Project) -> None:
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write('{"no":"event"}\n')


def torn_line(project: Project) -> None:
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write('{"v":1,"at"')


def garbage(project: Project) -> None:
    project.ledger.write_text("garbage\n")


@pytest.mark.parametrize(
    ("plant", "code", "level", "words"),
    [
        (no_command, 1, "fault", "T-003 has no verification command"),
        (same_failure, 1, "fault", "T-001 failed 3 times with the same error"),
        (circle, 1, "fault", "cycle: T-001 → T-002 → T-001"),
        (no_panel, 0, "note", "T-001 failed and no panel has looked at it: loopkit panel T-001"),
        (no_limits, 0, "note", "no limit on iterations or time"),
        (no_price, 0, "note", "no price for mystery: no money limit can be kept"),
        (paused, 0, "note", "the loop is paused (stalled): 3 turns without any progress"),
        (died, 0, "note", "the last turn died of rate_limit: resets 1pm"),
        (no_snapshot, 0, "note", "workflow-state.json"),
        (edited_snapshot, 0, "note", "is damaged or was edited by hand"),
        (damaged_line, 3, "damaged", "line 9 is no event"),
        (torn_line, 0, "note", "the last line has no end"),
        (garbage, 3, "damaged", "does not begin with a loop's start"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_planted_fault_is_found(healthy: Project, plant: Callable, code: int, level: str, words: str) -> None:
    plant(healthy)
    found, rows = examine(healthy)
    assert [row for row in rows if row[0] == level and words in row[1]], rows
    assert found == code, rows
    assert all("\n" not in line for _, line in rows)


@pytest.mark.parametrize(
    ("env", "code", "level", "words"),
    [
        ({"LOOPKIT_DISABLED": "1"}, 1, "fault", "LOOPKIT_DISABLED=1"),
        ({"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "3"}, 1, "fault", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=3"),
        ({"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "8"}, 0, "ok", "no native"),
        ({"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}, 0, "ok", "task tools are switched on"),
        ({}, 0, "note", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"),
    ],
)
def test_faults_of_the_surroundings(healthy: Project, env: dict, code: int, level: str, words: str) -> None:
    found, rows = examine(healthy, **env)
    assert found == code
    if words != "no native":
        assert [row for row in rows if row[0] == level and words in row[1]], rows


def test_the_list_is_named(healthy: Project) -> None:
    folder = Path(healthy.environment["HOME"], ".claude", "tasks", S1)
    folder.mkdir(parents=True)
    assert ["ok", f"native task list {S1} is mirrored: {folder}"] in examine(healthy)[1]


def test_a_loop_of_somebody_else(healthy: Project) -> None:
    _, rows = examine(healthy, session=S2)
    wanted = f"loop {healthy.name} belongs to session {S1} (running); go on here: loopkit resume"
    assert ["note", wanted] in rows


def test_a_python_that_is_none(healthy: Project, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho get Python from the store\nexit 49\n")
    fake.chmod(0o755)
    _, rows = examine(healthy, PATH=f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    assert [line for _, line in rows if str(fake) in line and "exits 49" in line and "it is passed over" in line], rows


def test_counsel_missing(healthy: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "plugin"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "hooks.json").write_text('{"hooks": {"Stop": []}}')
    monkeypatch.setattr("loopkit.store.place.plugin_root", lambda: str(root))
    code, rows = examine(healthy)
    assert [line for level, line in rows if level == "note" and "plugin counsel is not beside this one" in line]
    assert code == 1, "and hooks/run does not answer"
    (root / "hooks" / "hooks.json").write_text("[")
    assert [line for level, line in examine(healthy)[1] if level == "fault" and "hooks.json cannot be read" in line]


@pytest.mark.parametrize("plant", [no_snapshot, edited_snapshot, torn_line])
def test_fix_rebuilds_derived_files_only(healthy: Project, plant: Callable) -> None:
    plant(healthy)
    (healthy.root / "PROGRESS.md").unlink()
    ledger = healthy.ledger.read_bytes()
    assert "derived files rebuilt" in healthy.lk("doctor", "--fix").out
    assert healthy.ledger.read_bytes() == ledger
    assert healthy.progress.startswith("# Loop Progress: ")
    assert loops.read_snapshot(str(healthy.root))["tasks"]["total"] == 2  # type: ignore[index]


def test_fix_leaves_a_damaged_ledger_alone(healthy: Project) -> None:
    garbage(healthy)
    before = healthy.files()
    assert healthy.lk("doctor", "--fix").exit == 3
    assert healthy.files() == before


def test_permission_rules_are_valid_json_and_never_a_blank_cheque(project: Project) -> None:
    out = project.ok("doctor", "--permissions").out
    rules = json.loads(out[out.index("{") :])["permissions"]["allow"]
    assert rules == doctor.rules() and "Bash(loopkit verify *)" in rules
    assert "Bash(loopkit *)" not in rules
