"""Cost in USD: per million tokens, the longest fitting name, unknown models named."""

from __future__ import annotations

import pytest

from loopkit.core.journal import pricing


def test_a_million_of_each_kind_costs_what_the_table_says() -> None:
    for model, prices in pricing.PRICES.items():
        for place, price in enumerate(prices):
            figures = [10**6 if place == one else 0 for one in range(4)]
            usd, tokens, unpriced = pricing.cost({model + "-20260101": figures}, {})
            assert (usd, tokens, unpriced) == (pytest.approx(price), 10**6, [])


def test_the_longest_name_wins() -> None:
    assert pricing.price_of("claude-opus-4-1-20250805", {}) == (15.0, 75.0, 18.75, 1.5)
    assert pricing.price_of("claude-opus-4-8", {}) == (5.0, 25.0, 6.25, 0.5)


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("claude-opus-5-20260101", "claude-opus-5"),
        ("claude-opus-5-5-20260101", "claude-opus-5-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("claude-opus-4-9", None),
        ("claude-opus-55", None),
        ("claude-opus-5-mini", None),
        ("opus", None),
        ("", None),
    ],
)
def test_a_row_stands_for_the_forms_of_one_model_and_for_no_other(
    model: str, row: str | None
) -> None:
    assert pricing.price_of(model, {}) == (pricing.PRICES[row] if row else None)


def test_an_hour_in_the_cache_searches_and_fast_mode() -> None:
    million = 10**6
    assert pricing.cost({"claude-opus-5": [0, 0, million, 0, million]}, {})[:2] == (
        pytest.approx(16.25),
        2 * million,
    )
    assert pricing.cost({"claude-opus-5": [0, 0, 0, 0, 0, 100]}, {})[:2] == (pytest.approx(1.0), 0)
    assert pricing.cost({"claude-opus-5 fast": [million, 0, 0, 0]}, {})[0] == pytest.approx(10.0)
    assert pricing.cost({"claude-haiku-4-5 fast": [million, 0, 0, 0]}, {})[0] == pytest.approx(1.0)
    own = {
        "claude-opus-5": [1.0, 1, 1, 1],
        "mystery": [1.0, 1, 1, 1],
        "mystery fast": [7.0, 1, 1, 1],
    }
    assert pricing.cost({"claude-opus-5 fast": [million, 0, 0, 0]}, own)[0] == pytest.approx(2.0)
    assert pricing.cost({"mystery fast": [million, 0, 0, 0]}, own)[0] == pytest.approx(7.0)
    assert pricing.cost({"other fast": [1, 0, 0, 0]}, own)[2] == ["other fast"]


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        ((), [1, 2, 3, 4], [1, 2, 3, 4]),
        ([1, 2, 3, 4], [1, 1, 1, 1, 5], [2, 3, 4, 5, 5]),
        ([1, 2, 3, 4, 0, 6], [1, 1, 1, 1], [2, 3, 4, 5, 0, 6]),
    ],
)
def test_rows_of_four_and_of_six_add_up(old: list, new: list, both: list) -> None:
    assert pricing.add(old, new) == both


def test_an_unknown_model_is_named_and_its_tokens_shown() -> None:
    usd, tokens, unpriced = pricing.cost(
        {"mystery": [1, 2, 3, 4], "claude-haiku-4-5": [10**6, 0, 0, 0]}, {}
    )
    assert (usd, tokens, unpriced) == (pytest.approx(1.0), 10**6 + 10, ["mystery"])


def test_a_persons_own_table_comes_first() -> None:
    own = {"claude": [100.0, 0, 0, 0], "mystery": [1.0, 1.0, 1.0, 1.0]}
    assert pricing.cost(
        {"claude-haiku-4-5": [10**6, 0, 0, 0], "mystery": [0, 10**6, 0, 0]}, own
    ) == (pytest.approx(101.0), 2 * 10**6, [])


def test_nothing_costs_nothing() -> None:
    assert pricing.cost({}, {}) == (0.0, 0, [])
