"""Detectors: what a loop's batches say about its course (rule: Detectors)."""

from __future__ import annotations

from collections import namedtuple
from itertools import takewhile

from ..journal.parts import (
    BLOCKED,
    FAILED,
    FLIP_FLOPPING,
    PASSED,
    PROGRESSING,
    REGRESSING,
    STALLED,
    TASK_BLOCKED,
    Batch,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Recoveries of one status before the person is asked; batches that have to stall before it counts.
MOST_RECOVERIES, STALL = 2, 3
#: A pass rate below it gives low confidence.
HALF = 0.5

#: One status, how sure it is, where it goes, what to do.
Verdict = namedtuple("Verdict", "status confidence trend recommendation")


def rate(batch: Batch) -> float | None:
    """Passed / (passed + failed); None where nothing was tried to its end."""
    passed, failed = count(batch, PASSED), count(batch, FAILED)
    return passed / (passed + failed) if passed + failed else None


def _rates(batches: Sequence[Batch]) -> list[float]:
    return [value for value in map(rate, batches) if value is not None]


def count(batch: Batch, result: str) -> int:
    """How many tasks of a batch came to this."""
    return sum(outcome.result == result for outcome in batch.outcomes.values())


def judge(batches: Sequence[Batch], used: Mapping[str, int] | None = None) -> Verdict:
    """What the batches since the last recovery say, the oldest first; `used`: {status: counted
    recoveries}. One status, the first that fits: BLOCKED, FLIP-FLOPPING, REGRESSING, STALLED,
    PROGRESSING."""
    status = _status(batches)
    advice = _recommendation(status, batches, used or {})
    return Verdict(status, _confidence(batches, status), trend(batches), advice)


def _status(batches: Sequence[Batch]) -> str:
    if not batches:
        return PROGRESSING
    last = batches[-1]
    if count(last, TASK_BLOCKED):
        return BLOCKED
    if any(row[-3:] == [FAILED, PASSED, FAILED] for row in _histories(batches).values()):
        return FLIP_FLOPPING
    rates = _rates(batches)[-3:]
    if rate(last) is not None and len(rates) == 3 and rates[0] > rates[1] > rates[2]:
        return REGRESSING
    newest = batches[-STALL:]
    idle = not any(count(batch, PASSED) for batch in newest)
    same = set.intersection(*map(_signatures, newest))
    return STALLED if len(newest) == STALL and (idle or same) else PROGRESSING


def _histories(batches: Sequence[Batch]) -> dict[str, list]:
    """{task: results of its attempts}; a batch in which it was blocked was none."""
    found: dict[str, list] = {}
    for batch in batches:
        for name, one in batch.outcomes.items():
            if one.result != TASK_BLOCKED:
                found.setdefault(name, []).append(one.result)
    return found


def _signatures(batch: Batch) -> set[str]:
    failed = (outcome for outcome in batch.outcomes.values() if outcome.result == FAILED)
    return {outcome.signature for outcome in failed if outcome.signature}


def failures(batches: Sequence[Batch]) -> int:
    """Batches in a row, up to the last, in which something failed."""
    return len(list(takewhile(lambda batch: count(batch, FAILED), reversed(batches))))


def same_error(batches: Sequence[Batch]) -> tuple[int, str]:
    """(batches in a row, up to the last, with one and the same error, its signature or "")."""
    left: set[str] = set()
    number = 0
    for batch in reversed(batches):
        found = _signatures(batch) & left if number else _signatures(batch)
        if not found:
            break
        left, number = found, number + 1
    return number, min(left, default="")


def trend(batches: Sequence[Batch]) -> str:
    """improving, stable or declining: the last pass rate against the one before."""
    rates = _rates(batches)[-2:]
    if len(rates) < 2 or rates[0] == rates[1]:
        return "stable"
    return "improving" if rates[1] > rates[0] else "declining"


def _confidence(batches: Sequence[Batch], status: str) -> str:
    last = rate(batches[-1]) if batches else None
    if status != PROGRESSING or last is not None and last < HALF:
        return "low"
    whole = [count(batch, PASSED) == len(batch.outcomes) > 0 for batch in batches[-2:]]
    return "high" if whole == [True, True] else "medium"


def _recommendation(status: str, batches: Sequence[Batch], used: Mapping[str, int]) -> str:
    if status == PROGRESSING:
        return "continue"
    if used.get(status, 0) >= MOST_RECOVERIES:
        return "escalate"
    if status == BLOCKED:
        outcomes = batches[-1].outcomes.items()
        return "unblock:" + ",".join(name for name, row in outcomes if row.result == TASK_BLOCKED)
    return "retry-with-change" if status == STALLED else "rollback"
