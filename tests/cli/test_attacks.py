"""What somebody tries who wants the loop to say done, and what breaks a machine: none of it gets
through."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from loopkit.core.journal import clock
from loopkit.engine import process
from loopkit.render import printable
from tests.waiting import gone, wait_for

from .kit import S2, Project, task

GATE_WAITS = "has no passing evidence"


def forge(project: Project, kind: str, **data: object) -> None:
    line = {"v": 1, "at": clock.stamp(1_800_000_000), "type": kind, "by": "hook", "data": data}
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_a_completion_without_evidence_does_not_pass_the_gate(project: Project) -> None:
    project.planned(task("one", "test -f limiter.txt"))
    project.ok("wave", "next")
    forge(project, "task_completed", id="T-001")
    project.ok("wave", "close")
    project.review([])
    answer = project.lk("gate")
    assert answer.exit == 1 and f"T-001 {GATE_WAITS}" in answer.out
    assert answer.steps == ["loopkit verify T-001 -- test -f limiter.txt"]
    project.write("limiter.txt")
    project.verify("C1"), project.verify("M2")
    project.refused(1, "complete", says=GATE_WAITS)


def test_evidence_files_that_are_gone_are_asked_for_again(project: Project) -> None:
    project.reviewed()
    project.gated()
    shutil.rmtree(project.ledger.parent / "evidence")
    project.refused(1, "complete", says="evidence file is gone")
    assert project.lk("gate").steps[0].startswith("loopkit verify T-001")
    assert project.verify("T-001").exit == 0
    assert "C1 counts for nothing: its evidence file is gone" in project.lk("gate").out


def test_a_file_outside_the_project_is_no_file_of_a_task(project: Project) -> None:
    project.shaped()
    for path in ("/dev/zero", "../other", "a/../../b", ""):
        project.refused(
            2, "task", "add", "x", "--verify", "ls", "--files", path, says="inside the project"
        )


def test_a_task_cannot_serve_a_criterion_that_does_not_exist(project: Project) -> None:
    project.shaped()
    project.refused(
        1, "task", "add", "x", "--verify", "ls", "--criteria", "C9", says="there is no criterion C9"
    )


@pytest.mark.parametrize(
    "text",
    ["- !!bool zz", '- !!int ""', "- 1: a\n  foo: b", "- null: a", "- [a]: b", "- &a b\n- *a"],
)
def test_records_that_are_none(project: Project, text: str) -> None:
    project.planned()
    for words in (("task", "add"), ("review", "--thorough"), ("gate",), ("panel", "T-001")):
        project.refused(2, *words, "--file", "-", given=text)


def test_fields_of_the_wrong_kind(project: Project) -> None:
    project.reviewed()
    for name in ("C1", "M2"):
        project.verify(name)
    project.refused(
        2,
        "gate",
        "--file",
        "-",
        given={"kind": ["build"], "points": {}},
        says="kind: must be one of",
    )
    finding = {"severity": "WARNING", "issue": "x"}
    for extra in ({"files": 5}, {"files": "src"}, {"violates": {"a": 1}}):
        given = {"findings": [{**finding, **extra}]}
        project.refused(2, "review", "--thorough", "--file", "-", given=given, says="must be a")


def test_three_sessions_that_resume_at_once_make_one_owner(project: Project, data: Path) -> None:
    project.start(CLAUDE_PID="999999999")
    running = [
        project.program(
            "resume", data=data, session=f"session-{number}", CLAUDE_PID=str(os.getpid())
        )
        for number in range(3)
    ]
    codes = [one.wait() for one in running]
    for one in running:
        one.communicate()
    assert sorted(codes) == [0, 1, 1]
    assert len(project.of("owner_changed")) == 1


def test_a_command_that_was_overtaken_records_nothing(project: Project) -> None:
    from loopkit.cli import app
    from loopkit.core.journal.errors import Refused

    project.planned()
    kept = os.environ.copy(), os.getcwd()
    try:
        os.environ.clear()
        os.environ.update(project.env())
        os.chdir(project.folder)
        call = app.App()
        loop = call.own_loop()
        project.ok("resume", "--take-over", session=S2)
        with pytest.raises(Refused, match="belongs to session"):
            call.change(loop, lambda state: [("paused", {"reason": "too late"})])
    finally:
        os.environ.clear()
        os.environ.update(kept[0])
        os.chdir(kept[1])
    assert not project.of("paused")


def test_a_process_number_that_cannot_be_one(project: Project) -> None:
    project.start(CLAUDE_PID="9" * 30)
    project.ok("resume")
    project.lk("status", session=S2)
    assert project.lk("status", session=S2).exit == 0


def test_a_ledger_that_is_gone_is_damage_and_can_be_put_away(project: Project) -> None:
    project.planned()
    project.ledger.unlink()
    answer = project.lk("status")
    assert answer.exit == 3 and "is gone, the journal of a loop that is not over" in answer.err
    assert project.lk("doctor").exit == 3
    project.ok("start", "--task-file", "-", "--fresh", given="again")
    assert project.status["status"] == "running"


def test_words_that_would_steer_a_terminal_are_printed_harmlessly(project: Project) -> None:
    project.planned()
    out = project.ok("ask", "which\x1b[2J one\x07\u202e?").out
    assert "which" in out and not {"\x1b", "\x07", "\u202e"} & set(out)


def test_programs_get_every_character_in_a_form_that_steers_no_terminal(project: Project) -> None:
    """--json tells what was said to the letter, and whoever prints it sees no more than escapes."""
    harmful = "".join(map(chr, (*range(0x1, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x2030))))
    said = f"which é 😀 one{harmful}\u2066\ufeff\U000e0041?"
    project.planned()
    project.ok("ask", said)
    out = project.ok("status", "--json").out
    assert json.loads(out)["question"] == said and "é 😀" in out
    assert printable(out) == out, "nothing is left that a terminal obeys"
    name = "T-001\u202e"
    refused = project.lk("verify", name, "--json")
    assert refused.json["refused"]["what"] and printable(refused.out) == refused.out


def test_the_projects_own_programs_are_none_of_loopkits(project: Project) -> None:
    """A PATH with relative folders, or with empty ones, finds them first."""
    pwned = project.folder / "pwned"
    for folder in (project.folder, project.folder / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("git", "sh", "mkdir", "python3", "uname"):
            (folder / name).write_text(f"#!/bin/sh\necho $0 $* >> '{pwned}'\nexit 1\n")
            (folder / name).chmod(0o755)
    project.environment["PATH"] = f":.:bin:../{project.folder.name}:{project.environment['PATH']}:"
    project.planned(task("one", "test -f limiter.txt"))
    project.ok("wave", "next", "--worktrees")
    worktree = next(project.ledger.parent.glob("worktrees/T-001"))
    (worktree / "limiter.txt").write_text("x")
    assert project.verify("T-001").exit == 0
    for words in (("wave", "merge", "T-001"), ("checkpoint",), ("status",), ("doctor",)):
        assert project.lk(*words).exit in (0, 1), words
    assert not pwned.exists(), pwned.read_text()


def test_output_without_end_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT", 100_000)
    log = tmp_path / "log"
    code = (
        "import os, sys\n"
        "for _ in range(10): os.write(1, b'x' * 100_000)\n"
        f"sys.exit(os.path.getsize({str(log)!r}) > 110_000)"
    )
    outcome = process.run(
        [sys.executable, "-c", code], str(tmp_path), str(log), 600, dict(os.environ)
    )
    assert outcome.exit == 0, "the log grew while the program ran"
    assert log.stat().st_size < 110_000 and b"bytes left out" in log.read_bytes()


def test_a_verification_ends_with_the_command_that_runs_it(project: Project, data: Path) -> None:
    mark = project.folder / "mark"
    code = (
        f"import os, sys, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    command = [sys.executable, "-c", code]
    project.planned(task("slow", shlex.join(command)))
    project.ok("wave", "next")
    running = project.program("verify", "T-001", "--", *command, data=data)
    while not mark.exists() or not mark.read_text():
        assert running.poll() is None, running.communicate()
    running.send_signal(signal.SIGTERM)
    assert running.wait() == 143
    running.communicate()
    number = int(mark.read_text())
    wait_for("the check's end", lambda: gone(number))
    assert not project.of("task_verified")
