"""Recoveries: the play of each status, at most twice, then the person with all that is needed on
one screen."""

from __future__ import annotations

import random
from typing import Any

import pytest

from loopkit.core.health import recovery
from loopkit.core.journal import stage
from loopkit.core.journal.errors import Refused
from loopkit.core.journal.state import LoopState
from loopkit.core.plan import drafts, work
from loopkit.core.review import gate, panel, review
from loopkit.core.steps import attempts, due, kinds, policies, stop, waves
from loopkit.core.steps import snapshot as snapshots
from loopkit.core.steps.events import LOOP
from loopkit.render import prompts
from tests.core.kit import PANEL, Book, outcome, task
from tests.core.roles import named

ANSWER = 'loopkit answer "<what the person said>"'


def step(book: Book) -> str | None:
    return due.command(book.state)


def play(book: Book) -> tuple | None:
    due = recovery.due(book.state)
    return None if due is None else (due.status, due.kind, due.subject)


def checkpoint(book: Book) -> None:
    row = {
        "number": len(book.state.checkpoints.rows) + 1,
        "sha": "a" * 40,
        "tree": "b" * 40,
        "parent": None,
    }
    book.line(
        "checkpoint_made",
        **row,
        label=f"batch-{row['number']}",
        tasks=[],
        good=True,
        left_out=[],
        wave=0,
    )


def rolled_back(book: Book, **fields: Any) -> None:
    row = {"number": 1, "sha": "a" * 40, "saved": 2, "files": [], "reopened": [], "undo": None}
    book.line("rolled_back", **{**row, **fields})


def batch(book: Book, status: str = "PROGRESSING", **outcomes: str) -> None:
    """A closed wave as it stands in the journal; `T001="failed"`."""
    number = len(book.state.waves) + 1
    rows = {
        f"{name[0]}-{name[1:]}": {"result": result, "signature": "boom"}
        for name, result in outcomes.items()
    }
    book.line("wave_opened", wave=number, tasks=list(rows))
    for name, row in rows.items():
        if row["result"] == "failed" and book.state.tasks[name].status == "pending":
            book.line("task_started", id=name, wave=number)
            book.line("task_failed", id=name, attempt=1, error="ValueError: 3", action="retry")
    said = {"confidence": "low", "trend": "stable", "recommendation": "x"}
    book.line(
        "wave_closed", wave=number, completed=[], failed=[], outcomes=rows, status=status, **said
    )


@pytest.fixture
def book() -> Book:
    return Book().planned(task("a"), task("b"), task("c"))


def wave(book: Book, **errors: str) -> None:
    """A real wave: the tasks named fail with this error, the others pass."""
    book.wave()
    for name in list(book.state.running):
        error = errors.get(name.replace("-", ""))
        if error is None:
            book.verify(name)
        else:
            book.do(attempts.failed, name, error, None)
    book.do(waves.closed)


# -- STALLED


def stalled(book: Book) -> None:
    """Three batches in which nothing passes, each failure with its panel, none of them a task's
    third."""
    for _ in range(3):
        batch(book, "PROGRESSING", T001="failed")
        book.line(
            "panel_recorded",
            call="stuck",
            task="T-001",
            attempt=book.state.tasks["T-001"].attempts,
            **PANEL,
        )
    batch(book, "STALLED", T002="failed")


def test_stalled_changes_the_approach_of_what_fails(book: Book) -> None:
    stalled(book)
    assert play(book) == ("STALLED", "panel", "T-002")
    assert step(book) == "loopkit panel T-002"
    with pytest.raises(Refused, match="STALLED") as caught:
        book.wave()
    assert caught.value.todo == "next: loopkit panel T-002"
    with pytest.raises(Refused, match="STALLED"):
        book.do(waves.started, "T-003")
    book.panel("T-002")
    assert play(book) is None and step(book) == "loopkit wave next"
    assert book.state.history.used == {"STALLED": 1} and book.state.history.window == []


