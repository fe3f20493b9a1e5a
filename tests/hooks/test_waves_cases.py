"""Cases of waves that hooks and commands answer together: claims, background work, lost agents, two
sessions, worktrees."""

from __future__ import annotations

import subprocess
import sys

from loopkit.core.journal import clock
from loopkit.core.journal.events import Event
from loopkit.core.steps.events import LOOP
from loopkit.store import journal

from .conftest import ROOT, S1, S2, Project


def lk(
    project: Project, *words: str, session: str = S1, given: str = ""
) -> subprocess.CompletedProcess:
    """`loopkit words…` as a session runs it."""
    env = {
        **project.env,
        "CLAUDE_CODE_SESSION_ID": session,
        "PYTHONPATH": str(ROOT),
        "LOOPKIT_DATA": str(project.data),
    }
    return subprocess.run(
        [sys.executable, "-m", "loopkit", *words],
        cwd=project.folder,
        env=env,
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_claim_is_no_fact(project: Project) -> None:
    """Case G10."""
    project.start()
    assert lk(project, "task", "start", "T-001").returncode == 0
    assert lk(project, "verify", "T-001", "--", "test", "-f", "1.txt").returncode == 1
    done = lk(project, "verify", "T-001", "--", "true")
    assert done.returncode == 1 and "not the stored command of T-001" in done.stderr
    assert "T-001" in project.stop(words="T-001 is done, all checks pass.").held
    assert project.state().tasks["T-001"].status == "in_progress"


def test_background_work_makes_nobody_forget_the_loop(project: Project) -> None:
    """Case G11: 9 turns with one running entry, then one without."""
    project.start()
    running = [{"id": "a1", "status": "running"}]
    for _ in range(9):
        assert project.stop(background=running).silent
    assert project.session.status == "running"
    assert project.session.iteration == 0 and project.session.hold_count == 0
    assert "T-001" in project.stop().held


def test_an_agent_whose_end_never_came_does_not_count_as_running(project: Project) -> None:
    """Case G12: a subagent's start recorded 40 minutes ago, its stop never."""
    project.start()
    project.record("wave_opened", wave=1, tasks=["T-001"])
    at = clock.stamp(project_time(project) - 40 * 60)
    journal.append(
        str(project.ledger),
        LOOP,
        [Event("task_started", {"id": "T-001", "wave": 1}, at, f"session:{S1}")],
    )
    project.save()
    assert "T-001" in project.stop().held
    status = lk(project, "status").stdout
    assert "Lost: T-001, given to an agent 40 min ago that never reported" in " ".join(
        status.split()
    )


def project_time(project: Project) -> int:
    """When the newest line was written, in POSIX seconds."""
    return clock.epoch(project.lines[-1]["at"])


def test_two_sessions_do_not_overwrite_each_other(project: Project) -> None:
    """Case G13: `loopkit start` as S2 in the same working tree."""
    project.start()
    before = project.ledger.read_bytes()
    done = lk(project, "start", "--task-file", "-", session=S2, given="another thing")
    assert done.returncode == 1 and done.stdout == ""
    for words in (
        f"owner session {S1} (running)",
        "loopkit resume --take-over",
        "git worktree add",
        "loopkit status",
    ):
        assert words in done.stderr
    assert project.ledger.read_bytes() == before
    assert "T-001" in project.stop().held
    assert project.stop(session=S2).silent


def test_a_turn_that_ends_in_a_task_s_worktree_is_one_of_the_loop(project: Project) -> None:
    project.start()
    for words in (("init", "-q"), ("commit", "-qm", "x", "--allow-empty")):
        subprocess.run(
            ["git", *words], cwd=project.folder, env={**project.env, **IDENTITY}, check=True
        )
    done = lk(project, "wave", "next", "--worktrees")
    assert done.returncode == 0, done.stderr
    place = project.root / "001-limiter" / "worktrees" / "T-001"
    (place / "src").mkdir()
    assert "T-001" in project.stop(cwd=place / "src").held
    assert "[LOOP RESUME]" in project.session_start("compact", cwd=place).out.decode()


IDENTITY = {
    "GIT_AUTHOR_NAME": "A. Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "A. Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
}
