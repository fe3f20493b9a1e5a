"""Batches as a session meets them: what `wave close` says, `status` shows and loop-state.md keeps;
questions and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import PANEL, Answer, Project, task


def state_file(project: Project) -> str:
    return (project.root / project.name / "loop-state.md").read_text(encoding="utf-8")


def batch(project: Project, *failing: str) -> Answer:
    """A wave whose tasks pass but for these, which are given up; gives the answer of its close."""
    project.ok("wave", "next")
    for name, row in project.tasks.items():
        if row["status"] == "in_progress":
            if name in failing:
                project.ok(
                    "task",
                    "fail",
                    name,
                    "--error",
                    f"ValueError: {name} at 0x{len(project.lines):x}",
                )
            else:
                assert project.verify(name).exit == 0
    return project.lk("wave", "close")


def panel(project: Project, name: str) -> None:
    advice = {**PANEL, "consensus": f"path {len(project.lines)}"}
    project.ok("panel", name, "--file", "-", given=advice)


@pytest.fixture
def planned(project: Project) -> Project:
    return project.planned(*[task(f"part {number}", "ls") for number in range(1, 4)])


def test_a_batch_that_goes_well_is_told_in_one_line(planned: Project) -> None:
    assert "Batches:" not in planned.ok("status").out
    answer = batch(planned)
    assert answer.out.splitlines()[0] == "wave 1 closed: 3 completed, 0 failed"
    assert "Batches" not in answer.out
    line = "Batches: PROGRESSING, confidence medium, trend stable, continue"
    assert line in planned.ok("status").out.splitlines()
    assert planned.status["course"] == {
        "status": "PROGRESSING",
        "confidence": "medium",
        "trend": "stable",
        "recommendation": "continue",
        "batches": 1,
        "recoveries": [],
        "used": {},
    }


def test_the_state_file_follows_the_batches(planned: Project) -> None:
    planned.ok("wave", "next")
    assert "**Status**: INITIALIZING" in state_file(planned)
    assert "**Current batch**: 1: T-001, T-002, T-003" in state_file(planned)
    planned.ok("wave", "close")
    assert "| 1 | 3 | 0 | 3 |" in state_file(planned)
    assert "(no verification ran)" in state_file(planned)


def test_a_state_file_that_was_lost_is_made_anew_and_no_link_is_followed(planned: Project) -> None:
    batch(planned)
    kept = state_file(planned)
    place = planned.root / planned.name / "loop-state.md"
    place.unlink()
    planned.ok("ask", "which?")
    assert state_file(planned) == kept
    elsewhere = planned.folder / "elsewhere"
    elsewhere.write_text("mine")
    place.unlink()
    place.symlink_to(elsewhere)
    answer = planned.lk("answer", "that")
    assert answer.exit == 0 and answer.err.startswith("loopkit: loop-state.md not written: ")
    assert elsewhere.read_text() == "mine"


def test_a_state_file_that_cannot_be_written_loses_nothing(planned: Project) -> None:
    place = planned.root / planned.name / "loop-state.md"
    place.mkdir()
    answer = planned.lk("wave", "next")
    assert answer.exit == 0 and answer.err.startswith("loopkit: loop-state.md not written: ")
    assert len(set(answer.err.splitlines())) == 1


def stalled(project: Project) -> Answer:
    """The same error in three batches, the last attempts of T-001."""
    for _ in range(2):
        batch(project, "T-001")
        panel(project, "T-001")
    return batch(project, "T-001")


def test_stalled_is_told_with_its_recovery(planned: Project) -> None:
    answer = stalled(planned)
    assert answer.exit == 0
    rows = answer.out.splitlines()
    assert rows[2] == "Batches: STALLED, confidence low, trend stable, retry-with-change"
    assert "recovery: smaller tasks" in rows
    assert answer.steps == ["loopkit task split T-001 --file -"]
    assert planned.refused(1, "wave", "next", says="next: loopkit task split T-001 --file -")
    assert planned.status["next"] == "loopkit next"
    planned.ok("task", "split", "T-001", "--file", "-", given=[task("a", "ls"), task("b", "ls")])
    assert planned.status["course"]["recoveries"] == [
        {"status": "STALLED", "play": "split", "wave": 3, "counted": False}
    ]
    assert "split after batch 3 (STALLED)" in state_file(planned)
    assert "lightly" not in answer.out and "light review" not in answer.out


def test_wave_close_answers_as_json(planned: Project) -> None:
    planned.ok("wave", "next")
    for name in planned.tasks:
        assert planned.verify(name).exit == 0
    row = planned.ok("wave", "close", "--json").json
    assert row["status"] == "PROGRESSING" and row["recommendation"] == "continue"
    assert row["outcomes"]["T-001"] == {"result": "passed"}


# -- the person is asked


def blocked(project: Project, **env: str | None) -> Answer:
    project.ok("wave", "next")
    project.ok("task", "block", "T-001", "--kind", "permission", "--reason", "needs\na signature")
    return project.lk("wave", "close", **env)


def test_blocked_asks_at_once_and_all_is_on_one_screen(project: Project) -> None:
    project.planned(task("sign it", "ls"), task("send it", "ls", blocked_by=[1]))
    answer = blocked(project)
    assert answer.exit == 0
    assert answer.steps == ['loopkit answer "<what the person said>"']
    assert "BLOCKED: only a person can go on. How shall the loop go on?" in answer.out
    assert "T-001 sign it (permission): needs a signature" in answer.out
    assert len(answer.out.splitlines()) <= 40
    assert project.status["status"] == "awaiting_approval"
    shown = project.ok("status").out
    assert "The person is asked: BLOCKED: only a person can go on." in shown
    assert (
        "T-001 sign it (permission): needs a signature" in shown and len(shown.splitlines()) <= 40
    )
    project.refused(1, "wave", "next", says="a question is open: BLOCKED: only a person can go on.")
    elsewhere = project.ok("resume", "--take-over", session="session-two")
    assert (
        "T-001 sign it (permission): needs a signature" in elsewhere.out
        and len(elsewhere.out.splitlines()) <= 40
    )


def test_an_answer_goes_on_and_reaches_the_next_attempt(project: Project) -> None:
    project.planned(task("sign it", "ls"), task("send it", "ls", blocked_by=[1]))
    blocked(project)
    answer = project.ok("resume", "--answer", "signed,\nuse the blue ink")
    assert answer.steps == ["loopkit task unblock T-001"]
    assert project.status["status"] == "running"
    project.ok("task", "unblock", "T-001")
    shown = project.ok("task", "show", "T-001").out
    assert "the person was asked and said: signed,\n  use the blue ink" in shown


def test_blocked_is_told_at_once_and_the_others_go_on(project: Project) -> None:
    project.planned(
        task("sign it", "ls"), task("write it", "ls"), task("send it", "ls", blocked_by=[2])
    )
    project.ok("wave", "next")
    project.ok("task", "block", "T-001", "--kind", "permission", "--reason", "needs a signature")
    assert project.verify("T-002").exit == 0
    answer = project.ok("wave", "close")
    assert "Batches: BLOCKED, confidence low, trend stable, unblock:T-001" in answer.out
    assert "  T-001 sign it (permission): needs a signature" in answer.out
    assert project.of("question_asked") == []
    assert "T-003" in project.ok("wave", "next").out


def test_blocked_on_a_known_task_waits_for_it(project: Project) -> None:
    project.planned(task("sign it", "ls"), task("write it", "ls"))
    project.ok("wave", "next", "--sequential")
    project.ok(
        "task",
        "block",
        "T-001",
        "--kind",
        "dependency",
        "--reason",
        "the text of T-002 comes first",
    )
    answer = project.ok("wave", "close")
    assert "T-001 waits for T-002 now" in answer.out and answer.steps == ["loopkit wave next"]
    assert project.tasks["T-001"]["blockedBy"] == ["T-002"]
    assert project.of("recovery") == [
        {"status": "BLOCKED", "play": "wait", "wave": 1, "counted": True}
    ]


def test_where_nobody_can_be_asked_it_stays_so_and_exits_1(project: Project) -> None:
    project.shaped()
    project.ok("task", "add", "--file", "-", given=[task("sign it", "ls")])
    project.environment["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    project.ok("resume", "--take-over", session="nightly")
    assert project.lk("wave", "next", session="nightly").exit == 0
    project.ok(
        "task",
        "block",
        "T-001",
        "--kind",
        "permission",
        "--reason",
        "a signature",
        session="nightly",
    )
    answer = project.lk("wave", "close", session="nightly")
    assert answer.exit == 1 and answer.err == ""
    assert "BLOCKED: only a person can go on." in answer.out
    assert project.status["status"] == "awaiting_approval"


def test_a_crash_before_the_question_is_made_good_by_the_next_step(
    project: Project, tmp_path: Path
) -> None:
    """The line of the closed wave was written, the question was not."""
    project.planned(task("sign it", "ls"), task("send it", "ls", blocked_by=[1]))
    blocked(project)
    lines = project.ledger.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"question_asked"' not in line and b'"recovery"' not in line]
    project.ledger.write_bytes(b"".join(kept))
    (project.root / "workflow-state.json").unlink()
    answer = project.ok("next")
    assert "BLOCKED: only a person can go on." in answer.out
    assert len(project.of("question_asked")) == 1


def test_who_mends_a_task_is_told_what_a_review_found(planned: Project) -> None:
    batch(planned)
    row = {
        "id": "F-001",
        "severity": "BLOCKER",
        "issue": "no answer for 101",
        "guidance": "give one",
        "task": "T-001",
    }
    line = {
        **planned.lines[-1],
        "type": "review_light",
        "data": {"wave": 1, "findings": [{**row, "place": "a.py:3"}]},
    }
    with open(planned.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    shown = planned.ok("task", "show", "T-001").out
    assert "found by review wave_1: a.py:3 no answer for 101; do: give one" in shown
    assert "found by review" not in planned.ok("task", "show", "T-002").out


def test_a_hundred_batches_keep_it_short(planned: Project) -> None:
    batch(planned)
    lines = planned.ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    closing = [line for line in lines if '"wave_opened"' in line or '"wave_closed"' in line]
    with open(planned.ledger, "a", encoding="utf-8") as file:
        file.writelines(closing * 99)
    (planned.root / "workflow-state.json").unlink()
    planned.ok("ask", "which?")
    assert "**Iteration**: 100" in state_file(planned)
    assert len(state_file(planned).splitlines()) < 50
