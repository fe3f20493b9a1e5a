"""Loops of a project of a test's own, run with recorded answers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from loopkit.engine import run
from loopkit.engine.agents.script import Script
from loopkit.ops import drive, start
from loopkit.ops.workspace import Workspace
from tests.cli.kit import GATE, PANEL, REQUEST, SEEN, Project, task

#: What is wanted, shown by the part that is written in every loop.
WANTED = {**REQUEST, "criteria": [{"text": "there is a limit", "proof": "grep -qx good a.txt"}]}
PASSED = {"reply": {"findings": [], **SEEN}}
#: What is answered in every loop.
ALWAYS: dict[str, Any] = {
    "score": {"reply": WANTED},
    "panel": [{"reply": {**PANEL, "consensus": f"way {number}"}} for number in range(9)],
    "wave_review": {"reply": {"score": 8, "issues": 0, "blockers": 0}},
    "thorough_review": PASSED,
    "gate": {"reply": GATE},
}


def planned(*rows: dict) -> dict:
    """A planner's tasks."""
    return {"reply": {"tasks": list(rows)}}


def asked(*rows: dict) -> dict:
    """The request in one form, with its tasks."""
    return {"reply": {**WANTED, "tasks": list(rows)}}


class Case:
    """A loop in a project with one commit, and the answers to its steps."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, **steps: Any) -> None:
        self.project = project
        project.write("README.txt", "there from the start\n")
        for words in (["add", "-A"], ["commit", "-qm", "begin"]):
            subprocess.run(["git", *words], cwd=project.folder, check=True)
        self.steps = {**ALWAYS, **steps}
        monkeypatch.chdir(project.folder)
        for name, value in project.env(CLAUDE_CODE_SESSION_ATTENDED="0").items():
            monkeypatch.setenv(name, value)
        self.notes: list[str] = []

    def begin(self, approval: str = "evidence") -> None:
        options = start.Options(approval=approval)
        start.start(Workspace(self.notes.append), "add rate limiting to the API", options)

    def records(self, driver: type[drive.Driver] = drive.Driver) -> Iterator[run.Record]:
        """Run the loop until it ends or waits for a person."""
        path = self.project.folder.parent / "script.yaml"
        path.write_text(json.dumps({"steps": self.steps}))
        script = Script(str(path), environment={"PATH": os.environ["PATH"]})
        return run.run(driver(self.notes.append), script, self.project.folder, side_by_side=2)

    def run(self) -> list[run.Record]:
        return list(self.records())

    def ended(self) -> run.Ended:
        *_, last = self.records()
        assert isinstance(last, run.Ended)
        return last

    @property
    def completed(self) -> bool:
        return self.project.snapshot["verdict"] == "achieved"


def check(name: str) -> str:
    """The check of a part: its file is good."""
    return f"grep -qx good {name}.txt"


def part(name: str, **fields: Any) -> dict:
    return task(f"write {name}", check(name), files=[f"{name}.txt"], **fields)


def writes(name: str, *texts: str, **more: Any) -> list[dict]:
    """What the agent of a part writes, one time after the other."""
    return [{"write": {f"{name}.txt": text + "\n"}, **more} for text in texts]
