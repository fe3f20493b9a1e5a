"""The runner: what it asks when, what it does with answers, how it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from loopkit.core.journal.errors import LoopError, Refused
from loopkit.core.steps.kinds import KINDS, Step, step
from loopkit.engine import run
from loopkit.engine.agents import Answer, Prompt
from loopkit.engine.process import Deadlines
from loopkit.engine.run import Asked, Ended, Recorded, Request, Unusable

CODE = [step("implementation", name) for name in ("T-001", "T-002", "T-003")]
OPEN, CLOSE = step("open_wave", 1), step("close_wave", 1)


class Driver:
    """Steps in groups, one after the other; each is done once it was done or answered.

    refuses: how often the answer to a step cannot be used · spare: steps that can be gone on without.
    """

    def __init__(
        self, *groups: list[Step], refuses: dict[Step, int] | None = None, spare: tuple = ()
    ) -> None:
        self.groups = [list(group) for group in groups]
        self.refuses, self.spare = refuses or {}, spare
        self.told: list[str] = []
        self.taken: list[tuple[Step, str]] = []
        self.takes: tuple[str, ...] = ("done", "empty")
        self.own: dict[Step, Request] = {}

    def who(self, one: Step) -> str:
        return KINDS[one.kind].who

    def due(self) -> list[Step]:
        self.groups = [group for group in self.groups if group]
        return self.groups[0] if self.groups else []

    def _done(self, one: Step, text: str) -> Iterator[Recorded]:
        if self.refuses.get(one, 0) > 0:
            self.refuses[one] -= 1
            raise Refused(f"no: {text}")
        self.groups[0].remove(one)
        self.taken.append((one, text))
        yield Recorded(one, text, {})

    def do(self, one: Step) -> Iterator[Recorded]:
        return self._done(one, "did it")

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        self.told += [faults[one] for one in steps if one in faults]
        usual = {one: Request(Prompt("do it", one.kind, one.subject)) for one in steps}
        return usual | {one: self.own[one] for one in steps if one in self.own}

    def take(self, one: Step, answer: Answer) -> Iterator[Recorded]:
        return self._done(one, answer.text)

    def cut(self, one: Step, answer: Answer) -> None:
        self.taken.append((one, answer.outcome))

    def without(self, one: Step, error: LoopError) -> Iterator[Recorded]:
        if one not in self.spare:
            raise error
        return self._done(one, "went without")


class Agent:
    """Answers by subject or kind; `done` otherwise. Where `meet` is given, only once so many are at
    work."""

    def __init__(self, meet: int = 0, **answers: Answer) -> None:
        self.answers = answers
        self.interrupted = threading.Event()
        self.barrier = threading.Barrier(meet, timeout=60) if meet else None

    def interrupt(self) -> None:
        self.interrupted.set()

    def run(self, prompt: Prompt, schema: Any, deadlines: Deadlines, folder: Any) -> Answer:
        if self.barrier:
            self.barrier.wait()
        answer = self.answers.get((prompt.subject or prompt.kind).replace("-", "_"))
        if answer and answer.outcome == "interrupted":
            assert self.interrupted.wait(60)
        return answer or Answer("done", f"{prompt.kind} {prompt.subject}")


def ran(driver: Driver, agent: Agent | None = None, side_by_side: int = 1) -> list[run.Record]:
    return list(run.run(driver, agent or Agent(), ".", side_by_side=side_by_side))


def test_steps_are_done_or_asked_in_the_order_they_fall_due() -> None:
    driver = Driver([OPEN], CODE[:1], [CLOSE], [step("score")])
    records = ran(driver)
    assert [type(record).__name__ for record in records] == [
        *("Recorded", "Asked", "Answered", "Recorded", "Recorded", "Asked", "Answered"),
        *("Recorded", "Ended"),
    ]
    assert [one.kind for one, _ in driver.taken] == [
        *("open_wave", "implementation", "close_wave", "score")
    ]
    assert records[-1] == Ended("over")


def test_steps_of_several_agents_are_worked_on_side_by_side() -> None:
    driver = Driver(CODE, [CLOSE])
    records = ran(driver, Agent(meet=3), side_by_side=3)
    assert [record.step for record in records[:3] if isinstance(record, Asked)] == CODE
    assert driver.taken[-1] == (CLOSE, "did it")


def test_what_falls_due_meanwhile_is_begun_beside_what_is_under_way() -> None:
    class Tested(Driver):
        """The test of T-001 is due once it is written, while T-002 is still under way."""

        def take(self, one: Step, answer: Answer) -> Iterator[Recorded]:
            if one == CODE[0]:
                self.groups[0].append(step("test", "T-001"))
            return super().take(one, answer)

    class Waiting(Agent):
        """Who writes T-002 waits for the test of T-001."""

        def run(self, prompt: Prompt, *rest: Any) -> Answer:
            if prompt.subject == "T-002":
                assert self.interrupted.wait(60)
            if prompt.kind == "test":
                self.interrupted.set()
            return Answer("done", "x")

    assert ran(Tested(CODE[:2]), Waiting(), side_by_side=2)[-1] == Ended("over")


def test_a_persons_step_ends_it() -> None:
    driver = Driver([OPEN], [step("confirm", "tasks")])
    assert ran(driver)[-1] == Ended("person", step("confirm", "tasks"))


def test_an_answer_that_cannot_be_used_is_asked_for_once_more() -> None:
    driver = Driver([step("score")], [CLOSE], refuses={step("score"): 1})
    records = ran(driver)
    assert [record for record in records if isinstance(record, Unusable)] == [
        Unusable(step("score"), "no: score None")
    ]
    assert driver.told == ["no: score None"], "the agent is told why"
    assert records[-1] == Ended("over")


def test_and_a_second_time_ends_it() -> None:
    records = ran(Driver([step("score")], refuses={step("score"): 2}))
    assert records[-1] == Ended("failed", step("score"), "no: score None")


def test_or_it_is_gone_on_without() -> None:
    driver = Driver([step("score")], [CLOSE], refuses={step("score"): 2}, spare=(step("score"),))
    assert ran(driver)[-1] == Ended("over")
    assert driver.taken == [(step("score"), "went without"), (CLOSE, "did it")]


def test_an_answer_that_was_taken_wipes_the_slate() -> None:
    driver = Driver([step("score")], [CLOSE], [step("score")], refuses={step("score"): 1, CLOSE: 0})
    take = driver.take

    def refusing(one: Step, answer: Answer) -> Iterator[Recorded]:
        if driver.groups == [[step("score")]] and len(driver.told) == 1:
            driver.refuses[one] = 1
        return take(one, answer)

    driver.take = refusing  # type: ignore[method-assign]
    assert ran(driver)[-1] == Ended("over")
    assert len(driver.told) == 2


@pytest.mark.parametrize(
    "outcome", ["limit", "transient", "fatal", "denied", "timed_out", "interrupted"]
)
def test_an_agent_that_fails_ends_it_and_nothing_is_recorded_of_it(outcome: str) -> None:
    agent = Agent(T_001=Answer(outcome, "half", error="why"))
    agent.interrupt()
    driver = Driver(CODE[:1])
    assert ran(driver, agent)[-1] == Ended("failed", CODE[0], f"{outcome}: why")
    assert driver.taken == []


def test_what_others_answer_beside_one_that_fails_is_still_recorded() -> None:
    agent = Agent(meet=3, T_001=Answer("fatal", error="why"))
    driver = Driver(CODE, [CLOSE])
    assert ran(driver, agent, side_by_side=3)[-1] == Ended("failed", CODE[0], "fatal: why")
    assert sorted(one.subject for one, _ in driver.taken) == ["T-002", "T-003"]


def test_an_agent_that_says_nothing_has_answered() -> None:
    driver = Driver(CODE[:1])
    assert ran(driver, Agent(T_001=Answer("empty")))[-1] == Ended("over")


def test_a_rule_that_says_no_to_the_program_ends_it() -> None:
    records = ran(Driver([CLOSE], refuses={CLOSE: 1}))
    assert records == [Ended("failed", CLOSE, "no: did it")]


def test_whoever_stops_listening_interrupts_the_agents() -> None:
    agent = Agent(T_001=Answer("interrupted"), T_002=Answer("interrupted"))
    driver = Driver(CODE[:2])
    records = run.run(driver, agent, ".", side_by_side=2)
    assert [next(records), next(records)] == [Asked(CODE[0]), Asked(CODE[1])]
    records.close()  # type: ignore[attr-defined]
    assert agent.interrupted.is_set()
    assert driver.taken == [(CODE[0], "interrupted")]  # the second was not begun yet


def test_a_step_that_stays_due_is_given_up() -> None:
    class Stuck(Driver):
        def do(self, one: Step) -> Iterator[Recorded]:
            yield Recorded(one, "nothing", {})

    with pytest.raises(Refused, match="no end after 2000 rounds"):
        ran(Stuck([CLOSE]))


def test_a_step_may_have_an_agent_and_deadlines_of_its_own() -> None:
    driver, seen = Driver(CODE[:2]), []

    class Other(Agent):
        def run(self, prompt: Prompt, schema: Any, deadlines: Deadlines, folder: Any) -> Answer:
            seen.append((prompt.subject, deadlines))
            return super().run(prompt, schema, deadlines, folder)

    short = Deadlines(1, 2, 3)
    driver.own[CODE[1]] = Request(Prompt("do it", "other", "T-002"), None, Other(), short)
    ran(driver)
    assert seen == [("T-002", short)]
    assert driver.taken == [(CODE[0], "implementation T-001"), (CODE[1], "other T-002")]


def test_a_driver_may_take_every_outcome() -> None:
    driver = Driver(CODE[:1])
    driver.takes = ("done", "fatal")
    assert ran(driver, Agent(T_001=Answer("fatal", "it fell")))[-1] == Ended(run.OVER)
    assert driver.taken == [(CODE[0], "it fell")]


def test_a_run_that_does_not_end_is_given_up() -> None:
    with pytest.raises(Refused, match="no end after 3 rounds"):
        list(run.run(Driver(*[[OPEN]] * 9), Agent(), ".", rounds=3))
