"""Checks that are submitted: one rule for all of them, whatever they are to show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopkit import replies
from loopkit.core.evidence import baseline
from loopkit.core.journal import stage
from loopkit.core.journal.errors import LoopError
from loopkit.core.memory import decisions
from loopkit.core.plan import drafts
from loopkit.core.review import gate, review
from loopkit.core.steps import attempts
from loopkit.core.steps.policies import planning
from loopkit.core.steps.policies.attempt import Misfit
from tests.core.kit import GATE, SHAPE, Book, same, task

EMPTY = "echo all tests passed"
DECISION = {
    "title": "Key",
    "context": "c",
    "choice": "x",
    "alternatives": ["y: no"],
    "invalidated_if": f"$ {EMPTY}",
}
FINDING = {"severity": "BLOCKER", "issue": "no doc", "guidance": "write it"}
PIECE = {"description": "write it", "verify": EMPTY, "complexity": "simple"}


def reviewed() -> Book:
    return Book().reviewed(findings=[{**FINDING, "severity": "WARNING"}])


WAYS_IN: dict[str, Callable] = {
    "task add": lambda: Book().shaped().do(drafts.submit, [task(verify=EMPTY)]),
    "task add --replace": lambda: Book().planned().do(drafts.replaced, [task(verify=EMPTY)]),
    "task set": lambda: drafts.changed(Book().planned().state, "T-001", EMPTY, None, None),
    "task split": lambda: Book().planned().do(drafts.split, "T-001", [task(verify=EMPTY)]),
    "a planner's plan": lambda: Book().shaped().do(planning.planned, {"tasks": [PIECE] * 3}),
    "a replan": lambda: replies.check("replan", {"analysis": "a", "subtasks": [PIECE]}),
    "review --thorough": lambda: Book().worked().review([{**FINDING, "verify": EMPTY}]),
    "review resolve": lambda: review.resolved(reviewed().state, "F-001", "task", "", EMPTY),
    "gate": lambda: reviewed().do(gate.decided, {**GATE, "verify": {"edge_cases": EMPTY}}, same),
    "decide": lambda: Book().planned().do(decisions.recorded, DECISION),
    "baseline": lambda: baseline.check_new(Book().planned().state, EMPTY, False),
    "a criterion": lambda: Book().shaped(
        text=SHAPE.replace("pytest tests/test_limits.py -q", EMPTY)
    ),
    "a mustNot": lambda: Book().shaped(
        text=SHAPE.replace("git diff --exit-code requirements.txt", EMPTY)
    ),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_what_cannot_fail_is_refused_in_every_place(way: str) -> None:
    with pytest.raises((LoopError, Misfit), match="echo cannot fail, so it proves nothing"):
        WAYS_IN[way]()


def test_a_loop_that_has_such_a_check_from_before_goes_on() -> None:
    """Only what is submitted is looked at: journals of earlier versions hold what was taken
    then."""
    book = Book().shaped()
    book.line("task_added", task={"id": "T-001", "subject": "a", "verify": EMPTY})
    book.wave()
    assert attempts.check_verify(book.state, "T-001", EMPTY.split()).id == "T-001"
    assert stage.running(book.state) is None  # type: ignore[func-returns-value]
