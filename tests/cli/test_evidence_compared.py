"""The gate believes what loopkit has recorded, and only as long as the evidence says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.core.review import gate
from loopkit.store import digest, evidence
from loopkit.store.loop import Loop

from .kit import Project
from .test_attacks import forge

FORGED = {"passed": True, "exit": 0, "seconds": 0.1, "tier": "thorough"}


def log_of(project: Project, name: str) -> Path:
    return project.ledger.parent / "evidence" / f"{name}-1.log"


def doctor(project: Project) -> str:
    answer = project.lk("doctor")
    return " ".join((answer.out + answer.err).split())


@pytest.mark.parametrize("what", ["output", "command", "exit"])
def test_an_evidence_file_that_was_changed_blocks_the_gate(project: Project, what: str) -> None:
    project.reviewed()
    log = log_of(project, "T-001")
    lines = log.read_text().splitlines()
    changed = {
        "output": [lines[0], "all is well", lines[-1]],
        "command": ["$ pytest -q", *lines[1:]],
        "exit": [*lines[:-1], "[exit 3 in 0.0 s]"],
    }
    log.write_text("\n".join(changed[what]) + "\n")
    why = "T-001: its evidence file evidence/T-001-1.log is not what was recorded"
    answer = project.lk("gate")
    assert answer.exit == 1 and why in answer.out
    assert answer.steps == ["loopkit verify T-001 -- test -f limiter.txt"]
    assert why in doctor(project)
    assert project.verify("T-001").exit == 0
    assert "not what was recorded" not in project.lk("gate").out + doctor(project)


def test_a_forged_line_with_a_forged_file_blocks_the_gate(project: Project) -> None:
    project.reviewed()
    log = log_of(project, "C1")
    log.write_text("$ test -f limiter.txt\n\n[exit 0 in 0.1 s]\n")
    seal = digest.of(str(project.ledger.parent), "evidence/C1-1.log")
    data = {**FORGED, "log": "evidence/C1-1.log", "command": "test -f limiter.txt"}
    forge(project, "criterion_verified", id="C1", digest=seal, **data)
    why = "loopkit has not recorded its evidence, the journal was written by something else"
    assert f"C1 counts for nothing: {why}" in project.lk("gate").out
    assert f"C1: {why}" in doctor(project)
    assert project.verify("C1").exit == 0
    assert "counts for nothing" not in project.lk("gate").out


def test_a_recorded_line_whose_exit_code_was_changed_blocks_the_gate(project: Project) -> None:
    project.reviewed()
    (project.folder / "limiter.txt").unlink()
    assert project.verify("C1").exit == 1
    raw = project.ledger.read_text().split("\n")
    at = next(i for i, row in enumerate(raw) if '"criterion_verified"' in row)
    row = json.loads(raw[at])
    row["data"].update(passed=True, exit=0)
    raw[at] = json.dumps(row)
    project.ledger.write_text("\n".join(raw))
    assert "C1 counts for nothing: loopkit has not recorded" in project.lk("gate").out


def test_evidence_of_an_older_version_is_a_doubt_and_blocks_nothing(project: Project) -> None:
    project.reviewed()
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    lines = []
    for row in project.ledger.read_text().splitlines():
        line = json.loads(row)
        line["data"].pop("digest", None)
        lines.append(json.dumps(line))
    project.ledger.write_text("\n".join(lines) + "\n")
    loop = Loop(str(project.root), project.name)
    assert evidence.unlike(loop) == {}
    doubts = [row for row in gate.doubts(loop.state) if "its evidence is not sealed" in row]
    assert [row.partition(":")[0] for row in doubts] == ["T-001", "C1", "M2"]
