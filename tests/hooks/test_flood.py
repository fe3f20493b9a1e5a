"""A list with thousands of files: only what is new is read, no more is taken in than a loop may
have, nothing is lost."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from loopkit.core.journal import settings
from loopkit.hooks import dispatch
from loopkit.store import native
from tests.hooks.conftest import S1, Project

PAST = 60  # seconds: long enough for a file to count as written


def stop(project: Project, now: float | None = None) -> str:
    given = {
        "session_id": S1,
        "cwd": str(project.folder),
        "stop_hook_active": False,
        "transcript_path": "",
    }
    raw = json.dumps(given).encode()
    return dispatch.answer("stop", raw, project.env, str(project.data), now or time.time()).decode()


def old_loop(project: Project) -> None:
    """A loop that began an hour ago."""
    project.start()
    text = project.ledger.read_text()
    first, rest = text.split("\n", 1)
    row = json.loads(first)
    row["at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    project.ledger.write_text(json.dumps(row) + "\n" + rest)
    project.save()


def write(project: Project, number: int, status: str = "pending", age: float = PAST) -> Path:
    file = project.native(str(number), status)
    os.utime(file, (time.time() - age, time.time() - age))
    return file


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the list that were read."""
    seen: list[str] = []
    real = native.read_task

    def read_task(path: str) -> dict | None:
        seen.append(os.path.basename(path))
        return real(path)

    monkeypatch.setattr(native, "read_task", read_task)
    return seen


def natives(project: Project) -> set[str]:
    return {task.native for task in project.state().tasks.values() if task.native}


def test_what_was_examined_is_not_read_again(project: Project, reads: list[str]) -> None:
    old_loop(project)
    for number in range(1, 201):
        write(project, number, "completed")
    assert "T-001" in stop(project)
    assert len([name for name in reads if name != "T-001.json"]) == 200
    reads.clear()
    assert "T-001" in stop(project)
    assert set(reads) <= {"T-001.json"}


def test_a_task_written_after_a_look_is_taken_in(project: Project) -> None:
    old_loop(project)
    for number in range(1, 51):
        write(project, number, "completed")
    stop(project)
    write(project, 51, age=0)
    stop(project)
    assert natives(project) == {"51"}


def test_a_task_that_was_opened_again_after_a_look_is_taken_in(project: Project) -> None:
    old_loop(project)
    write(project, 1, "completed")
    stop(project)
    write(project, 1, "pending", age=0)
    stop(project)
    assert natives(project) == {"1"}


def test_tasks_older_than_the_loop_are_not_the_loop_s(project: Project) -> None:
    old_loop(project)
    write(project, 1, age=7200)
    write(project, 2)
    stop(project)
    assert natives(project) == {"2"}


def test_a_flood_is_taken_in_up_to_the_rule_and_the_rest_is_said(
    project: Project, reads: list[str]
) -> None:
    old_loop(project)
    for number in range(1, 301):
        write(project, number)
    stop(project)
    assert len(project.state().tasks) == settings.MOST_TASKS
    assert f"{300 - settings.MOST_TASKS + 1} not taken in" in project.log()
    reads.clear()
    stop(project)
    assert len(set(reads)) <= 2 * settings.MOST_TASKS, "those left out are read again"
    assert len(project.state().tasks) == settings.MOST_TASKS


def test_a_look_that_could_take_nothing_in_is_repeated(project: Project) -> None:
    import fcntl

    old_loop(project)
    write(project, 1)
    with (project.root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stop(project)
        assert natives(project) == set()
    stop(project)
    assert natives(project) == {"1"}


def test_before_the_shape_nothing_is_taken_and_nothing_forgotten(project: Project) -> None:
    project.start(stage="shape")
    text = project.ledger.read_text().split("\n", 1)
    row = {**json.loads(text[0]), "at": "2026-01-01T00:00:00Z"}
    project.ledger.write_text(json.dumps(row) + "\n" + text[1])
    project.save()
    project.record("limits_set", seconds=None)
    write(project, 1)
    stop(project)
    assert natives(project) == set()
    project.record("stage_moved", to="executing")
    project.save()
    stop(project)
    assert natives(project) == {"1"}


def test_a_foreign_list_is_read_until_three_are_named(project: Project, reads: list[str]) -> None:
    folder = project.list_folder("team")
    for number in range(1, 401):
        project.native(str(number), "completed" if number < 20 else "pending", "team")
    project.env["CLAUDE_CODE_TASK_LIST_ID"] = "team"
    assert "pending tasks: task 20; task 21; task 22" in stop(project)
    assert len(reads) == 22 and folder.is_dir()


def test_a_full_loop_lets_claude_complete_its_own_task(project: Project) -> None:
    old_loop(project)
    for number in range(1, 31):
        write(project, number)
    stop(project)
    left = next(str(number) for number in range(1, 31) if str(number) not in natives(project))
    taken = sorted(natives(project))[0]
    assert project.hook("task_completed", {"task_id": left}).silent
    assert project.hook("task_completed", {"task_id": taken}).json["decision"] == "block"
