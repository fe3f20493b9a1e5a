"""The loop's tasks in the native list, after each change; nothing there can make a command fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.store import loop as store
from loopkit.store import mirror, native
from loopkit.store.loop import Loop
from tests.core.kit import S1


@pytest.fixture
def env(tmp_path: Path) -> dict:
    return {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}


def begin(tmp_path: Path, mode: str = "session") -> Loop:
    root = str(tmp_path / ".loop")
    store.prepare(root)
    first = {"task": "x", "session_id": S1, "list": mode}
    return Loop.create(
        root, "x", [("loop_started", first), ("stage_moved", {"to": "decompose"})], "person"
    )


def add(loop: Loop, number: int, **fields: object) -> None:
    row = {"id": f"T-{number:03d}", "subject": f"task {number}", "verify": "true", **fields}
    loop.record([("task_added", {"task": row})], "person")


def listed(folder: Path) -> dict[str, str]:
    rows = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {row["id"]: row["status"] for row in rows}


def made(env: dict, name: str = S1) -> Path:
    folder = Path(env["CLAUDE_CONFIG_DIR"], "tasks", name)
    folder.mkdir(parents=True)
    return folder


def test_without_a_list_none_is_made(tmp_path: Path, env: dict) -> None:
    loop = begin(tmp_path)
    add(loop, 1)
    assert mirror.make(loop, env) is None
    mirror.follow(loop, env)
    assert not os.path.exists(env["CLAUDE_CONFIG_DIR"])


def test_the_sessions_list_follows(tmp_path: Path, env: dict) -> None:
    folder, loop = made(env), begin(tmp_path)
    add(loop, 1)
    add(loop, 2, blockedBy=["T-001"])
    mirror.follow(loop, env)
    assert listed(folder) == {"T-001": "pending", "T-002": "pending"}
    loop.record([("task_started", {"id": "T-001"})], "person")
    mirror.follow(loop, env)
    assert listed(folder)["T-001"] == "in_progress"


def test_a_named_list_comes_before_the_sessions_own(tmp_path: Path, env: dict) -> None:
    own, named, loop = made(env), made(env, "team"), begin(tmp_path, "existing")
    add(loop, 1)
    mirror.follow(loop, {**env, "CLAUDE_CODE_TASK_LIST_ID": "team"})
    assert listed(named) == {"T-001": "pending"} and listed(own) == {}


def test_a_list_of_the_loops_own_is_named_after_it(tmp_path: Path, env: dict) -> None:
    loop = begin(tmp_path, "new")
    assert mirror.make(loop, env) == "001-x"
    add(loop, 1)
    mirror.follow(loop, env)
    assert listed(Path(env["CLAUDE_CONFIG_DIR"], "tasks", "001-x")) == {"T-001": "pending"}


def test_what_claude_added_is_pulled_once_as_pending_without_a_command(
    tmp_path: Path, env: dict
) -> None:
    folder, loop = made(env), begin(tmp_path)
    add(loop, 1)
    row = {
        "id": "1",
        "subject": "mine",
        "description": "d",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
    }
    (folder / "1.json").write_text(json.dumps(row))
    for _ in range(3):
        mirror.follow(loop, env)
    rows = list(loop.state.tasks.values())
    assert [(one.id, one.subject, one.status, one.verify, one.native) for one in rows] == [
        ("T-001", "task 1", "pending", "true", None),
        ("T-002", "mine", "pending", "", "1"),
    ]


def test_a_removed_task_leaves_the_list_and_claudes_own_stays(tmp_path: Path, env: dict) -> None:
    folder, loop = made(env), begin(tmp_path)
    add(loop, 1)
    add(loop, 2)
    row = {
        "id": "7",
        "subject": "mine",
        "description": "d",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
    }
    (folder / "7.json").write_text(json.dumps(row))
    mirror.follow(loop, env)
    loop.record([("task_removed", {"id": one}) for one in ("T-001", "T-003")], "person")
    mirror.follow(loop, env)
    assert listed(folder) == {"T-002": "pending", "7": "pending"}


def test_emptying_the_list_harms_nothing(tmp_path: Path, env: dict) -> None:
    folder, loop = made(env), begin(tmp_path)
    add(loop, 1)
    mirror.follow(loop, env)
    for path in folder.glob("*.json"):
        path.unlink()
    mirror.follow(loop, env)
    assert [one.status for one in loop.state.tasks.values()] == ["pending"]


def test_a_contradiction_is_noted_and_the_ledger_stands(tmp_path: Path, env: dict) -> None:
    folder, loop = made(env), begin(tmp_path)
    add(loop, 1)
    loop.record([("task_completed", {"id": "T-001"})], "person")
    add(loop, 2)
    mirror.follow(loop, env)
    row = {**json.loads((folder / "T-002.json").read_text()), "status": "completed"}
    (folder / "T-002.json").write_text(json.dumps(row))
    mirror.follow(loop, env)
    assert loop.state.tasks["T-002"].status == "pending" and listed(folder)["T-002"] == "pending"
    notes = [
        json.loads(line)
        for line in Path(loop.path).read_text().splitlines()
        if "native_conflict" in line
    ]
    assert [
        (note["data"]["id"], note["data"]["list"], note["data"]["ledger"]) for note in notes
    ] == [("T-002", "completed", "pending")]


@pytest.mark.parametrize("error", [OSError("full"), Refused("another command has been writing")])
def test_no_fault_there_reaches_the_command(
    tmp_path: Path, env: dict, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    made(env)
    loop = begin(tmp_path)
    add(loop, 1)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(native, "sync", fail)
    mirror.follow(loop, env)
