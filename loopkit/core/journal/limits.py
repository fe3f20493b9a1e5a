"""Limits on iterations, money and time: defaults, how they are written, which one is reached."""

from __future__ import annotations

from . import clock, verdict

#: In force unless the person says otherwise (rule: Limits, cost, configuration).
DEFAULT_ITERATIONS, DEFAULT_USD, DEFAULT_SECONDS = 25, 25.0, 7200


def amount(text: str, now: float | None, kind: str) -> float | None:
    """A limit as typed: `25`, `none`/`unlimited`, or `+25` on top of `now` (None: no limit). kind
    is `iterations`, `usd` or `seconds`; seconds are written as durations. Raises UsageFault."""
    from .errors import UsageFault  # hooks, which only compare, do without

    word = text.strip().lower()
    if word in ("none", "unlimited"):
        return None
    raise_by = word.startswith("+")
    body = word[1:] if raise_by else word
    if kind == "seconds":
        value: float = clock.duration(body)
    else:
        try:
            value = int(body) if kind == "iterations" else float(body.lstrip("$"))
        except ValueError:
            value = -1
        if body.startswith("+") or not 0 < value < 1e9:
            todo = "write a positive number, +N to add, or none"
            raise UsageFault(f"not a limit for {kind}: {text!r}", todo)
    return value + now if raise_by and now is not None else value


def reached(iteration: int, usd: float, seconds: float, limits: tuple) -> tuple[str, str] | None:
    """(verdict of the first limit reached, a reason that names each of them), else None. `limits`:
    (iterations, usd, seconds), None for none."""
    most, money, time = limits
    over = []
    if most is not None and iteration >= most:
        over.append((verdict.LIMIT_ITERATIONS, f"{iteration} of {most} iterations used"))
    if time is not None and seconds >= time:
        over.append((verdict.LIMIT_TIME, f"{clock.human(seconds)} of {clock.human(time)} used"))
    if money is not None and usd >= money:
        over.append((verdict.LIMIT_BUDGET, f"${usd:.2f} of ${money:g} spent"))
    return (over[0][0], ", ".join(reason for _, reason in over)) if over else None


#: A raised limit is this many times what is spent at least.
ROOM = 1.5


def raising(iteration: int, usd: float, seconds: float, limits: tuple) -> str:
    """The options of `resume` that raise each limit reached, in steps of the limit and with room
    behind what is spent: `--iterations +25 --time +4h`; "" where none is."""
    rows = (
        ("--iterations", iteration, limits[0], str),
        ("--time", seconds, limits[2], _short),
        ("--usd", usd, limits[1], _money),
    )
    return " ".join(
        f"{option} +{shown(max(1, int(-(-spent * ROOM // most)) - 1) * most)}"
        for option, spent, most, shown in rows
        if most is not None and spent >= most
    )


def _money(usd: float) -> str:
    return f"{-(-usd * 100 // 1) / 100:.2f}".rstrip("0").rstrip(".")


def of(spent: object, most: object) -> str:
    """`4 of 25`, or `4` where there is no limit."""
    return f"{spent}" if most is None else f"{spent} of {most}"


def _short(seconds: float) -> str:
    seconds = int(seconds)
    for size, letter in ((3600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"
