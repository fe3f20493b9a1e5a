"""Supervised execution: attempts, scores, diagnoses, the clamp table, the goal; driven through the
real deciders."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from loopkit.core.health import checkpoints, recovery
from loopkit.core.journal.errors import LimitReached, LoopError, Refused, UsageFault
from loopkit.core.journal.events import encode
from loopkit.core.journal.state import LoopState
from loopkit.core.plan import drafts, escalation, work
from loopkit.core.steps import (
    answers,
    attempts,
    due,
    policies,
    resumption,
    stop,
    supervision,
    waves,
)
from loopkit.core.steps import snapshot as snapshots
from loopkit.core.steps.events import LOOP
from loopkit.core.steps.policies import supervisor
from tests.core.kit import Book, task
from tests.core.roles import (
    Asked,
    Roles,
    diagnosis,
    fixed,
    good,
    implemented,
    named,
    piece,
    plan,
    replan,
    saw,
    scored,
)

FALSE = piece("hopeless", "false")


def again(book: Roles) -> LoopState:
    """The state folded from the journal as it stands on disk."""
    state = LoopState(book.state.name)
    for event in book.events:
        read = LOOP.decode(encode(event))
        assert read is not None, event
        LOOP.apply(state, read)
    return state


# -- the whole way


def test_four_roles_and_four_phases_in_order() -> None:
    book, phases = Roles(), []

    def answer(one: Asked) -> dict:
        phases.append(policies.of(book.state).phase(book.state))
        return good(one)

    book.drive(answer)
    assert book.state.session.verdict == "achieved"
    assert [name for name, _ in itertools.groupby(phases)] == [
        "planning",
        "plan_review",
        "execution",
        "verification",
    ]
    roles = {event.data["role"] for event in book.events if event.type == "role_asked"}
    assert roles == {"planner", "plan-review", "coder", "tester", "supervisor"}
    assert again(book).supervision.__dict__ == book.state.supervision.__dict__


def test_the_example_of_an_export() -> None:
    """Four tasks, one fixed, one complex and split at once, one subtask revised within its
    attempt."""
    rows = [piece("writer"), piece("quotes"), piece("large", complexity="complex"), piece("menu")]
    book, seen = Roles(), {}

    def answer(one: Asked) -> dict:
        seen[one.kind, one.task] = count = seen.get((one.kind, one.task), 0) + 1
        if one.kind == "plan":
            return plan(*rows)
        if one.kind == "replan":
            return replan(piece("a"), piece("b"), piece("c"))
        if (one.kind, one.task, count) == ("test", "T-002", 1):
            return saw(
                "failed", failures=[{"testName": "quotes", "error": "none", "severity": "major"}]
            )
        if (one.kind, one.task, count) == ("verification", "T-006", 1):
            return scored(61)
        return scored(88) if one.task == "goal" else good(one)

    book.drive(answer)
    assert book.state.session.verdict == "achieved"
    assert {
        name: one.depth for name, one in book.state.tasks.items() if one.parent
    } == dict.fromkeys(("T-005", "T-006", "T-007"), 1)
    assert all(one.attempts == 0 for one in book.state.tasks.values())
    assert (
        seen["fix", "T-002"] == 1
        and seen["implementation", "T-006"] == 2
        and ("fix", "T-006") not in seen
    )
    assert seen["replan", "T-003"] == 1 and ("implementation", "T-003") not in seen


# -- one attempt


@pytest.fixture
def book() -> Roles:
    """Wave 1 is open: T-001 to T-003, the coders are asked."""
    return Roles().executing()


def test_the_order_of_an_attempt(book: Roles) -> None:
    assert book.wanted[0] == "implementation T-001"
    book.reply("implementation", "T-001", implemented())
    assert book.wanted[0] == "test T-001"
    book.check("T-001")
    book.reply("test", "T-001", saw())
    assert (
        book.wanted[0] == "verification T-001" and book.state.tasks["T-001"].status == "in_progress"
    )
    assert book.kinds("verification", "T-001", scored(70)) == ["task_judged", "task_completed"]
    assert book.wanted == ["implementation T-002", "implementation T-003"]


def test_passed_needs_the_check_to_have_run_since_the_coder_answered(book: Roles) -> None:
    book.check("T-001")  # of what was there before
    book.reply("implementation", "T-001", implemented())
    with pytest.raises(Refused, match="has not run since") as caught:
        book.reply("test", "T-001", saw())
    assert caught.value.todo == "next: loopkit verify T-001 -- ls"
    book.check("T-001")
    book.reply("test", "T-001", saw())
    assert book.wanted[0] == "verification T-001"


def test_passed_with_a_check_that_fails_has_not_passed(book: Roles) -> None:
    book.reply("implementation", "T-001", implemented())
    book.check("T-001", False)
    book.reply("test", "T-001", saw())
    row = book.state.tasks["T-001"].tested
    assert row["passed"] is False and row["failures"][0]["error"].startswith("exits 1")
    assert book.wanted[0] == "fix T-001"


def test_failed_with_a_check_that_passes_has_not_passed(book: Roles) -> None:
    book.reply("implementation", "T-001", implemented())
    book.check("T-001")
    book.reply("test", "T-001", saw("failed"))
    assert book.wanted[0] == "fix T-001" and book.state.tasks["T-001"].tested["failures"] == []


def test_a_failing_check_neither_counts_nor_fails_the_attempt(book: Roles) -> None:
    for _ in range(9):
        assert [kind for kind, _ in book.check("T-001", False)] == ["task_verified"]
    assert (
        book.state.tasks["T-001"].attempts == 0
        and book.state.tasks["T-001"].status == "in_progress"
    )


def test_the_tester_runs_after_every_fix_and_the_fourth_failure_fails_the_attempt(
    book: Roles,
) -> None:
    book.reply("implementation", "T-001", implemented())
    for _ in range(3):
        assert book.kinds("test", "T-001", saw("failed")) == ["task_tested"]
        assert book.wanted[0] == "fix T-001"
        book.reply("fix", "T-001", fixed(testsPass=True))  # a claim: the tester looks all the same
        assert book.wanted[0] == "test T-001"
    assert book.kinds("test", "T-001", saw("failed", fixPlan="start over")) == [
        "task_tested",
        "task_failed",
    ]
    row = book.state.tasks["T-001"]
    assert (row.status, row.attempts, row.fixes) == ("pending", 1, 3)
    assert (row.history[0]["result"], row.history[0]["error"]) == (
        "not passed after 3 fixes",
        "start over",
    )


def test_an_attempt_has_at_most_seven_coder_calls() -> None:
    book = Roles()

    def answer(one: Asked) -> dict:
        task = book.state.tasks.get(one.task)
        if one.kind == "test" and task.fixes < 3:
            return saw("failed")
        if one.kind == "verification" and task and task.attempts == 0:
            return scored(69)
        return good(one)

    book.drive(answer)
    first = next(at for at, event in enumerate(book.events) if event.type == "task_failed")
    assert book.events[first].data["result"] == "judged with 69 after 3 revisions"
    asked = [event.data for event in book.events[:first] if event.type == "role_asked"]
    assert sum((row["role"], row["task"]) == ("coder", "T-001") for row in asked) == 7


@pytest.mark.parametrize("status", ["blocked", "needs_clarification"])
def test_a_blocked_coder_has_failed(book: Roles, status: str) -> None:
    lines = book.reply("implementation", "T-001", implemented(status, blockReason="no token"))
    assert [kind for kind, _ in lines] == ["task_coded", "task_failed"]
    assert book.state.tasks["T-001"].history[0]["error"] == "no token"


def test_a_blocked_fixer_has_failed(book: Roles) -> None:
    book.reply("implementation", "T-001", implemented())
    book.reply("test", "T-001", saw("failed"))
    assert book.kinds("fix", "T-001", fixed("still_failing")) == [
        "task_coded"
    ]  # the tester looks again
    book.reply("test", "T-001", saw("failed"))
    assert book.kinds("fix", "T-001", fixed("blocked"))[-1] == "task_failed"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"blockReason": "no database", "fixPlan": "start one"}, "no database"),
        ({"fixPlan": "start one"}, "start one"),
        ({}, "no reason given"),
    ],
)
def test_a_blocked_tester_has_failed(book: Roles, said: dict, error: str) -> None:
    book.reply("implementation", "T-001", implemented())
    assert book.kinds("test", "T-001", saw("blocked", **said))[-1] == "task_failed"
    assert book.state.tasks["T-001"].history[0]["error"] == error


@pytest.mark.parametrize(
    ("score", "kinds", "turn"),
    [
        (100, ["task_judged", "task_completed"], ""),
        (
            70,
            ["task_judged", "task_completed"],
            "",
        ),  # `scored` says approved: false, and nobody believes it
        (69, ["task_judged"], "implementation"),
        (50, ["task_judged"], "implementation"),
        (49, ["task_judged", "task_failed"], ""),
        (40, ["task_judged", "task_failed"], ""),  # with approved: true
        (0, ["task_judged", "task_failed"], ""),
    ],
)
def test_bands(book: Roles, score: int, kinds: list, turn: str) -> None:
    book.to_judge("T-001")
    given = scored(score)
    assert given["approved"] is (score < 70)
    assert book.kinds("verification", "T-001", given) == kinds
    assert book.state.tasks["T-001"].turn == turn


def test_a_revision_uses_no_attempt_and_the_fourth_in_a_row_fails_it(book: Roles) -> None:
    for _ in range(3):
        book.to_judge("T-001")
        book.reply("verification", "T-001", scored(69, issues=["names"]))
        assert book.state.tasks["T-001"].attempts == 0 and book.wanted[0] == "implementation T-001"
    book.to_judge("T-001")
    assert book.kinds("verification", "T-001", scored(69)) == ["task_judged", "task_failed"]
    row = book.state.tasks["T-001"]
    assert (row.attempts, row.revisions) == (1, 3)
    entry = row.history[0]
    assert set(entry) == {"attempt", "approach", "result", "error", "at", "score", "feedback"}
    assert (entry["score"], entry["feedback"], entry["result"]) == (
        69,
        "worth 69",
        "judged with 69 after 3 revisions",
    )
    assert {one.data["kind"] for one in book.events if one.type == "task_coded"} == {
        "implementation",
        "revision",
    }


def test_fixes_and_revisions_are_counted_apart(book: Roles) -> None:
    book.reply("implementation", "T-001", implemented())
    for _ in range(3):
        book.reply("test", "T-001", saw("failed"))
        book.reply("fix", "T-001", fixed())
    book.check("T-001")
    book.reply("test", "T-001", saw())
    book.reply("verification", "T-001", scored(60))
    book.reply("implementation", "T-001", implemented())
    row = book.state.tasks["T-001"]
    assert (row.fixes, row.revisions, row.attempts) == (3, 1, 0)


def test_an_attempt_is_counted_once_when_its_result_is_recorded(book: Roles) -> None:
    assert book.state.attempts == 0
    book.fail("T-001")
    assert book.state.attempts == 1 and book.state.tasks["T-001"].attempts == 1
    book.fail("T-002")
    book.fail("T-003")
    book.close()
    assert book.state.attempts == 3


def test_a_check_that_breaks_while_the_supervisor_judges_goes_back_to_the_tester(
    book: Roles,
) -> None:
    book.to_judge("T-001")
    book.check("T-001", False)
    assert book.wanted[0] == "test T-001"
    with pytest.raises(Refused, match="no verification T-001 is awaited, but test T-001"):
        book.reply("verification", "T-001", scored(90))


def test_another_check_while_the_supervisor_judges_goes_back_to_the_tester(book: Roles) -> None:
    book.to_judge("T-001")
    book.do(drafts.changed, "T-001", "pytest -q", None, None)
    assert book.wanted[0] == "test T-001"


def test_another_check_while_the_coder_works_changes_nobodys_turn(book: Roles) -> None:
    book.do(drafts.changed, "T-001", "pytest -q", None, None)
    assert book.wanted[0] == "implementation T-001"


def test_a_wave_closes_as_soon_as_all_of_it_is_judged(book: Roles) -> None:
    for name in ("T-001", "T-002"):
        book.to_judge(name)
        book.reply("verification", name, scored(90))
    with pytest.raises(Refused, match="nobody has judged T-003"):
        book.close()
    book.fail("T-003")
    assert due.command(book.state) == "loopkit wave close"
    book.close()
    assert (book.state.waves[-1].completed, book.state.waves[-1].failed) == (
        ("T-001", "T-002"),
        ("T-003",),
    )


# -- settings


@pytest.mark.parametrize(("most", "calls"), [(0, 1), (1, 2), (5, 6)])
def test_max_fix_cycles_changes_how_often_is_fixed(most: int, calls: int) -> None:
    book = Roles(settings={"max_fix_cycles": most}).executing()
    book.reply("implementation", "T-001", implemented())
    for _ in range(calls - 1):
        book.reply("test", "T-001", saw("failed"))
        book.reply("fix", "T-001", fixed())
    assert book.kinds("test", "T-001", saw("failed"))[-1] == "task_failed"


def test_max_step_attempts_changes_when_a_task_is_split() -> None:
    book = Roles(settings={"max_step_attempts": 1}).executing()
    book.fail("T-001")
    assert book.state.tasks["T-001"].action == "replan"


def test_max_replan_depth_changes_where_it_is_impossible() -> None:
    book = Roles(settings={"max_step_attempts": 1, "max_replan_depth": 0}).executing()
    book.fail("T-001")
    assert book.state.tasks["T-001"].action == "impossible"


def test_the_thresholds_change_what_a_score_means() -> None:
    book = Roles(settings={"approval_threshold": 90, "revision_threshold": 80}).approved(score=90)
    book.wave()
    book.to_judge("T-001")
    assert book.kinds("verification", "T-001", scored(89)) == ["task_judged"]
    book.to_judge("T-001")
    assert book.kinds("verification", "T-001", scored(79))[-1] == "task_failed"
    book.to_judge("T-002")
    assert book.kinds("verification", "T-002", scored(90))[-1] == "task_completed"


# -- diagnosis and the clamp table

TABLE = [
    # suggested, attempts, depth → action, clamped, raised
    ("retry", 1, 0, "retry", False, False),
    ("retry", 3, 0, "replan", False, True),
    ("retry", 3, 5, "impossible", False, True),
    ("replan", 2, 0, "retry", True, False),
    ("replan", 3, 4, "replan", False, False),
    ("replan", 3, 5, "impossible", False, True),
    ("impossible", 1, 5, "retry", True, False),
    ("impossible", 3, 4, "replan", True, False),
    ("impossible", 3, 5, "impossible", False, False),
    ("give up", 2, 0, "retry", False, False),
    ("give up", 3, 4, "replan", False, False),
    ("give up", 3, 5, "impossible", False, False),
    (None, 2, 5, "retry", False, False),
    (None, 3, 0, "replan", False, False),
    (None, 3, 5, "impossible", False, False),
]


def failing(attempts: int, depth: int) -> tuple[Roles, str]:
    """A task at that depth that has just failed for the `attempts`th time, its wave closed."""
    book = Roles(settings={"max_replan_depth": 5}).approved(FALSE, piece("b"))
    name = "T-001"
    for _ in range(depth):
        name = book.do(drafts.split, name, [{"subject": "smaller", "verify": "false"}])[0][1][
            "task"
        ]["id"]
    for count in range(1, attempts + 1):
        book.do(waves.started, name)
        book.fail(name)
        book.close()
        if count < attempts:
            book.reply("diagnosis", name, diagnosis())
    return book, name


@pytest.mark.parametrize(("suggested", "attempts", "depth", "action", "clamped", "raised"), TABLE)
def test_every_cell_of_the_clamp_table(
    suggested: str | None, attempts: int, depth: int, action: str, clamped: bool, raised: bool
) -> None:
    book, name = failing(attempts, depth)
    assert (
        book.state.tasks[name].action == action
    )  # recorded with the failure, before anybody is asked
    known = suggested if suggested in ("retry", "replan", "impossible") else None
    if known:
        lines = book.reply("diagnosis", name, diagnosis(known, blockers=["no token"]))
    else:
        book.do(
            answers.answered,
            "diagnosis",
            name,
            None,
            "decision: none of these",
            str(suggested or ""),
        )
        lines = book.do(
            answers.answered,
            "diagnosis",
            name,
            None,
            "decision: none of these",
            str(suggested or ""),
        )[1:]
    kind, data = lines[0]
    assert kind == "task_diagnosed"
    assert (data["action"], data["clamped"], data["raised"]) == (action, clamped, raised)
    assert escalation.weigh(action, suggested) == (clamped, raised)
    assert (book.state.session.status == "failed") is (action == "impossible")
    told = work.escalated(book.state, name, data)
    assert (told["attempts"], told["max_attempts"], told["depth"], told["max_depth"]) == (
        attempts,
        3,
        depth,
        5,
    )


def test_the_table_has_nine_combinations_and_two_more_in_each_column() -> None:
    assert (
        len({(one[0], one[1] >= 3, one[2] >= 5) for one in TABLE if one[1] >= 3 or one[2] != 1})
        >= 15
    )


def test_a_diagnosis_that_says_something_takes_the_place_of_the_panel() -> None:
    book, name = failing(1, 0)
    assert book.wanted == ["diagnosis T-001"] and due.command(book.state) == "loopkit wave next"
    with pytest.raises(Refused, match="nobody has diagnosed"):
        book.do(waves.started, name)
    book.reply(
        "diagnosis", name, diagnosis("replan", "the file is generated", blockers=["generator"])
    )
    row = book.state.tasks[name]
    assert (row.status, row.panel_due) == ("pending", False)
    assert row.diagnosis["reasoning"] == "the file is generated" and row.diagnosis["blockers"] == [
        "generator"
    ]
    assert due.command(book.state) == "loopkit wave next" and book.wanted == []


def test_after_an_unknown_diagnosis_a_panel_is_due() -> None:
    book, name = failing(1, 0)
    for _ in range(2):
        book.do(answers.answered, "diagnosis", name, None, "no record", "hm")
    assert book.state.tasks[name].panel_due and due.command(book.state) == "loopkit panel T-001"
    book.panel(name)
    assert due.command(book.state) == "loopkit wave next"


def test_diagnoses_of_a_wave_are_due_together_once_it_is_closed(book: Roles) -> None:
    book.fail("T-001")
    book.fail("T-002")
    assert not any(one.startswith("diagnosis") for one in book.wanted)
    book.to_judge("T-003")
    book.reply("verification", "T-003", scored(80))
    book.close()
    assert book.wanted == ["diagnosis T-001", "diagnosis T-002"]
    assert waves.choose(book.state, 6) == [], "nobody tries again before it was looked at"
    book.reply("diagnosis", "T-001", diagnosis())
    assert [one.id for one in waves.choose(book.state, 6)] == ["T-001"]


# -- the always-failing task


def hopeless(book: Roles) -> dict[str, int]:
    """Drive a loop whose first task always fails; what was done, counted."""
    count = {"executions": 0, "replans": 0, "goal": 0}

    def answer(one: Asked) -> dict:
        if one.kind == "plan":
            return plan(FALSE, piece("waits", dependencies=[0]))
        if one.kind == "replan":
            count["replans"] += 1
            return replan(piece("smaller", "false"), piece("rest", dependencies=[0]))
        if one.kind == "implementation":
            count["executions"] += 1
        if one.task == "goal":
            count["goal"] += 1
        if one.kind == "test":
            return saw(check=False)  # it claims that all is well
        if one.kind == "diagnosis":
            return diagnosis("impossible", "the service is gone", blockers=["no service"])
        return good(one)

    book.drive(answer)
    return count


def test_an_always_failing_task_takes_18_executions_and_5_replans() -> None:
    book = Roles(settings={"max_fix_cycles": 0})
    assert hopeless(book) == {"executions": 18, "replans": 5, "goal": 0}
    state = book.state
    assert (state.session.status, state.session.verdict, supervision.execution(state)) == (
        "failed",
        "impossible",
        "failed",
    )
    assert state.attempts == 18 and sum(event.type == "task_failed" for event in book.events) == 18
    levels = [one.depth for one in state.tasks.values() if one.attempts == 3]
    assert levels == [0, 1, 2, 3, 4, 5]
    assert due.command(state) is None and book.wanted == []


def test_the_explanation_names_the_whole_reason() -> None:
    book = Roles(settings={"max_fix_cycles": 0})
    hopeless(book)
    reason = book.state.session.reason
    chain = [one.id for one in book.state.tasks.values() if one.attempts == 3]
    assert [reason.index(f"{one} ") for one in chain] == sorted(
        reason.index(f"{one} ") for one in chain
    )
    assert reason.count("(3 attempts)") == 6
    for words in (
        "goal: add rate limiting",
        "last error: false: exits 1",
        "diagnosis: the service is gone",
    ):
        assert words in reason
    assert "blockers: no service" in reason and "0 of 12 tasks were completed" in reason


def test_18_also_with_kills_and_resumes_in_between() -> None:
    """An attempt that was cut short is begun again and not counted; whatever was out is asked
    again."""
    draw, kills = random.Random(5), 0

    class Mortal(Roles):
        def killed(self) -> bool:
            nonlocal kills
            if draw.random() > 0.25:
                return False
            kills += 1
            self.resume()
            return True

    book = Mortal(settings={"max_fix_cycles": 0})
    count = hopeless(book)
    assert kills > 10 and any(event.type == "task_reopened" for event in book.events)
    assert (book.state.attempts, count["replans"], count["goal"]) == (18, 5, 0)
    assert [one.depth for one in book.state.tasks.values() if one.attempts == 3] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert book.state.session.verdict == "impossible"


def test_resumed_work_begins_with_the_coder_again(book: Roles) -> None:
    book.to_judge("T-001")
    book.reply("implementation", "T-002", implemented())
    book.fail("T-003")
    book.resume()
    assert [one.status for one in book.state.tasks.values()] == ["pending"] * 3
    assert due.command(book.state) == "loopkit wave next" and book.wanted == []
    book.wave()
    assert book.wanted == ["implementation T-001", "implementation T-002"]
    assert [one.attempts for one in book.state.tasks.values()] == [0, 0, 1]


def test_impossible_ends_the_loop_and_no_verification_is_run() -> None:
    book, name = failing(3, 5)
    assert book.wanted == [f"diagnosis {name}"]
    book.reply("diagnosis", name, diagnosis("retry", "one more try would do"))
    assert (
        book.state.session.verdict == "impossible"
        and "one more try would do" in book.state.session.reason
    )
    for kind, target in (("verification", "goal"), ("verification", "T-002"), ("diagnosis", name)):
        with pytest.raises(Refused, match="is over"):
            book.reply(kind, target, scored(100))


def test_a_branch_that_was_deep_and_succeeded_takes_no_chance_from_another() -> None:
    """T-001 goes down to depth 5 and succeeds there; T-002 then has its own 3 attempts and its own
    5 levels."""
    book = Roles(settings={"max_fix_cycles": 0})
    actions: list[tuple] = []

    def answer(one: Asked) -> dict:
        if one.kind == "plan":
            return plan(piece("deep"), piece("other", dependencies=[0]))
        task = book.state.tasks.get(one.task)
        if one.kind == "replan":
            return replan(piece(f"{task.subject} smaller"))
        if one.kind == "implementation":
            if task.subject.startswith("deep") and task.depth == 5:
                return implemented()
            return implemented("blocked")
        return good(one)

    book.drive(answer)
    for event in book.events:
        if event.type == "task_failed":
            task = book.state.tasks[event.data["id"]]
            actions.append((task.subject.split()[0], task.depth, event.data["action"]))
    other = [row[1:] for row in actions if row[0] == "other"]
    assert [row for row in actions if row[0] == "deep"][-1][1:] == (4, "replan")
    assert other[:3] == [(0, "retry"), (0, "retry"), (0, "replan")]
    assert len(other) == 18 and other[-1] == (5, "impossible")
    assert book.state.tasks["T-001"].status == "completed"


def test_a_time_limit_pauses_is_raised_and_the_loop_ends() -> None:
    book = Roles()
    book.line("limits_set", seconds=60)
    book.approved()
    book.wave()
    view = snapshots.build(book.state, 0)
    decision = stop.last_rows(book.state.session, view, False, True, {"worked": 61})
    book.line("iteration_ended", "hook", **decision.record)
    assert (book.state.session.status, book.state.session.verdict) == ("paused", "limit_time")
    assert supervision.execution(book.state) == "paused" and book.wanted == []
    with pytest.raises(LimitReached) as caught:
        book.reply("implementation", "T-001", implemented())
    assert caught.value.exit_code == 75
    with pytest.raises(LimitReached):
        waves.next_wave(book.state, False)
    book.line("limits_set", seconds=3600)
    book.line("resumed")
    assert book.wanted == ["implementation T-001", "implementation T-002", "implementation T-003"]
    book.drive(good)
    assert book.state.session.verdict == "achieved"


# -- replans


@pytest.mark.parametrize("depth", range(6))
def test_a_complex_task_is_split_before_coding_down_to_the_last_level(depth: int) -> None:
    book = Roles().approved(piece("large", complexity="complex"), piece("b", dependencies=[0]))
    name = "T-001"
    for _ in range(depth):
        assert book.wanted == [f"replan {name}"]
        book.ask()
        with pytest.raises(Refused, match="is split before it is worked on"):
            book.do(waves.started, name)
        book.reply("replan", name, replan(piece("still large", complexity="complex")))
        name = list(book.state.tasks)[-1]
    row = book.state.tasks[name]
    assert (row.depth, row.attempts) == (depth, 0)
    assert book.wanted == ([f"replan {name}"] if depth < 5 else [])
    if depth == 5:
        book.wave()
        assert book.wanted == [f"implementation {name}"]
    assert book.state.attempts == 0


@pytest.mark.parametrize("complexity", ["simple", "medium"])
def test_simple_and_medium_tasks_run_directly(complexity: str) -> None:
    book = Roles().approved(*[piece(str(number), complexity=complexity) for number in range(3)])
    assert book.wanted == []
    book.wave()
    assert len(book.wanted) == 3


def test_a_complex_task_that_waits_is_split_when_it_is_free() -> None:
    book = Roles().approved(piece("first"), piece("large", complexity="complex", dependencies=[0]))
    assert book.wanted == []
    book.wave()
    book.to_judge("T-001")
    book.reply("verification", "T-001", scored(80))
    book.close()
    assert book.wanted == ["replan T-002"]


def test_parents_complete_with_their_children_over_four_levels() -> None:
    book = Roles(settings={"max_fix_cycles": 0})

    def answer(one: Asked) -> dict:
        if one.kind == "plan":
            return plan(piece("large", complexity="complex"), piece("b"))
        if one.kind == "replan":
            deep = book.state.tasks[one.task].depth < 3
            return replan(piece("part", complexity="complex" if deep else "simple"), piece("rest"))
        return good(one)

    book.drive(answer)
    done = [event.data["id"] for event in book.events if event.type == "task_completed"]
    chain = [one.id for one in book.state.tasks.values() if one.complexity == "complex"]
    assert len(chain) == 4 and [done.index(one) for one in chain] == sorted(
        (done.index(one) for one in chain), reverse=True
    )
    assert book.state.session.verdict == "achieved" and len(done) == len(book.state.tasks)


# -- the goal


def completed(book: Roles) -> Roles:
    """Every task completed, the goal is to be judged."""
    while book.state.open:
        book.wave()
        for name in list(book.state.running):
            book.to_judge(name)
            book.reply("verification", name, scored(85))
        book.close()
    return book


def test_the_goal_is_judged_before_the_thorough_review() -> None:
    book = completed(Roles().approved())
    book.seen()
    assert book.wanted == ["verification goal"] and not supervisor.achieved(book.state)
    book.reply("verification", "goal", scored(70))
    assert supervisor.achieved(book.state) and book.wanted == []
    assert due.command(book.state) == "loopkit review --thorough"


def test_a_goal_under_the_threshold_adds_tasks_and_counts_as_a_plan_revision() -> None:
    book = completed(Roles().approved())
    book.reply("verification", "goal", scored(69, missingElements=["the header"]))
    assert book.wanted == ["plan"] and book.state.supervision.goal["missing"] == ["the header"]
    assert not supervisor.achieved(book.state)
    book.reply("plan", None, plan(piece("the header")))
    assert len(book.state.tasks) == 4 and book.state.supervision.revisions == 1
    assert book.state.stage == "executing" and book.wanted == []
    completed(book)
    assert book.wanted == ["verification goal"]
    book.reply("verification", "goal", scored(88))
    assert supervisor.achieved(book.state)


def test_a_goal_that_is_never_reached_ends_as_impossible_when_the_revisions_are_used_up() -> None:
    book = completed(Roles().approved())
    for number in range(3):
        book.reply("verification", "goal", scored(40))
        book.reply("plan", None, plan(piece(f"more {number}")))
        completed(book)
    assert book.state.session.status == "running"
    assert book.kinds("verification", "goal", scored(40, missingElements=["speed"])) == [
        "goal_judged",
        "loop_failed",
    ]
    reason = book.state.session.reason
    assert book.state.session.verdict == "impossible"
    assert "judged with 40 after 3 plan revisions" in reason and "missing: speed" in reason
    assert "6 of 6 tasks were completed" in reason


def test_remediation_of_the_review_does_not_ask_for_the_goal_again() -> None:
    book = completed(Roles().approved())
    book.reply("verification", "goal", scored(80))
    book.review([{"severity": "BLOCKER", "issue": "x", "verify": "ls"}])
    name = list(book.state.tasks)[-1]
    assert book.state.tasks[name].kind == "remediation"
    completed(book)
    assert supervisor.achieved(book.state) and "verification goal" not in book.wanted


# -- replies


def test_a_reply_is_awaited_by_whoever_is_to_answer(book: Roles) -> None:
    with pytest.raises(Refused, match="no plan is awaited"):
        answers.find(book.state, "plan", None)
    with pytest.raises(
        Refused, match="no test T-001 is awaited, but implementation T-001"
    ) as caught:
        answers.find(book.state, "test", "t-1")
    assert caught.value.todo == "next: loopkit reply implementation T-001 --file -"
    book.line("iteration_ended", "hook", decision="hold", fingerprint="f")
    with pytest.raises(Refused, match="but implementation T-001") as caught:
        answers.find(book.state, "test", "t-1")
    assert caught.value.todo == "next: loopkit wave next"  # whoever had it is gone
    for kind, target in (("praise", None), ("test", None), ("plan", "T-001")):
        with pytest.raises(UsageFault):
            answers.find(book.state, kind, target)
    assert answers.find(book.state, "implementation", "t-1").subject == "T-001"


def test_what_is_out_is_not_dispatched_again_unless_it_is_lost(book: Roles) -> None:
    assert due.undispatched(book.state) == [] and len(due.outstanding(book.state)) == 3
    book.reply("implementation", "T-001", implemented())
    assert [one.kind for one in due.undispatched(book.state)] == ["test"]
    book.line(
        "iteration_ended", "hook", decision="hold", fingerprint="f"
    )  # the session has stopped: agents are gone
    assert len(due.undispatched(book.state)) == 3 and due.outstanding(book.state) == []
    book.reply("implementation", "T-002", implemented())  # one had answered all the same


def ended(book: Roles, *agents: str) -> None:
    for one in agents:
        book.line("subagent_stopped", "hook", agent_id=one, transcript=f"{one}.jsonl")


def test_reports_that_are_on_their_way_survive_one_stop(book: Roles) -> None:
    """Agents in the background: all have ended, the session hears of them one by one and stops
    between two of them."""
    ended(book, "a", "b", "c")
    book.line("iteration_ended", "hook", decision="hold", fingerprint="f")
    assert due.undispatched(book.state) == [] and len(due.outstanding(book.state)) == 3
    book.reply("implementation", "T-001", implemented())
    assert [one.subject for one in due.outstanding(book.state)] == ["T-002", "T-003"]
    book.line(
        "iteration_ended", "hook", decision="hold", fingerprint="f"
    )  # not handed over by then: lost
    assert len(due.undispatched(book.state)) == 3 and due.outstanding(book.state) == []


def test_where_an_agent_has_not_ended_or_the_session_is_another_the_reports_are_lost(
    book: Roles,
) -> None:
    ended(book, "a", "b", "b")
    book.line("iteration_ended", "hook", decision="hold", fingerprint="f")
    assert len(due.undispatched(book.state)) == 3
    other = Roles().executing()
    ended(other, "a", "b", "c")
    other.line("owner_changed", session_id="session-two")
    assert len(due.undispatched(other.state)) == 3


def invalid(book: Roles, kind: str, target: str | None, text: str = "all fine") -> list:
    return book.do(answers.answered, kind, target, None, "it is no record", text)


def test_an_invalid_reply_is_asked_for_once_more_then_a_report_is_taken_as_it_is(
    book: Roles,
) -> None:
    assert [kind for kind, _ in invalid(book, "implementation", "T-001")] == ["reply_unfit"]
    assert book.state.supervision.invalid == {"implementation T-001": "it is no record"}
    assert due.undispatched(book.state)[0] == named("implementation", "T-001")
    assert [kind for kind, _ in invalid(book, "implementation", "T-001")] == [
        "reply_unfit",
        "task_coded",
    ]
    assert book.state.supervision.invalid == {} and book.wanted[0] == "test T-001"


def test_a_judgement_names_its_task_in_any_way_of_writing(book: Roles) -> None:
    book.to_judge("T-001")
    assert answers.find(book.state, "verification", "t-1").subject == "T-001"


def test_an_invalid_test_or_judgement_counts_as_failed(book: Roles) -> None:
    book.reply("implementation", "T-001", implemented())
    invalid(book, "test", "T-001")
    assert invalid(book, "test", "T-001")[1][1]["passed"] is False and book.wanted[0] == "fix T-001"
    book.to_judge("T-002")
    invalid(book, "verification", "T-002")
    kind, data = invalid(book, "verification", "T-002")[1]
    assert (kind, data["band"], data["score"]) == ("task_judged", "reject", None)
    assert book.state.tasks["T-002"].attempts == 1


def test_a_good_reply_clears_what_was_unfit(book: Roles) -> None:
    invalid(book, "implementation", "T-001")
    book.reply("implementation", "T-001", implemented())
    book.reply("test", "T-001", saw("failed"))
    book.reply("fix", "T-001", fixed())
    assert book.state.supervision.misses == {} and book.state.supervision.invalid == {}


# -- states and the next step


def test_execution_states() -> None:
    book = Roles()
    assert supervision.execution(book.state) == "not_started"
    book.approved()
    assert supervision.execution(book.state) == "not_started"
    book.wave()
    assert supervision.execution(book.state) == "running"
    book.line("paused", reason="x")
    assert supervision.execution(book.state) == "paused"
    book.line("resumed")
    book.line("loop_cancelled", reason="x")
    assert supervision.execution(book.state) == "aborted"


def test_the_level_is_told_with_each_judgement(book: Roles) -> None:
    book.to_judge("T-001")
    book.reply("verification", "T-001", scored(69))
    assert book.state.supervision.level == "remind"
    book.to_judge("T-001")
    book.reply("verification", "T-001", scored(90, issues=["a", "b", "c", "d"]))
    assert (
        book.state.supervision.level == "critical"
        and book.state.tasks["T-001"].status == "completed"
    )
    assert supervision.record(book.state)["level"] == "critical"
    assert any("level critical" in one for one in supervision.lines(book.state))


def at_random(book: Roles, draw: random.Random) -> Callable[[Asked], dict]:
    """Roles that answer anything."""

    def answer(one: Asked) -> dict:
        if draw.random() < 0.1:
            return {"invalid": "what was asked?"}
        if one.kind == "plan":
            rows = [
                piece(str(number), complexity=draw.choice(["simple", "medium", "complex"]))
                for number in range(draw.choice([1, 2, 3, 5, 16]))
            ]
            for place in range(1, len(rows)):
                rows[place]["dependencies"] = draw.sample(
                    range(place), draw.randint(0, min(2, place))
                )
            return (
                plan(*rows) if draw.random() < 0.9 else {"tasks": [], "questions": ["which one?"]}
            )
        if one.kind == "replan":
            rows = [
                piece("part", complexity=draw.choice(["simple", "complex"]))
                for _ in range(draw.choice([0, 1, 2, 3]))
            ]
            return {"analysis": "cut", "subtasks": rows}
        if one.kind == "implementation":
            return implemented(draw.choice(["complete"] * 6 + ["blocked", "needs_clarification"]))
        if one.kind == "fix":
            return fixed(draw.choice(["fixed", "fixed", "still_failing", "blocked"]))
        if one.kind == "test":
            return saw(
                draw.choice(["passed"] * 5 + ["failed", "blocked"]), check=draw.random() < 0.8
            )
        if one.kind == "verification":
            return scored(draw.choice([20, 49, 50, 69, 70, 90, 95, 99]))
        return diagnosis(draw.choice(["retry", "replan", "impossible"]))

    return answer


class Unruly(Roles):
    """People, crashes and other commands get in the way of the replies."""

    def __init__(self, draw: random.Random, often: float, **data: Any) -> None:
        self.draw, self.often = draw, often
        super().__init__(**data)

    def killed(self) -> bool:
        if self.draw.random() >= self.often:
            return False
        act = self.draw.choice(
            [
                lambda: self.resume(),
                lambda: self.line("iteration_ended", "hook", decision="hold", fingerprint="f"),
                lambda: (self.line("paused", reason="by hand"), self.line("resumed")),
                lambda: self.do(
                    attempts.failed, self.draw.choice(list(self.state.running)), "given up", None
                ),
                lambda: self.do(
                    work.blocked, self.draw.choice(list(self.state.running)), "external", "a key"
                ),
                lambda: self.do(drafts.removed, self.draw.choice(list(self.state.open))),
                lambda: self.do(drafts.submit, [task("one more")]),
                lambda: self.check(self.draw.choice(list(self.state.tasks)), False),
                lambda: self.do(waves.started, self.draw.choice(list(self.state.open))),
                lambda: self.do(
                    drafts.changed, self.draw.choice(list(self.state.open)), "ls -x", None, None
                ),
            ]
        )
        before = self.state.lines
        with contextlib.suppress(LoopError, IndexError):
            act()
        return self.state.lines > before


@pytest.mark.parametrize("often", [0, 0.15])
@pytest.mark.parametrize("seed", range(15))
def test_no_history_gets_stuck(seed: int, often: float) -> None:
    """Whatever the roles answer, and whatever gets in their way: there is a next step, a question,
    a pause or an end; and the journal folds to the same."""
    draw = random.Random(seed)
    book = Unruly(draw, often, settings={"max_fix_cycles": draw.choice([0, 1, 3])})
    for _ in range(60):
        book.drive(at_random(book, draw))
        session = book.state.session
        if session.question:
            book.line("question_answered", text="that one")
        elif session.status == "paused":
            assert session.verdict == "planner_unusable", session.reason
            book.line("resumed")
        else:
            break
    assert book.state.session.status in ("completed", "failed")
    assert json.dumps(again(book).supervision.__dict__, default=str) == json.dumps(
        book.state.supervision.__dict__, default=str
    )


def test_a_split_task_that_is_rolled_back_waits_for_its_subtasks_again() -> None:
    book = Roles().approved(piece("large", complexity="complex"), piece("b", dependencies=[0]))
    book.line(
        "checkpoint_made",
        number=1,
        sha="a" * 40,
        tree="b" * 40,
        label="start",
        tasks=[],
        parent=None,
        good=True,
    )
    book.reply("replan", "T-001", replan())
    completed(book)
    assert book.state.counts["completed"] == 4
    book.do(checkpoints.rolled_back, book.state.checkpoints.rows[0], 2, ["a.py"], False)
    assert (book.state.tasks["T-001"].status, book.state.tasks["T-001"].block_kind) == (
        "blocked",
        "split",
    )
    assert [one.status for one in book.state.tasks.values()][1:] == [
        "pending"
    ] * 3 and book.state.free == 2
    book.line("recovery", status="REGRESSING", play="rollback", wave=1, counted=True)
    completed(book)
    assert book.state.tasks["T-001"].status == "completed"


@pytest.mark.parametrize("status", ["STALLED", "REGRESSING", "FLIP-FLOPPING", "BLOCKED"])
def test_nothing_is_recovered_where_a_failure_is_impossible(status: str) -> None:
    book, name = failing(3, 5)
    book.state.history.standing = status
    assert recovery.due(book.state) is None
    assert book.wanted == [f"diagnosis {name}"] and due.command(book.state) == "loopkit wave next"


def test_a_parent_whose_completion_was_never_written_is_completed_by_the_next_wave() -> None:
    book = Roles().approved(piece("large", complexity="complex"), piece("b", dependencies=[0]))
    book.reply("replan", "T-001", replan(piece("part", complexity="complex"), piece("rest")))
    book.reply("replan", "T-003", replan())
    completed = work.completed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            work, "completed", lambda state, task, before=(): completed(state, task, before)[:1]
        )
        patch.setattr(resumption, "belated", lambda state: [])
        with pytest.raises(AssertionError, match="loopkit status"):
            book.drive(good)
    assert [one.status for one in book.state.tasks.values()][:3] == [
        "blocked",
        "pending",
        "blocked",
    ]
    assert due.command(book.state) == "loopkit wave next"
    assert book.wave() == [("task_completed", {"id": "T-003"}), ("task_completed", {"id": "T-001"})]
    book.drive(good)
    assert book.state.session.status == "completed"


@pytest.mark.parametrize("policy", ["supervisor", "evidence"])
def test_an_end_that_was_never_written_is_written_by_the_next_wave(policy: str) -> None:
    if policy == "supervisor":
        book, name = failing(3, 5)
        changes = answers.answered(
            book.state, "diagnosis", name, diagnosis("retry", "no way", blockers=["a wall"])
        )
    else:
        book = Book(settings={"max_step_attempts": 1, "max_replan_depth": 0}).planned(task("a"))
        book.wave()
        name, changes = "T-001", attempts.failed(book.state, "T-001", "no", None)
    assert [kind for kind, _ in changes][-1] == "loop_failed"
    for kind, data in changes[:-1]:
        book.line(kind, **data)
    if policy == "evidence":
        book.do(waves.closed)
    assert due.command(book.state) == "loopkit wave next"
    ((kind, data),) = book.wave()
    assert (kind, data["verdict"]) == ("loop_failed", "impossible") and name in data["reason"]
    assert ("no way" in data["reason"] and "a wall" in data["reason"]) == (policy == "supervisor")
    assert due.command(book.state) is None


def test_a_reset_that_was_cut_off_is_ended_by_the_next_wave() -> None:
    book, name = failing(3, 5)
    book.reply("diagnosis", name, diagnosis())
    (reset, *rest) = resumption.again(book.state)
    assert rest
    book.line(reset[0], **reset[1])
    assert (book.state.session.status, book.state.tasks[name].status) == ("running", "failed")
    assert due.command(book.state) == "loopkit wave next"
    assert book.wave()[0][0] == "task_reopened"
    assert book.state.tasks[name].status == "pending"
