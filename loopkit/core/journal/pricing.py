"""What a session's tokens cost, by model; an unknown one is named, never guessed."""

from __future__ import annotations

#: What is counted of a model, in this order: tokens of input, output, cache write (5 minutes),
#: cache read, cache write (1 hour); web searches. Journals of earlier versions have the first four.
COUNTED = 6
#: USD per million tokens: input, output, cache write (5 minutes), cache read. As the client itself
#: reckons (measured on 2.1.332, tests/client/test_prices.py); it replaces the models of the last
#: row before it asks for them, their prices are those of the vendor's public list. A name stands
#: for its dated and provider's forms too.
PRICES = {
    "claude-opus-5-5": (4.0, 20.0, 5.0, 0.2),
    "claude-opus-5": (5.0, 25.0, 6.25, 0.5),
    **dict.fromkeys(("claude-opus-4-8", "claude-opus-4-7"), (5.0, 25.0, 6.25, 0.5)),
    **dict.fromkeys(("claude-opus-4-6", "claude-opus-4-5"), (5.0, 25.0, 6.25, 0.5)),
    **dict.fromkeys(("claude-fable-5-2", "claude-mythos-5-2"), (8.0, 40.0, 10.0, 0.2)),
    **dict.fromkeys(("claude-fable-5-1", "claude-mythos-5-1"), (10.0, 50.0, 12.5, 0.25)),
    **dict.fromkeys(("claude-fable-5", "claude-mythos-5"), (10.0, 50.0, 12.5, 1.0)),
    "claude-sonnet-5-5": (2.0, 10.0, 2.5, 0.1),
    "claude-sonnet-5": (2.0, 10.0, 2.5, 0.2),
    **dict.fromkeys(("claude-sonnet-4-6", "claude-sonnet-4-5"), (3.0, 15.0, 3.75, 0.3)),
    **dict.fromkeys(("claude-sonnet-4-0", "claude-sonnet-4"), (3.0, 15.0, 3.75, 0.3)),
    **dict.fromkeys(("claude-3-7-sonnet", "claude-3-5-sonnet"), (3.0, 15.0, 3.75, 0.3)),
    "claude-haiku-5-5": (0.1, 0.5, 0.125, 0.01),
    "claude-haiku-4-5": (1.0, 5.0, 1.25, 0.1),
    "claude-3-5-haiku": (0.8, 4.0, 1.0, 0.08),
    **dict.fromkeys(
        ("claude-opus-4-1", "claude-opus-4-0", "claude-opus-4"), (15.0, 75.0, 18.75, 1.5)
    ),
}
#: An hour in the cache costs this many times the input; a web search this many USD.
LONG_WRITE, SEARCH = 2.0, 0.01
#: What follows a model's name that was served in fast mode; how many times as much it costs.
FAST = " fast"
FASTER = {
    **dict.fromkeys(("claude-fable-5-2", "claude-mythos-5-2"), 2.0),
    **dict.fromkeys(("claude-opus-5-5", "claude-opus-5", "claude-opus-4-8"), 2.0),
    **dict.fromkeys(("claude-opus-4-7", "claude-opus-4-6"), 6.0),
}


def _known(model: str) -> str | None:
    """The row of PRICES for a model's name, also `us.anthropic.claude-opus-5-20260101-v1`."""
    start = model.find("claude-")
    name = model[start:] if start >= 0 else ""
    for form in PRICES:
        rest = name[len(form) :]
        dated = rest[:1] == "-" and rest[1:9].isdigit() and len(rest) >= 9
        served = rest[:1] in ("", "@", "[", ":") or rest[:2] == "-v" or rest == "-latest"
        if name.startswith(form) and (dated or served):
            return form
    return None


def price_of(model: str, own: dict) -> tuple | None:
    """The four prices of a model, the person's own table first (there names are beginnings). None
    where neither table knows it. A model's name may end in FAST."""
    plain = model[: -len(FAST)] if model.endswith(FAST) else model
    known = _known(plain)
    times = FASTER.get(known or "", 1.0) if plain != model else 1.0
    fitting = [name for name in own if model.startswith(name)]
    if fitting:
        best = max(fitting, key=len)
        row = tuple(own[best])
        times = 1.0 if best.endswith(FAST) else times
    elif known is not None:
        row = PRICES[known]
    else:
        return None
    return row if times == 1.0 else tuple(one * times for one in row)


def add(old: list | tuple, new: list | tuple) -> list:
    """Two rows of figures as their sum; the shorter one counts none of the last kinds."""
    longer, shorter = (old, new) if len(old) >= len(new) else (new, old)
    return [one + two for one, two in zip(longer, [*shorter, *[0] * (len(longer) - len(shorter))])]


def cost(usage: dict, own: dict) -> tuple[float, int, list]:
    """(USD, tokens, models without a price) of {model: figures as in COUNTED, at least four}."""
    usd, tokens, unpriced = 0.0, 0, []
    for model, figures in usage.items():
        tokens += sum(figures[: COUNTED - 1])
        prices = price_of(model, own)
        if prices is None:
            if any(figures):
                unpriced.append(model)
            continue
        every = (*prices, LONG_WRITE * prices[0])
        usd += sum(count * price for count, price in zip(figures, every)) / 1e6
        if len(figures) >= COUNTED:
            usd += figures[COUNTED - 1] * SEARCH
    return usd, tokens, unpriced
