"""Checks that say something else than that the work is done, or is not: each told apart."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from loopkit.core.review import gate
from loopkit.store.loop import Loop

from .kit import GATE, SHAPE, Project, task

ONCE_RED = "sh -c 'test -f .seen; code=$?; touch .seen; exit $code'"


def begun(project: Project, *rows: dict) -> Project:
    project.planned(*rows)
    project.ok("wave", "next")
    return project


def told(project: Project, kind: str = "task_verified") -> list[str]:
    return [row.get("told", "") for row in project.of(kind)]


@pytest.mark.parametrize("line", ["no-such-program -q", "sh -c 'no-such-program -q'", "./check.sh"])
def test_a_check_that_cannot_start_is_no_failed_attempt(project: Project, line: str) -> None:
    project.write("check.sh", "exit 0\n")  # nobody may run it
    begun(project, task("one", line))
    for _ in range(4):
        answer = project.verify("T-001")
        assert answer.exit == 1 and "cannot start" in answer.out, answer
        assert "no attempt is counted" in answer.out
    assert told(project) == ["not startable"] * 4
    assert not project.of("task_failed")
    project.ok("wave", "close")
    assert not project.of("task_failed")
    assert project.of("task_blocked")[0]["kind"] == "external"
    assert project.tasks["T-001"]["attempts"] == 0


def test_a_must_not_whose_check_cannot_start_has_not_come_true(project: Project) -> None:
    project.shaped(text=SHAPE.replace("test ! -f forbidden.txt", "no-such-program -q"))
    answer = project.verify("M2")
    assert answer.exit == 1 and "M2 was not checked, its check cannot start" in answer.out
    assert project.of("criterion_verified")[0]["told"] == "not startable"
    paused = project.of("paused")
    assert [row["verdict"] for row in paused] == ["waiting"]
    assert "the check of M2 cannot start" in paused[0]["reason"]


def test_a_done_task_whose_check_cannot_start_any_more_stays_done(project: Project) -> None:
    project.write("check.sh", "#!/bin/sh\n")
    (project.folder / "check.sh").chmod(0o755)
    begun(project, task("one", "./check.sh"))
    assert project.verify("T-001").exit == 0
    (project.folder / "check.sh").unlink()
    assert project.verify("T-001").exit == 1
    assert not project.of("task_reopened") and project.of("paused")


def test_a_check_that_changes_what_it_vouches_for_is_said_and_comes_to_an_end(
    project: Project,
) -> None:
    line = "sh -c 'date +%s%N >> out.txt; test -s out.txt'"
    begun(project, task("one", line, files=["out.txt"]))
    answer = project.verify("T-001")
    assert answer.exit == 0 and "it changes what it vouches for: out.txt" in answer.out
    project.ok("wave", "close")
    assert "T-001: its files changed after its evidence" in project.lk("gate").out
    assert project.verify("T-001").exit == 0
    assert "T-001: its files changed" not in project.lk("gate").out, "it does so each time"
    assert told(project) == ["changes its files"] * 2


def test_a_check_that_passes_after_failing_with_nothing_changed_is_flaky(project: Project) -> None:
    second_red = "sh -c 'echo x >> .runs; test $(wc -l < .runs) -ne 2'"
    begun(project, task("one", second_red))
    assert project.verify("T-001").exit == 0
    answer = project.verify("T-001")
    assert answer.exit == 0, answer
    assert "flaky: failed (evidence/T-001-2.log), then passed with nothing changed" in answer.out
    assert told(project) == ["", "flaky"] and not project.of("task_reopened")
    state = Loop(str(project.root), project.name).state
    assert [row for row in gate.doubts(state) if row.startswith("T-001: its check is flaky")]
    asked = project.lk("review", "--thorough", "--prompt", "simplifier").out
    assert "; this check is flaky: it failed" in asked
    project.write("limiter.txt")
    project.ok("wave", "close")
    project.review([])
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    assert "doubt, T-001: its check is flaky" in project.ok("gate").out
    passed = project.ok("gate", "--file", "-", given=GATE).out
    assert "gate passed: MONITOR" in passed and "; T-001: its check is flaky" in passed


def test_the_check_of_an_agent_that_is_at_work_runs_once(project: Project) -> None:
    begun(project, task("one", ONCE_RED))
    assert project.verify("T-001").exit == 1
    assert told(project) == [""]


def test_a_check_that_asks_is_told_so(project: Project) -> None:
    begun(project, task("one", shlex.join(["python3", "-c", "input('sure? ')"])))
    answer = project.verify("T-001")
    assert "it asks and nobody answers: a check has no terminal" in answer.out
    assert told(project) == ["asks"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_process_that_outlives_its_check_is_named_and_ended(project: Project) -> None:
    script = "setsid sh -c 'touch up; exec sleep 300' & until test -f up; do :; done"
    begun(project, task("one", shlex.join(["sh", "-c", script])))
    answer = project.verify("T-001")
    assert "left behind and ended: sleep (" in answer.out, answer
    assert told(project) == ["left processes"] and answer.exit == 0


def test_the_folder_of_a_check_is_recorded_and_printed(project: Project) -> None:
    part = project.folder / "packages" / "web"
    part.mkdir(parents=True)
    (part / "here.txt").write_text("x")
    project.start(LOOPKIT_OPENED=str(part))
    assert project.score().exit == 0
    project.ok("shape", "--accept", "-", given=SHAPE)
    project.ok("task", "add", "--file", "-", given=[task("one", "test -f here.txt")])
    project.ok("wave", "next")
    answer = project.verify("T-001")
    assert "(run in packages/web)" in answer.out
    assert project.of("task_verified")[0]["folder"] == "packages/web"


def test_a_check_whose_program_is_in_no_worktree_is_named_before_the_wave_opens(
    project: Project,
) -> None:
    program = project.folder / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    project.write(".gitignore", ".venv\n")
    project.planned(task("one", ".venv/bin/pytest -q"))
    answer = project.lk("wave", "next", "--worktrees")
    assert answer.exit == 1 and "git ignores .venv/bin/pytest" in answer.err
    assert not project.of("wave_opened") and "T-001" not in project.lk("worktree", "list").out
