"""Completion strategies that need no more than the history."""

from __future__ import annotations

import pytest

from loopkit.core.pipeline import completion
from loopkit.core.pipeline.completion import COMPLETE, OPEN

MARKERS = {"done": "PLATEAU"}
VOTE = {"T": True, "F": False, "-": None, "?": "maybe", "1": 1}


def first_complete(votes: str, least: int) -> int | None:
    rows = [{"done": VOTE[vote]} for vote in votes]
    for number in range(len(rows) + 1):
        if completion.plateau(rows[:number], MARKERS, least).word == COMPLETE:
            return number
    return None


@pytest.mark.parametrize(
    ("votes", "least", "after"),
    [
        ("TT", 1, 2),
        ("TT", 2, 2),
        ("TTT", 3, 3),
        ("FT", 2, None),
        ("TFTT", 2, 4),
        ("T-T", 2, None),
        ("T-TT", 2, 4),
        ("T?TT", 2, 4),
        ("11", 2, None),
        ("T", 1, None),
        ("", 1, None),
        ("FFFFF", 2, None),
        ("TFTTTT", 5, 5),
    ],
)
def test_two_agents_in_a_row_have_to_agree(votes: str, least: int, after: int | None) -> None:
    assert first_complete(votes, least) == after


def test_without_the_marker_nothing_is_complete() -> None:
    rows = [{"x": True}, {"x": True}]
    assert completion.plateau(rows, {"x": "OTHER"}, 2).word == OPEN


@pytest.mark.parametrize(
    ("done", "wanted", "word"), [(0, 0, COMPLETE), (2, 3, OPEN), (3, 3, COMPLETE)]
)
def test_counted(done: int, wanted: int, word: str) -> None:
    assert completion.counted(done, wanted, "items").word == word
