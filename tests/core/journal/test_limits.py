"""Limits: how they are typed, which is reached, each at its exact value."""

from __future__ import annotations

import pytest

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
        ((10, 0, 0), ("10 of 10 iterations", "--iterations +10")),
        ((0, 10.004, 0), ("$10.00 of $10", "--usd +10")),
        ((0, 0, 5400), ("1 h 30 min of 1 h 30 min", "--time +90m")),
    ],
)
def test_the_reason_names_value_and_way_out(used: tuple, words: tuple) -> None:
    reason = limits.reached(*used, (10, 10.0, 5400))[1]  # type: ignore[index]
    assert all(word in reason for word in words)


def test_defaults() -> None:
    assert (limits.DEFAULT_ITERATIONS, limits.DEFAULT_USD, limits.DEFAULT_SECONDS) == (
        25,
        25.0,
        7200,
    )
