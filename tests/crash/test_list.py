"""The client's task list in every state that it may be met in: the ledger stands, nothing is lost,
nothing stands twice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal import settings
from tests.cli.kit import S1, Project, task
from tests.crash import kit
from tests.crash.test_kill import native, stop


def place(project: Project) -> Path:
    return Path(project.environment["HOME"], ".claude", "tasks", S1)


def _file_for_a_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


def _folder_for_a_file(folder: Path) -> None:
    (folder / "T-001.json").unlink()
    (folder / "T-001.json").mkdir()


def _edit(name: str, **fields: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return edit


#: What may have become of the list → whether the next command can put it right.
STATES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "the folder is gone": (shutil.rmtree, False),
    "a file is in the folder's place": (_file_for_a_folder, False),
    "a task's file is gone": (lambda folder: (folder / "T-001.json").unlink(), True),
    "it is empty, as while the client writes": (
        lambda folder: (folder / "T-001.json").write_text(""),
        True,
    ),
    "it is cut": (lambda folder: (folder / "T-001.json").write_text('{"id": "T-0'), True),
    "it is of another kind": (lambda folder: (folder / "T-001.json").write_text("[1, 2]"), True),
    "it is not UTF-8": (lambda folder: (folder / "T-001.json").write_bytes(b"\xff\xfe{}"), True),
    "it has a byte order mark": (
        lambda folder: (folder / "T-001.json").write_bytes(
            b"\xef\xbb\xbf" + (folder / "T-001.json").read_bytes()
        ),
        True,
    ),
    "a folder is in its place": (_folder_for_a_file, False),
    "done without evidence": (_edit("T-001.json", status="completed"), True),
    "of a status that nobody knows": (_edit("T-001.json", status="deleted"), True),
    "with another subject": (_edit("T-001.json", subject="something else"), True),
    "blocked by itself": (_edit("T-001.json", blockedBy=["T-001"], blocks=["T-001"]), True),
    "the watermark is garbage": (lambda folder: (folder / ".highwatermark").write_text("x"), True),
    "drafts of a dead client": (
        lambda folder: (folder / "T-001.json.tmp.0000beef").write_text("{"),
        True,
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_whatever_became_of_it(listed: Project, state: str) -> None:
    listed.planned(task("first", "ls"), task("second", "ls", blocked_by=["T-001"]))
    spoil, fixes = STATES[state]
    spoil(place(listed))
    kit.age(listed)
    assert "additionalContext" in stop(listed).out
    added = listed.lk("task", "add", "third", "--verify", "ls")
    assert (added.exit, added.err) == (0, ""), added
    assert {name: row["status"] for name, row in listed.tasks.items()} == dict.fromkeys(
        ("T-001", "T-002", "T-003"), "pending"
    )
    assert [row["subject"] for row in listed.tasks.values()] == ["first", "second", "third"]
    if fixes:
        assert kit.mirrored(listed) == dict.fromkeys(("T-001", "T-002", "T-003"), "pending")
        row = json.loads((place(listed) / "T-001.json").read_bytes())
        assert (row["subject"], row["blocks"], row["blockedBy"]) == ("first", ["T-002"], [])
        kit.whole(listed)


def taken(project: Project) -> list[dict]:
    """The tasks that the loop has taken in from the list."""
    return [row["task"] for row in project.of("task_added") if row["task"].get("native")]


def test_a_link_in_the_list_is_replaced_not_followed(listed: Project, tmp_path: Path) -> None:
    listed.planned(task("first", "ls"))
    precious = tmp_path / "precious"
    precious.write_text("x")
    (place(listed) / "T-001.json").unlink()
    os.symlink(precious, place(listed) / "T-001.json")
    listed.ok("task", "add", "b", "--verify", "ls")
    assert precious.read_text() == "x" and kit.mirrored(listed)["T-001"] == "pending"


def test_what_claude_made_is_taken_in_once_whoever_looks(listed: Project) -> None:
    listed.planned(task("first", "ls"))
    native(listed, "1")
    native(listed, "2", blockedBy=["1"])
    for _ in range(2):
        stop(listed)
        listed.ok("task", "set", "T-001", "--verify", "ls")
    assert [(row["id"], row["native"], row["blockedBy"]) for row in taken(listed)] == [
        ("T-002", "1", []),
        ("T-003", "2", ["T-002"]),
    ]


def test_tasks_of_claudes_that_block_each_other_do_not_stop_the_loop(listed: Project) -> None:
    listed.planned(task("first", "ls"))
    native(listed, "1", blockedBy=["2"])
    native(listed, "2", blockedBy=["3"])
    native(listed, "3", blockedBy=["1", "99"])
    native(listed, "4", blockedBy=["4"])
    stop(listed)
    rows = {row["id"]: row["blockedBy"] for row in taken(listed)}
    assert len(rows) == 4
    free = set()
    while len(free) < 4:
        ready = {
            name
            for name, blockers in rows.items()
            if name not in free and free.issuperset(blockers)
        }
        assert ready, f"a circle: {rows}"
        free |= ready


def test_a_subject_that_stands_twice_is_two_tasks(listed: Project) -> None:
    listed.planned(task("first", "ls"))
    native(listed, "1", subject="first")
    stop(listed)
    assert [row["subject"] for row in listed.tasks.values()] == ["first", "first"]


def test_of_two_hundred_as_many_are_taken_in_as_a_loop_may_have(listed: Project) -> None:
    listed.planned(task("first", "ls"))
    for number in range(1, 201):
        native(listed, str(number))
    stop(listed)
    rows = taken(listed)
    assert [row["native"] for row in rows] == [
        str(number) for number in range(1, settings.MOST_TASKS)
    ]
    assert [row["id"] for row in rows] == [
        f"T-{number:03d}" for number in range(2, settings.MOST_TASKS + 1)
    ]


def test_a_task_without_end_is_cut(listed: Project) -> None:
    listed.planned(task("first", "ls"))
    native(listed, "1", subject="x" * 100_000)
    stop(listed)
    assert len(taken(listed)[0]["subject"]) == 1000
    assert len(stop(listed).out) < 1000


def test_a_list_that_claude_finished_says_nothing_of_ours(listed: Project) -> None:
    listed.planned(task("first", "ls"), task("second", "ls"))
    for path in place(listed).glob("*.json"):
        path.unlink()
    (place(listed) / ".highwatermark").write_text("2")
    assert "additionalContext" in stop(listed).out
    assert [row["status"] for row in listed.tasks.values()] == ["pending", "pending"]
