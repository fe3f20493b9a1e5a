"""Trying again and waiting for limits, on a clock that stands still unless somebody waits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.engine.agents import Answer, Prompt, patient
from loopkit.engine.process import Deadlines

NOON = 1_796_126_400.0


class Clock:
    """asleep: seconds that pass besides at each wait, as on a machine that sleeps."""

    def __init__(self, asleep: float = 0) -> None:
        self.now, self.asleep, self.waits = NOON, asleep, list[float]()
        self.hook: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds + self.asleep
        self.hook()
        return False


class Fake:
    """An agent that gives these answers one after the other, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.prompts = list(answers), list[Prompt]()
        self.ended = False

    def run(self, prompt: Prompt, schema: object, deadlines: object, folder: object) -> Answer:
        self.prompts.append(prompt)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def interrupt(self) -> None:
        self.ended = True


DONE, PASSES = Answer("done", "x"), Answer("transient", error="overloaded")
LIMIT = Answer("limit", error="You've hit your limit")


def run(agent: Fake, clock: Clock, budget: float | None = None, **named: object) -> Answer:
    made = patient.Patient(agent, clock=clock, pause=clock.pause, chance=lambda: 1.0, **named)  # type: ignore
    return made.run(Prompt("p", budget=budget), None, Deadlines(), Path("/"))


@pytest.mark.parametrize("outcome", ["done", "empty", "denied", "fatal", "timed_out", "spent"])
def test_other_ends_are_given_on_at_once(outcome: str) -> None:
    agent, clock = Fake(Answer(outcome, cost=0.5)), Clock()
    answer = run(agent, clock)
    assert (answer.outcome, answer.cost, clock.waits) == (outcome, 0.5, [])


@pytest.mark.parametrize(("times", "outcome"), [(1, "done"), (3, "done"), (4, "transient")])
def test_what_passes_is_tried_three_times_more_with_longer_waits(times: int, outcome: str) -> None:
    agent, clock = Fake(*[PASSES] * times, DONE), Clock()
    assert run(agent, clock).outcome == outcome
    assert clock.waits == [1, 2, 4][: min(times, 3)]


def test_waits_have_jitter() -> None:
    clock = Clock()
    made = patient.Patient(Fake(PASSES, DONE), clock=clock, pause=clock.pause, chance=lambda: 0.0)
    made.run(Prompt("p"), None, Deadlines(), Path("/"))
    assert clock.waits == [0.5]


def test_from_the_second_try_on_the_fallback_answers() -> None:
    agent, second = Fake(PASSES), Fake(PASSES, Answer("done", "second"))
    assert run(agent, Clock(), fallback=second).text == "second"
    assert (len(agent.prompts), len(second.prompts)) == (2, 2)


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([1.0, 0.5], 1.5),
        ([None, 0.5], 0.5),
        ([math.nan, -1.0], None),
        ([None, None], None),
        ([math.inf, 2.0], 2.0),
    ],
)
def test_all_tries_cost_what_is_no_amount_counts_nothing(costs: list, total: object) -> None:
    agent = Fake(PASSES._replace(cost=costs[0]), DONE._replace(cost=costs[1]))
    assert run(agent, Clock()).cost == total


def test_tries_share_one_budget() -> None:
    agent = Fake(PASSES._replace(cost=0.7), DONE._replace(cost=0.1))
    assert run(agent, Clock(), budget=1.0).outcome == "done"
    assert [round(prompt.budget or 0, 2) for prompt in agent.prompts] == [1.0, 0.3]
    spent = run(Fake(PASSES._replace(cost=1.0)), Clock(), budget=1.0)
    assert (spent.outcome, spent.cost) == ("spent", 1.0)


# -- limits


@pytest.mark.parametrize("asleep", [0.0, 3000.0], ids=["awake", "asleep in between"])
def test_a_stated_reset_is_waited_for_by_the_wall_clock(asleep: float) -> None:
    agent, clock = Fake(LIMIT._replace(until=NOON + 7200), DONE), Clock(asleep)
    seen: list[float | None] = []
    assert run(agent, clock, waiting=seen.append).outcome == "done"
    assert NOON + 7200 < clock.now < NOON + 7200 + 40 + asleep
    assert max(clock.waits) <= 30, "a piece at a time, or a machine that slept would sleep on"
    assert seen == [NOON + 7205, None]


