"""What becomes of tasks when a loop is gone on with: what was cut short is pending again and not
counted."""

from __future__ import annotations

import json

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.plan import drafts, work
from loopkit.core.steps import attempts, due, resumption, waves
from tests.cli.kit import PANEL, S2, Project, task
from tests.core.kit import Book
from tests.core.kit import task as row


def statuses(project: Project) -> dict:
    return {name: one["status"] for name, one in project.tasks.items()}


def cut_short(project: Project) -> Project:
    """A wave in which T-001 is completed, T-002 has failed its check once, T-003 runs."""
    project.write("limiter.txt")
    project.planned(task("a"), task("b", "test -f other.txt"), task("c", "test -f third.txt"))
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 0 and project.verify("T-002").exit == 1
    return project


def test_a_paused_loop_goes_on_with_what_was_cut_short_pending(project: Project) -> None:
    cut_short(project)
    project.ok("pause")
    answer = project.ok("resume")
    assert statuses(project) == {"T-001": "completed", "T-002": "pending", "T-003": "pending"}
    assert project.of("task_reopened") == [
        {"id": "T-002", "reason": "interrupted"},
        {"id": "T-003", "reason": "interrupted"},
    ]
    assert [one["attempts"] for one in project.tasks.values()] == [0, 0, 0], "no attempt is counted"
    assert answer.steps == ["loopkit next"]


def test_the_open_wave_starts_them_again(project: Project) -> None:
    cut_short(project)
    project.ok("pause")
    project.ok("resume")
    answer = project.ok("wave", "next")
    assert answer.out.startswith("wave 1 goes on: T-002, T-003\n")
    assert [line.split(" (")[0] for line in answer.steps] == [
        "agent loop:coder: Do T-002",
        "agent loop:coder: Do T-003",
        "loopkit wave close",
    ]
    assert statuses(project) == {
        "T-001": "completed",
        "T-002": "in_progress",
        "T-003": "in_progress",
    }
    assert len(project.of("wave_opened")) == 1
    assert "still to report" in project.ok("wave", "next").out, "once"


