"""A project whose `.loop` came along with something else in each place where loopkit keeps a file:
nothing hangs, nothing outside is touched, and a loop of one's own goes its way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.hooks import dispatch
from loopkit.render import printable
from tests.cli.kit import S1, Project, surroundings, task

#: Where files of ours are, or look as if they were; the lock, the ignore file and the settings,
#: which stop a start with one line, have tests of their own.
PLACES = (
    "001-x/ledger.jsonl",
    "9" * 250 + "-x/ledger.jsonl",
    "workflow-state.json",
    "learnings.jsonl",
    "archive",
    "002-x",
    "003-x/learnings/001-a.md",
    "003-x/learnings/001-b.md",
    "003-x/SHAPE.md",
    "004-x/evidence",
    "ledger.jsonl.1.tmp",
    "stages",
    "pipelines/x.yaml",
    "runs",
)
MAKE: dict[str, Callable[[Path, Path], object]] = {
    "pipes": lambda path, outside: os.mkfifo(path),
    "folders": lambda path, outside: path.mkdir(),
    "links out": lambda path, outside: path.symlink_to(outside),
    "links to a folder outside": lambda path, outside: path.symlink_to(outside.parent),
    "links to themselves": lambda path, outside: path.symlink_to(path),
    "words that steer a terminal": lambda path, outside: path.write_text("{\x1b[2J\u202e\n"),
}


def hook(project: Project, event: str, **given: object) -> str:
    """A hook within this process; it must leave no fault in the log."""
    raw = json.dumps({"session_id": S1, "cwd": str(project.folder), **given}).encode()
    env = project.env()
    with surroundings(project.folder, env):
        said = dispatch.answer(event, raw, env, env["LOOPKIT_DATA"], 1e9).decode()
    assert not Path(env["LOOPKIT_DATA"], "hooks.log").exists()
    return said


@pytest.mark.parametrize("what", MAKE)
def test_whatever_stands_in_the_place_of_files_of_ours(
    project: Project, tmp_path: Path, what: str
) -> None:
    outside = tmp_path / "outside" / "file"
    outside.parent.mkdir()
    outside.write_text("somebody's own\n")
    for place in PLACES:
        path = project.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        MAKE[what](path, outside)
    for event, given in (
        ("session_start", {"source": "startup"}),
        ("stop", {}),
        ("statusline", {}),
    ):
        assert hook(project, event, **given) == ""
    for words in (("status", "--list"), ("trust",), ("recall",), ("lint",), ("runs", "list")):
        answer = project.lk(*words)
        assert answer.exit in (0, 1, 3) and "report it" not in answer.err, (words, answer)
        assert printable(answer.out + answer.err) == answer.out + answer.err, words
    project.planned(task("a", "test -f a.txt"))
    project.ok("wave", "next")
    assert "T-001" in hook(project, "stop", stop_hook_active=False, background_tasks=[])
    project.write("a.txt")
    assert project.verify("T-001").exit == 0
    assert project.lk("learn").exit in (0, 3)
    project.ok("cancel")
    assert outside.read_text() == "somebody's own\n" and os.listdir(outside.parent) == ["file"]
