"""Completion strategies that need to know no more than the run: plateau, fixed-n, all-items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import status
from .definitions import VOTE

#: What a strategy says of a stage: it is complete; it goes on; somebody else has to act.
COMPLETE, OPEN, WAITING = "complete", "open", status.WAITING


class Verdict(NamedTuple):
    """word: COMPLETE, OPEN or WAITING · reason: why, in a line."""

    word: str
    reason: str = ""


def plateau(rows: Sequence[Mapping], markers: Mapping[str, str], least: int) -> Verdict:
    """Two agents in a row found nothing more to do. rows: the stage's entries of the history."""
    if len(rows) < max(least, 2):
        return Verdict(OPEN)
    key = next((key for key, marker in markers.items() if marker == VOTE), "")
    votes = [row.get(key) is True for row in rows[-2:]]
    if not all(votes):
        return Verdict(OPEN)
    return Verdict(COMPLETE, f"iterations {len(rows) - 1} and {len(rows)} found nothing more")


def counted(done: int, wanted: int, what: str) -> Verdict:
    """So many were wanted: iterations, items."""
    return Verdict(COMPLETE, f"{done} of {wanted} {what}") if done >= wanted else Verdict(OPEN)