def test_a_split_of_what_fails_is_a_recovery_too(book: Book) -> None:
    stalled(book)
    book.do(drafts.split, "T-002", [task("smaller"), task("smaller still")])
    assert play(book) is None
    assert book.state.history.used == {"STALLED": 1}
    assert [one.play for one in book.state.history.recoveries] == ["split"]


def test_a_panel_on_another_task_is_none(book: Book) -> None:
    stalled(book)
    book.line("panel_recorded", call="stuck", task="T-003", attempt=0, **PANEL)
    book.do(drafts.split, "T-003", [task("smaller")])
    assert play(book) == ("STALLED", "panel", "T-002")


def test_the_replan_of_the_clamp_table_is_the_recovery_and_not_counted(book: Book) -> None:
    for _ in range(3):
        wave(book, T001="ValueError: 1")
        if book.state.due:
            book.panel("T-001")
    assert (
        book.state.history.status == "STALLED"
    )  # the same error three times, whatever else passes
    assert play(book) == ("STALLED", "split", "T-001")
    assert step(book) == "loopkit task split T-001 --file -"
    book.do(drafts.split, "T-001", [task("smaller"), task("smaller still")])
    assert play(book) is None
    assert book.state.history.used == {}
    assert [(one.play, one.counted) for one in book.state.history.recoveries] == [("split", False)]
    assert book.state.history.window == []


def test_the_third_stalled_asks_the_person(book: Book) -> None:
    for number in (1, 2):
        batch(book, "STALLED", T001="failed")
        assert play(book) == ("STALLED", "panel", "T-001"), number
        book.panel("T-001")
    batch(book, "STALLED", T001="failed")
    assert play(book) == ("STALLED", "ask", None)
    assert step(book) == "loopkit wave next"
    changes = book.wave()
    assert [kind for kind, _ in changes] == ["recovery", "question_asked"]
    assert step(book) == ANSWER
    view = snapshots.build(book.state, 0)
    assert view["status"] == "awaiting_approval"
    assert stop.first_rows(book.state.session, view, "session-one", 0, "").decision == "allow"
    with pytest.raises(Refused, match="a question is open: STALLED"):
        stage.running(book.state)


def test_an_answer_sets_the_counts_to_zero(book: Book) -> None:
    test_the_third_stalled_asks_the_person(book)
    book.line("question_answered", text="use the other parser")
    assert book.state.history.used == {} and play(book) is None
    assert book.state.history.answer == "use the other parser"
    assert step(book) == "loopkit panel T-001"  # that of its failure, as ever
    book.panel("T-001")
    batch(book, "STALLED", T001="failed")
    assert play(book) == ("STALLED", "panel", "T-001")


@pytest.mark.parametrize("kind", ["implementation", "fix", "replan"])
def test_the_answer_stands_in_the_prompts_of_who_tries_next(book: Book, kind: str) -> None:
    assert "What the person answered" not in prompts.render(book.state, named(kind, "T-001"), "f")
    book.state.history.answer = "use the other parser"
    assert "use the other parser" in prompts.render(book.state, named(kind, "T-001"), "f")
    assert "use the other parser" not in prompts.render(book.state, named("test", "T-001"), "f")


def test_a_failed_loop_that_is_resumed_starts_anew(book: Book) -> None:
    batch(book, "STALLED", T001="failed")
    book.panel("T-001")
    batch(book, "STALLED", T001="failed")
    book.line("attempts_reset", ids=["T-001"])
    assert play(book) is None and book.state.history.used == {} and book.state.history.window == []


def test_answers_to_other_questions_are_no_advice(book: Book) -> None:
    book.line("question_asked", text="which table?")
    book.line("question_answered", text="the newer one")
    assert book.state.history.answer == ""


def test_what_cannot_be_tried_again_asks(book: Book) -> None:
    batch(book, "STALLED", T001="failed")
    book.line("task_removed", id="T-001")
    assert play(book) == ("STALLED", "ask", None)


# -- the chain that always fails


