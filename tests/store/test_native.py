"""The native task list: the client's files and locks, both ways."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.core.journal.events import Event
from loopkit.core.journal.state import LoopState
from loopkit.core.steps.events import LOOP as EVENTS
from loopkit.store import native

LOOP = "001-limiter"


def mirrored(
    name: str,
    status: str = "pending",
    blocked_by: tuple = (),
    native_id: str | None = None,
    **more: Any,
) -> native.Mirrored:
    metadata = {"wave": 1, "loopId": LOOP, "verification": "execution output", "stuckCount": 0}
    values = {
        "subject": f"do {name}",
        "description": "d",
        "active_form": "",
        "metadata": metadata,
        **more,
    }
    return native.Mirrored(
        id=name, status=status, blocked_by=blocked_by, native_id=native_id, **values
    )


def record(name: str, status: str = "pending", **fields: Any) -> dict:
    return {
        "id": name,
        "subject": f"task {name}",
        "description": "d",
        "status": status,
        "blocks": [],
        "blockedBy": [],
        **fields,
    }


def put(folder: Path, name: str, status: str = "pending", **fields: Any) -> None:
    (folder / f"{name}.json").write_text(json.dumps(record(name, status, **fields)))


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# -- where


def test_list_id_in_the_client_s_spelling() -> None:
    assert native.list_id({}, "3f2c-AB_9") == "3f2c-AB_9"
    assert native.list_id({"CLAUDE_CODE_TASK_LIST_ID": "my list/ü.x"}, "3f2c") == "my-list---x"
    assert native.list_id({"CLAUDE_CODE_TASK_LIST_ID": ""}, "3f2c") == "3f2c"


def test_a_list_is_made_only_for_a_session_with_task_tools(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert native.folder(env, "s") is None and native.ensure_folder(env, "s") is None
    assert not (tmp_path / "tasks").exists()
    made = native.ensure_folder({**env, "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}, "s")
    assert made == str(tmp_path / "tasks" / "s") == native.folder(env, "s")
    assert native.ensure_folder(env, "other", seen=True) == str(tmp_path / "tasks" / "other")
    assert native.ensure_folder({**env, "CLAUDE_CODE_ENABLE_TODO_TOOLS": "0"}, "third") is None
    assert native.folder(env, "") is None


# -- reading


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"id":"1"}',
        json.dumps(record("1", "deleted")),
        json.dumps({**record("1"), "blocks": None}),
        json.dumps({**record("1"), "id": 1}),
        "[" * 100_000,
    ],
)
def test_what_the_client_skips_is_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "1.json").write_text(text)
    put(tmp_path, "2")
    found, unreadable = native.read_tasks(str(tmp_path))
    assert list(found) == ["2"] and unreadable == ["1.json"]


def test_folders_dead_links_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "1.json").mkdir()
    (tmp_path / "2.json").symlink_to("nowhere")
    (tmp_path / "3.json.tmp.0123abcd").write_text("{")
    (tmp_path / ".lock").write_text("")
    (tmp_path / ".highwatermark").write_text("3")
    put(tmp_path, "T-001")
    found, unreadable = native.read_tasks(str(tmp_path))
    assert list(found) == ["T-001"] and unreadable == ["1.json", "2.json"]
    assert native.read_tasks(str(tmp_path / "none")) == ({}, [])


def test_foreign_open_names_what_no_loop_owns(tmp_path: Path) -> None:
    put(tmp_path, "10", "in_progress")
    put(tmp_path, "9")
    put(tmp_path, "8", "completed")
    put(tmp_path, "7", metadata={"_internal": True})
    put(tmp_path, "T-001", metadata={"loopId": LOOP})
    assert native.foreign_open(str(tmp_path)) == (["task 9", "task 10"], [])


# -- push


def test_push_writes_the_record_of_a_task(tmp_path: Path) -> None:
    tasks = [
        mirrored("T-001", "in_progress", active_form="Doing it"),
        mirrored("T-002", "failed", ("T-001",)),
        mirrored("T-003", "blocked", ("T-001", "T-002")),
    ]
    result = native.sync(tasks, str(tmp_path), LOOP)
    assert (result.pushed, result.skipped, result.created, result.conflicts) == (3, 0, [], [])
    assert files(tmp_path) == ["T-001.json", "T-002.json", "T-003.json"]
    assert read(tmp_path, "T-001") == {
        "id": "T-001",
        "subject": "do T-001",
        "description": "d",
        "status": "in_progress",
        "blocks": ["T-002", "T-003"],
        "blockedBy": [],
        "metadata": {
            "wave": 1,
            "loopId": LOOP,
            "verification": "execution output",
            "stuckCount": 0,
        },
        "activeForm": "Doing it",
    }
    assert read(tmp_path, "T-002")["status"] == read(tmp_path, "T-003")["status"] == "pending"
    assert read(tmp_path, "T-003")["blockedBy"] == ["T-001", "T-002"]


def test_only_changed_files_are_written(tmp_path: Path) -> None:
    tasks = [mirrored("T-001"), mirrored("T-002", blocked_by=("T-001",))]
    native.sync(tasks, str(tmp_path), LOOP)
    before = {name: os.stat(tmp_path / name).st_ino for name in files(tmp_path)}
    assert native.sync(tasks, str(tmp_path), LOOP).pushed == 0
    tasks[1] = mirrored("T-002", "in_progress", ("T-001",))
    assert native.sync(tasks, str(tmp_path), LOOP).pushed == 1
    assert os.stat(tmp_path / "T-001.json").st_ino == before["T-001.json"]
    tasks[0] = mirrored("T-001", "completed")
    assert native.sync(tasks, str(tmp_path), LOOP).pushed == 2  # T-002 waits for nothing any more
    assert read(tmp_path, "T-002")["blockedBy"] == []


def test_what_the_client_keeps_in_a_file_stays(tmp_path: Path) -> None:
    put(tmp_path, "T-001", owner="agent-1", metadata={"mine": 1, "wave": 7})
    native.sync([mirrored("T-001")], str(tmp_path), LOOP)
    assert read(tmp_path, "T-001")["owner"] == "agent-1"
    assert read(tmp_path, "T-001")["metadata"] == {
        "mine": 1,
        "wave": 1,
        "loopId": LOOP,
        "verification": "execution output",
        "stuckCount": 0,
    }


def test_absence_means_nothing(tmp_path: Path) -> None:
    tasks = [mirrored("T-001", "completed"), mirrored("T-002")]
    (tmp_path / ".highwatermark").write_text("3")
    native.sync(tasks, str(tmp_path), LOOP)
    assert files(tmp_path) == [".highwatermark", "T-002.json"], (
        "open tasks come back, a finished one needs no file"
    )
    assert (tmp_path / ".highwatermark").read_text() == "3"


def test_without_a_folder_nothing_happens(tmp_path: Path) -> None:
    assert native.sync([mirrored("T-001")], str(tmp_path / "none"), LOOP) == native.NOTHING
    assert native.sync([mirrored("T-001")], None, LOOP) == native.NOTHING
    assert files(tmp_path) == []


def test_a_place_that_cannot_be_written_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "T-001.json").mkdir()
    result = native.sync([mirrored("T-001"), mirrored("T-002")], str(tmp_path), LOOP)
    assert (result.pushed, result.skipped, result.unreadable) == (1, 1, ["T-001.json"])
    assert files(tmp_path) == ["T-001.json", "T-002.json"], "no lock and no draft stays behind"


@settings(max_examples=50)
@given(st.text(), st.text())
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, subject: str, description: str
) -> None:
    folder = tmp_path_factory.mktemp("list")
    native.sync([mirrored("T-001", subject=subject, description=description)], str(folder), LOOP)
    kept = json.loads((folder / "T-001.json").read_bytes())
    assert (kept["subject"], kept["description"]) == (subject, description)


def test_a_lone_surrogate_survives(tmp_path: Path) -> None:
    native.sync([mirrored("T-001", subject="\ud800")], str(tmp_path), LOOP)
    assert read(tmp_path, "T-001")["subject"] == "\ud800"


# -- contradictions and pull


def test_the_ledger_stands_against_the_list(tmp_path: Path) -> None:
    tasks = [mirrored("T-001", "completed"), mirrored("T-002")]
    put(tmp_path, "T-001", "in_progress", metadata={"loopId": LOOP})
    put(tmp_path, "T-002", "completed", metadata={"loopId": LOOP})
    result = native.sync(tasks, str(tmp_path), LOOP)
    assert result.conflicts == [
        ("T-001", "in_progress", "completed"),
        ("T-002", "completed", "pending"),
    ]
    assert (
        read(tmp_path, "T-001")["status"] == "completed"
        and read(tmp_path, "T-002")["status"] == "pending"
    )


def test_claude_s_own_tasks_are_reported(tmp_path: Path) -> None:
    put(tmp_path, "10", blockedBy=["2"], activeForm="Tenth")
    put(tmp_path, "2", "in_progress")
    put(tmp_path, "3", "completed")
    put(tmp_path, "4", metadata={"_internal": True})
    put(tmp_path, "5", metadata={"loopId": "007-other"})
    put(tmp_path, "6")
    result = native.sync([mirrored("T-001", native_id="6")], str(tmp_path), LOOP)
    assert [row.native_id for row in result.created] == ["2", "10"]
    assert result.created[1] == native.Created("10", "task 10", "d", "Tenth", "pending", ("2",))


def test_a_task_that_was_taken_in_is_written_to_its_own_number(tmp_path: Path) -> None:
    put(tmp_path, "6", subject="do T-001")
    native.sync(
        [mirrored("T-001", native_id="6"), mirrored("T-002", blocked_by=("T-001",))],
        str(tmp_path),
        LOOP,
    )
    assert read(tmp_path, "6")["id"] == "6" and read(tmp_path, "6")["blocks"] == ["T-002"]
    assert read(tmp_path, "6")["metadata"]["loopId"] == LOOP
    assert read(tmp_path, "T-002")["blockedBy"] == ["6"]
    assert files(tmp_path) == ["6.json", "T-002.json"]


def test_the_same_number_of_another_list_is_another_task(tmp_path: Path) -> None:
    put(tmp_path, "6")
    tasks = [mirrored("T-001", native_id="6"), mirrored("T-002", blocked_by=("T-001",))]
    for _ in range(2):
        assert native.sync(tasks, str(tmp_path), LOOP).created == []
        assert read(tmp_path, "6") == record("6")
        assert (read(tmp_path, "T-001")["subject"], read(tmp_path, "T-002")["blockedBy"]) == (
            "do T-001",
            ["T-001"],
        )


def test_lines_that_take_tasks_in(tmp_path: Path) -> None:
    state = LoopState(LOOP)

    def apply(kind: str, **data: Any) -> None:
        EVENTS.apply(state, Event(kind, data, "2026-12-01T09:30:00Z", "hook"))

    apply("loop_started", task="x", session_id="s")
    apply("task_added", task={"id": "T-001", "subject": "one", "native": "1"})
    created = [
        native.Created("1", "known", "d", "", "pending", ()),
        native.Created("2", "two", "d", "Doing", "pending", ("1", "99")),
        native.Created("3", "three", "d", "", "in_progress", ("2",)),
    ]
    assert native.pulled(state, created) == [], (
        "before the shape is decided Claude's list is its own business"
    )
    apply("stage_moved", to="executing")
    lines = native.pulled(state, created)
    for kind, data in lines:
        apply(kind, **data)
    assert [
        (task.id, task.native, task.subject, task.blocked_by, task.verify, task.status)
        for task in state.tasks.values()
    ] == [
        ("T-001", "1", "one", (), "", "pending"),
        ("T-002", "2", "two", ("T-001",), "", "pending"),
        ("T-003", "3", "three", ("T-002",), "", "pending"),
    ]
    assert native.pulled(state, created) == []
    assert [row.native_id for row in native.rows(state)] == ["1", "2", "3"]
    assert native.rows(state)[0].metadata == {
        "wave": None,
        "loopId": LOOP,
        "verification": None,
        "stuckCount": 0,
    }


# -- locks


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits for locks, each over at once; by the clock of whoever waits they take their time."""
    taken: list[float] = []
    times = {"monotonic": lambda: sum(taken), "sleep": taken.append, "time": time.time}
    monkeypatch.setattr(native, "time", SimpleNamespace(**times))
    return taken


