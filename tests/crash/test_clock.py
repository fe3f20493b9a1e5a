"""A clock that is set back: limits bind, order stays, nothing waits for the clock to catch up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal.clock import stamp
from loopkit.store import atomic, loops
from loopkit.store.loop import Loop
from tests.cli.kit import S1, Answer, Project, task
from tests.crash.test_kill import hook
from tests.hooks.test_stop import TOOL, assistant

YEAR = 365 * 86400


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict:
    """`clock["now"]` is what everybody reads as the time, in POSIX seconds."""
    state = {"now": 1_800_000_000.0}
    monkeypatch.setattr(time, "time", lambda: state["now"])
    return state


def transcript(project: Project) -> Path:
    """Of the session S1."""
    return Path(project.environment["HOME"], ".claude", "projects", "p", f"{S1}.jsonl")


def stop(project: Project) -> Answer:
    path = str(transcript(project))
    return hook(project, "stop", stop_hook_active=False, background_tasks=[], transcript_path=path)


@pytest.fixture
def works(project: Project, clock: dict) -> Callable[[int], None]:
    """`works(seconds)`: the session's model and its tools are at work, as its transcript says."""
    file = transcript(project)
    file.parent.mkdir(parents=True)

    def work(seconds: int) -> None:
        with file.open("a") as lines:
            while True:
                lines.write(assistant(f"m{clock['now']}", TOOL, stamp(clock["now"])))
                if seconds <= 0:
                    break
                clock["now"] += min(seconds, 300)
                seconds -= 300

    return work


@pytest.mark.parametrize("back", [3600, YEAR], ids=["an hour", "a year"])
def test_running_time_counts_on(
    project: Project, clock: dict, works: Callable[[int], None], back: int
) -> None:
    project.planned(task("a", "ls"))
    works(1000)
    assert project.status["spent"]["seconds"] == 1000
    assert project.status["spent"]["usd"] > 0, "and so does money, of which nothing is recorded"
    assert "16 min of 2 h" in project.ok("resume").out, "as status says, and counted once"
    clock["now"] -= back
    works(500)
    project.ok("pause")
    assert project.snapshot["spent"]["seconds"] == 1500
    assert sum(usage[1] for usage in project.snapshot["session"]["usage"].values()) == 20 * 8
    clock["now"] += back
    works(700)  # the person talks about something else
    project.ok("resume")
    works(100)
    project.ok("pause")
    assert project.snapshot["spent"]["seconds"] == 1600


def test_a_limit_on_time_binds(project: Project, clock: dict, works: Callable[[int], None]) -> None:
    project.planned(task("a", "ls"))
    project.ok("resume", "--time", "1h")
    works(1)
    assert "additionalContext" in stop(project).out
    clock["now"] -= YEAR
    works(1800)
    assert "additionalContext" in stop(project).out
    clock["now"] += YEAR
    assert "additionalContext" in stop(project).out
    works(1801 + 600)
    assert "additionalContext" not in stop(project).out
    assert project.status["verdict"] == "limit_time"


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
