"""Damaged and unwritable state: rebuilt where it is derived, refused with exit 3 where it is the
ledger; never lost."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.store import atomic, loops
from tests.cli.kit import Project, task

DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda raw: None,
    "empty": lambda raw: b"",
    "garbage": lambda raw: b"\x00\xff{",
    "torn": lambda raw: raw[: len(raw) // 2],
    "status edited": lambda raw: raw.replace(b'"status": "running"', b'"status": "completed"'),
    "stage edited": lambda raw: raw.replace(b'"stage": "decompose"', b'"stage": "complete"'),
    "of another version": lambda raw: raw.replace(b'"version": 1', b'"version": 2'),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_snapshot_is_rebuilt_from_the_ledger(project: Project, how: str) -> None:
    project.planned(task("a"), task("b"))
    path = project.root / loops.SNAPSHOT
    before = path.read_bytes()
    after = DAMAGE[how](before)
    assert after != before
    path.unlink()
    if after is not None:
        path.write_bytes(after)
    status = project.status
    assert (status["stage"], status["status"], status["tasks"]["total"]) == (
        "decompose",
        "running",
        2,
    )
    project.ok("task", "add", "c", "--verify", "ls")
    assert project.snapshot["tasks"]["total"] == 3
    assert loops.read_snapshot(str(project.root)) is not None


def test_an_older_snapshot_is_caught_up(project: Project) -> None:
    project.planned(task("a"))
    old = (project.root / loops.SNAPSHOT).read_bytes()
    project.ok("task", "add", "b", "--verify", "ls")
    project.ok("cancel")
    (project.root / loops.SNAPSHOT).write_bytes(old)
    assert (project.status["status"], project.status["tasks"]["total"]) == ("aborted", 2)


def test_hand_formatting_of_the_snapshot_does_not_matter(project: Project) -> None:
    project.planned()
    path = project.root / loops.SNAPSHOT
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert loops.read_snapshot(str(project.root)) is not None
    project.ok("task", "add", "b", "--verify", "ls")
    assert not path.read_bytes().startswith(b"\xef")


def test_a_torn_last_line_is_left_out_told_of_and_closed_by_the_next_write(
    project: Project,
) -> None:
    project.planned(task("a"))
    whole = project.ledger.read_bytes()
    project.ok("task", "add", "never acknowledged", "--verify", "ls")
    added = project.ledger.read_bytes()[len(whole) :]
    for end in (1, len(added) // 2, len(added) - 1):
        project.ledger.write_bytes(whole + added[:end])
        answer = project.lk("task", "list", "--json")
        assert answer.exit == 0 and len(answer.json) == 1
        assert "its last line is cut short and is left out; see loopkit doctor" in answer.err
        assert project.lk("task", "add", "real", "--verify", "ls").exit == 0
        answer = project.ok("task", "list", "--json")
        assert [row["subject"] for row in answer.json] == ["a", "real"]


def test_a_damaged_line_is_left_out_and_told_of(project: Project) -> None:
    project.planned(task("a"))
    with open(project.ledger, "ab") as file:
        file.write(b"<<<<<<< HEAD }\n")
    answer = project.lk("status")
    assert (
        answer.exit == 0
        and "line 8 cannot be read and is left out; see loopkit doctor" in answer.err
    )
    assert len(answer.err.splitlines()) == 1
    assert project.lk("task", "add", "b", "--verify", "ls").exit == 0
    assert list(project.tasks) == ["T-001", "T-002"]


@pytest.mark.parametrize(
    "raw",
    [b"", b"garbage\n", b"\xff\xfe\x00\n", b'{"v":1}\n'],
    ids=["empty", "text", "bytes", "json"],
)
@pytest.mark.parametrize(
    "words", [("status",), ("task", "add", "b", "--verify", "ls"), ("resume",), ("cancel",)]
)
def test_a_ledger_of_garbage_is_exit_3(project: Project, raw: bytes, words: tuple) -> None:
    project.planned(task("a"))
    project.ledger.write_bytes(raw)
    project.refused(3, *words, says="does not begin with a loop's start; see loopkit doctor")


@pytest.mark.parametrize("words", [("status",), ("wave", "next"), ("start", "--task-file", "-")])
def test_a_ledger_that_cannot_be_opened_is_exit_3(project: Project, words: tuple) -> None:
    project.planned(task("a"))
    path = project.ledger
    path.unlink()
    path.mkdir()
    project.refused(3, *words, given="x", says="is gone, the journal of a loop that is not over")


def test_a_byte_order_mark_before_each_file_does_no_harm(project: Project) -> None:
    project.root.mkdir()
    (project.root / "config.toml").write_text("max_idle_stops = 2\n")
    project.planned(task("a"))
    for name in sorted(project.files()):
        if name.endswith((".json", ".jsonl", ".toml", ".md")):
            path = project.root / name
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
            project.ok("task", "add", name, "--verify", "ls")
    assert len(project.tasks) > 4


# -- nothing can be written


def refuse(name: str, path_ends: str) -> Callable:
    """A stand-in for `os.<name>` that fails for paths with this ending, as a disk mounted read-only
    does."""
    real = getattr(os, name)

    def call(path: object, *given: object, **named: object) -> object:
        flags = given[0] if given and isinstance(given[0], int) else 0
        if (
            isinstance(path, str)
            and path.endswith(path_ends)
            and (name != "open" or flags & (os.O_WRONLY | os.O_RDWR))
        ):
            raise OSError(errno.EROFS, "Read-only file system", path)
        return real(path, *given, **named)

    return call


def test_a_read_only_ledger_refuses_with_exit_3_and_records_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.planned(task("a"))
    monkeypatch.setattr(os, "open", refuse("open", "ledger.jsonl"))
    project.refused(3, "task", "add", "b", "--verify", "ls", says="Read-only file system")
    project.refused(3, "wave", "next", says="nothing was changed")
    assert project.lk("status").exit == 0, "looking still works"


def test_a_folder_that_cannot_be_made_starts_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "mkdir", refuse("mkdir", ".loop"))
    project.refused(3, "start", "--task-file", "-", given="x", says="cannot write")
    monkeypatch.undo()
    project.root.write_text("a file in the folder's place")
    before = project.root.read_text()
    answer = project.lk("start", "--task-file", "-", given="x")
    assert answer.exit == 3 and "remove it" in answer.err and len(answer.err.splitlines()) == 1
    assert project.root.read_text() == before


ODD = [
    pytest.param(lambda path: path.mkdir(), "remove it", id="a folder"),
    pytest.param(os.mkfifo, "remove it", id="a pipe"),
    pytest.param(lambda path: path.symlink_to("/dev/null"), "remove the link", id="a link"),
    pytest.param(lambda path: path.symlink_to(path), "remove the link", id="a link to itself"),
    pytest.param(lambda path: _socket(path), "remove it", id="a socket"),
]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):
        one.bind(path.name)


@pytest.mark.parametrize(("make", "todo"), ODD)
def test_a_lock_that_is_no_file_hangs_nobody_and_is_named(
    project: Project, make: Callable, todo: str
) -> None:
    project.planned(task("a"))
    (project.root / "lock").unlink()
    make(project.root / "lock")
    project.refused(3, "task", "add", "b", "--verify", "ls", says=f"{todo}; nothing was changed")


@pytest.mark.parametrize(("make", "todo"), ODD[:2])
def test_an_ignore_file_that_git_would_wait_for_is_named(
    project: Project, make: Callable, todo: str
) -> None:
    project.root.mkdir()
    make(project.root / ".gitignore")
    project.refused(3, "start", "--task-file", "-", given="x", says=todo)


@pytest.mark.parametrize(("make", "todo"), ODD[1:])
def test_a_loop_folder_that_is_no_folder_is_named(
    project: Project, make: Callable, todo: str
) -> None:
    make(project.root)
    answer = project.lk("start", "--task-file", "-", given="x")
    assert answer.exit == 3 and answer.err.count("\n") == 1 and "remove" in answer.err
    assert os.path.lexists(project.root)


def test_derived_files_that_cannot_be_written_lose_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.planned(task("a"))

    def full(path: str, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr(atomic, "write", full)
    answer = project.lk("task", "add", "b", "--verify", "ls")
    assert answer.exit == 0 and "T-002 added" in answer.out
    assert answer.err.startswith("loopkit: PROGRESS.md not written: No space left on device\n")
    assert "loopkit: plan.md not written: " in answer.err and all(
        one.endswith("device") for one in answer.err.splitlines()
    )
    monkeypatch.undo()
    assert list(project.tasks) == ["T-001", "T-002"]
    assert project.status["tasks"]["total"] == 2


def test_evidence_that_cannot_be_written_is_no_evidence(project: Project) -> None:
    project.planned(task("a", "ls"))
    project.ok("wave", "next")
    logs = project.root / project.name / "evidence"
    logs.rmdir()
    logs.write_text("a file in the folder's place")
    project.refused(3, "verify", "T-001", "--", "ls", says="nothing was recorded")
    assert project.tasks["T-001"]["status"] == "in_progress"


def test_a_fault_of_our_own_is_one_line_and_exit_3(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.planned(task("a"))
    monkeypatch.setattr(loops, "read_snapshot", lambda root: 1 / 0)
    answer = project.lk("status")
    assert answer.exit == 3 and answer.out == ""
    assert answer.err.startswith("loopkit: ZeroDivisionError: division by zero; please report it")
    assert len(answer.err.splitlines()) == 1
