"""A loop opened for writing: all or nothing, one writer at a time, numbers never used twice."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Damaged, Refused, UsageFault
from loopkit.store import atomic, journal, loops
from loopkit.store import loop as store
from loopkit.store.loop import Loop
from tests.core.kit import S1, task

FIRST = ("loop_started", {"task": "add rate limiting", "session_id": S1})


@pytest.fixture
def root(tmp_path: Path) -> str:
    path = str(tmp_path / ".loop")
    store.prepare(path)
    return path


@pytest.fixture
def loop(root: str) -> Loop:
    return Loop.create(
        root, "add rate limiting", [FIRST, ("limits_set", {"iterations": 25})], "person"
    )


def add(number: int) -> tuple:
    return ("task_added", {"task": {**task(f"task {number}"), "id": f"T-{number:03d}"}})


# -- making one


def test_a_new_loop_has_folder_journal_and_snapshot(loop: Loop, root: str) -> None:
    assert loop.name == "001-add-rate-limiting"
    assert sorted(os.listdir(loop.folder)) == ["evidence", "ledger.jsonl"]
    assert loops.read_snapshot(root)["loop"] == loop.name  # type: ignore[index]
    assert loop.state.session.limit_iterations == 25


def test_a_start_removes_the_index_of_an_earlier_version(root: str) -> None:
    index = Path(root, "learnings.db")
    index.write_bytes(b"SQLite format 3\0")
    Loop.create(root, "first", [FIRST], "person")
    assert not index.exists()
    index.mkdir()
    Loop.create(root, "second", [FIRST], "person")


def test_the_ignore_file_keeps_reasons_and_hides_state(root: str) -> None:
    project = Path(root).parent
    subprocess.run(["git", "init", "-q", project], check=True)
    kept = [
        "learnings.jsonl",
        "config.toml",
        "001-a/SHAPE.md",
        "001-a/report.md",
        "001-a/learnings/001-x.md",
    ]
    kept += ["stages/a/stage.yaml", "pipelines/b.yaml"]
    hidden = [
        "workflow-state.json",
        "PROGRESS.md",
        "lock",
        "001-a/ledger.jsonl",
        "001-a/evidence/x.log",
        "runs/a/state.json",
    ]
    for name in kept + hidden:
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    done = subprocess.run(
        ["git", "-C", project, "status", "--porcelain", "-uall"],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = sorted(line[3:].removeprefix(".loop/") for line in done.stdout.splitlines())
    assert seen == sorted([*kept, ".gitignore"])


def test_preparing_again_leaves_the_persons_ignore_file(root: str) -> None:
    path = Path(root, ".gitignore")
    path.write_text("mine\n")
    store.prepare(root)
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize("purge", [False, True])
def test_numbers_are_never_used_again(loop: Loop, root: str, purge: bool) -> None:
    where = store.archive(root, loop.name, purge)
    assert where == os.path.join(root, "archive", loop.name + (".purged" if purge else ""))
    assert os.path.exists(where) and not os.path.exists(loop.folder)
    assert (
        os.path.getsize(where) == 0
        if purge
        else os.path.exists(os.path.join(where, "ledger.jsonl"))
    )
    assert not os.path.exists(os.path.join(root, loops.SNAPSHOT))
    assert Loop.active(root) is None
    assert Loop.create(root, "x", [FIRST], "person").name == "002-x"


def test_a_mark_of_a_purge_beside_the_loops_counts_too(root: str) -> None:
    Path(root, "007-old.purged").write_text("")
    assert store.next_number(root) == 8


@pytest.mark.parametrize("name", ["9" * 250 + "-x", "999999999-x", "²²²-x", "0" * 200 + "7-x"])
@pytest.mark.parametrize("where", ["", "archive"])
def test_a_number_that_came_along_leaves_room_for_ours(root: str, name: str, where: str) -> None:
    folder = Path(root, where, name)
    folder.mkdir(parents=True)
    (folder / "ledger.jsonl").write_text("{}\n")
    assert Loop.create(root, "x", [FIRST], "person").name == "001-x"
    active = Loop.active(root)
    assert active is not None and active.name == "001-x"


def test_a_journal_without_end_that_came_along_stops_no_start(root: str) -> None:
    os.mkdir(os.path.join(root, "001-x"))
    Path(loops.ledger(root, "001-x")).write_text("")
    os.truncate(loops.ledger(root, "001-x"), 1 << 32)
    assert loops.untrusted_only(root)
    assert Loop.create(root, "x", [FIRST], "person").name == "002-x"
    active = Loop.active(root)
    assert active is not None and active.name == "002-x"


ODD = {"folder": os.mkdir, "pipe": os.mkfifo, "link": lambda path: os.symlink("/dev/null", path)}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_a_journal_is_an_ordinary_file(root: str, make: Callable) -> None:
    os.mkdir(os.path.join(root, "001-x"))
    make(loops.ledger(root, "001-x"))
    assert Loop.active(root) is None and loops.view(root) is None
    assert Loop.create(root, "x", [FIRST], "person").name == "002-x"


def test_a_folder_of_that_name_is_passed_over(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkdir(os.path.join(root, "001-x"))
    Path(root, "001-x", "notes.md").write_text("somebody's own")
    monkeypatch.setattr(store, "next_number", lambda root: 1)
    assert Loop.create(root, "x", [FIRST], "person").name == "002-x"


# -- writing


def test_lines_are_folded_and_the_snapshot_follows(loop: Loop, root: str) -> None:
    loop.record([add(1), add(2)], "person")
    assert list(loop.state.tasks) == ["T-001", "T-002"]
    snapshot = loops.read_snapshot(root)
    assert snapshot is not None
    assert snapshot["tasks"]["total"] == 2 and snapshot["ledger_offset"] == os.path.getsize(
        loop.path
    )


def test_nothing_to_write_writes_nothing(loop: Loop) -> None:
    before = os.stat(loop.path).st_mtime_ns, os.path.getsize(loop.path)
    loop.record([], "person")
    assert (os.stat(loop.path).st_mtime_ns, os.path.getsize(loop.path)) == before


def test_what_others_wrote_is_taken_in_before_deciding(loop: Loop, root: str) -> None:
    other = Loop(root, loop.name)
    other.record([add(1)], "person")
    with loop.writing() as state:
        assert list(state.tasks) == ["T-001"]


def test_a_disk_that_is_full_records_nothing(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Path(loop.path).read_bytes()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Damaged, match="No space left on device") as caught:
        loop.record([add(1)], "person")
    monkeypatch.undo()
    assert caught.value.exit_code == 3
    assert Path(loop.path).read_bytes() == before and not loop.state.tasks


def test_a_snapshot_that_cannot_be_written_loses_nothing(
    loop: Loop, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(atomic, "write", refuse)
    loop.record([add(1)], "person")
    monkeypatch.undo()
    active = Loop.active(root)
    assert active is not None and list(active.state.tasks) == ["T-001"]
    assert loops.view(root).snapshot["tasks"]["total"] == 1  # type: ignore[union-attr]


def test_a_ledger_replaced_under_a_running_command_is_read_anew(loop: Loop) -> None:
    loop.record([add(1), add(2)], "person")
    rows = Path(loop.path).read_bytes().splitlines(keepends=True)
    Path(loop.path).write_bytes(b"".join(rows[:3]))
    loop.refresh()
    assert list(loop.state.tasks) == ["T-001"]


# -- damage


def test_damaged_and_torn_lines_are_counted_by_their_number(loop: Loop, root: str) -> None:
    with open(loop.path, "ab") as file:
        file.write(b'{"no":"event"}\n')
    loop.record([add(1)], "person")
    with open(loop.path, "ab") as file:
        file.write(b"\x00garbage}\n" + b'{"v":1,"at"')
    again = Loop(root, loop.name)
    assert (again.damaged, again.torn) == ([3, 5], True)
    assert list(again.state.tasks) == ["T-001"]


@pytest.mark.parametrize("raw", [b"", b"\xff\n", b"garbage\n"])
def test_a_ledger_of_garbage_is_damage(loop: Loop, root: str, raw: bytes) -> None:
    Path(loop.path).write_bytes(raw)
    for make in (lambda: Loop.active(root), lambda: Loop(root, loop.name)):
        with pytest.raises(Damaged, match="does not begin with a loop's start"):
            make()
    os.unlink(os.path.join(root, loops.SNAPSHOT))
    with pytest.raises(Damaged):
        Loop.active(root)


def test_a_ledger_that_cannot_be_opened_is_damage(loop: Loop, root: str) -> None:
    os.unlink(loop.path)
    os.mkdir(loop.path)
    with pytest.raises(Damaged, match="is gone"):
        Loop.active(root)


def test_a_line_that_lacks_its_fields_is_left_out_and_numbered(loop: Loop, root: str) -> None:
    row = {
        "v": 1,
        "at": "2026-12-01T09:30:00Z",
        "type": "task_added",
        "by": "x",
        "data": {"task": {}},
    }
    before = len(loop.state.tasks)
    with open(loop.path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    with open(loop.path, encoding="utf-8") as file:
        number = len(file.readlines())
    again = Loop(root, loop.name)
    assert (len(again.state.tasks), again.damaged) == (before, [number])


# -- finding the active one


def test_the_journals_name_the_loop_where_the_snapshot_does_not(loop: Loop, root: str) -> None:
    os.unlink(os.path.join(root, loops.SNAPSHOT))
    active = Loop.active(root)
    assert active is not None and active.name == loop.name
    assert loops.read_snapshot(root) is not None, "and the snapshot is made anew"


def test_a_snapshot_of_a_loop_that_is_gone_is_not_followed(loop: Loop, root: str) -> None:
    os.rename(loop.folder, os.path.join(root, "009-moved"))
    active = Loop.active(root)
    assert active is not None and active.name == "009-moved"


def test_an_old_copy_of_the_snapshot_does_not_bring_back_a_loop_that_is_over(
    loop: Loop, root: str
) -> None:
    loop.record([("loop_cancelled", {"reason": "x"})], "person")
    old = Path(root, loops.SNAPSHOT).read_bytes()
    Loop.create(root, "next", [FIRST], "person")
    Path(root, loops.SNAPSHOT).write_bytes(old)
    active = Loop.active(root)
    assert active is not None and active.name == "002-next"


def test_no_loop(root: str) -> None:
    assert Loop.active(root) is None


# -- the lock


def test_a_second_writer_waits_its_turn_and_then_gives_up(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_SECONDS", 0)
    holder = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'a')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    words = [sys.executable, "-c", holder, os.path.join(root, "lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with pytest.raises(Refused, match="another command has been writing"), store.locked(root):
            pass
        other.kill()
    with store.locked(root):
        pass


def test_a_lock_that_cannot_be_made_is_damage(root: str) -> None:
    os.mkdir(os.path.join(root, "lock"))
    with pytest.raises(Damaged, match="cannot write"), store.locked(root):
        pass


def test_the_journal_is_named_as_documented() -> None:
    assert (journal.NAME, loops.SNAPSHOT) == ("ledger.jsonl", "workflow-state.json")


@pytest.mark.parametrize("value", [1 << 60, -1, float("nan"), float("inf"), "1"])
def test_nothing_is_written_that_could_not_be_read_back(loop: Loop, value: object) -> None:
    before = Path(loop.path).read_bytes()
    with pytest.raises(UsageFault, match="nothing was recorded"), loop.writing():
        loop.record(
            [("confirmed", {"what": "shape"}), ("review_light", {"wave": 1, "issues": value})],
            "person",
        )
    assert Path(loop.path).read_bytes() == before and not Loop(loop.root, loop.name).damaged


def test_no_loop_is_made_that_could_not_be_read_back(root: str) -> None:
    first = ("loop_started", {**FIRST[1], "settings": {"max_fix_cycles": 1 << 60}})
    with pytest.raises(UsageFault, match="nothing was recorded"):
        Loop.create(root, "add rate limiting", [first], "person")
    assert loops.names(root) == []
