"""An agent around an agent: it tries again what passes, and waits for the end of a usage limit.

Waiting goes by the wall clock, in short pieces, so that it survives a machine that sleeps; what was
cut off by a limit begins anew and is not counted by whoever counts answers.
"""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable

from ...core.journal import clock
from ..process import Deadlines
from . import INTERRUPTED, LIMIT, SPENT, TRANSIENT, Agent, Answer, Prompt, known_cost, unheard

#: Tries after the first (spec/looper.md, 7), and the failure after which the fallback takes over.
RETRIES, FALLBACK_FROM = 3, 2
#: Seconds to wait where a limit says nothing: the least, and the exponent's end (spec/hierarchy.md,
#: 8).
_LEAST, _MOST_HITS = 60.0, 6
#: Seconds after a stated reset: two clocks never agree.
_MARGIN = 5.0
#: Seconds of one piece of waiting; and between two lines about it: half of what is left, within.
_PIECE, _SOONEST, _LATEST = 30.0, 60.0, 1800.0
#: Characters of a failure that a countdown repeats.
_WHY = 100
#: A stated time of day that has just passed is no day away; nor is it where clocks change.
_DAY, _SLACK = 86400.0, 3700.0


class Patient:
    """Runs prompts with `agent`; from the second try again on with `fallback`, where there is one.

    end: gives seconds since 1970 after which nothing more is waited for, asked where nobody waits
    yet, so that waiting takes no time away; a limit that lasts longer is the answer · told: gets a
    line about each try and a countdown · waiting: gets the time until which it waits, and None
    afterwards. clock, pause and chance stand for the wall clock, a wait that tells whether it was
    interrupted, and a number from 0 to 1.
    """

    def __init__(
        self,
        agent: Agent,
        fallback: Agent | None = None,
        end: Callable[[], float] = lambda: math.inf,
        told: Callable[[str], None] = unheard,
        waiting: Callable[[float | None], object] = lambda until: None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], bool] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.agent, self.fallback, self.end = agent, fallback, end
        self.told, self.waiting, self.clock, self.chance = told, waiting, clock, chance
        self.stop = threading.Event()
        self.pause = pause or self.stop.wait
        self.lock = threading.Lock()
        self.hits = 0  # limits in a row, of all runs together
        self.last = math.inf  # until when these are waited for
        self.opens = 0.0  # until when nothing is begun
        self.stated = 0.0  # the last reset that was waited for

    def interrupt(self) -> None:
        """End every run and all waiting, now and later."""
        self.stop.set()
        for agent in (self.agent, self.fallback):
            if agent is not None:
                agent.interrupt()

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        """The answer of the last try, with the costs of all."""
        failures, costs, started = 0, list[float](), self.clock()
        while True:
            agent = self.fallback if failures >= FALLBACK_FROM and self.fallback else self.agent
            left = None if prompt.budget is None else prompt.budget - sum(costs)
            if costs and left is not None and left <= 0:
                answer = Answer(SPENT, error="the tries before it have used up its budget")
            else:
                if not self._wait(self.opens, "a usage limit"):
                    return _with_costs(_INTERRUPTED, costs, started)
                answer = agent.run(prompt._replace(budget=left), schema, deadlines, folder)
            cost = known_cost(answer.cost)
            costs += [] if cost is None else [cost]
            failures += answer.outcome == TRANSIENT
            until = self._again(answer, failures)
            if until is None:
                return _with_costs(answer, costs, started)
            if not self._wait(until, answer.error[:_WHY] or answer.outcome):
                return _with_costs(_INTERRUPTED._replace(text=answer.text), costs, started)

    def _again(self, answer: Answer, failures: int) -> float | None:
        """When to try again; None: this is the answer."""
        now = self.clock()
        if answer.outcome == LIMIT:
            self.last = self.last if self.hits else self.end()
            until, last = self._reset(answer.until, now), self.last
        elif answer.outcome == TRANSIENT and failures <= RETRIES:
            until, last = now + 2 ** (failures - 1) * (0.5 + self.chance() / 2), self.end()
        else:
            self.hits = 0
            return None
        return None if until > last else until

    def _reset(self, stated: float | None, now: float) -> float:
        with self.lock:
            self.hits += 1
            known = stated is not None and now < stated < now + 400 * _DAY
            if known and abs(stated - _DAY - self.stated) < _SLACK:  # type: ignore[operator]
                known = False  # what we have just waited for, said once more
            if known:
                self.stated = stated  # type: ignore[assignment]
                self.opens = self.stated + _MARGIN
            else:
                self.opens = now + max(_LEAST, float(2 ** min(self.hits, _MOST_HITS)))
            return self.opens

    def _wait(self, until: float, why: str) -> bool:
        """Whether the time has come; False where somebody ended it."""
        now = self.clock()
        if until <= now:
            return not self.stop.is_set()
        self.waiting(until)
        try:
            return self._count_down(until, now, why)
        finally:
            self.waiting(None)

    def _count_down(self, until: float, now: float, why: str) -> bool:
        due = now
        while now < until:
            left = until - now
            if now >= due:
                at = f" at {_local(until)}," if left >= _SOONEST else ""
                self.told(f"{why}: goes on{at} in {clock.human(math.ceil(left))}")
                due = now + max(min(left / 2, _LATEST), _SOONEST)
                due = due if until - due > _PIECE else until
            if self.pause(min(_PIECE, left)):
                return False
            now = self.clock()
        return not self.stop.is_set()


_INTERRUPTED = Answer(INTERRUPTED, error="it was ended while it waited")


def _with_costs(answer: Answer, costs: list[float], started: float) -> Answer:
    return answer._replace(cost=sum(costs) if costs else None, started=started)


def _local(at: float) -> str:
    """A time as people read it here, with its zone: `13:00 CET`, `Tue 13:00 CET`."""
    day = "" if time.localtime(at)[:3] == time.localtime()[:3] else "%a "
    return time.strftime(f"{day}%H:%M %Z", time.localtime(at))
