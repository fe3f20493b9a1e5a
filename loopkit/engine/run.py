"""The runner: does what is due or gives it to an agent, until it is a person's turn or the end.

It knows neither files nor a terminal. A `Driver` says what is due, asks and records; what happened
comes out as records, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

from ..core.journal.errors import LoopError, Refused
from ..core.steps.kinds import AGENT, FORM, PERSON, Step
from .agents import Agent, Answer, Prompt
from .process import Deadlines

#: Seconds after which whoever waits for agents looks up.
_WAKE = 0.5
#: Rounds after which a run that does not end is given up.
MOST_ROUNDS = 2000
#: Why a run ended: nothing is due any more, a person's turn, a step that cannot be done.
OVER, AT_PERSON, FAILED = "over", "person", "failed"


class Request(NamedTuple):
    """What an agent is asked: its prompt, and the JSON Schema of its reply where it has one. agent,
    deadlines: this step's own; None: those of the run."""

    prompt: Prompt
    schema: dict | None = None
    agent: Agent | None = None
    deadlines: Deadlines | None = None


class Asked(NamedTuple):
    """A step was given to the agent."""

    step: Step


class Answered(NamedTuple):
    """The agent's run for a step has ended."""

    step: Step
    answer: Answer


class Recorded(NamedTuple):
    """Something was recorded for a step. text: lines for people · data: the same as a record ·
    passed: False where a check or a rule says no."""

    step: Step
    text: str
    data: dict
    passed: bool = True


class Unusable(NamedTuple):
    """An answer could not be used; the step is given to the agent once more, which is told why."""

    step: Step
    error: str


class Ended(NamedTuple):
    """The run is over. why: OVER, AT_PERSON or FAILED · step: the one it ended at · text: what to
    know of it."""

    why: str
    step: Step | None = None
    text: str = ""


Record = Asked | Answered | Recorded | Unusable | Ended


class Driver(Protocol):
    """What is run: a loop, a pipeline. Its methods are called by one thread.

    takes: outcomes of answers that it is given; any other ends the run.
    """

    takes: tuple[str, ...]

    def who(self, step: Step) -> str:
        """Who does a step: PROGRAM, AGENT, FORM or PERSON of core/steps/kinds.py."""

    def due(self) -> list[Step]:
        """All that can be worked on side by side now."""

    def do(self, step: Step) -> Iterator[Recorded]:
        """Do a step that needs neither an agent nor a person. Raises LoopError."""

    def ask(self, steps: list[Step], faults: dict[Step, str]) -> dict[Step, Request]:
        """What to ask for these steps, recorded as asked; a step that is left out is no longer due.
        faults: what was wrong with the last answer to a step. Raises LoopError."""

    def take(self, step: Step, answer: Answer) -> Iterator[Recorded]:
        """Record an answer and what follows from it. Raises LoopError where it cannot be used and
        nothing was recorded: the step is due still."""

    def without(self, step: Step, error: LoopError) -> Iterator[Recorded]:
        """Go on where an answer could not be used once more. Raises LoopError where that cannot be:
        it ends the run."""

    def cut(self, step: Step, answer: Answer) -> None:
        """The run was given up, so that an agent was interrupted: what it cost counts."""


def run(
    driver: Driver,
    agent: Agent,
    folder: str | os.PathLike,
    deadlines: Deadlines = Deadlines(),  # noqa: B008  # it is immutable
    side_by_side: int = 4,
    rounds: int = MOST_ROUNDS,
) -> Iterator[Record]:
    """Run a loop; the last record is an `Ended`. Whoever ends the iteration early interrupts the
    agents. An answer that cannot be used is asked for once more. An outcome that the driver does
    not take ends the run as soon as those beside it have been recorded."""
    at_work: list[Agent] = []
    with ThreadPoolExecutor(side_by_side) as pool:

        def begin(request: Request) -> Future[Answer]:
            own = request.agent or agent
            if own not in at_work:
                at_work.append(own)
            limits = request.deadlines or deadlines
            return pool.submit(own.run, request.prompt, request.schema, limits, folder)

        runner = _Run(driver, begin, rounds)
        try:
            yield from runner.records()
        except BaseException:
            for own in at_work:
                own.interrupt()
            for future, step in runner.running.items():
                driver.cut(step, future.result())
            raise


class _Run:
    def __init__(
        self, driver: Driver, begin: Callable[[Request], Future[Answer]], rounds: int
    ) -> None:
        self.driver, self.begin, self.rounds = driver, begin, rounds
        self.running: dict[Future[Answer], Step] = {}
        self.faults: dict[Step, str] = {}
        self.end: Ended | None = None

    def records(self) -> Iterator[Record]:
        for _ in range(self.rounds):
            if self.end is None:
                yield from self._go_on(self.driver.due())
            if self.running:
                yield from self._wait()
            elif self.end is not None:
                yield self.end
                return
        raise Refused(f"no end after {self.rounds} rounds", "this is a defect, please report it")

    def _go_on(self, due: list[Step]) -> Iterator[Record]:
        """Begin what can be begun beside what is under way."""
        agents = [step for step in due if self.driver.who(step) in (AGENT, FORM)]
        begun = [step for step in agents if step not in self.running.values()]
        if not begun and self.running:
            return
        step = begun[0] if begun else due[0] if due else None
        try:
            if begun:
                for step, request in self.driver.ask(begun, self.faults).items():
                    yield Asked(step)
                    self.running[self.begin(request)] = step
            elif step is None:
                self.end = Ended(OVER)
            elif self.driver.who(step) == PERSON:
                self.end = Ended(AT_PERSON, step)
            else:
                yield from self.driver.do(step)
        except LoopError as error:
            self.end = Ended(FAILED, step, str(error))

    def _wait(self) -> Iterator[Record]:
        """Take the answers that have come, at least one."""
        ended: set[Future[Answer]] = set()
        while not ended:  # a signal that comes just before we wait is handled when we wake
            ended = wait(self.running, _WAKE, FIRST_COMPLETED).done
        for future in [future for future in self.running if future in ended]:
            step, answer = self.running.pop(future), future.result()
            yield Answered(step, answer)
            if answer.outcome not in self.driver.takes:
                self.end = Ended(FAILED, step, f"{answer.outcome}: {answer.error}")
                continue
            try:
                yield from self.driver.take(step, answer)
                self.faults.pop(step, None)
            except LoopError as error:
                yield Unusable(step, str(error))
                yield from self._unusable(step, error)

    def _unusable(self, step: Step, error: LoopError) -> Iterator[Record]:
        """It is asked for once more, then gone on without."""
        if step not in self.faults:
            self.faults[step] = str(error)
            return
        del self.faults[step]
        try:
            yield from self.driver.without(step, error)
        except LoopError as fault:
            self.end = Ended(FAILED, step, str(fault))
