"""Cost in USD: per million tokens, the longest fitting name, unknown models named."""

from __future__ import annotations

import pytest

from loopkit.core import pricing


def test_a_million_of_each_kind_costs_what_the_table_says() -> None:
    for model, prices in pricing.PRICES.items():
        for place, price in enumerate(prices):
            figures = [10**6 if place == one else 0 for one in range(4)]
            usd, tokens, unpriced = pricing.cost({model + "-20260101": figures}, {})
            assert (usd, tokens, unpriced) == (pytest.approx(price), 10**6, [])


def test_the_longest_name_wins() -> None:
    assert pricing.price_of("claude-opus-4-1-20250805", {}) == (15.0, 75.0, 18.75, 1.5)
    assert pricing.price_of("claude-opus-4-8", {}) == (5.0, 25.0, 6.25, 0.5)


def test_an_unknown_model_is_named_and_its_tokens_shown() -> None:
    usd, tokens, unpriced = pricing.cost({"mystery": [1, 2, 3, 4], "claude-haiku-4-5": [10**6, 0, 0, 0]}, {})
    assert (usd, tokens, unpriced) == (pytest.approx(1.0), 10**6 + 10, ["mystery"])


def test_a_persons_own_table_comes_first() -> None:
    own = {"claude": [100.0, 0, 0, 0], "mystery": [1.0, 1.0, 1.0, 1.0]}
    assert pricing.cost({"claude-haiku-4-5": [10**6, 0, 0, 0], "mystery": [0, 10**6, 0, 0]}, own) == (
        pytest.approx(101.0),
        2 * 10**6,
        [],
    )


def test_nothing_costs_nothing() -> None:
    assert pricing.cost({}, {}) == (0.0, 0, [])