def test_a_standing_lock_is_waited_for(
    tmp_path: Path, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "T-001")
    (tmp_path / "T-001.json.lock").mkdir()

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            (tmp_path / "T-001.json.lock").rmdir()

    monkeypatch.setattr(native.time, "sleep", nap)
    assert native.sync([mirrored("T-001")], str(tmp_path), LOOP).pushed == 1
    assert len(naps) == 3 and files(tmp_path) == ["T-001.json"]


def test_a_lock_that_stays_costs_its_time_once_and_the_files_are_left(
    tmp_path: Path, naps: list[float]
) -> None:
    for number in range(1, 6):
        put(tmp_path, f"T-00{number}")
        (tmp_path / f"T-00{number}.json.lock").mkdir()
    result = native.sync(
        [mirrored(f"T-00{number}") for number in range(1, 7)], str(tmp_path), LOOP, timeout=0.2
    )
    assert (result.pushed, result.skipped) == (1, 5), "the free one is written"
    assert 0.2 <= sum(naps) <= 0.2 + native.STEP
    assert read(tmp_path, "T-001")["subject"] == "task T-001"
    assert len([name for name in files(tmp_path) if name.endswith(".lock")]) == 5, (
        "somebody else's lock is not ours to remove"
    )


@pytest.mark.parametrize(("name", "lock"), [("T-001", "T-001.json.lock"), ("T-002", ".lock.lock")])
def test_a_lock_older_than_ten_seconds_is_taken_over(tmp_path: Path, name: str, lock: str) -> None:
    put(tmp_path, "T-001")
    (tmp_path / lock).mkdir()
    old = time.time() - 10.5
    os.utime(tmp_path / lock, (old, old))
    assert native.sync([mirrored(name)], str(tmp_path), LOOP, timeout=0).pushed == 1
    assert not (tmp_path / lock).exists()


