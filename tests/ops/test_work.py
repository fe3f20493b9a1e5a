"""Runs that work on a loop: task by task with commits, to a goal's end, after a crash, from and to a
session."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from loopkit.engine import run as runner
from loopkit.ops.runs import start
from loopkit.ops.runs.start import Asked, Over
from loopkit.ops.workspace import Workspace
from loopkit.store.runs import Run
from tests.cli.kit import Project
from tests.ops.kit import Case, writes

TASKS = "".join(
    f"- subject: Write {name}\n  verify: grep -qx good {name}.txt\n  files: [{name}.txt]\n"
    for name in "abc"
)


class Work(Case):
    """A project with tasks in a file, and runs in it as from a terminal."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(project, monkeypatch)
        for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_PID"):
            monkeypatch.delenv(name, raising=False)
        folder = project.folder / "docs" / "plans"
        folder.mkdir(parents=True)
        (folder / "demo.tasks.yaml").write_text(TASKS)
        self.git("add", "-A")
        self.git("commit", "-qm", "tasks")
        self.steps |= {
            f"implementation T-00{n}": writes(name, "good", cost=0.25)
            for n, name in enumerate("abc", 1)
        }

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.project.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    @property
    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()

    def go(self, name: str = "work", session: str = "demo", **more: Any) -> Over:
        path = self.project.folder.parent / "script.yaml"
        path.write_text(json.dumps({"steps": self.steps}))
        chosen = {"agent": "script", "script": str(path)}
        more = {"checks": ("grep *",), **more}
        wanted = Asked(name, session, words=(name, session), chosen=chosen, **more)
        self.records = []
        for record in start.start(Workspace(self.notes.append), wanted):
            self.records.append(record)
            if len(self.records) == self.stop_at:
                raise KeyboardInterrupt
        assert isinstance(record, Over)
        return record

    stop_at = 0

    @property
    def told(self) -> list[str]:
        return [one.text for one in self.records if isinstance(one, runner.Recorded | start.Told)]

    def run_of(self, session: str = "demo") -> Run:
        found = Run.open(str(self.project.root), session)
        assert found is not None
        return found


@pytest.fixture
def work(project: Project, monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setattr("loopkit.core.pipeline.definitions.DELAY", 0.0)
    case = Work(project, monkeypatch)
    stage = project.root / "stages" / "work"
    stage.mkdir(parents=True, exist_ok=True)
    source = os.path.join(os.path.dirname(__file__), "..", "..", "stages", "work")
    for name in ("stage.yaml", "prompt.md"):
        text = open(os.path.join(source, name), encoding="utf-8").read()
        (stage / name).write_text(text.replace("delay: 3", "delay: 0"), encoding="utf-8")
    return case


def test_three_tasks_are_done_and_committed_one_by_one(work: Work) -> None:
    (work.project.folder / "mine.txt").write_text("not committed\n")
    over = work.go(iterations=5)
    assert (over.code, over.data["status"]) == (0, "completed"), (over.text, work.told)
    assert work.subjects[:4] == ["Write c (T-003)", "Write b (T-002)", "Write a (T-001)", "tasks"]
    assert work.git("show", "--name-only", "--format=", "HEAD").split() == ["c.txt"]
    assert work.git("status", "--porcelain").splitlines() == ["?? .loop/", "?? mine.txt"]
    assert over.data["spent"]["usd"] == pytest.approx(0.75)
    assert over.data["iteration_completed"] == 3
    rows = over.data["history"]
    assert [row["task"] for row in rows] == ["T-001", "T-002", "T-003"]
    assert rows[2]["commit"] == work.git("rev-parse", "HEAD").strip()
    assert work.project.snapshot["status"] == "paused"
    assert "--continue demo" in work.project.snapshot["reason"]
    assert work.notes == []
