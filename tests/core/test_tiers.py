"""Tiers: their seconds, when a wider one is due."""

from __future__ import annotations

import pytest

from loopkit.core import tiers


def test_the_seconds_of_the_tiers() -> None:
    assert {"quick": 5, "standard": 30, "thorough": 120} == tiers.SECONDS


@pytest.mark.parametrize(
    ("failures", "tier"),
    [(0, "quick"), (1, "standard"), (2, "standard"), (3, "standard"), (4, "thorough"), (40, "thorough")],
)
def test_the_tier_that_is_due(failures: int, tier: str) -> None:
    assert tiers.due(failures) == tier


@pytest.mark.parametrize(
    ("seconds", "tier"),
    [(0, "quick"), (4.999, "quick"), (5, "standard"), (29.9, "standard"), (30, "thorough"), (120, None)],
)
def test_the_tier_that_has_room(seconds: float, tier: str | None) -> None:
    assert tiers.of(seconds) == tier


def test_a_slow_check_gets_one_remark() -> None:
    assert tiers.remark("quick", 4.9) is None
    assert tiers.remark("quick", 5.0) == (
        "slow: 5.0 s, a quick check takes under 5 s; it is a check of the standard tier, narrow it if you can"
    )
    assert "no tier has room" in str(tiers.remark("thorough", 121))
