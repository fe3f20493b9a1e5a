"""Time stamps against datetime, durations as people write them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal import clock
from loopkit.core.journal.errors import UsageFault

FOUR_DIGIT_YEARS = some.integers(-62135596800, 253402300799)


@given(FOUR_DIGIT_YEARS)
def test_stamp_is_what_datetime_prints(moment: int) -> None:
    there = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=moment)
    assert clock.stamp(moment) == there.isoformat(timespec="seconds") + "Z"


@given(FOUR_DIGIT_YEARS)
def test_epoch_undoes_stamp(moment: int) -> None:
    assert clock.epoch(clock.stamp(moment)) == moment


def test_the_days_around_every_end_of_february() -> None:
    """Leap years, centuries and their exceptions."""
    for year in range(1, 10_000):
        first = (datetime.date(year, 2, 28) - datetime.date(1970, 1, 1)).days
        for day in range(first, first + 3):
            wanted = (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()
            assert clock.stamp(day * 86400)[:10] == wanted
            assert clock.epoch(wanted + "T00:00:00Z") == day * 86400


def test_stamp_drops_fractions() -> None:
    assert clock.stamp(0.99) == "1970-01-01T00:00:00Z"


@given(some.text())
def test_a_damaged_stamp_never_raises(text: str) -> None:
    assert isinstance(clock.epoch(text), int)


@pytest.mark.parametrize("damaged", ["", "yesterday", "2026-12", "2026-xx-01T00:00:00Z", None])
def test_a_damaged_stamp_is_zero(damaged: object) -> None:
    assert clock.epoch(damaged) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1d", 86400),
        (" 2H ", 7200),
        ("1m1", 61),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert clock.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "h", "2 hours", "-5m", "1.5h", "²h", "+3m"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(UsageFault, match="not a duration"):
        clock.duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (86400, "24 h"),
    ],
)
def test_durations_for_people(seconds: int, text: str) -> None:
    assert clock.human(seconds) == text
