"""What a session's tokens cost, by model; a model that is not in the table is named, never guessed."""

from __future__ import annotations

#: USD per million tokens: input, output, cache write (5 minutes), cache read. Source: the vendor's public price list.
#: `[prices]` in config.toml overrides or adds (same four numbers). Matched as a prefix of the model's name, longest
#: first.
PRICES = {
    "claude-opus-4-1": (15.0, 75.0, 18.75, 1.5),
    "claude-opus-4": (5.0, 25.0, 6.25, 0.5),
    "claude-opus-5": (5.0, 25.0, 6.25, 0.5),
    "claude-sonnet": (3.0, 15.0, 3.75, 0.3),
    "claude-haiku": (1.0, 5.0, 1.25, 0.1),
}


def price_of(model: str, own: dict) -> tuple | None:
    """The four prices of a model, the person's own table first; None where neither table knows it."""
    for table in (own, PRICES):
        fitting = [name for name in table if model.startswith(name)]
        if fitting:
            return tuple(table[max(fitting, key=len)])
    return None


def cost(usage: dict, own: dict) -> tuple[float, int, list]:
    """(USD, tokens, models without a price) of {model: [input, output, cache write, cache read]} in tokens."""
    usd, tokens, unpriced = 0.0, 0, []
    for model, figures in usage.items():
        tokens += sum(figures)
        prices = price_of(model, own)
        if prices is None:
            unpriced.append(model)
        else:
            usd += sum(count * price for count, price in zip(figures, prices)) / 1e6
    return usd, tokens, unpriced
