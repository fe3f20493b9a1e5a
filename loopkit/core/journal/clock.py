"""Time stamps of the journal (`2026-12-01T09:30:00Z`), durations as people write them."""

from __future__ import annotations

import time

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def stamp(epoch: float) -> str:
    """UTC time stamp, whole seconds, of a POSIX time in seconds."""
    return "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}Z".format(*time.gmtime(int(epoch)))


def epoch(text: str) -> int:
    """POSIX seconds of a stamp; 0 for anything else (a damaged one must not stop a fold)."""
    try:
        year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
        hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    except (ValueError, TypeError):
        return 0
    year -= month <= 2  # years start in March, so that the leap day comes last
    leap_days = year // 4 - year // 100 + year // 400
    days = 365 * year + leap_days + (153 * ((month + 9) % 12) + 2) // 5 + day - 719469
    return days * 86400 + hour * 3600 + minute * 60 + second


def duration(text: str) -> int:
    """Seconds of `90`, `90s`, `15m`, `2h`, `1h30m`, `1d`. Raises UsageFault for others and zero."""
    from .errors import UsageFault  # hooks, which only read stamps, do without

    total, number, fits = 0, "", True
    for letter in text.strip().lower():
        if letter in "0123456789":
            number += letter
        else:
            fits = fits and letter in _UNITS and number != ""
            total += int(number or 0) * _UNITS.get(letter, 0)
            number = ""
    total += int(number or 0)
    if total <= 0 or not fits:
        raise UsageFault(f"not a duration: {text!r}", "write it like 90s, 15m, 2h or 1h30m")
    return total


def human(seconds: float) -> str:
    """`45 s`, `1 min 30 s`, `12 min`, `2 h`, `2 h 5 min`: a duration in seconds for a person."""
    seconds = int(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
