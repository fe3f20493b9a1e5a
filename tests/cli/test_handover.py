"""What a session used before another one takes its loop over is on the bill, though no Stop ever
came to count it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from loopkit.core.journal import clock

from .kit import S1, S2, Project


def write(folder: Path, session: str, **messages: float) -> Path:
    """A transcript of the client with a message of 1,000 tokens for each name, at these POSIX
    seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{session}.jsonl"
    with file.open("a") as out:
        for name, at in messages.items():
            message = {
                "id": name,
                "model": "claude-opus-4-7",
                "content": [],
                "usage": {"input_tokens": 1000},
            }
            out.write(
                json.dumps({"type": "assistant", "timestamp": clock.stamp(at), "message": message})
                + "\n"
            )
    return file


@pytest.mark.parametrize("folder", ["-a-project", "-a-linked-worktree", "-where-it-stood-before"])
def test_a_killed_session_s_last_turn_is_counted_once(
    project: Project, tmp_path: Path, folder: str
) -> None:
    project.planned()
    projects = tmp_path / "config" / "projects"
    now = time.time()  # what comes later in the loop is stamped well ahead: no clock is waited for
    write(projects / folder, S1, before=now - 600, m1=now + 900, m2=now + 901)
    write(projects / "-another", S2, other=now + 900)
    write(projects / "-another", "neither", third=now + 900)
    more = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    project.ok("resume", "--take-over", session=S2, **more)
    assert project.status["spent"]["tokens"] == 2000
    project.ok("resume", "--take-over", session=S1, **more)
    project.ok("resume", "--take-over", session=S2, **more)
    assert project.status["spent"]["tokens"] == 3000, (
        "what S2 used while it owned the loop, and nothing twice"
    )


@pytest.mark.parametrize(
    "kind", ["no folder", "a folder", "a pipe", "bytes", "a session id with a path"]
)
def test_a_transcript_that_cannot_be_read_stops_nobody(
    project: Project, tmp_path: Path, kind: str
) -> None:
    owner = "../../up" if "path" in kind else S1
    project.start(session=owner)
    folder = tmp_path / "config" / "projects" / "-x"
    file = folder / f"{S1}.jsonl"
    if kind != "no folder":
        folder.mkdir(parents=True)
        write(tmp_path / "config", "up", m1=time.time() + 900)
    if kind == "a folder":
        file.mkdir()
    elif kind == "a pipe":
        os.mkfifo(file)
    elif kind == "bytes":
        file.write_bytes(b"\x8f" * 1000)
    project.ok("resume", "--take-over", session=S2, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    assert project.status["owner"]["session_id"] == S2 and project.status["spent"]["tokens"] == 0


def test_the_list_of_the_session_that_is_let_go_loses_the_loop_s_tasks_and_nothing_else(
    project: Project, tmp_path: Path
) -> None:
    lists = tmp_path / "config" / "tasks"
    more = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    for session in (S1, S2):
        (lists / session).mkdir(parents=True)
    project.planned()
    project.ok("resume", **more)
    own = {
        "id": "1",
        "subject": "somebody's",
        "description": "",
        "status": "completed",
        "blocks": [],
        "blockedBy": [],
    }
    (lists / S1 / "1.json").write_text(json.dumps(own))
    assert sorted(os.listdir(lists / S1)) == ["1.json", "T-001.json"]
    project.ok("resume", "--take-over", session=S2, **more)
    assert (
        os.listdir(lists / S1) == ["1.json"]
        and json.loads((lists / S1 / "1.json").read_text()) == own
    )
    assert os.listdir(lists / S2) == ["T-001.json"]
    project.ok("resume", "--take-over", session=S1, CLAUDE_CODE_TASK_LIST_ID=S2, **more)
    assert os.listdir(lists / S2) == ["T-001.json"], "a list that both share stays filled"
