"""What a journal's lines hold: whatever the program writes fits, and each field of another kind
makes the line none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopkit.core.journal.events import Event, Table, encode
from loopkit.core.journal.state import LoopState
from loopkit.core.steps import snapshot
from loopkit.core.steps.events import LATER, LOOP
from tests.core.kit import GATE, PANEL, Book, outcome, task

#: Values of every JSON kind, and numbers that no field takes.
ODD = [None, True, -1, 1e300, 10**30, "", "x", [], [None], [{}], {}, {"": None}]


def whole() -> Book:
    """A loop with most types of lines, up to its completion."""
    book = Book(
        settings={"max_idle_stops": 3, "prices": {"m": [1, 2, 3, 4]}, "blocklist": []},
        token="0" * 32,
    )
    book.planned(task("a", files=["a.py"]), task("b", blocked_by=["#1"]), task("c"))
    book.wave()
    book.line(
        "iteration_ended",
        "hook",
        decision="hold",
        fingerprint="f",
        usage={"m": [1, 2, 3, 4]},
        offsets={"a": 1},
    )
    book.line("limits_set", iterations=5, usd=None, seconds=60)
    book.line(
        "task_failed", id="T-001", attempt=1, approach="a", result="b", error="c", action="retry"
    )
    book.panel("T-001")
    book.line("panel_recorded", call="wave", wave=2, **PANEL)
    for name in (
        "paused",
        "resumed",
        "question_asked",
        "question_answered",
        "owner_changed",
        "stop_failed",
    ):
        book.line(name, reason="r", text="t", error="e", session_id="session-one", client_pid=1)
    book.line("subagent_stopped", "hook", agent_id="a", transcript="/t")
    book.line("task_blocked", id="T-003", kind="external", text="t")
    book.line("task_reopened", id="T-003", keep_evidence=True)
    book.line("task_changed", id="T-003", verify="ls", blockedBy=["T-001"], files=["x"])
    outcomes = {"T-001": {"result": "failed", "signature": "boom"}, "T-002": {"result": "blocked"}}
    said = {
        "status": "BLOCKED",
        "confidence": "low",
        "trend": "stable",
        "recommendation": "unblock:T-002",
    }
    book.line("wave_closed", wave=1, completed=[], failed=["T-001"], outcomes=outcomes, **said)
    book.line("recovery", status="BLOCKED", play="wait", wave=1, counted=True)
    book.line("review_light", wave=1, score=8, issues=2, blockers=0, findings=[])
    row = {
        "id": "F-001",
        "severity": "WARNING",
        "issue": "i",
        "violates": ["M1"],
        "resolution": {"how": "skip"},
    }
    book.line("review_thorough", experts=["a"], round=1, size=1, score=None, findings=[row])
    book.line("finding_resolved", id="F-001", how="skip", text="t", task=None)
    book.line("review_asked", experts=["a", "b"])
    book.line(
        "decision_recorded", number=1, title="t", kind="category", category="x", findings=["F-001"]
    )
    decision = {"title": "t", "invalidated_if": "$ ls", "files": ["a.py"], "alternatives": ["x"]}
    book.line("decision_recorded", number=2, supersedes=[1], **decision)
    book.line(
        "anti_pattern_recorded",
        number=3,
        title="t",
        what="w",
        category="tests",
        source="review",
        files=["a"],
    )
    book.line("decision_checked", number=2, exit=0, log="l")
    row = {"id": "F-002", "severity": "BLOCKER", "issue": "i", "contradicts": [2]}
    book.line("decision_invalidated", number=2, exit=0, log="l", findings=[row])
    book.line("patterns_gathered", lines=["pattern: a.py"])
    row = {"task": "T-001", "path": "worktrees/T-001"}
    book.line("worktree_made", branch="b", base="a" * 40, tree="b" * 40, **row)
    book.line("worktree_merged", files=["a.py"], tree="b" * 40, **row)
    book.line("worktree_removed", **row)
    book.line("baseline_recorded", command="ls", exit=0, failures=["x"], log="l")
    row = {
        "label": "start",
        "tasks": [],
        "parent": None,
        "good": True,
        "left_out": [],
        "head": None,
        "wave": None,
    }
    book.line(
        "checkpoint_made",
        number=1,
        sha="a" * 40,
        tree="b" * 40,
        place="/p",
        line=3,
        target=None,
        **row,
    )
    book.line("rolled_back", number=1, saved=2, files=["a.py"], reopened=["T-001"], undo=False)
    book.line("attempts_reset", ids=["T-003"])
    book.line("role_asked", role="coder", kind="implementation", task="T-001", number=1)
    book.line("agents_dispatched", agents=1)
    book.line("reply_unfit", kind="plan", task=None, error="e", text="t")
    row = {"feedback": "f", "issues": ["i"], "missing": ["m"]}
    book.line("plan_reviewed", revision=1, approved=False, score=60, outcome="revise", **row)
    book.line(
        "plan_proposed",
        warning="",
        risks=["r"],
        assumptions=["a"],
        questions=[],
        replaces=["T-009"],
    )
    book.line(
        "task_coded",
        id="T-001",
        kind="fix",
        status="fixed",
        summary="s",
        files=["a.py"],
        block_reason="",
    )
    failures = [{"testName": "t", "error": "e", "file": "f", "stackTrace": "", "severity": "major"}]
    counts = {
        "tests_run": 2,
        "tests_passed": 1,
        "tests_failed": 1,
        "coverage": 87.5,
        "fix_plan": "p",
    }
    book.line("task_tested", id="T-001", passed=False, failures=failures, **counts)
    book.line("task_judged", id="T-001", score=60, level="remind", band="revise", **row)
    book.line(
        "task_diagnosed", id="T-001", attempt=1, suggested="retry", reasoning="r", blockers=["b"]
    )
    book.line("goal_judged", score=60, level="remind", approved=False, **row)
    book.line("task_verified", id="T-001", run=1, tier="quick", **outcome())
    book.line("criterion_verified", id="C1", **outcome())
    book.line(
        "proof_tried", id="C1", when="before", result="red", command="ls", why="", exit=1, log="l"
    )
    book.line("proof_replaced", id="C1", command="ls x", keeps=False, why="w", failed=True)
    book.line(
        "gate_result",
        passed=False,
        failed=["x"],
        tasks=[],
        card="SHIP",
        **{k: GATE[k] for k in ("kind", "size")},
    )
    book.line(
        "clarified",
        echo="e",
        answers={"scope": "s"},
        assumptions={},
        order={"objective": "o"},
        round=1,
    )
    book.line("recall_answered", shown=["a"], confirmed=["a"], dismissed=[])
    book.line("spec_overruled", why="w")
    book.line(
        "changes_measured",
        wave=1,
        files=[{"path": "b", "status": "R", "added": 1, "removed": 0, "was": "a"}, {"path": "c"}],
        ignored=["x"],
        left_out=0,
        checkpoint=1,
    )
    touched = {"criterion": "M1", "path": "b", "by": "", "mark": "1"}
    book.line("watched_changed", wave=1, files=[touched], ask=True)
    book.line("watched_settled", how="mine")
    book.line("person_spoke", how="esc")
    book.line("went_on")
    book.line("attended_changed", unattended=True)
    return book


BOOK = whole()


def test_what_the_program_writes_fits() -> None:
    assert [event.type for event in BOOK.events if LOOP.decode(encode(event)) is None] == []
    assert {event.type for event in BOOK.events} >= set(LOOP.types) - {
        "adopted", "agent_ended", "confirmed", "confirmation_dropped", "notice_given", "task_split", "task_completed", "task_removed",
        "tasks_handed", "native_conflict", "native_seen", "loop_completed", "loop_failed", "loop_cancelled",
    }  # fmt: skip


def spoilt(value: Any) -> list:
    """The JSON value with each part of it replaced by each odd value in turn."""
    found = list(ODD)
    if isinstance(value, dict):
        for key in value:
            found += [{**value, key: one} for one in spoilt(value[key])]
            found.append({name: one for name, one in value.items() if name != key})
    elif isinstance(value, list):
        for place, one in enumerate(value):
            found += [[*value[:place], other, *value[place + 1 :]] for other in spoilt(one)]
    return found


@pytest.mark.parametrize(
    "place", range(len(BOOK.events)), ids=lambda place: BOOK.events[place].type
)
def test_any_field_of_another_kind_is_left_out_or_does_no_harm(place: int) -> None:
    """Either the line is no event, or all that is derived from the journal can still be made."""
    event = BOOK.events[place]
    rows = [
        {"v": 1, "at": event.at, "type": event.type, "by": event.by, "data": data}
        for data in spoilt(event.data)
    ]
    read = [LOOP.decode(json.dumps(row).encode()) for row in rows]
    for found in [None, *filter(None, read)]:
        lines = [*BOOK.events[:place], *([found] if found else []), *BOOK.events[place + 1 :]]
        state = LoopState("001-limiter")
        for one in lines:
            LOOP.apply(state, one)
        assert snapshot.parse(json.dumps(snapshot.build(state, 1)).encode()) is not None


@pytest.mark.parametrize("parent", ["T-001", "T-002", "T-", "x", 1])
def test_no_task_is_its_own_ancestor(parent: object) -> None:
    line = encode(Event("task_added", {"task": {"id": "T-001", "parent": parent}}, "a", "b"))
    assert LOOP.decode(line) is None


@pytest.mark.parametrize("read", LATER)
def test_modules_that_are_imported_later_are_named_by_all_types_that_they_know(read: Any) -> None:
    whole, names = Table(*read()), LATER[read].split()
    assert sorted(names) == sorted(whole.types.keys() | whole.folds.keys())
    for first in names:  # whichever comes first, they fold in one order
        late = Table(later=LATER)
        assert late.known(first) is whole.known(first)
        assert late.folds == whole.folds