def test_a_countdown_is_told() -> None:
    agent, clock, told = Fake(LIMIT._replace(until=NOON + 5 * 3600), DONE), Clock(), list[str]()
    run(agent, clock, told=told.append)
    assert told[0].startswith("You've hit your limit: goes on at ") and "in 5 h" in told[0]
    assert 10 <= len(told) <= 25, "not a line each piece"
    assert told[-1].endswith("in 1 min 5 s")


@pytest.mark.parametrize("until", [None, NOON - 1, NOON, math.nan, NOON + 1e9])
def test_nothing_stated_waits_a_minute(until: float | None) -> None:
    agent, clock = Fake(LIMIT._replace(until=until), DONE), Clock()
    assert run(agent, clock).outcome == "done"
    assert clock.now == NOON + 60


def test_at_the_sixth_a_little_longer_and_limits_are_no_tries() -> None:
    agent, clock = Fake(*[LIMIT] * 8, PASSES, PASSES, PASSES, DONE), Clock()
    assert run(agent, clock).outcome == "done"
    assert clock.now == NOON + 5 * 60 + 3 * 64 + 1 + 2 + 4


def test_a_time_that_was_just_waited_for_is_not_tomorrows() -> None:
    first, again = LIMIT._replace(until=NOON + 600), LIMIT._replace(until=NOON + 600 + 86400)
    agent, clock = Fake(first, again, DONE), Clock()
    assert run(agent, clock).outcome == "done"
    assert clock.now == NOON + 605 + 60


@pytest.mark.parametrize(
    ("until", "outcome"), [(NOON + 3000, "done"), (NOON + 3600, "limit"), (None, "done")]
)
def test_a_reset_beyond_the_end_is_the_answer(until: float | None, outcome: str) -> None:
    agent, clock = Fake(LIMIT._replace(until=until), DONE), Clock()
    answer = run(agent, clock, end=lambda: NOON + 3600)
    assert answer.outcome == outcome
    if outcome == "limit":
        assert (answer.until, clock.waits) == (until, [])


def test_a_limit_that_never_ends_ends_with_the_run() -> None:
    agent, clock = Fake(LIMIT), Clock()
    assert run(agent, clock, end=lambda: clock.now + 7200).outcome == "limit"
    assert NOON + 7100 < clock.now <= NOON + 7200


def test_waiting_takes_none_of_the_time() -> None:
    """Each limit is waited for as long as is left, though all of them last longer."""
    clock = Clock()
    resets = [LIMIT._replace(until=NOON + 5000 * n) for n in (1, 2, 3)]
    agent = Fake(resets[0], DONE, resets[1], DONE, resets[2], DONE)
    made = patient.Patient(agent, clock=clock, pause=clock.pause, end=lambda: clock.now + 7200)
    for _ in resets:
        assert made.run(Prompt("p"), None, Deadlines(), Path("/")).outcome == "done"
    assert clock.now == NOON + 15005


def test_whoever_begins_meanwhile_waits_as_well() -> None:
    clock = Clock()
    agent = Fake(LIMIT._replace(until=NOON + 600), DONE)
    made = patient.Patient(agent, clock=clock, pause=clock.pause, end=lambda: NOON + 10)
    assert made.run(Prompt("p"), None, Deadlines(), Path("/")).outcome == "limit"
    assert made.run(Prompt("p"), None, Deadlines(), Path("/")).outcome == "done"
    assert clock.now == NOON + 605


def test_an_interrupt_ends_the_wait() -> None:
    agent, waits = Fake(LIMIT._replace(until=time.time() + 7200)), threading.Event()
    made = patient.Patient(agent, waiting=lambda until: waits.set())
    answers: list[Answer] = []
    thread = threading.Thread(
        target=lambda: answers.append(made.run(Prompt("p"), None, Deadlines(), Path("/")))
    )
    thread.start()
    waits.wait(60)
    made.interrupt()
    thread.join(60)
    assert [answer.outcome for answer in answers] == ["interrupted"] and agent.ended
    assert made.run(Prompt("p"), None, Deadlines(), Path("/")).outcome == "interrupted"
