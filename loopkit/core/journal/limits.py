"""Limits on iterations, money and time: defaults, how they are written, which one is reached."""

from __future__ import annotations

from . import clock, verdict

#: In force unless the person says otherwise (rule: Limits, cost, configuration).
DEFAULT_ITERATIONS, DEFAULT_USD, DEFAULT_SECONDS = 25, 25.0, 7200


def amount(text: str, now: float | None, kind: str) -> float | None:
    """A limit as typed: `25`, `none`/`unlimited`, or `+25` on top of the present one (`now`, None
    for none).

    kind is `iterations`, `usd` or `seconds`; seconds are written as durations. Raises UsageFault.
    """
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
            raise UsageFault(
                f"not a limit for {kind}: {text!r}", "write a positive number, +N to add, or none"
            )
    if raise_by and now is not None:
        value += now
    return value


def reached(iteration: int, usd: float, seconds: float, limits: tuple) -> tuple[str, str] | None:
    """(verdict, reason) of the first limit reached, else None. `limits`: (iterations, usd,
    seconds), None for none."""
    most, money, time = limits
    if most is not None and iteration >= most:
        return (
            verdict.LIMIT_ITERATIONS,
            f"{iteration} of {most} iterations used; raise: loopkit resume --iterations +{most}",
        )
    if time is not None and seconds >= time:
        text = (
            f"{clock.human(seconds)} of {clock.human(time)} used; raise: loopkit resume --time "
            f"+{_short(time)}"
        )
        return verdict.LIMIT_TIME, text
    if money is not None and usd >= money:
        return (
            verdict.LIMIT_BUDGET,
            f"${usd:.2f} of ${money:g} spent; raise: loopkit resume --usd +{money:g}",
        )
    return None


def of(spent: object, most: object) -> str:
    """`4 of 25`, or `4` where there is no limit."""
    return f"{spent}" if most is None else f"{spent} of {most}"


def raising(name: str, most: tuple) -> str:
    """The command that lifts the limit of a verdict, the amount left to the person; `most` as for
    `reached`."""
    turns, money, time = most
    option = {
        verdict.LIMIT_ITERATIONS: f"--iterations <+{turns or DEFAULT_ITERATIONS}, if the person "
        "agrees>",
        verdict.LIMIT_TIME: f"--time <+{_short(time or DEFAULT_SECONDS)}, if the person agrees>",
        verdict.LIMIT_BUDGET: f"--usd <+{money or DEFAULT_USD:g}, if the person agrees>",
    }
    return f"loopkit resume {option[name]}"


def _short(seconds: float) -> str:
    seconds = int(seconds)
    for size, letter in ((3600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"
