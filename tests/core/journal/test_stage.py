"""The stage machine: what each stage is left for, and what every other move is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from loopkit.core.journal import stage
from loopkit.core.journal.errors import Refused
from loopkit.core.plan import drafts
from loopkit.core.request import intake
from loopkit.core.review import gate, review
from loopkit.core.steps import attempts, due, waves
from tests.core.kit import GATE, SHAPE, Book, same, task


def test_the_order() -> None:
    assert stage.STAGES == ("intent", "shape", "decompose", "executing", "review", "complete")


def test_the_way_through_all_stages() -> None:
    book = Book()
    seen = [book.state.stage]

    def look() -> None:
        if book.state.stage != seen[-1]:
            seen.append(book.state.stage)

    book.score()
    look()
    book.do(intake.shaped, SHAPE)
    look()
    book.do(drafts.submit, [task()])
    book.wave()
    look()
    book.verify("T-001")
    book.do(waves.closed)
    look()
    book.review([])
    book.seen()
    book.do(gate.decided, GATE, same)
    book.do(gate.completed, same)
    look()
    assert tuple(seen) == stage.STAGES
    moves = [
        (event.data["from"], event.data["to"])
        for event in book.events
        if event.type == "stage_moved"
    ]
    assert moves == list(itertools.pairwise(stage.STAGES))


AT = {
    "intent": Book,
    "shape": lambda: at_shape(),
    "decompose": lambda: Book().planned(),
    "executing": lambda: at_executing(),
    "review": lambda: Book().worked(),
    "complete": lambda: at_complete(),
}


def at_shape() -> Book:
    book = Book()
    book.score()
    return book


def at_executing() -> Book:
    book = Book().planned()
    book.wave()
    return book


def at_complete() -> Book:
    book = Book().reviewed().seen()
    book.do(gate.decided, GATE, same)
    book.do(gate.completed, same)
    return book


SCORES = dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 1)
DEEDS = {
    "recall": (lambda state: intake.recall_answered(state, ["a"], [1], []), ["intent"]),
    "score": (lambda state: intake.scored(state, SCORES), ["intent"]),
    "shape": (lambda state: intake.shaped(state, SHAPE), ["shape"]),
    "task add": (
        lambda state: drafts.submit(state, [task()]),
        ["decompose", "executing", "review"],
    ),
    "wave next": (lambda state: waves.next_wave(state, False), ["decompose", "executing"]),
    "review": (
        lambda state: review.thorough(state, {"experts": ["a", "b", "c"], "findings": []}),
        ["review"],
    ),
    "gate": (lambda state: gate.decided(state, GATE, same), []),
    "complete": (lambda state: gate.completed(state, same), []),
}


@pytest.mark.parametrize("at", stage.STAGES)
@pytest.mark.parametrize("what", DEEDS)
def test_what_is_possible_in_each_stage(at: str, what: str) -> None:
    decide, possible = DEEDS[what]
    book = AT[at]()
    assert book.state.stage == at
    if at in possible:
        decide(book.state)
    else:
        with pytest.raises(Refused) as caught:
            book.do(decide)
        assert caught.value.todo, "a refusal says what to do"


@pytest.mark.parametrize("what", ["score", "shape", "task add", "wave next", "gate", "complete"])
def test_skipping_a_stage_names_the_stage_and_the_next_step(what: str) -> None:
    book = Book() if what != "score" else at_executing()
    with pytest.raises(Refused, match=f"the loop is in {book.state.stage}") as caught:
        book.do(DEEDS[what][0])
    assert caught.value.todo.startswith("next: loopkit ")


def test_leaving_intent_needs_scores() -> None:
    with pytest.raises(Refused, match="not scored"):
        stage.check_leave_intent(None, None)


@pytest.mark.parametrize(
    ("spec", "fit", "shape", "why", "words"),
    [
        (4, 30, "tool-review", None, "spec 4/10 is under 5"),
        (4, 24, None, "because", "fit 24 is under 25"),
        (5, 24, None, None, "fit 24 is under 25"),
        (4, 30, "tool-review", "because", None),
        (5, 25, "colleague", None, None),
    ],
)
def test_leaving_intent(
    spec: int, fit: int, shape: str | None, why: str | None, words: str | None
) -> None:
    scores = {"spec": spec, "fit": fit, "shape": shape}
    if words is None:
        stage.check_leave_intent(scores, why)
    else:
        with pytest.raises(Refused, match=words):
            stage.check_leave_intent(scores, why)


def test_leaving_decompose_needs_tasks_commands_and_a_shape() -> None:
    book = Book().shaped()
    with pytest.raises(Refused, match="there are no tasks"):
        stage.check_leave_decompose(book.state, 25)
    book.line("task_added", task={"id": "T-001", "subject": "native"})
    with pytest.raises(Refused, match="T-001 has no verification command"):
        stage.check_leave_decompose(book.state, 25)
    book.line("task_changed", id="T-001", verify="ls")
    stage.check_leave_decompose(book.state, 25)
    with pytest.raises(Refused, match="1 tasks, at most 0"):
        stage.check_leave_decompose(book.state, 0)
    book.line(
        "shape_saved",
        criteria=[{"id": "C1", "text": "x"}, {"id": "M1", "text": "y", "must_not": True}],
    )
    with pytest.raises(Refused, match="the shape is not fixed"):
        stage.check_leave_decompose(book.state, 25)


def test_leaving_executing_needs_every_task_and_a_closed_wave() -> None:
    book = at_executing()
    with pytest.raises(Refused, match="wave 1 is open"):
        stage.check_leave_executing(book.state)
    book.line("wave_closed", wave=1)
    with pytest.raises(Refused, match="1 tasks are not completed, first T-001"):
        stage.check_leave_executing(book.state)
    book.line("task_completed", id="T-001")
    stage.check_leave_executing(book.state)


# -- confirmations


def confirm(book: Book, what: str) -> None:
    assert stage.confirmation(book.state) == what
    for other in {"shape", "tasks", "wave"} - {what}:
        with pytest.raises(Refused, match=f"nothing to confirm as {other}"):
            book.do(intake.confirmed, other)
    book.do(intake.confirmed, what)


def test_tool_asks_nothing() -> None:
    book = Book().planned(task("a"), task("b", blocked_by=["#1"]))
    assert stage.confirmation(book.state) is None
    book.wave()


def test_tool_review_asks_for_shape_and_tasks_once() -> None:
    book = Book().shaped(2, 2, 1, 1, 1)
    assert (book.state.stage, stage.confirmation(book.state)) == ("shape", "shape")
    with pytest.raises(Refused):
        book.do(drafts.submit, [task()])
    confirm(book, "shape")
    assert book.state.stage == "decompose"
    book.do(drafts.submit, [task("a"), task("b", blocked_by=["#1"])])
    with pytest.raises(Refused, match="has not confirmed the task list"):
        book.wave()
    confirm(book, "tasks")
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    assert stage.confirmation(book.state) is None
    book.wave()


def test_colleague_asks_for_every_wave_too() -> None:
    book = Book().shaped(1, 1, 1, 1, 1)
    confirm(book, "shape")
    book.do(drafts.submit, [task("a"), task("b", blocked_by=["#1"])])
    confirm(book, "tasks")
    for name in ("T-001", "T-002"):
        with pytest.raises(Refused, match="has not confirmed wave"):
            book.wave()
        confirm(book, "wave")
        book.wave()
        assert stage.confirmation(book.state) is None
        book.verify(name)
        book.do(waves.closed)
    assert book.state.stage == "review"


def test_another_shape_is_confirmed_again() -> None:
    book = Book().shaped(2, 2, 1, 1, 1)
    book.do(intake.confirmed, "shape")
    book.do(intake.shaped, SHAPE.replace("429", "503"))
    confirm(book, "shape")
    assert book.state.stage == "decompose"


def test_unattended_tool_review_goes_on_recorded_as_confirmed_by_default() -> None:
    book = Book(unattended=True).shaped(2, 2, 1, 1, 1)
    assert book.state.stage == "decompose"
    book.do(drafts.submit, [task()])
    assert stage.confirmation(book.state) is None, "nobody can be asked"
    book.wave()
    defaults = [event.data for event in book.events if event.type == "confirmed"]
    assert defaults == [{"what": "shape", "default": True}, {"what": "tasks", "default": True}]


def test_unattended_colleague_pauses_with_waiting() -> None:
    book = Book(unattended=True).shaped(1, 1, 1, 1, 1)
    assert (book.state.session.status, book.state.session.verdict) == ("paused", "waiting")
    assert book.state.stage == "shape"
    assert stage.confirmation(book.state) is None


def test_what_a_person_confirmed_is_no_default() -> None:
    book = Book().shaped(2, 2, 1, 1, 1)
    assert book.do(intake.confirmed, "shape")[0] == (
        "confirmed",
        {"what": "shape", "default": False},
    )


# -- another check is another question


def asked(*scores: int) -> Book:
    """A loop whose tasks (and, with a colleague's shape, next wave) the person has confirmed;
    nothing has begun."""
    book = Book().shaped(*scores)
    book.do(intake.confirmed, "shape")
    book.do(drafts.submit, [task("a"), task("b", blocked_by=["#1"])])
    book.do(intake.confirmed, "tasks")
    if stage.confirmation(book.state) == "wave":
        book.do(intake.confirmed, "wave")
    return book


TOOL_REVIEW, COLLEAGUE = (2, 2, 1, 1, 1), (1, 1, 1, 1, 1)
CHANGES: dict[str, Callable] = {
    "task set": lambda book: book.do(drafts.changed, "T-002", "test -f other", None, None),
    "task add": lambda book: book.do(drafts.submit, [task("c", "test -f other")]),
    "task split": lambda book: book.do(drafts.split, "T-002", [task("c", "test -f other")]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scores", [TOOL_REVIEW, COLLEAGUE])
def test_another_check_drops_the_yes_to_tasks_and_wave(scores: tuple, change: str) -> None:
    book = asked(*scores)
    CHANGES[change](book)
    [dropped] = book.of("confirmation_dropped")
    assert dropped["what"] == ["tasks"] + ["wave-1"] * (scores == COLLEAGUE)
    with pytest.raises(
        Refused, match="has not confirmed the task list; next: loopkit confirm tasks"
    ):
        book.wave()
    confirm(book, "tasks")
    if scores == COLLEAGUE:
        confirm(book, "wave")
    book.wave()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scores", [TOOL_REVIEW, COLLEAGUE])
def test_between_waves_it_drops_them_too(scores: tuple, change: str) -> None:
    book = asked(*scores)
    book.wave()
    book.verify("T-001")
    book.do(waves.closed)
    if scores == COLLEAGUE:
        confirm(book, "wave")
    assert book.state.stage == "executing" and stage.confirmation(book.state) is None
    CHANGES[change](book)
    assert due.command(book.state) == "loopkit confirm tasks"
    for act in (
        book.wave,
        lambda: book.do(waves.started, "T-003" if "T-003" in book.state.tasks else "T-002"),
    ):
        with pytest.raises(Refused, match="next: loopkit confirm tasks"):
            act()
    confirm(book, "tasks")
    if scores == COLLEAGUE:
        confirm(book, "wave")
    book.wave()


def test_in_an_open_wave_the_new_check_does_not_run_before_the_yes() -> None:
    book = asked(*TOOL_REVIEW)
    book.wave()
    book.do(drafts.changed, "T-001", "test -f other", None, None)
    with pytest.raises(
        Refused,
        match="the check of T-001 is new since the person's yes .*; next: loopkit confirm tasks",
    ):
        book.do(attempts.check_verify, "T-001", ["test", "-f", "other"])
    confirm(book, "tasks")
    assert attempts.check_verify(book.state, "T-001", ["test", "-f", "other"]).id == "T-001"


def test_work_under_way_goes_on_while_a_waiting_task_gets_another_check() -> None:
    book = asked(*TOOL_REVIEW)
    book.wave()
    book.do(drafts.changed, "T-002", "test -f other", None, None)
    assert stage.confirmation(book.state) is None and book.of("confirmation_dropped")
    attempts.check_verify(book.state, "T-001", ["ls"])
    book.verify("T-001")
    book.do(waves.closed)
    confirm(book, "tasks")
    book.wave()


def test_a_task_of_a_review_is_a_new_check() -> None:
    book = asked(*TOOL_REVIEW)
    for name in ("T-001", "T-002"):
        book.wave()
        book.verify(name)
        book.do(waves.closed)
    book.review([{"severity": "WARNING", "issue": "no doc", "guidance": "write it"}])
    book.do(review.resolved, "F-001", "task", "", "test -f doc.md")
    confirm(book, "tasks")
    book.wave()


def test_what_changes_no_check_keeps_the_yes() -> None:
    book = asked(*COLLEAGUE)
    book.do(drafts.changed, "T-002", None, [], ["a.txt"])
    book.do(drafts.changed, "T-002", "ls", None, None)
    book.do(drafts.removed, "T-002")
    assert stage.confirmation(book.state) is None and not book.of("confirmation_dropped")


def test_nobody_is_asked_again_where_nobody_can_be() -> None:
    book = Book(unattended=True).shaped(*TOOL_REVIEW)
    book.do(drafts.submit, [task("a"), task("b", blocked_by=["#1"])])
    book.wave()
    for change in CHANGES.values():
        change(book)
    book.verify("T-001")
    book.do(waves.closed)
    assert stage.confirmation(book.state) is None and not book.of("confirmation_dropped")
    book.wave()


def test_what_was_dropped_before_the_person_left_is_a_default_then() -> None:
    book = asked(*TOOL_REVIEW)
    book.wave()
    book.do(drafts.changed, "T-001", "test -f other", None, None)
    book.line("owner_changed", session_id="s2", client_pid=1, unattended=True)
    attempts.check_verify(book.state, "T-001", ["test", "-f", "other"])
    book.verify("T-001")
    book.do(waves.closed)
    book.wave()
    assert book.of("confirmed")[-1] == {"what": "tasks", "default": True}


def test_journals_from_before_fold_as_they_did() -> None:
    """A changed check of an older journal drops nothing."""
    book = asked(*TOOL_REVIEW)
    book.wave()
    book.line("task_changed", id="T-001", verify="test -f other")
    assert "tasks" in book.state.confirmed and not book.state.new_checks
    attempts.check_verify(book.state, "T-001", ["test", "-f", "other"])


def test_a_criterion_s_new_proof_waits_for_the_yes() -> None:
    proof = "| C1 | execution output | pytest tests/test_limits.py -q |"
    assert proof in SHAPE
    book = Book()
    book.score(*TOOL_REVIEW)
    book.do(intake.shaped, SHAPE.replace(proof, "| C1 | reasoned inference | |"))
    book.do(intake.confirmed, "shape")
    book.do(drafts.submit, [task("a")])
    book.do(intake.confirmed, "tasks")
    book.do(intake.shaped, SHAPE)
    given = ["pytest", "tests/test_limits.py", "-q"]
    with pytest.raises(Refused, match="the check of C1 is new since the person's yes"):
        book.do(gate.check_criterion, "C1", given)
    confirm(book, "tasks")
    assert gate.check_criterion(book.state, "C1", given) == " ".join(given)


def test_a_task_with_a_new_check_is_not_dispatched_after_a_pause() -> None:
    book = asked(*TOOL_REVIEW)
    book.wave()
    book.do(drafts.changed, "T-001", "test -f other", None, None)
    book.line("paused", reason="by hand")
    book.line("resumed", session_id="session-one", client_pid=1)
    assert due.command(book.state) == "loopkit confirm tasks"
    with pytest.raises(Refused, match="the check of T-001 is new"):
        book.do(waves.next_wave, False)
    confirm(book, "tasks")
    book.do(waves.next_wave, False)
