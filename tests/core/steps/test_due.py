"""What a loop waits for: all that can be worked side by side, in the order of precedence."""

from __future__ import annotations

import random

import pytest

from loopkit.core.evidence import trials
from loopkit.core.plan import drafts
from loopkit.core.review import batch_review, gate
from loopkit.core.steps import due, kinds, waves
from tests.core.kit import Book, outcome, task
from tests.core.roles import Roles, fixed, implemented, piece, saw, scored


def names(book: Book) -> list[tuple]:
    return [(one.kind, one.subject) for one in due.due(book.state)]


def test_the_persons_word_comes_before_everything() -> None:
    book = Book().planned(task("a"))
    book.line("question_asked", text="which?")
    assert names(book) == [("answer", None)]
    book.line("paused", reason="x")
    assert names(book) == [("resume", None)]
    book.line("loop_cancelled")
    assert names(book) == []


def test_tasks_of_a_wave_are_worked_side_by_side() -> None:
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#1"]))
    tried = [("red_first", name) for name in ("C1", "M2", "T-001", "T-002", "T-003")]
    assert names(book) == tried and due.command(book.state) == "loopkit wave next"
    for _, name in tried:
        line = trials.checks(book.state)[name]
        book.do(lambda state, *given: [trials.tried(*given)], name, "before", "red", line, "", {})
    assert names(book) == [("open_wave", 1)]
    book.wave()
    assert names(book) == [("implementation", "T-001"), ("implementation", "T-002")]
    assert {one.agent for one in due.due(book.state)} == {"coder"}
    book.verify("T-001")
    book.verify("T-002")
    assert names(book) == [("close_wave", 1)]
    book.do(waves.closed)
    assert names(book) == [("check", "M2"), ("wave_review", 1)]
    book.do(gate.criterion_verified, "M2", outcome())
    assert names(book) == [("open_wave", 2), ("wave_review", 1)], "its review keeps nothing waiting"
    book.wave()
    assert names(book) == [("implementation", "T-003"), ("wave_review", 1)]


def test_an_agent_that_has_answered_is_followed_by_the_check_of_all() -> None:
    book = Book().planned(task("a"), task("b"))
    book.wave()
    for name, other in (("T-001", "T-002"), ("T-002", None)):
        book.line("task_coded", id=name, kind="implementation", status="complete", summary="s")
        wanted = [("implementation", other)] if other else [("check", "T-001"), ("check", "T-002")]
        assert names(book) == wanted
    book.verify("T-001")
    assert names(book) == [("check", "T-002")]
    book.verify("T-002", False)
    assert book.state.tasks["T-002"].attempts == 1, "nobody is there to fix it"
    assert names(book) == [("close_wave", 1)]


def test_each_failed_task_wants_its_own_panel() -> None:
    book = Book().planned(task("a"), task("b"))
    book.wave()
    book.do(waves.closed)
    assert names(book) == [("panel", "T-001"), ("panel", "T-002")]


def test_findings_are_settled_one_by_one() -> None:
    book = Book().worked(task("a"))
    assert names(book) == [("check", "M2")]
    book.review([{"severity": "WARNING", "issue": "x"}, {"severity": "WARNING", "issue": "y"}])
    assert names(book) == [("resolve", "F-001"), ("resolve", "F-002")]
    lines = [due.line(book.state, one) for one in due.due(book.state)]
    assert lines[1].startswith("loopkit review resolve F-002 <--approve")


def test_where_batches_are_reviewed_the_proven_wait_for_the_others() -> None:
    book = Book(approval="review").shaped()
    assert names(book) == [("plan", None)]
    book.line("plan_proposed", warning="", risks=[], assumptions=[], questions=[], replaces=[])
    book.do(drafts.submit, [task("a"), task("b")])
    assert names(book) == [("plan_review", "plan")]
    book.do(batch_review.planned, {"findings": []})
    book.wave()
    assert names(book) == [("implementation", "T-001"), ("implementation", "T-002")]
    book.verify("T-001")
    assert names(book) == [("implementation", "T-002")]
    book.verify("T-002")
    assert names(book) == [("batch_review", 1)]
    assert due.command(book.state) == "loopkit review --wave 1"


def test_under_a_supervisor_each_task_is_at_its_own_turn() -> None:
    book = Roles().executing(piece("a"), piece("b"), piece("c"))
    book.reply("implementation", "T-001", implemented())
    book.to_judge("T-002")
    assert names(book) == [("test", "T-001"), ("verdict", "T-002"), ("implementation", "T-003")]
    book.check("T-001", False)
    book.reply("test", "T-001", saw("failed"))
    assert names(book)[0] == ("fix", "T-001")
    book.reply("fix", "T-001", fixed())
    book.reply("verification", "T-002", scored(90))
    assert [one.agent for one in due.due(book.state)] == ["tester", "coder"]


@pytest.mark.parametrize("policy", ["evidence", "review", "supervisor"])
def test_every_state_has_steps_and_each_of_them_a_line(policy: str) -> None:
    chance = random.Random(policy)
    for _ in range(4):
        book = Book(approval=policy).shaped()
        for _ in range(60):
            steps = due.due(book.state)
            assert steps
            for one in steps:
                assert one.agent == kinds.KINDS[one.kind].agent
                line = due.line(book.state, one)
                assert line.startswith("loopkit ") and "{" not in line and "None" not in line
            move(book, chance)


def move(book: Book, chance: random.Random) -> None:
    """Something that may happen to the loop."""
    if not book.state.tasks:
        book.line("plan_proposed", warning="", risks=[], assumptions=[], questions=[], replaces=[])
        for name in ("T-001", "T-002", "T-003"):
            book.line("task_added", task={"id": name, "subject": "x", "verify": "ls"})
        return
    name, wave = chance.choice(list(book.state.tasks)), book.state.wave
    if wave is None and chance.random() < 0.3:
        book.line("stage_moved", **{"from": book.state.stage, "to": "executing"})
        book.line("wave_opened", wave=len(book.state.waves) + 1, tasks=[name])
        book.line("task_started", id=name, wave=len(book.state.waves))
    elif wave is not None and chance.random() < 0.3:
        done = [one for one in wave.tasks if one not in book.state.open]
        book.line("wave_closed", wave=wave.number, completed=done, failed=[])
    else:
        kind, data = chance.choice(
            (
                ("plan_reviewed", {"outcome": "approved", "approved": True}),
                ("plan_reviewed", {"outcome": "revise", "approved": False}),
                ("task_failed", {"id": name, "attempt": 1, "action": "retry", "error": "boom"}),
                ("task_failed", {"id": name, "attempt": 1, "action": "replan", "error": "boom"}),
                ("task_completed", {"id": name}),
                ("task_blocked", {"id": name, "kind": "external", "text": "a key"}),
            )
        )
        book.line(kind, **data)
