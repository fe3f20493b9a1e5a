"""A program that dies at any moment: what it had acknowledged is there, everything else is put
right by the next one."""

from __future__ import annotations

import json

from tests.cli.kit import Project, task


def test_killed_between_a_check_and_its_completion_the_evidence_counts(project: Project) -> None:
    project.planned(task("a", "ls"))
    project.ok("wave", "next")
    lines = project.ledger.read_bytes()
    assert project.verify("T-001").exit == 0
    after = project.ledger.read_bytes()[len(lines) :].splitlines(keepends=True)
    assert [json.loads(line)["type"] for line in after] == ["task_verified", "task_completed"]
    project.ledger.write_bytes(lines + after[0] + after[1][:30])
    assert project.tasks["T-001"]["status"] == "in_progress"
    assert "1 completed, 0 failed" in project.lk("wave", "close").out
    assert project.tasks["T-001"]["status"] == "completed"


def test_a_check_that_was_killed_leaves_no_evidence_and_the_next_has_a_log_of_its_own(
    project: Project,
) -> None:
    project.planned(task("a", "ls"))
    project.ok("wave", "next")
    logs = project.root / project.name / "evidence"
    (logs / "T-001-1.log").write_text("$ ls\nhalf a")
    assert project.tasks["T-001"]["evidence"] is None
    assert project.verify("T-001").exit == 0
    assert project.tasks["T-001"]["evidence"]["log"] == "evidence/T-001-2.log"
    assert (logs / "T-001-1.log").read_text() == "$ ls\nhalf a"
