"""The task record: ids, moves, what the native list and --json get."""

from __future__ import annotations

import itertools

import pytest

from loopkit.core.journal import task as tasks
from loopkit.core.journal.errors import Refused, UsageFault
from loopkit.core.journal.task import Task

ALLOWED = {
    ("pending", "in_progress"),
    ("in_progress", "completed"),
    ("in_progress", "failed"),
    ("failed", "pending"),
    ("failed", "blocked"),
    ("pending", "blocked"),
    ("in_progress", "blocked"),
    ("blocked", "pending"),
    ("blocked", "completed"),
    ("completed", "pending"),
}


def test_every_move() -> None:
    for before, after in itertools.product(tasks.STATUSES, repeat=2):
        task = Task("T-001", "a", status=before)
        if (before, after) in ALLOWED:
            assert tasks.moved(task, after).status == after
        else:
            with pytest.raises(Refused, match=f"is {before} and cannot become {after}"):
                tasks.moved(task, after)


@pytest.mark.parametrize(
    ("text", "number"), [("T-001", 1), ("t-3", 3), ("T-1000", 1000), ("T-0", 0)]
)
def test_numbers(text: str, number: int) -> None:
    assert tasks.number(text) == number


@pytest.mark.parametrize("text", ["", "3", "T-", "T-x", "T-²", "T--1", "X-001", "T-" + "9" * 5000])
def test_no_numbers(text: str) -> None:
    with pytest.raises(UsageFault, match="not a task id"):
        tasks.number(text)


def test_make_id() -> None:
    assert [tasks.make_id(number) for number in (1, 25, 999, 1000)] == [
        "T-001",
        "T-025",
        "T-999",
        "T-1000",
    ]


def test_metadata_has_the_four_documented_names() -> None:
    task = Task("T-001", "a", wave=2, stuck_count=1)
    assert task.metadata("001-x", "observation") == {
        "wave": 2,
        "loopId": "001-x",
        "verification": "observation",
        "stuckCount": 1,
    }


def test_json_has_the_documented_names() -> None:
    row = Task("T-001", "a", status="blocked", block_kind="permission", block_text="sign").to_json(
        "001-x", "observation"
    )
    wanted = (
        "id subject activeForm description verify blockedBy parent depth complexity criteria "
        "files scaffold group kind"
    )
    assert set(row) == {
        *wanted.split(),
        "status",
        "block",
        "attempts",
        "history",
        "evidence",
        "metadata",
    }
    assert row["block"] == {"kind": "permission", "text": "sign"}
    assert row["metadata"]["verification"] == "observation"


@pytest.mark.parametrize(
    ("stuck", "attempts", "seen", "due"),
    [(0, 0, 0, False), (1, 1, 0, True), (1, 1, 1, False), (2, 2, 1, True)],
)
def test_when_a_panel_is_due(stuck: int, attempts: int, seen: int, due: bool) -> None:
    assert Task("T-001", "a", stuck_count=stuck, attempts=attempts, panel_for=seen).panel_due is due
