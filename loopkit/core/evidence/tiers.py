"""Tiers of a verification: how long a check may take, when a wider one is due."""

from __future__ import annotations

QUICK, STANDARD, THOROUGH = "quick", "standard", "thorough"
#: Seconds that a check of a tier may take, narrowest tier first.
SECONDS = {QUICK: 5, STANDARD: 30, THOROUGH: 120}
#: Failures of the standard tier, one after the other, after which the thorough one is due.
STANDARD_FAILURES = 3
#: What the journal keeps of a check that ran.
OUTCOME = ("passed", "exit", "log", "seconds", "head", "files")


def due(failures: int) -> str:
    """The tier to look in after so many failures in a row."""
    if failures <= 0:
        return QUICK
    return STANDARD if failures <= STANDARD_FAILURES else THOROUGH


def of(seconds: float) -> str | None:
    """The narrowest tier with room for a check of that duration, or None."""
    return next((name for name, most in SECONDS.items() if seconds < most), None)


def remark(tier: str, seconds: float) -> str | None:
    """A word on a check that took as long as its tier allows or longer, or None."""
    if seconds < SECONDS[tier]:
        return None
    wider = of(seconds)
    room = f"it is a check of the {wider} tier" if wider else "no tier has room for that"
    limit = f"a {tier} check takes under {SECONDS[tier]} s"
    return f"slow: {seconds:.1f} s, {limit}; {room}, narrow it if you can"