def test_an_always_failing_chain_needs_no_person() -> None:
    """18 executions and 5 replans, each replan answering a stalled course, none of them counted."""
    book = Book().planned(task("a"))
    executions = 0
    for _ in range(200):
        command = step(book)
        if command is None:
            break
        words = command.split()
        if words[1] == "wave":
            book.wave()
            for name in list(book.state.running):
                executions += 1
                book.verify(name, passed=False, output=f"Error{executions}: it fails")
                book.do(attempts.failed, name, "no", None)
                if book.state.session.status == "failed":
                    break
            else:
                book.do(waves.closed)
        elif words[1] == "panel":
            book.panel(words[2])
        elif words[1:3] == ["task", "split"]:
            book.do(drafts.split, words[3], [task("smaller"), task("the rest", blocked_by=["#1"])])
        else:
            raise AssertionError(command)
    assert book.state.session.verdict == "impossible"
    assert executions == 18
    assert [event.type for event in book.events].count("task_split") == 5
    assert book.state.history.used == {}
    assert "question_asked" not in {event.type for event in book.events}


# -- REGRESSING


def test_regressing_rolls_back_to_the_last_good(book: Book) -> None:
    checkpoint(book)
    batch(book, "REGRESSING", T001="failed", T002="passed")
    assert play(book) == ("REGRESSING", "rollback", "last-good")
    assert step(book) == "loopkit rollback last-good"
    with pytest.raises(Refused, match="REGRESSING") as caught:
        book.wave()
    assert caught.value.todo == "next: loopkit rollback last-good"
    rolled_back(book)
    assert play(book) is None
    assert step(book) == "loopkit panel T-001"  # another approach
    assert book.state.history.used == {"REGRESSING": 1} and book.state.history.undone


def test_the_third_regressing_asks_the_person(book: Book) -> None:
    checkpoint(book)
    for _ in range(2):
        batch(book, "REGRESSING", T001="failed")
        rolled_back(book)
    batch(book, "REGRESSING", T001="failed")
    assert play(book) == ("REGRESSING", "ask", None)


def test_counts_are_kept_per_status(book: Book) -> None:
    checkpoint(book)
    for _ in range(2):
        batch(book, "REGRESSING", T001="failed")
        rolled_back(book)
    batch(book, "STALLED", T001="failed")
    assert play(book) == ("STALLED", "panel", "T-001")


@pytest.mark.parametrize("status", ["REGRESSING", "FLIP-FLOPPING"])
def test_without_checkpoints_the_person_is_asked(book: Book, status: str) -> None:
    batch(book, status, T001="failed")
    assert play(book) == (status, "ask", None)
    (text,) = [data["text"] for kind, data in book.wave() if kind == "question_asked"]
    assert "no checkpoint" in text and "rollback last-good" not in text


def test_without_a_good_checkpoint_the_person_is_asked(book: Book) -> None:
    checkpoint(book)
    one = book.state.checkpoints.rows[0]
    book.state.checkpoints.numbers[one.number] = one._replace(label="batch-1", good=False)
    batch(book, "REGRESSING", T001="failed")
    assert play(book) == ("REGRESSING", "ask", None)
    (text,) = [data["text"] for kind, data in book.wave() if kind == "question_asked"]
    assert "no checkpoint is known to be good" in text and "rollback last-good" not in text


def test_what_was_rolled_back_is_not_reviewed(book: Book) -> None:
    checkpoint(book)
    wave(book, T002="no")
    assert policies.of(book.state).beside(book.state) == [kinds.step(kinds.WAVE_REVIEW, 1)]
    rolled_back(book)
    assert policies.of(book.state).beside(book.state) == []


def test_undoing_a_rollback_is_no_recovery(book: Book) -> None:
    checkpoint(book)
    batch(book, "REGRESSING", T001="failed")
    rolled_back(book, undo=3)
    assert play(book) == ("REGRESSING", "rollback", "last-good")


def test_a_rollback_by_hand_starts_the_window_anew_and_counts_for_nothing(book: Book) -> None:
    batch(book, "PROGRESSING", T001="failed")
    rolled_back(book)
    assert book.state.history.window == [] and book.state.history.used == {}


# -- FLIP-FLOPPING