def test_creating_and_changing_lock_as_the_client_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    mkdir = os.mkdir
    monkeypatch.setattr(
        os,
        "mkdir",
        lambda path, *rest: (taken.append(os.path.basename(path)), mkdir(path, *rest))[1],
    )
    native.sync([mirrored("T-001")], str(tmp_path), LOOP)
    native.sync([mirrored("T-001", "in_progress")], str(tmp_path), LOOP)
    assert taken == [".lock.lock", "T-001.json.lock"]


def test_two_writers_at_once_leave_whole_files(tmp_path: Path) -> None:
    def write(status: str) -> None:
        for _ in range(20):
            native.sync([mirrored(f"T-00{n}", status) for n in range(1, 5)], str(tmp_path), LOOP)

    threads = [
        threading.Thread(target=write, args=(status,)) for status in ("pending", "in_progress")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found, unreadable = native.read_tasks(str(tmp_path))
    assert len(found) == 4 and not unreadable
    assert files(tmp_path) == [f"T-00{n}.json" for n in range(1, 5)]


# -- withdraw


def test_a_loop_that_is_over_takes_its_tasks_out(tmp_path: Path) -> None:
    native.sync([mirrored("T-001"), mirrored("T-002", native_id="6")], str(tmp_path), LOOP)
    put(tmp_path, "7")
    put(tmp_path, "T-009", metadata={"loopId": "002-other"})
    assert native.withdraw(str(tmp_path), LOOP) == 2
    assert files(tmp_path) == ["6.json", "7.json", "T-009.json"]
    assert read(tmp_path, "6")["metadata"] == {}
    assert native.withdraw(str(tmp_path), LOOP) == 0
    assert native.withdraw(None, LOOP) == 0


@pytest.mark.parametrize(
    ("age", "taken"),
    [(0, False), (native.STALE + 60, True), (-native.STALE - 3600, True)],
    ids=["just made", "left behind", "of the future, since the clock was set back"],
)
def test_a_lock_in_the_list_blocks_nobody_for_ever(tmp_path: Path, age: float, taken: bool) -> None:
    lock = tmp_path / "1.json.lock"
    lock.mkdir()
    then = time.time() - age
    os.utime(lock, (then, then))
    assert native.LockDeadline(0).lock(str(lock)) is taken
