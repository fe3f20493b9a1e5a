"""A small disk that is really full, has no inodes left, or was mounted again for reading only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import Project, task
from tests.crash import kit
from tests.crash.test_kill import stop


def mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True)
    if done.returncode and os.environ.get("CI") and os.geteuid() == 0:
        pytest.fail(f"mount does not work here: {done.stderr}")
    if done.returncode:
        pytest.skip(f"mount does not work here: {done.stderr.strip()}")


@pytest.fixture
def small(project: Project) -> Iterator[Project]:
    """The project, its `.loop` on a file system of 512 kB and 60 inodes."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    project.root.mkdir()
    mount("-t", "tmpfs", "-o", "size=512k,nr_inodes=60", "tmpfs", str(project.root))
    try:
        project.planned(task("first", "ls"))
        yield project
    finally:
        subprocess.run(["umount", "-l", str(project.root)], check=True)


def fill(project: Project) -> Path:
    path = project.root / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (4096, 64, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return path


def no_more_inodes(project: Project) -> list[Path]:
    made = []
    for number in range(100):
        path = project.root / f"filler-{number}"
        try:
            path.touch()
        except OSError:
            return made
        made.append(path)
    raise AssertionError("there were inodes enough")


def refused(project: Project) -> None:
    """Nothing can be recorded: one line, exit 3; looking and the hook go on."""
    before = project.ledger.read_bytes()
    for words in (
        ("task", "add", "lost", "--verify", "ls"),
        ("wave", "next"),
        ("cancel",),
        ("pause",),
    ):
        answer = project.lk(*words)
        assert answer.exit == 3 and answer.err.count("\n") == 1 and answer.out == "", answer
        assert "nothing was changed" in answer.err and project.ledger.read_bytes() == before
    assert project.lk("status").exit == 0
    stop(project)


def usable(project: Project) -> None:
    assert list(project.tasks) == ["T-001"]
    project.ok("task", "add", "second", "--verify", "ls")
    kit.age(project)
    project.ok("task", "add", "third", "--verify", "ls")
    kit.whole(project)


def test_a_full_disk(small: Project) -> None:
    filler = fill(small)
    ledger = small.ledger.read_bytes()
    room = (
        -len(ledger) % os.statvfs(small.root).f_bsize
    )  # what is left of the ledger's own last block
    added = 0
    while small.lk("task", "add", "x" * 200, "--verify", "ls").exit == 0:
        added += 1
    assert added <= room // 300 + 1, "each that was acknowledged found room in that block"
    assert len(small.tasks) == 1 + added
    before = small.ledger.read_bytes()
    answer = small.lk("task", "add", "y" * 400, "--verify", "ls")
    assert (
        answer.exit == 3 and "No space left on device" in answer.err and answer.err.count("\n") == 1
    )
    assert small.ledger.read_bytes() == before and small.lk("status").exit == 0
    filler.unlink()
    small.ok("task", "add", "second", "--verify", "ls")
    kit.age(small)
    small.ok("task", "add", "third", "--verify", "ls")
    assert len(small.tasks) == 3 + added
    kit.whole(small)


def test_no_inodes_left(small: Project) -> None:
    """What is derived needs new files, the ledger does not: commands go on, `start` and `verify`
    say no."""
    fillers = no_more_inodes(small)
    answer = small.lk("task", "add", "second", "--verify", "ls")
    assert answer.exit == 0 and answer.err.startswith(
        "loopkit: PROGRESS.md not written: No space left on device\n"
    )
    small.lk("wave", "next")
    answer = small.lk("verify", "T-001", "--", "ls")
    assert answer.exit == 3 and "nothing was recorded" in answer.err and answer.err.count("\n") == 1
    small.lk("cancel")
    answer = small.lk("start", "--task-file", "-", given="another")
    assert (
        answer.exit == 3
        and answer.err.count("\n") == 1
        and len(list(small.root.glob("*/ledger.jsonl"))) == 1
    )
    for path in fillers:
        path.unlink()
    small.start("another")
    kit.whole(small)


def test_mounted_again_for_reading_only(small: Project) -> None:
    mount("-o", "remount,ro", str(small.root))
    refused(small)
    mount("-o", "remount,rw", str(small.root))
    usable(small)