def test_flip_flopping_rolls_back_two_and_asks(book: Book) -> None:
    checkpoint(book)
    batch(book, "FLIP-FLOPPING", T001="failed")
    assert step(book) == "loopkit rollback ~2"
    rolled_back(book)
    assert play(book) == ("FLIP-FLOPPING", "ask", None)
    assert step(book) == "loopkit wave next"
    changes = book.wave()
    assert [kind for kind, _ in changes] == ["recovery", "question_asked"]
    assert "rollback after batch 1 (FLIP-FLOPPING)" in changes[1][1]["text"]
    assert play(book) is None and step(book) == ANSWER
    assert book.state.history.used == {"FLIP-FLOPPING": 1}


def test_a_flip_flop_after_two_recoveries_asks_without_a_rollback(book: Book) -> None:
    checkpoint(book)
    for _ in range(2):
        batch(book, "FLIP-FLOPPING", T001="failed")
        rolled_back(book)
    batch(book, "FLIP-FLOPPING", T001="failed")
    assert play(book) == ("FLIP-FLOPPING", "ask", None)


def test_whoever_asks_the_person_has_recovered(book: Book) -> None:
    """Where a rollback is refused, the session asks: nothing is due twice."""
    checkpoint(book)
    batch(book, "REGRESSING", T001="failed")
    book.line("question_asked", text="the rollback conflicts with your commit")
    book.line("question_answered", text="leave it")
    assert play(book) is None


# -- BLOCKED


def blocked(book: Book, kind: str, reason: str, *names: str) -> None:
    book.wave()
    for name in names:
        book.do(work.blocked, name, kind, reason)
    for name in list(book.state.running):
        book.verify(name)
    book.do(waves.closed)


def test_blocked_on_a_known_task_waits_for_it_and_goes_on() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c"))
    blocked(book, "dependency", "needs the table of t-002 first", "T-003")
    assert play(book) == ("BLOCKED", "wait", "T-003")
    changes = book.do(recovery.settled)
    assert [kind for kind, _ in changes] == ["task_changed", "task_reopened", "recovery"]
    three = book.state.tasks["T-003"]
    assert (three.status, three.blocked_by) == ("pending", ("T-002",))
    assert play(book) is None and book.state.history.used == {"BLOCKED": 1}
    assert step(book).startswith(("loopkit verify", "loopkit review"))
    assert [data["tasks"] for kind, data in book.wave() if kind == "wave_opened"] == [["T-002"]]


def test_a_wave_is_not_opened_before_the_dependency_is_there() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]), task("c"))
    blocked(book, "dependency", "T-002", "T-003")
    assert [kind for kind, _ in book.wave()] == ["task_changed", "task_reopened", "recovery"]
    assert book.state.wave is None


def test_a_circle_of_dependencies_is_the_persons() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    blocked(book, "dependency", "T-002, and T-009, and T-001", "T-001")
    assert play(book) == ("BLOCKED", "ask", None)


def test_a_circle_that_two_of_them_would_make_together_is_the_persons() -> None:
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#1"]))
    book.wave()
    book.do(work.blocked, "T-001", "dependency", "needs T-002")
    book.do(work.blocked, "T-002", "dependency", "needs T-003")
    book.do(waves.closed)
    changes = book.do(recovery.settled)
    assert [data["id"] for kind, data in changes if kind == "task_changed"] == ["T-001"]
    (text,) = [data["text"] for kind, data in changes if kind == "question_asked"]
    assert "T-002 b (dependency): needs T-003" in text


def test_after_two_dependencies_the_person_is_asked() -> None:
    book = Book().planned(task("a"), task("b"))
    book.line("recovery", status="BLOCKED", play="wait", wave=1, counted=True)
    assert book.state.history.used == {}  # nothing was due
    for _ in range(2):
        book.state.history.standing = "BLOCKED"
        book.line("recovery", status="BLOCKED", play="wait", wave=1, counted=True)
    blocked(book, "dependency", "T-002", "T-001")
    assert play(book) == ("BLOCKED", "ask", None)


