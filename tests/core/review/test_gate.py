"""The gate: all that must hold, the answers, the card, and what a refusal leads to."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal import clock
from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.journal.events import Event
from loopkit.core.journal.parts import Shown
from loopkit.core.plan import drafts
from loopkit.core.request import intake
from loopkit.core.review import gate
from loopkit.core.steps import due, waves
from loopkit.core.steps.events import LOOP
from tests.core.kit import GATE, SHAPE, Book, outcome, same, task


def answers(**changes: Any) -> dict:
    return {**GATE, **changes}


def ready(*rows: dict) -> Book:
    return Book().reviewed(*rows).seen()


def passed(**changes: Any) -> Book:
    book = ready()
    book.do(gate.decided, answers(**changes), same)
    return book


def shown_whole() -> Book:
    """Planned, and a review has seen each proof and mustNot."""
    book = Book().planned(task()).seen()
    book.state.shown.update(C1=Shown("yes", ""), M1=Shown("kept", "git diff"))
    return book


def answered(book: Book, kind: str, data: dict) -> None:
    LOOP.apply(book.state, Event(kind, data, clock.stamp(book.now), "test"))


def first_open(book: Book, digest: Any = same) -> tuple[str, str]:
    return gate.open_points(book.state, digest)[0]


# -- what is missing


def test_an_open_task_comes_first(executing: Book) -> None:
    assert first_open(executing) == ("T-001 is in_progress", "loopkit wave next")


def test_stale_evidence_is_listed_with_the_command_to_run() -> None:
    book = Book().planned(task("a", "test -f a", files=["a"]), task("b", files=["b"]))
    book.wave()
    book.verify("T-001", files={"a": "old"})
    book.verify("T-002", files={"b": "d"})
    book.do(waves.closed)
    book.review([])
    book.seen()
    assert gate.open_points(book.state, same) == [
        ("T-001: its files changed after its evidence", "loopkit verify T-001 -- test -f a")
    ]
    with pytest.raises(Refused, match="its files changed") as caught:
        book.do(gate.decided, GATE, same)
    assert caught.value.todo == "next: loopkit verify T-001 -- test -f a"
    with pytest.raises(Refused, match="its files changed"):
        gate.completed(book.state, same)


def test_a_missing_review_is_named() -> None:
    book = Book().worked().seen()
    assert first_open(book)[0] == "the thorough review has not passed"


def test_every_criterion_with_a_command_must_have_been_seen() -> None:
    book = Book().reviewed()
    assert gate.open_points(book.state, same) == [
        ("C1 has not been verified", "loopkit verify C1 -- pytest tests/test_limits.py -q"),
        ("M2 has not been verified", "loopkit verify M2 -- git diff --exit-code requirements.txt"),
    ]


def test_evidence_from_before_the_last_task_counts_no_longer() -> None:
    book = ready()
    book.do(drafts.submit, [task("late")])
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([])
    assert first_open(book)[0] == "C1 was verified before the last task was completed"


def test_evidence_from_before_a_files_change_counts_no_longer() -> None:
    book = Book().reviewed()
    for name in ("C1", "M2"):
        book.do(gate.criterion_verified, name, outcome(files={"a": "old"}))
    assert first_open(book)[0] == "C1 was verified before a task's files changed"


def test_nothing_is_missing() -> None:
    assert gate.open_points(ready().state, same) == []


# -- answers


@pytest.mark.parametrize("kind", ["build", "debug", "refactor"])
def test_each_kind_has_four_points_and_all_must_be_answered(kind: str) -> None:
    assert len(gate.POINTS[kind]) == 4
    points = dict.fromkeys(gate.POINTS[kind], "PASS: seen")
    assert ready().do(gate.decided, answers(kind=kind, points=points), same)[-1][1]["passed"]
    for name in points:
        with pytest.raises(Refused, match=f"no answer for point {name}"):
            ready().do(gate.decided, answers(kind=kind, points={**points, name: ""}), same)


@pytest.mark.parametrize("text", ["", "yes", "PASS", "PASS:", "PASS: ", "maybe: x", None, 1])
def test_could_not_decide_is_no_answer(text: object) -> None:
    with pytest.raises(Refused, match="no answer"):
        ready().do(gate.decided, answers(points={**GATE["points"], "runs": text}), same)


def test_a_failed_point_makes_a_task_and_leads_back_to_waves() -> None:
    book = ready()
    points = {
        **GATE["points"],
        "edge_cases": "FAIL: empty input crashes",
        "rollback": "FAIL: unknown",
    }
    changes = book.do(gate.decided, answers(points=points), same)
    assert [kind for kind, _ in changes] == [
        "task_added",
        "task_added",
        "gate_result",
        "stage_moved",
    ]
    assert book.state.stage == "executing"
    rows = [book.state.tasks[one] for one in ("T-002", "T-003")]
    assert [row.kind for row in rows] == ["remediation", "remediation"]
    assert rows[0].subject == "Gate: edge cases were tried: empty input crashes"
    assert (
        "edge cases were tried" in rows[0].description
        and "empty input crashes" in rows[0].description
    )
    assert book.state.planned == 1
    assert not book.state.gate["passed"]
    assert book.state.gate["tasks"] == ["T-002", "T-003"]
    # a task without a command is asked for one before anything else
    assert [row.verify for row in rows] == ["", ""]
    assert due.command(book.state) == 'loopkit task set T-002 --verify "<command>"'


def test_an_answer_may_bring_the_command_that_shows_it_fixed() -> None:
    book = ready()
    points = {**GATE["points"], "edge_cases": "FAIL: empty input crashes"}
    book.do(
        gate.decided,
        answers(points=points, verify={"edge_cases": "pytest tests/test_edges.py"}),
        same,
    )
    assert book.state.tasks["T-002"].verify == "pytest tests/test_edges.py"
    assert due.command(book.state) == "loopkit wave next"


def test_a_command_is_for_what_the_gate_asks() -> None:
    with pytest.raises(UsageFault, match="verify names 'x'; it takes runs, edge_cases"):
        ready().do(gate.decided, answers(verify={"x": "ls"}), same)


def again(book: Book, task_id: str) -> None:
    """The task is done, the review held, every criterion verified once more."""
    book.wave()
    book.verify(task_id)
    book.do(waves.closed)
    book.review([])
    book.seen()


def test_the_same_fault_in_a_second_round_opens_the_same_task_and_asks_for_another_check() -> None:
    book = ready()
    bad = answers(
        points={**GATE["points"], "edge_cases": "FAIL: empty input crashes"},
        verify={"edge_cases": "test -d ."},
    )
    book.do(gate.decided, bad, same)
    again(book, "T-002")
    assert [kind for kind, _ in book.do(gate.decided, bad, same)] == [
        "task_reopened",
        "task_changed",
        "gate_result",
        "stage_moved",
    ]
    assert list(book.state.tasks) == ["T-001", "T-002"]
    assert book.state.gate["tasks"] == ["T-002"]
    assert due.command(book.state) == 'loopkit task set T-002 --verify "<command>"'
    book.do(drafts.changed, "T-002", "test -f edges", None, None)
    again(book, "T-002")
    other = answers(points={**GATE["points"], "edge_cases": "FAIL: so does a long one"})
    book.do(gate.decided, other, same)
    assert list(book.state.tasks) == ["T-001", "T-002", "T-003"]


def test_a_criterion_that_fails_again_keeps_its_own_command() -> None:
    book = Book().reviewed()
    for _ in range(2):
        book.do(gate.criterion_verified, "C1", outcome(False))
        book.do(gate.criterion_verified, "M2", outcome())
        book.do(gate.decided, GATE, same)
        assert list(book.state.tasks) == ["T-001", "T-002"]
        assert book.state.tasks["T-002"].verify == "pytest tests/test_limits.py -q"
        again(book, "T-002")


def test_a_failed_criterion_makes_a_task_with_its_command() -> None:
    book = Book().reviewed()
    book.do(gate.criterion_verified, "C1", outcome(False))
    book.do(gate.criterion_verified, "M2", outcome())
    book.do(gate.decided, GATE, same)
    made = book.state.tasks["T-002"]
    assert (made.verify, made.criteria) == ("pytest tests/test_limits.py -q", ("C1",))
    assert "C1: The 101st request" in made.description
    assert book.state.stage == "executing"


def test_a_criterion_without_a_command_is_answered_for() -> None:
    text = SHAPE.replace(
        "| C1 | execution output | pytest tests/test_limits.py -q |", "| C1 | observation | |"
    )
    book = Book().shaped(text=text)
    book.do(drafts.submit, [task()])
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.review([])
    book.seen()
    with pytest.raises(Refused, match="no answer for criterion C1"):
        book.do(gate.decided, GATE, same)
    assert book.do(gate.decided, answers(criteria={"C1": "PASS: saw it"}), same)[-1][1]["passed"]
    failed = book.do(gate.decided, answers(criteria={"C1": "FAIL: it answers 500"}), same)
    assert failed[0][1]["task"]["subject"].endswith("it answers 500")


@pytest.mark.parametrize("command", ["", "test -d ."])
@pytest.mark.parametrize("kind", ["assumption", "reasoned inference"])
def test_what_nobody_has_seen_blocks(command: str, kind: str) -> None:
    text = SHAPE.replace(
        "execution output | pytest tests/test_limits.py -q |", f"{kind} | {command} |"
    )
    book = Book().shaped(text=text)
    book.do(drafts.submit, [task()])
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.review([])
    book.seen()
    with pytest.raises(
        Refused, match=f"C1 rests on {kind} alone: give it a stronger proof"
    ) as caught:
        book.do(gate.decided, answers(criteria={"C1": "PASS: I think so"}), same)
    assert caught.value.todo == "next: loopkit shape --accept -"
    assert first_open(book) == (
        f"C1 rests on {kind} alone: give it a stronger proof",
        "loopkit shape --accept -",
    )


def test_a_stronger_proof_is_the_way_out_and_old_evidence_does_not_count_for_it() -> None:
    weak = SHAPE.replace(
        "execution output | pytest tests/test_limits.py -q |", "assumption | test -d . |"
    )
    book = Book().shaped(text=weak)
    book.do(drafts.submit, [task()])
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    book.review([])
    book.seen()
    book.do(intake.shaped, SHAPE)
    assert first_open(book)[0] == "the thorough review has not passed"
    book.review([])  # nobody had looked at the new proof
    assert gate.open_points(book.state, same) == [
        ("C1 has not been verified", "loopkit verify C1 -- pytest tests/test_limits.py -q")
    ]
    book.seen()
    assert book.do(gate.decided, GATE, same)[-1][1]["passed"]


# -- mustNot


def test_a_must_not_that_has_come_true_pauses_at_once() -> None:
    book = Book().planned()
    changes = book.do(gate.criterion_verified, "M2", outcome(False))
    assert [kind for kind, _ in changes] == ["criterion_verified", "paused"]
    session = book.state.session
    assert (session.status, session.verdict) == ("paused", "must_not_breached")
    assert "A runtime dependency is added" in session.reason


def test_criteria_are_verified_in_the_thorough_tier() -> None:
    book = Book().planned()
    assert book.do(gate.criterion_verified, "C1", outcome())[0][1]["tier"] == "thorough"
    assert book.state.criterion_evidence["C1"].tier == "thorough"


def test_a_must_not_without_a_command_needs_no_answer_and_may_have_one() -> None:
    book = ready()
    assert [row.id for row in gate.watched(book.state)] == ["M1"]
    assert book.do(gate.decided, GATE, same)[-1][1]["passed"]
    assert book.do(gate.decided, answers(criteria={"M1": "PASS: all handlers compared"}), same)[-1][
        1
    ]["passed"]
    with pytest.raises(Refused, match="no answer for mustNot M1"):
        book.do(gate.decided, answers(criteria={"M1": "perhaps"}), same)


def test_a_must_not_that_is_said_to_have_come_true_pauses_and_leaves_a_task() -> None:
    book = ready()
    changes = book.do(
        gate.decided, answers(criteria={"M1": "FAIL: search() takes a second argument"}), same
    )
    assert [kind for kind, _ in changes] == ["task_added", "gate_result", "stage_moved", "paused"]
    session = book.state.session
    assert (session.status, session.verdict) == ("paused", "must_not_breached")
    assert (
        "M1 is broken: The signature of a public route handler changes (search() takes"
        in session.reason
    )
    assert not book.state.gate["passed"]
    book.line("resumed")
    assert (book.state.session.status, book.state.stage) == ("running", "executing")
    assert due.command(book.state) == 'loopkit task set T-002 --verify "<command>"'


def test_a_criterion_that_fails_does_not_pause(executing: Book) -> None:
    executing.do(gate.criterion_verified, "C1", outcome(False))
    assert executing.state.session.status == "running"


@pytest.mark.parametrize(
    ("name", "words", "given"),
    [
        ("C9", "there is no criterion or mustNot C9", []),
        ("M1", "M1 has no command", []),
        ("C1", "not the stored command of C1", ["ls"]),
    ],
)
def test_a_criterion_is_verified_by_its_own_command(
    executing: Book, name: str, words: str, given: list
) -> None:
    with pytest.raises(Refused, match=words):
        gate.check_criterion(executing.state, name, given)


# -- the card and the end


@pytest.mark.parametrize(
    ("confidence", "reversal", "kind", "card"),
    [
        (90, "2A", "execution output", "SHIP"),
        (70, "2B", "measurement", "SHIP"),
        (90, "1", "execution output", "MONITOR"),
        (90, "2B", "code review", "MONITOR"),
        (69, "2B", "execution output", "RESEARCH"),
        (0, "1", "code review", "RESEARCH"),
    ],
)
def test_the_card(confidence: int, reversal: str, kind: str, card: str) -> None:
    text = SHAPE.replace("| C1 | execution output |", f"| C1 | {kind} |")
    book = Book().shaped(text=text).seen()
    book.line("review_thorough", proofs={"C1": "yes"}, must_nots={"M1": "kept: seen"})
    assert gate.card_kind(book.state, {"confidence": confidence, "reversal": reversal}) == card


@pytest.mark.parametrize(
    ("kind", "data", "doubt"),
    [
        ("review_thorough", {"findings": []}, "thorough review"),
        ("review_light", {"wave": 1}, "review of wave 1"),
        ("goal_judged", {"score": 90, "approved": True}, "goal"),
        ("task_tested", {"id": "T-001", "passed": True}, "test of T-001"),
        ("task_judged", {"id": "T-001", "score": 90}, "verdict on T-001"),
    ],
)
def test_a_judgement_by_hand_gives_monitor_until_an_agent_has_judged_anew(
    kind: str, data: dict, doubt: str
) -> None:
    card = {"confidence": 90, "reversal": "2B"}
    for by, cards, doubts in (
        ("hand", "MONITOR", [f"{doubt}: submitted by hand"]),
        ("stop", "SHIP", []),
    ):
        book = shown_whole()
        answered(book, kind, {**data, "by": by})
        assert gate.doubts(book.state) == doubts
        assert gate.card_kind(book.state, card) == cards


def test_a_judgement_without_a_look_gives_monitor() -> None:
    book = shown_whole()
    answered(book, "task_judged", {"id": "T-001", "by": "stop", "looked": False})
    assert gate.doubts(book.state) == ["verdict on T-001: did not look"]
    answered(book, "task_judged", {"id": "T-001", "by": "hand", "looked": False})
    assert gate.doubts(book.state) == ["verdict on T-001: submitted by hand"]


def test_other_answers_by_hand_are_named() -> None:
    book = shown_whole()
    for kind, data in (
        ("plan_proposed", {}),
        ("plan_reviewed", {"score": 90}),
        ("task_coded", {"id": "T-001"}),
        ("task_diagnosed", {"id": "T-001"}),
    ):
        answered(book, kind, {**data, "by": "hand"})
    whats = ("plan", "review of the plan", "report on T-001", "diagnosis of T-001")
    assert gate.by_hand(book.state) == [f"{what}: submitted by hand" for what in whats]
    assert gate.doubts(book.state) == []


@pytest.mark.parametrize("size", [1, 3, 5, 8, 13])
def test_sizes(size: int) -> None:
    assert passed(size=size).state.gate["size"] == size


def test_complete_ends_the_loop_as_achieved() -> None:
    book = passed()
    book.do(gate.completed, same)
    session = book.state.session
    assert (session.stage, session.status, session.verdict) == ("complete", "completed", "achieved")
    shown = gate.card(book.state)
    assert (shown["name"], shown["mark"]) == ("SHIP", "🟢")
    assert shown["verified"] == "execution output"


def test_complete_without_a_gate() -> None:
    with pytest.raises(Refused, match="the gate has not passed"):
        gate.completed(ready().state, same)


def test_research_does_not_complete() -> None:
    book = passed(confidence=69)
    with pytest.raises(Refused, match="RESEARCH: confidence 69"):
        gate.completed(book.state, same)
    book.do(gate.decided, answers(confidence=70), same)
    book.do(gate.completed, same)


def test_work_after_the_gate_asks_for_another_gate() -> None:
    book = passed()
    book.do(drafts.submit, [task("late")])
    book.wave()
    book.verify("T-002")
    book.do(waves.closed)
    book.review([])
    book.seen()
    with pytest.raises(Refused, match="the gate has not passed"):
        gate.completed(book.state, same)


def test_a_refused_gate_does_not_complete() -> None:
    book = ready()
    book.do(gate.decided, answers(points={**GATE["points"], "runs": "FAIL: no"}), same)
    with pytest.raises(Refused):
        gate.completed(book.state, same)


def test_a_completion_that_was_cut_off_can_be_repeated() -> None:
    book = passed()
    move, end = gate.completed(book.state, same)
    book.line(move[0], **move[1])
    assert book.do(gate.completed, same) == [end]
    assert book.state.session.status == "completed"
