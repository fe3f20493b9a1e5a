"""What the doctor finds of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit.engine import running
from loopkit.engine.findings import Case, Report
from loopkit.store import runs


def run(root: Path, name: str, completion: str = "fixed-n", **fields: Any) -> runs.Run:
    part = {"name": "work", "completion": completion, "runs": 2}
    start = {"session": name, "kind": "loop", "pipeline": "work", "parts": [part], "project": "/p"}
    start |= {"words": [], "definition": "", "iterations": 2, **fields}
    return runs.create(str(root), name, start, "")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / ".loop").mkdir()
    return tmp_path / ".loop"


def look(root: Path, path: str) -> list[tuple[str, str]]:
    report = Report()
    case = Case({"PATH": path}, str(root.parent), "", str(root), False, "linux")
    running.runs_of(report, case, str(root))
    return report.rows


@pytest.mark.parametrize(
    ("program", "fields"),
    [
        ("bd", {"completion": "beads-empty"}),
        ("codex", {"chosen": {"agent": "codex"}}),
        ("tmux", {"words": ["loopkit", "run", "work", "auth", "--tmux"]}),
        ("", {"chosen": {"agent": "claude"}}),
    ],
)
def test_a_program_is_looked_for_where_a_run_uses_it(
    root: Path, tmp_path: Path, program: str, fields: dict
) -> None:
    assert look(root, "/nowhere") == []
    run(root, "auth", **fields)
    missing = f"{program} is not on the PATH (run auth needs it): install it"
    assert look(root, f"/nowhere:{tmp_path}") == ([("note", missing)] if program else [])
    if program:
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
        assert look(root, str(tmp_path)) == [("ok", f"{program}: {tmp_path}/{program}")]


def test_a_damaged_journal_is_named(root: Path) -> None:
    made = run(root, "auth")
    with open(made.path, "ab") as file:
        file.write(b"{}\n")
    ((level, text),) = look(root, "")
    assert level == "damaged" and f"{made.path} line 2" in text
    Path(made.path).write_text("{}\n")
    ((level, text),) = look(root, "")
    assert level == "damaged" and "does not begin with a run's start" in text


def test_a_strangers_run_is_not_read_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(root, "auth", completion="beads-empty")
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "elsewhere"))
    assert look(root, "/nowhere") == []
