"""Limits: how they are typed, which is reached, each at its exact value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.journal import limits, verdict
from loopkit.core.journal.errors import UsageFault


@pytest.mark.parametrize(
    ("text", "now", "kind", "value"),
    [
        ("25", None, "iterations", 25),
        ("+25", 25, "iterations", 50),
        ("+25", None, "iterations", 25),
        ("none", 25, "iterations", None),
        ("unlimited", 25, "iterations", None),
        ("NONE", 25, "usd", None),
        ("10", None, "usd", 10.0),
        ("$2.50", None, "usd", 2.5),
        ("+10", 25.0, "usd", 35.0),
        ("2h", None, "seconds", 7200),
        ("+30m", 7200, "seconds", 9000),
        ("none", 7200, "seconds", None),
    ],
)
def test_amounts(text: str, now: float | None, kind: str, value: float | None) -> None:
    assert limits.amount(text, now, kind) == value


@pytest.mark.parametrize("kind", ["iterations", "usd", "seconds"])
@pytest.mark.parametrize("text", ["", "0", "-1", "+0", "many", "nan", "inf", "1e99", "++1"])
def test_no_amount(text: str, kind: str) -> None:
    with pytest.raises(UsageFault):
        limits.amount(text, 25, kind)


def test_half_an_iteration_is_none() -> None:
    with pytest.raises(UsageFault):
        limits.amount("2.5", None, "iterations")


@pytest.mark.parametrize(
    ("used", "name"),
    [
        ((24, 24.99, 7199), None),
        ((25, 0, 0), verdict.LIMIT_ITERATIONS),
        ((0, 25.0, 0), verdict.LIMIT_BUDGET),
        ((0, 0, 7200), verdict.LIMIT_TIME),
        ((26, 99, 9999), verdict.LIMIT_ITERATIONS),
    ],
)
def test_each_is_reached_at_its_value(used: tuple, name: str | None) -> None:
    over = limits.reached(*used, (25, 25.0, 7200))
    assert (over[0] if over else None) == name


def test_none_is_never_reached() -> None:
    assert limits.reached(10**6, 1e6, 1e9, (None, None, None)) is None


@pytest.mark.parametrize(
    ("used", "words"),
    [
        ((10, 0, 0), ("10 of 10 iterations used", "--iterations +10")),
        ((0, 10.004, 0), ("$10.00 of $10 spent", "--usd +10")),
        ((0, 0, 5400), ("1 h 30 min of 1 h 30 min used", "--time +90m")),
        (
            (10, 31, 5400),
            (
                "10 of 10 iterations used, 1 h 30 min of 1 h 30 min used, $31.00 of $10 spent",
                "--iterations +10 --time +90m --usd +40",
            ),
        ),
        ((9, 9.99, 5399), ("", "")),
    ],
)
def test_reason_and_advice_name_every_limit_reached(used: tuple, words: tuple) -> None:
    over = limits.reached(*used, (10, 10.0, 5400))
    assert (over[1] if over else "", limits.raising(*used, (10, 10.0, 5400))) == words


@given(
    st.tuples(st.integers(0, 10**5), st.floats(0, 10**5), st.integers(0, 10**7)),
    st.tuples(st.integers(1, 10**3), st.floats(0.01, 10**3), st.integers(1, 10**5)),
)
def test_the_advice_leaves_room_when_it_is_typed(used: tuple, most: tuple) -> None:
    words = limits.raising(*used, most).split()
    typed = dict(zip(words[::2], words[1::2], strict=True))
    kinds = {"--iterations": "iterations", "--usd": "usd", "--time": "seconds"}
    for (option, kind), spent, now in zip(kinds.items(), used, most, strict=True):
        raised = limits.amount(typed[option], now, kind) if option in typed else now
        assert raised is not None and (spent < now) == (option not in typed)
        assert raised >= spent * limits.ROOM or option not in typed


def test_defaults() -> None:
    assert (limits.DEFAULT_ITERATIONS, limits.DEFAULT_USD, limits.DEFAULT_SECONDS) == (
        25,
        25.0,
        7200,
    )
