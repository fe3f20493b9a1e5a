"""Markers of an agent's message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.pipeline import parsing

MARKERS = {"plateau": "PLATEAU", "reasoning": "REASONING"}


@pytest.mark.parametrize(
    ("text", "plateau", "reasoning"),
    [
        ("PLATEAU: true\nREASONING: all good", True, "all good"),
        ("PLATEAU: TRUE", True, None),
        ("PLATEAU:yes", True, None),
        ("PLATEAU: False\r\nREASONING: ", False, ""),
        ("PLATEAU: NO", False, None),
        ("PLATEAU: maybe", "maybe", None),
        ("write PLATEAU: true", None, None),
        (" PLATEAU: true", None, None),
        ("PLATEAUS: true", None, None),
        ("PLATEAU : true", None, None),
        ("PLATEAU: true\nmore\nPLATEAU: false", False, None),
        ("", None, None),
        ("REASONING: a: b", None, "a: b"),
    ],
)
def test_values(text: str, plateau: object, reasoning: object) -> None:
    assert parsing.parse(text, MARKERS) == {"plateau": plateau, "reasoning": reasoning}


@given(some.text())
def test_any_text_gives_every_key(text: str) -> None:
    assert list(parsing.parse(text, MARKERS)) == list(MARKERS)


def test_pairs() -> None:
    assert parsing.pairs("plateau:PLATEAU  reasoning:REASONING") == MARKERS
    assert parsing.pairs("") == {}


@pytest.mark.parametrize(
    "text", ["plateau", "a:", ":B", "a b:C", "a:B a:C", "exit:EXIT", "a-b:C", "task:T"]
)
def test_pairs_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="(is not|twice|history)"):
        parsing.pairs(text)