@pytest.mark.parametrize("words", [(), ("--take-over",)])
def test_a_crashed_or_taken_over_loop_does_the_same(
    project: Project, dead: str, words: tuple
) -> None:
    cut_short(project)
    if not words:  # its client is gone: the newest owner's line says which
        line = {**project.lines[-1], "type": "owner_changed", "by": "hook"}
        line["data"] = {
            "session_id": project.snapshot["owner"]["session_id"],
            "client_pid": int(dead),
        }
        with open(project.ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    project.ok("resume", *words, session=S2)
    assert statuses(project) == {"T-001": "completed", "T-002": "pending", "T-003": "pending"}


def test_a_resume_of_what_runs_here_anyway_leaves_the_tasks_alone(project: Project) -> None:
    cut_short(project)
    project.ok("resume", "--iterations", "+5")
    assert statuses(project)["T-003"] == "in_progress" and project.of("task_reopened") == []


def test_an_agent_that_still_lives_is_heard(project: Project) -> None:
    """One in the background outlives a pause: its check counts, whether or not the task was handed
    out again."""
    cut_short(project)
    project.ok("pause")
    project.ok("resume")
    project.write("third.txt")
    assert project.verify("T-003").exit == 0
    assert statuses(project)["T-003"] == "completed"
    project.ok("wave", "next")
    project.write("other.txt")
    assert project.verify("T-002").exit == 0
    assert project.ok("wave", "close").out.startswith("wave 1 closed: 3 completed, 0 failed")


def test_a_wave_that_is_closed_instead_counts_nothing_against_them(project: Project) -> None:
    cut_short(project)
    project.ok("pause")
    project.ok("resume")
    assert project.ok("wave", "close").out.startswith("wave 1 closed: 1 completed, 0 failed")
    assert [one["attempts"] for one in project.tasks.values()] == [0, 0, 0]


def failed_for_good(book: Book) -> None:
    """T-001 has used up its attempts and waits for its split."""
    for attempt in range(3):
        if attempt:
            book.panel("T-001")
        book.wave()
        book.do(attempts.failed, "T-001", "no", None)
        book.do(waves.closed)


def test_failed_is_pending_again_and_still_has_to_be_split() -> None:
    """Else a resume would give it attempts beyond those of its level."""
    book = Book().planned(row("a"), row("b", blocked_by=["#1"]))
    failed_for_good(book)
    assert book.state.tasks["T-001"].status == "failed"
    assert book.do(resumption.reopened) == [
        ("task_reopened", {"id": "T-001", "reason": "resumed after its failure"})
    ]
    found = book.state.tasks["T-001"]
    assert (found.status, found.attempts) == ("pending", 3)
    assert due.command(book.state) == "loopkit task split T-001 --file -"
    with pytest.raises(Refused, match="has used up its attempts"):
        waves.started(book.state, "T-001")
    assert waves.choose(book.state, 6) == []
    book.do(drafts.split, "T-001", [row("x"), row("y")])
    assert book.state.tasks["T-001"].status == "blocked"
    assert [one.id for one in waves.choose(book.state, 6)] == ["T-003", "T-004"]


def test_a_split_without_subtasks_is_pending_and_one_with_subtasks_stays() -> None:
    book = Book().planned(row("a"), row("b"))
    book.do(drafts.split, "T-002", [row("x")])
    book.line("task_split", id="T-001", subtasks=[])
    assert book.do(resumption.reopened) == [
        ("task_reopened", {"id": "T-001", "reason": "it was split into nothing"})
    ]
    assert (book.state.tasks["T-001"].status, book.state.tasks["T-002"].status) == (
        "pending",
        "blocked",
    )


def test_completed_and_blocked_tasks_are_untouched() -> None:
    book = Book().planned(row("a"), row("b"), row("c"))
    book.wave()
    book.verify("T-001")
    book.do(work.blocked, "T-002", "permission", "a signature")
    before = book.state.tasks["T-001"]
    book.do(resumption.reopened)
    assert book.state.tasks["T-001"] is before
    assert book.state.tasks["T-002"].status == "blocked"


def test_a_check_that_has_passed_is_not_asked_for_again() -> None:
    """The program died between the check and its completion."""
    book = Book().planned()
    book.wave()
    book.line("task_verified", id="T-001", passed=True, exit=0, log="l", seconds=0.1, run=1)
    assert book.do(resumption.reopened) == []


@pytest.mark.parametrize("approval", ["review", "supervisor"])
def test_where_evidence_alone_does_not_complete_it_a_supervised_attempt_is_made_again(
    approval: str,
) -> None:
    """Where a batch is reviewed, what has passed waits for its review: nobody is at work on it any
    more."""
    book = Book(approval=approval)
    book.line("stage_moved", to="executing")
    book.line("task_added", task={"id": "T-001", "subject": "a", "verify": "ls"})
    book.line("wave_opened", wave=1, tasks=["T-001"])
    book.line("task_started", id="T-001", wave=1)
    book.line("task_verified", id="T-001", passed=True, exit=0, log="l", seconds=0.1, run=1)
    again = [("task_reopened", {"id": "T-001", "reason": "interrupted"})]
    assert book.do(resumption.reopened) == (again if approval == "supervisor" else [])


# -- a loop that failed


def impossible(project: Project) -> Project:
    (project.folder / ".loop").mkdir()
    project.write(
        ".loop/config.toml", "max_step_attempts = 1\nmax_replan_depth = 0\nmax_fix_cycles = 0\n"
    )
    project.planned(task("one", "test -f one.txt"), task("two"))
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 1
    assert project.status["status"] == "failed"
    return project


def test_a_failed_loop_goes_on_only_by_the_person_s_own_word(project: Project) -> None:
    impossible(project)
    said = project.refused(1, "resume", says="is over (impossible)")
    assert "the person may try it again: loopkit resume --again" in said and "next:" not in said
    answer = project.ok("resume", "--again")
    assert project.of("attempts_reset") == [{"ids": ["T-001", "T-002"]}]
    assert project.status["status"] == "running" and project.status["verdict"] is None
    assert [(one["status"], one["attempts"]) for one in project.tasks.values()] == [
        ("pending", 0)
    ] * 2
    assert answer.steps == ["loopkit next"]
    project.write("one.txt")
    project.write("limiter.txt")
    assert project.ok("wave", "next").out.startswith("wave 1 goes on: T-002\n")
    project.ok("task", "start", "T-001")
    for name in ("T-001", "T-002"):
        assert project.verify(name).exit == 0
    project.ok("wave", "close")
    assert project.status["stage"] == "review"


def test_its_history_is_kept(project: Project) -> None:
    impossible(project)
    project.ok("resume", "--again")
    assert len(project.tasks["T-001"]["history"]) == 1
    assert "attempt 1 failed" in project.ok("task", "show", "T-001").out


def test_where_nobody_can_be_asked_nobody_tries_again(project: Project) -> None:
    (project.folder / ".loop").mkdir()
    project.write(
        ".loop/config.toml", "max_step_attempts = 1\nmax_replan_depth = 0\nmax_fix_cycles = 0\n"
    )
    project.shaped(words=("--unattended",))
    project.ok("task", "add", "one", "--verify", "false")
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 1
    project.refused(1, "resume", "--again", says="only the person tries again")


@pytest.mark.parametrize("how", ["running", "cancelled", "paused"])
def test_again_is_for_failed_loops_only(project: Project, how: str) -> None:
    project.planned()
    if how != "running":
        project.ok("cancel" if how == "cancelled" else "pause")
    project.refused(1, "resume", "--again", says="--again is for loops that ended as impossible")


def test_no_next_line_ever_says_again(project: Project) -> None:
    impossible(project)
    for words in (("status",), ("wave", "next"), ("task", "list"), ("resume",)):
        answer = project.lk(*words)
        assert not any("--again" in line for line in answer.out.splitlines())
    assert project.snapshot["next"] is None


# -- files that are damaged or gone


def test_a_corrupt_snapshot_is_rebuilt(project: Project) -> None:
    cut_short(project)
    project.ok("pause")
    (project.root / "workflow-state.json").write_text("{")
    project.ok("resume")
    assert project.snapshot["status"] == "running" and project.snapshot["tasks"]["completed"] == 1


def test_a_missing_ledger_means_nothing_to_resume(project: Project) -> None:
    project.planned()
    project.ledger.unlink()
    project.refused(3, "resume", says="nothing to resume: ")
    (project.root / "workflow-state.json").unlink()
    project.refused(1, "resume", says="there is no loop in this project")


def test_counts_stand_after_a_kill_and_a_resume(project: Project) -> None:
    """Attempts before and after add up; the one that was cut short is none."""
    project.planned(task("a", "test -f never.txt"))
    project.ok("wave", "next")
    project.ok("task", "fail", "T-001", "--error", "x")
    project.ok("wave", "close")
    project.ok("panel", "T-001", "--file", "-", given=PANEL)
    project.ok("wave", "next")
    project.ok("resume", "--take-over", session=S2)
    assert project.tasks["T-001"]["attempts"] == 1
    project.ok("wave", "next", session=S2)
    answer = project.ok("task", "fail", "T-001", "--error", "x", session=S2)
    assert "attempt 2: retry" in answer.out


def test_another_failed_loop_is_taken_up_by_its_number(project: Project) -> None:
    impossible(project)
    project.start("another thing")
    project.refused(1, "resume", "1", says="is over (impossible)")
    assert project.status["loop"].startswith("002-"), "and nothing was put aside"
    project.ok("resume", "1", "--again")
    assert project.status["loop"].startswith("001-") and project.status["status"] == "running"
    assert project.ok("status", "2", "--json").json["status"] == "paused"


def test_a_role_that_was_out_is_asked_again(project: Project) -> None:
    project.shaped(words=("--approval", "supervisor"))
    assert project.ok("wave", "next").steps[0].startswith("agent loop:planner: ")
    assert not any(line.startswith("agent") for line in project.ok("wave", "next").steps), (
        "it is out"
    )
    project.ok("pause")
    project.ok("resume")
    assert project.ok("wave", "next").steps[0].startswith("agent loop:planner: ")