def test_blocked_asks_at_once_where_nothing_else_is_ready() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    blocked(book, "permission", "needs a signature", "T-001")
    (text,) = [data["text"] for kind, data in book.do(recovery.settled) if kind == "question_asked"]
    assert "T-001 a (permission): needs a signature" in text
    assert snapshots.build(book.state, 0)["status"] == "awaiting_approval"
    book.line("question_answered", text="signed")
    assert step(book) == "loopkit task unblock T-001"


def test_blocked_lets_other_ready_tasks_go_on() -> None:
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#2"]))
    blocked(book, "permission", "needs a signature", "T-001")
    assert book.state.history.status == "BLOCKED"
    assert play(book) is None and recovery.settled(book.state) == []
    assert [data["tasks"] for kind, data in book.wave() if kind == "wave_opened"] == [["T-003"]]


def test_what_is_left_when_others_are_done_pauses_as_waiting() -> None:
    """Told when it was blocked; when nothing else is left the Stop hook says so (rule: Stop, row
    6)."""
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#2"]))
    blocked(book, "permission", "needs a signature", "T-001")
    book.wave()
    book.verify("T-003")
    book.do(waves.closed)
    assert play(book) is None
    view = snapshots.build(book.state, 0)
    decision = stop.last_rows(book.state.session, view, False, False, {})
    assert (decision.row, decision.record["verdict"]) == (6, "waiting")


def test_one_waits_and_one_is_asked_for() -> None:
    book = Book().planned(task("a"), task("b"), task("c", blocked_by=["#1"]))
    book.wave()
    book.do(work.blocked, "T-001", "external", "the bank answers")
    book.do(work.blocked, "T-002", "dependency", "T-003")
    book.do(waves.closed)
    changes = book.do(recovery.settled)
    kinds = [kind for kind, _ in changes]
    assert kinds == ["task_changed", "task_reopened", "recovery", "recovery", "question_asked"]
    assert "the bank answers" in changes[-1][1]["text"] and play(book) is None


def test_a_waiting_task_is_not_blocked() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    wave(book)
    assert book.state.history.status == "PROGRESSING"


# -- under a supervisor planner and supervisor are asked anyway


def test_under_a_supervisor_replan_and_diagnosis_are_the_recovery(book: Book) -> None:
    book.state.approval = "supervisor"
    batch(book, "STALLED", T001="failed")
    assert play(book) == ("STALLED", "panel", "T-001")
    assert policies.of(book.state).recovery(book.state) is None
    waves.check_recovery(book.state)
    book.line(
        "task_diagnosed", id="T-001", attempt=1, suggested="retry", reasoning="r", blockers=[]
    )
    assert play(book) is None and book.state.history.used == {"STALLED": 1}


# -- the question


def test_the_question_fits_on_one_screen() -> None:
    book = Book().planned(*[task("s" * 900) for _ in range(25)])
    checkpoint(book)
    for _ in range(30):
        batch(book, "STALLED", **{f"T{number:03d}": "failed" for number in range(1, 26)})
        book.line("panel_recorded", call="stuck", task="T-001", attempt=99, **PANEL)
    batch(book, "STALLED", **{f"T{number:03d}": "failed" for number in range(1, 26)})
    book.line(
        "task_failed",
        id="T-001",
        attempt=2,
        error="Error: " + "x" * 5000 + "\n" * 200,
        action="retry",
    )
    (text,) = [data["text"] for kind, data in book.do(recovery.settled) if kind == "question_asked"]
    rows = text.splitlines()
    assert len(rows) <= 32 and max(map(len, rows)) <= 400 and len(text) < 4000
    for part in (
        "STALLED: 2 recoveries did not help",
        "batch | attempted | passed | failed | blocked",
        "31 | 25 | 0 | 25 | 0 | STALLED",
        "tried: panel after batch",
        "Error: xxx",
        "and 20 more: T-006",
        "4. go back first: loopkit rollback last-good",
        "loopkit cancel",
        'to answer, before any of these: loopkit resume --answer "…"',
    ):
        assert part in text, part


def test_the_question_names_the_last_errors() -> None:
    book = Book().planned(task("parse it"), task("print it"))
    batch(book, "REGRESSING", T001="failed")
    text = recovery.question(book.state, recovery.due(book.state))
    assert "T-001 parse it, 1 failed attempt: ValueError: 3" in text
    assert "1 | 1 | 0 | 1 | 0 | REGRESSING" in text and "tried: nothing yet" in text


