"""A run's events, what they come to, and what is due then."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal.events import Event, encode
from loopkit.core.pipeline import due, events, status
from loopkit.core.pipeline.events import RUN, Limits, RunState

STAMP = "2026-12-01T09:00:00Z"


def part(name: str, runs: int = 3, **more: object) -> dict:
    return {"name": name, "completion": "fixed-n", "runs": runs, **more}


def started(*parts: dict, **more: object) -> tuple[str, dict]:
    row = {"words": ["x", "auth"], "parts": list(parts) or [part("a")], "definition": "d"}
    row |= {"session": "auth", "kind": "loop", "pipeline": "x", "project": "/p", "token": "t"}
    return "run_started", {**row, **more}


def ended(iteration: int, stage: int = 0, **more: object) -> tuple[str, dict]:
    row: dict[str, Any] = {"stage": stage, "iteration": iteration, "outcome": "done"}
    row |= {"counted": True, "seconds": 1.5, "elapsed": 2.0 * iteration, "exit": 0}
    return "iteration_ended", {**row, **more}


def begun(iteration: int, stage: int = 0) -> tuple[str, dict]:
    return "iteration_begun", {"stage": stage, "iteration": iteration}


STAGE = ("stage_begun", {"index": 0})


def folded(*rows: tuple[str, dict]) -> RunState:
    state = RunState("auth")
    for kind, data in rows:
        event = RUN.decode(encode(Event(kind, data, STAMP, "run:auth")))
        assert event is not None, (kind, data)
        RUN.check([event])
        RUN.apply(state, event)
    return state


def test_a_start_with_its_limits_and_stages() -> None:
    state = folded(started(part("a"), part("b", 2), iterations=5, usd=2.5, seconds=60))
    assert state.limits == Limits(5, 2.5, 60)
    assert [stage.part.name for stage in state.stages] == ["a", "b"]
    assert (state.status, state.current, state.iteration, state.done) == ("running", 0, 1, 0)


def test_what_counts_is_in_the_history_once() -> None:
    lost = ended(2, counted=False, exit=None, error="fell", usd=0.5)
    state = folded(started(), STAGE, begun(1), ended(1, usd=0.25), begun(2), lost)
    assert (state.done, state.iteration, state.usd, state.unpriced) == (1, 2, 0.75, 0)
    assert [row["iteration"] for row in state.stages[0].rows] == [1]
    assert state.begun is None and not state.untested  # tested before the next one began


def test_the_document_has_the_fields_of_the_format() -> None:
    vote = {"plateau": True}
    state = folded(started(), STAGE, begun(1), ended(1, parsed=vote, usd=0.1), begun(2))
    document = json.loads(json.dumps(events.document(state)))
    assert document["session"] == "auth" and document["type"] == "loop"
    assert (document["iteration"], document["iteration_completed"]) == (2, 1)
    assert document["iteration_started"] == STAMP and document["status"] == "running"
    assert document["history"][0]["plateau"] is True and document["history"][0]["exit"] == 0
    assert document["stages"] == [
        {"index": 1, "name": "a", "status": "running", "timestamp": STAMP, "reason": None}
    ]
    wanted = "completed_at completion_reason resumed_at failed_at error waiting_until spent limits"
    assert set(wanted.split()) < set(document)


def test_time_is_that_of_all_starts_together() -> None:
    resumed = ("run_resumed", {key: started()[1][key] for key in ("words", "parts", "definition")})
    end = ("run_ended", {"status": "paused", "reason": "interrupted", "elapsed": 7.0})
    state = folded(started(), STAGE, begun(1), ended(1), end, resumed, begun(2), ended(2))
    assert state.seconds == 7.0 + 4.0
    assert state.resumed_at == STAMP and state.status == status.RUNNING


def test_a_stage_at_its_limit_is_open_again_with_more_runs() -> None:
    limit = [("stage_ended", {"index": index, "status": "limit"}) for index in (0, 1)]
    rows = [started(part("a", 1), part("b", 1)), STAGE, begun(1), ended(1), limit[0]]
    rows += [("stage_begun", {"index": 1}), begun(1, 1), ended(1, 1), limit[1]]
    state = folded(*rows, ("run_ended", {"status": "limit", "reason": "max_iterations"}))
    assert state.stage is None
    resumed = {"words": [], "definition": "d", "parts": [part("a", 2), part("b", 1)]}
    again = folded(*rows, ("run_resumed", resumed))
    assert again.stage is again.stages[0] and again.iteration == 2
    assert again.stages[1].status == status.LIMIT


def test_stages_that_have_not_begun_may_be_others() -> None:
    state = folded(started(part("a"), part("b"), part("c")), STAGE, begun(1), ended(1))
    resumed = {"words": [], "definition": "e", "parts": [part("a", 9), part("z")]}
    RUN.apply(state, Event("run_resumed", resumed, STAMP, "person"))
    assert [stage.part.name for stage in state.stages] == ["a", "z"]
    assert state.stages[0].done == 1 and state.stages[0].part.runs == 9


def test_what_is_due_after_each_record() -> None:
    rows = [started(part("a", 2), part("b", 1), iterations=3)]
    seen = []
    more = [STAGE, begun(1), ended(1), begun(2), ended(2)]
    more += [("stage_ended", {"index": 0, "status": "completed"}), ("stage_begun", {"index": 1})]
    more += [begun(1, 1), ended(1, 1), ("stage_ended", {"index": 1, "status": "completed"})]
    more += [("run_ended", {"status": "completed"})]
    for row in [None, *more]:
        rows += [row] if row else []
        step = due.due(folded(*rows), 0, False)
        seen.append((step.kind, step.subject) if step else None)
    assert seen == [
        (due.BEGIN_STAGE, 0),
        (due.TEST, 0),
        ("a", 1),
        (due.TEST, 1),
        ("a", 2),
        (due.TEST, 2),
        (due.BEGIN_STAGE, 1),
        (due.TEST, 0),
        ("b", 1),
        (due.TEST, 1),
        (due.END, None),
        None,
    ]


@pytest.mark.parametrize(
    ("limits", "elapsed", "why"),
    [
        ({}, 1e9, ""),
        ({"iterations": 2}, 0, ""),
        ({"iterations": 1}, 0, status.MAX_ITERATIONS),
        ({"usd": 0.5}, 0, status.MAX_COST),
        ({"usd": 0.51}, 0, ""),
        ({"seconds": 10}, 9.9, ""),
        ({"seconds": 10}, 10, status.MAX_DURATION),
    ],
)
def test_a_limit_lets_nothing_more_begin(limits: dict, elapsed: float, why: str) -> None:
    state = folded(started(**limits), STAGE, begun(1), ended(1, usd=0.5))
    over = due.reached(state, elapsed)
    assert (over[0] if over else "") == why
    step = due.due(state, elapsed, True)
    assert step is not None and (step.kind == due.CAP) is bool(why)


@pytest.mark.parametrize(
    ("parts", "limits", "word"),
    [
        ([part("a", 1)], Limits(9, 9, 9000), "all 1 iterations"),
        ([part("a", 2)], Limits(1, 9, 9000), "1 of 1 iterations"),
        ([part("a", 2)], Limits(2, 0.5, 9000), "$0.50 of $0.5 spent"),
        ([part("a", 2)], Limits(2, 9, 2), "2 s of 2 s used"),
        ([part("a", 2)], Limits(2, 9, 9000), ""),
        ([part("a", 2)], Limits(), ""),
    ],
)
def test_going_on_at_a_limit_needs_a_higher_one(parts: list, limits: Limits, word: str) -> None:
    end = ("stage_ended", {"index": 0, "status": "limit"})
    state = folded(started(part("a", 1)), STAGE, begun(1), ended(1, usd=0.5), end)
    assert due.used_up(state, parts, limits).startswith(word)
    assert bool(due.used_up(state, parts, limits)) is bool(word)


OUTCOMES = some.sampled_from([True, False])


@given(some.lists(some.tuples(OUTCOMES, some.floats(0, 10) | some.none()), max_size=30))
def test_money_and_iterations_add_up_whatever_happens(rows: list) -> None:
    events_of, iteration = [started(part("a", 100)), STAGE], 1
    for counted, usd in rows:
        events_of += [begun(iteration), ended(iteration, counted=counted, usd=usd)]
        iteration += counted
    state = folded(*events_of)
    assert state.done == sum(counted for counted, _ in rows)
    assert [row["iteration"] for row in state.stages[0].rows] == list(range(1, state.done + 1))
    assert state.usd == pytest.approx(sum(usd or 0 for _, usd in rows))
    assert state.unpriced == sum(usd is None for _, usd in rows)


def test_checks_speak_of_their_own_stage_alone() -> None:
    """Also where they ran before its first iteration, which the history has no row of."""
    passed = ("validation_ran", {"stage": 0, "iteration": 0, "passed": True, "rows": []})
    over = ("stage_ended", {"index": 0, "status": status.COMPLETED})
    rows = [started(part("a"), part("b")), STAGE, passed]
    assert folded(*rows).validated is True and folded(*rows).stages[0].rows == []
    assert folded(*rows, over, ("stage_begun", {"index": 1})).validated is None
