"""Outline numbers, phase and status of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.plan import drafts, outline, work
from loopkit.core.request import intake
from loopkit.core.review import panel
from loopkit.core.steps import attempts, due, waves
from tests.core.kit import SHAPE, Book, task


def grouped() -> Book:
    rows = [("a", "Writer"), ("b", "Reader"), ("c", "Writer"), ("d", None), ("e", "Reader")]
    return Book().planned(*[task(subject, group=group) for subject, group in rows])


def test_groups_count_in_the_order_of_their_first_task() -> None:
    book = grouped()
    assert list(outline.numbers(book.state).values()) == ["1.1", "2.1", "1.2", "3.1", "2.2"]
    assert outline.groups(book.state) == {"1": "Writer", "2": "Reader", "3": "Tasks"}


def test_a_split_of_1_2_gives_1_2_1() -> None:
    book = grouped()
    book.do(drafts.split, "T-003", [task("x"), task("y")])
    book.do(drafts.split, "1.2.2", [task("z"), task("zz")])
    assert (
        outline.numbers(book.state)["T-007"] == "1.2.2"
        and outline.numbers(book.state)["T-009"] == "1.2.2.2"
    )


@pytest.mark.parametrize("word", ["1.2", " 1.2 "])
def test_a_number_stands_for_the_id(word: str) -> None:
    assert work.find(grouped().state, word).id == "T-003"


def test_every_decider_takes_it() -> None:
    book = grouped()
    book.do(drafts.changed, "1.2", None, ["1.1"], None)
    assert book.state.tasks["T-003"].blocked_by == ("T-001",)
    book.do(drafts.submit, [task("later", blocked_by=["2.2"])])
    assert book.state.tasks["T-006"].blocked_by == ("T-005",)
    book.do(waves.started, "1.1")
    book.do(attempts.failed, "1.1", "no", None)
    assert book.state.tasks["T-001"].attempts == 1
    book.do(work.blocked, "2.1", "external", "a key")
    book.do(work.unblocked, "2.1")
    book.do(drafts.removed, "3.1")
    with pytest.raises(Refused, match=r"there is no task T-004"):
        work.find(book.state, "3.1")
    assert panel.advice(book.state, "T-001") is None


@pytest.mark.parametrize(("word", "fault"), [("1.9", Refused), ("1.", UsageFault), ("1.0", UsageFault), ("0.1", UsageFault),
                                             ("1", UsageFault), ("1.2\n.3", UsageFault), ("¹.2", UsageFault),
                                             ("1" * 9 + ".1", UsageFault)])  # fmt: skip
def test_what_is_no_number_is_refused(word: str, fault: type) -> None:
    with pytest.raises(fault):
        work.find(grouped().state, word)


def test_a_number_is_given_once_and_a_new_plan_begins_anew() -> None:
    book = grouped()
    book.do(drafts.removed, "1.2")
    book.do(drafts.submit, [task("new", group="Writer")])
    assert outline.numbers(book.state)["T-006"] == "1.3"
    for task_id in list(book.state.tasks):
        book.do(drafts.removed, task_id)
    book.do(drafts.submit, [task("other", group="Reader")])
    assert outline.numbers(book.state) == {"T-007": "1.1"}


def test_old_journals_with_odd_groups_still_fold() -> None:
    book = Book()
    for place, group in enumerate((1, None, ["x"], {"a": 1}, "1"), 1):
        row: dict[str, Any] = {"id": f"T-{place:03d}", "subject": "s", "group": group}
        book.line("task_added", task=row)
    assert list(outline.numbers(book.state).values()) == ["1.1", "2.1", "2.2", "2.3", "1.2"]


def test_phase_is_scaffold_while_a_scaffold_task_is_open() -> None:
    book = Book().planned(task("a", scaffold=True), task("b"))
    assert outline.phase(book.state) == "SCAFFOLD"
    book.wave()
    book.verify("T-001")
    assert outline.phase(book.state) == "EXECUTE"


def test_the_status_of_a_plan() -> None:
    book = Book().shaped()
    assert outline.plan_status(book.state) == "DRAFT"
    book.line("question_asked", text="which one?")
    assert outline.plan_status(book.state) == "NEEDS_CLARIFICATION"
    book.line("question_answered", text="this")
    book.do(drafts.submit, [task()])
    assert outline.plan_status(book.state) == "APPROVED"
    book.wave()
    assert outline.plan_status(book.state) == "IN_PROGRESS"
    book.verify("T-001")
    book.do(waves.closed)
    assert outline.plan_status(book.state) == "COMPLETE"


def test_a_plan_that_has_to_be_confirmed_or_reviewed_is_a_draft() -> None:
    book = Book()
    book.score(1, 1, 1, 1, 2)
    book.do(intake.shaped, SHAPE)
    assert (
        outline.plan_status(book.state) == "NEEDS_CLARIFICATION"
    )  # the person has a word to say before any task
    book.do(intake.confirmed, "shape")
    assert outline.plan_status(book.state) == "DRAFT"
    book.do(drafts.submit, [task()])
    assert (
        due.command(book.state) == "loopkit confirm tasks"
        and outline.plan_status(book.state) == "DRAFT"
    )
    reviewed = Book(approval="review").shaped()
    reviewed.line("plan_proposed", risks=[], replaces=[])
    reviewed.do(drafts.submit, [task()])
    assert outline.plan_status(reviewed.state) == "DRAFT" and outline.iteration(reviewed.state) == 1
    reviewed.line("plan_reviewed", revision=0, approved=False, outcome="revise")
    reviewed.line("plan_proposed", risks=[], replaces=["T-001"])
    assert outline.iteration(reviewed.state) == 2
    reviewed.line("plan_reviewed", revision=1, approved=True, outcome="approved")
    assert outline.plan_status(reviewed.state) == "APPROVED"