def test_plays_wait_for_the_open_wave(book: Book) -> None:
    batch(book, "STALLED", T001="failed")
    book.line("wave_opened", wave=2, tasks=[])
    assert play(book) is None


def test_a_status_nobody_knows_asks_for_nothing(book: Book) -> None:
    batch(book, "WOBBLING", T001="failed")
    assert play(book) is None
    assert panel.advice(book.state, "T-001") is None


# -- whatever happens, following the next step leads on


def follow(book: Book, choose: random.Random, checkpoints: bool) -> set[str]:
    """Do what the next steps say while tasks pass, fail and block as `choose` has it; gives the
    kinds of steps taken."""
    taken: set[str] = set()
    for _ in range(600):
        command = step(book)
        if command is None or command in ("loopkit status", "loopkit review --thorough"):
            return {*taken, command or "end"}
        words = command.split()
        taken.add(" ".join(words[1:3]) if words[1] in ("wave", "task", "rollback") else words[1])
        if words[1] == "wave":
            advance(book, choose, checkpoints)
        elif words[1] == "panel":
            book.panel(words[2])
        elif words[1:3] == ["task", "split"]:
            book.do(drafts.split, words[3], [task("smaller"), task("the rest")])
        elif words[1:3] == ["task", "unblock"]:
            book.do(work.unblocked, words[3])
        elif words[1] == "rollback":
            parents = {one.parent for one in book.state.tasks.values()}
            done = [
                one.id
                for one in book.state.tasks.values()
                if one.status == "completed" and one.id not in parents
            ]
            for name in done[-1:]:
                book.line("task_reopened", id=name, reason="rolled back to checkpoint 1")
            rolled_back(book, reopened=done[-1:])
        elif words[1] == "answer":
            assert len(book.state.session.question.splitlines()) <= 40
            book.line("question_answered", text="go on")
        elif words[1] == "verify":
            book.do(gate.criterion_verified, words[2], outcome())
        elif words[1] == "review":
            book.do(
                review.light,
                int(words[3]),
                {"score": 9, "issues": 0, "blockers": 0, "experts": ["a", "b"]},
            )
        else:
            raise AssertionError(command)
    raise AssertionError(f"no end: {command}")


def advance(book: Book, choose: random.Random, checkpoints: bool) -> None:
    if book.state.wave is None:
        book.wave()
        return
    for name in list(book.state.running):
        if book.state.session.status == "failed":
            return
        what = choose.random()
        if what < 0.4:
            book.verify(name)
        elif what < 0.9:
            book.verify(
                name, passed=False, output=choose.choice(["ValueError: 3", "TypeError: x", ""])
            )
            book.do(attempts.failed, name, "no", None)
        else:
            book.do(
                work.blocked,
                name,
                choose.choice(["dependency", "external"]),
                choose.choice(["T-002", "a key"]),
            )
    if book.state.session.status == "failed":
        return
    done = [one for one in book.state.tasks.values() if one.status == "completed"]
    if done and choose.random() < 0.3:
        book.verify(choose.choice(done).id, passed=False, output="ValueError: broken")
    book.do(waves.closed)
    if checkpoints and book.state.session.status == "running":
        checkpoint(book)
    book.do(recovery.settled)


def test_following_the_next_step_never_goes_round_in_circles() -> None:
    taken: set[str] = set()
    for seed in range(40):
        book = Book().planned(
            task("a"), task("b"), task("c", blocked_by=["#1"]), task("d", blocked_by=["#2"])
        )
        taken |= follow(book, random.Random(seed), checkpoints=seed % 2 == 0)
        again = LoopState("001-limiter")
        for event in book.events:
            LOOP.apply(again, event)
        assert again.history.__dict__ == book.state.history.__dict__
    assert taken >= {
        "end",
        "loopkit review --thorough",
        "answer",
        "panel",
        "task split",
        "rollback last-good",
    }
    assert "rollback ~2" in taken and "loopkit status" not in taken
