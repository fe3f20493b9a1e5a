"""A clock that is set back: limits bind, order stays, nothing waits for the clock to catch up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loopkit.store import atomic, loops
from loopkit.store.loop import Loop
from tests.cli.kit import S1, Project, task
from tests.crash.test_kill import stop

YEAR = 365 * 86400


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict:
    """`clock["now"]` is what everybody reads as the time, in POSIX seconds."""
    state = {"now": 1_800_000_000.0}
    monkeypatch.setattr(time, "time", lambda: state["now"])
    return state


@pytest.mark.parametrize("back", [3600, YEAR], ids=["an hour", "a year"])
def test_running_time_counts_on(project: Project, clock: dict, back: int) -> None:
    project.planned(task("a", "ls"))
    clock["now"] += 1000
    project.ok("task", "add", "b", "--verify", "ls")
    clock["now"] -= back
    project.ok("task", "add", "c", "--verify", "ls")
    clock["now"] += 500
    project.ok("pause")
    assert project.snapshot["spent"]["seconds"] == 1500


def test_a_limit_on_time_binds(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    project.ok("resume", "--time", "1h")
    clock["now"] -= YEAR
    assert "additionalContext" in stop(project).out
    clock["now"] += 1800
    assert "additionalContext" in stop(project).out
    clock["now"] += 1801
    assert "additionalContext" not in stop(project).out
    assert project.status["verdict"] == "limit_time"


def test_lines_written_at_once_cost_no_time(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    for step in (30, -20, 30, -20, 30):
        clock["now"] += step
        project.ok("task", "add", f"after {step} at {clock['now']}", "--verify", "ls")
    project.ok("pause")
    assert project.snapshot["spent"]["seconds"] == 50


def test_order_is_that_of_the_lines(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    clock["now"] -= YEAR
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 0
    assert project.tasks["T-001"]["status"] == "completed"
    project.ok("wave", "close")
    assert project.status["stage"] == "review"
    (project.root / loops.SNAPSHOT).unlink()
    assert project.status["stage"] == "review", "folded from the journal alone"


def test_evidence_does_not_age(project: Project, clock: dict) -> None:
    project.write("a.txt")
    project.planned(task("a", "ls", files=["a.txt"]))
    project.ok("wave", "next")
    clock["now"] -= YEAR
    assert project.verify("T-001").exit == 0
    clock["now"] -= YEAR
    project.ok("wave", "close")
    assert project.tasks["T-001"]["status"] == "completed"


def test_a_cancelled_loop_stays_behind_the_next_one(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    project.ok("cancel")
    clock["now"] -= YEAR
    project.start("the next one")
    for name in ("workflow-state.json", "PROGRESS.md"):
        (project.root / name).unlink()
    assert project.status["task"] == "the next one"
    found = Loop.active(str(project.root))
    assert found is not None and found.name.startswith("002-")


def test_of_two_that_are_over_the_later_one_is_shown(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    project.ok("cancel")
    clock["now"] -= YEAR
    project.start("the next one")
    project.ok("cancel")
    (project.root / loops.SNAPSHOT).unlink()
    assert project.status["task"] == "the next one"


def test_drafts_of_before_and_of_the_future_are_swept_and_young_ones_kept(tmp_path: Path) -> None:
    import os

    now = time.time()
    for name, age in {
        "a.json.11.tmp": 3600,
        "b.json.12.tmp": -3600,
        "c.json.13.tmp": 0,
        "d.tmp": 3600,
    }.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))
    for name in ("1.json.tmp.0000abcd", "1.json.tmp", "notes.json.tmp.old", "T-001.json"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - 3600, now - 3600))
    atomic.clean_up(str(tmp_path))
    left = {"c.json.13.tmp", "d.tmp", "1.json.tmp", "notes.json.tmp.old", "T-001.json"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_a_resume_in_a_new_session_after_it(project: Project, clock: dict) -> None:
    project.planned(task("a", "ls"))
    clock["now"] -= YEAR
    project.ok("resume", "--take-over", session="later")
    assert project.status["owner"]["session_id"] == "later" != S1
    assert stop(project).out == ""
