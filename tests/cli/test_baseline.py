"""loopkit baseline: a check before the work, and after it."""

from __future__ import annotations

import shlex
import sys

from tests.cli.kit import ROOT, Project, task

CHECK = "sh check.sh"


def prints(project: Project, *names: str) -> None:
    """The project's check fails with these names."""
    lines = "".join(f"echo FAILED {name}\n" for name in names)
    project.write("check.sh", f"{lines}exit {1 if names else 0}\n")


def test_nothing_new_is_no_regression_and_what_is_new_is_named_alone(project: Project) -> None:
    """Case A12."""
    project.start()
    prints(project, "a", "b")
    answer = project.ok("baseline", "--", "sh", "check.sh")
    assert "baseline of `sh check.sh`: exit 1, 2 failing: a, b, evidence .loop/001-" in answer.out
    assert answer.steps and answer.steps[0].startswith("loopkit score")
    assert project.ok("baseline", "--check", "--", "sh", "check.sh").out.startswith(
        "no regression: 2 failures, each as"
    )
    prints(project, "a", "b", "c")
    answer = project.lk("baseline", "--check", "--", "sh", "check.sh")
    assert answer.exit == 1 and answer.err == "" and answer.steps == []
    assert answer.out.splitlines()[0] == "regression, failing since the baseline: c"
    row = project.lk("baseline", "--check", "--json", "--", "sh", "check.sh").json
    assert (row["regression"], row["new"], row["exit"]) == (True, ["c"], 1)


def test_the_record(project: Project) -> None:
    project.start()
    prints(project, "a")
    project.ok("baseline", "--", "sh", "check.sh")
    row = project.of("baseline_recorded")[0]
    assert row == {"command": CHECK, "exit": 1, "failures": ["a"], "log": "evidence/baseline-1.log"}
    assert "FAILED a" in (project.root / project.name / row["log"]).read_text()


def test_it_is_recorded_once_unless_replaced(project: Project) -> None:
    project.start()
    prints(project, "a")
    project.ok("baseline", "--", "sh", "check.sh")
    prints(project, "a", "b")
    project.refused(1, "baseline", "--", "sh", "check.sh", says="is recorded already")
    assert "2 failing: a, b" in project.ok("baseline", "--replace", "--", "sh", "check.sh").out
    assert project.ok("baseline", "--check", "--", "sh", "check.sh").exit == 0


def test_a_crash_without_names_is_said(project: Project) -> None:
    project.start()
    prints(project, "a")
    project.ok("baseline", "--", "sh", "check.sh")
    project.write("check.sh", "echo 'Traceback: no module'\nexit 2\n")
    answer = project.lk("baseline", "--check", "--", "sh", "check.sh")
    assert answer.exit == 1
    assert answer.out.startswith("cannot be compared: exit 2 and no failing name (was exit 1)\n")


def test_without_a_baseline_nothing_is_compared(project: Project) -> None:
    project.start()
    project.refused(
        1,
        "baseline",
        "--check",
        "--",
        "sh",
        "check.sh",
        says="no baseline of `sh check.sh` is recorded",
    )
    project.lk("baseline", "--", "no-such-program")
    assert project.of("baseline_recorded") == []
    project.refused(2, "baseline", "--check", says="Missing argument")


def test_no_shell_reads_the_command_and_the_log_is_masked(project: Project) -> None:
    project.start()
    project.write("check.sh", 'echo token=abcdef1234567890abcdef\necho FAILED "$1"\nexit 1\n')
    project.ok("baseline", "--", "sh", "check.sh", "a; touch pwned $(touch pwned)")
    assert not (project.folder / "pwned").exists()
    row = project.of("baseline_recorded")[0]
    assert row["failures"] == ["a; touch pwned $(touch pwned)"]
    assert "abcdef1234567890abcdef" not in (project.root / project.name / row["log"]).read_text()


def test_many_new_names_are_cut(project: Project) -> None:
    project.start()
    prints(project)
    project.ok("baseline", "--", "sh", "check.sh")
    prints(project, *[f"n{number}" for number in range(50)])
    answer = project.lk("baseline", "--check", "--", "sh", "check.sh")
    assert "n19 and 30 more\n" in answer.out and len(answer.out) < 600
    assert (
        len(project.lk("baseline", "--check", "--json", "--", "sh", "check.sh").json["new"]) == 50
    )


def test_it_can_stand_as_a_task_s_own_check(project: Project) -> None:
    prints(project, "a")
    words = [
        "env",
        f"PYTHONPATH={ROOT}",
        sys.executable,
        "-m",
        "loopkit",
        "baseline",
        "--check",
        "--",
        "sh",
        "check.sh",
    ]
    project.planned(task("a", shlex.join(words)))
    project.ok("baseline", "--", "sh", "check.sh")
    project.ok("wave", "next")
    prints(project, "a", "c")
    answer = project.lk("verify", "T-001", "--", *words)
    assert answer.exit == 1 and "regression, failing since the baseline: c" in answer.out
    prints(project, "a")
    assert "T-001 completed" in project.ok("verify", "T-001", "--", *words).out


def test_a_check_finds_loopkit_wherever_it_was_started_from(project: Project) -> None:
    project.planned(task("a", "sh -c 'command -v loopkit'"))
    project.ok("wave", "next")
    project.ok("verify", "T-001", "--", "sh", "-c", "command -v loopkit", PATH="/usr/bin:/bin")
    (log,) = (project.root / project.name / "evidence").glob("T-001-*.log")
    assert str(ROOT / "bin" / "loopkit") in log.read_text(encoding="utf-8")


def test_a_late_baseline_says_so(project: Project) -> None:
    project.worked()
    prints(project, "a")
    assert "1 task completed before it" in project.ok("baseline", "--", "sh", "check.sh").out


def test_in_a_worktree_it_looks_at_that_worktree(project: Project) -> None:
    prints(project, "a")
    words = [
        "env",
        f"PYTHONPATH={ROOT}",
        sys.executable,
        "-m",
        "loopkit",
        "baseline",
        "--check",
        "--",
        "sh",
        "check.sh",
    ]
    project.planned(task("a", shlex.join(words)))
    project.ok("baseline", "--", "sh", "check.sh")
    project.ok("wave", "next", "--worktrees")
    (project.root / project.name / "worktrees" / "T-001" / "check.sh").write_text(
        'echo FAILED z\necho "FAILED $PWD/a"\nexit 1\n'
    )
    answer = project.lk("verify", "T-001", "--", *words)
    assert answer.exit == 1 and "regression, failing since the baseline: z\n" in answer.out
