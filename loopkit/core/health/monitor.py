"""Detectors: what a loop's batches say about its course (rule: Detectors)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from itertools import takewhile

from ..journal import parts
from ..journal.parts import Batch

#: Recoveries of one status before the person is asked; batches that have to stall before it counts.
MOST_RECOVERIES, STALL = 2, 3
#: A pass rate below it gives low confidence.
HALF = 0.5

#: One status, how sure it is, where it goes, what to do.
Verdict = namedtuple("Verdict", "status confidence trend recommendation")


def rate(batch: Batch) -> float | None:
    """Passed / (passed + failed); None where nothing was tried to its end."""
    passed, failed = count(batch, parts.PASSED), count(batch, parts.FAILED)
    return passed / (passed + failed) if passed + failed else None


def _rates(batches: Sequence[Batch]) -> list[float]:
    return [value for value in map(rate, batches) if value is not None]


def count(batch: Batch, result: str) -> int:
    """How many tasks of a batch came to this."""
    return sum(outcome.result == result for outcome in batch.outcomes.values())


def judge(batches: Sequence[Batch], used: Mapping[str, int] | None = None) -> Verdict:
    """What the batches since the last recovery say, the oldest first: the first status that fits,
    as in parts.STATUSES. used: {status: counted recoveries}."""
    status = _status(batches)
    advice = _recommendation(status, batches, used or {})
    return Verdict(status, _confidence(batches, status), trend(batches), advice)


def _status(batches: Sequence[Batch]) -> str:
    if not batches:
        return parts.PROGRESSING
    last = batches[-1]
    if count(last, parts.TASK_BLOCKED):
        return parts.BLOCKED
    flips = [parts.FAILED, parts.PASSED, parts.FAILED]
    if any(row[-3:] == flips for row in _histories(batches).values()):
        return parts.FLIP_FLOPPING
    rates = _rates(batches)[-3:]
    if rate(last) is not None and len(rates) == 3 and rates[0] > rates[1] > rates[2]:
        return parts.REGRESSING
    newest = batches[-STALL:]
    idle = not any(count(batch, parts.PASSED) for batch in newest)
    same = set.intersection(*map(_signatures, newest))
    return parts.STALLED if len(newest) == STALL and (idle or same) else parts.PROGRESSING


def _histories(batches: Sequence[Batch]) -> dict[str, list]:
    """{task: results of its attempts}; a batch in which it was blocked was none."""
    histories: dict[str, list] = {}
    for name, outcome in (pair for batch in batches for pair in batch.outcomes.items()):
        if outcome.result != parts.TASK_BLOCKED:
            histories.setdefault(name, []).append(outcome.result)
    return histories


def _signatures(batch: Batch) -> set[str]:
    failed = (outcome for outcome in batch.outcomes.values() if outcome.result == parts.FAILED)
    return {outcome.signature for outcome in failed if outcome.signature}


def failures(batches: Sequence[Batch]) -> int:
    """Batches in a row, up to the last, in which something failed."""
    return len(list(takewhile(lambda batch: count(batch, parts.FAILED), reversed(batches))))


def same_error(batches: Sequence[Batch]) -> tuple[int, str]:
    """(batches in a row, up to the last, with one and the same error, its signature or "")."""
    left: set[str] = set()
    number = 0
    for batch in reversed(batches):
        common = _signatures(batch) & left if number else _signatures(batch)
        if not common:
            break
        left, number = common, number + 1
    return number, min(left, default="")


def trend(batches: Sequence[Batch]) -> str:
    """improving, stable or declining: the last pass rate against the one before."""
    rates = _rates(batches)[-2:]
    if len(rates) < 2 or rates[0] == rates[1]:
        return "stable"
    return "improving" if rates[1] > rates[0] else "declining"


def _confidence(batches: Sequence[Batch], status: str) -> str:
    last = rate(batches[-1]) if batches else None
    if status != parts.PROGRESSING or last is not None and last < HALF:
        return "low"
    whole = [count(batch, parts.PASSED) == len(batch.outcomes) > 0 for batch in batches[-2:]]
    return "high" if whole == [True, True] else "medium"


def _recommendation(status: str, batches: Sequence[Batch], used: Mapping[str, int]) -> str:
    if status != parts.PROGRESSING and used.get(status, 0) >= MOST_RECOVERIES:
        return "escalate"
    if status == parts.BLOCKED:
        rows = batches[-1].outcomes.items()
        names = [name for name, row in rows if row.result == parts.TASK_BLOCKED]
        return "unblock:" + ",".join(names)
    advice = {parts.PROGRESSING: "continue", parts.STALLED: "retry-with-change"}
    return advice.get(status, "rollback")
