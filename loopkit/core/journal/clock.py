"""Time stamps of the journal (`2026-12-01T09:30:00Z`) and durations as people write them; no clock
is read here."""

from __future__ import annotations

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def stamp(epoch: float) -> str:
    """UTC time stamp, whole seconds, of a POSIX time in seconds."""
    days, rest = divmod(int(epoch), 86400)
    # Howard Hinnant's civil_from_days: years start in March, so that the leap day comes last
    days += 719468
    era, day_of_era = divmod(days, 146097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    hour, minute, second = rest // 3600, rest // 60 % 60, rest % 60
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"


def epoch(text: str) -> int:
    """POSIX seconds of a time stamp made by `stamp`; 0 for anything else (a damaged stamp must not
    stop a fold)."""
    try:
        year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
        hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    except (ValueError, TypeError):
        return 0
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = (
        era * 146097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - 719468
    )
    return days * 86400 + hour * 3600 + minute * 60 + second


def duration(text: str) -> int:
    """Seconds of `90`, `90s`, `15m`, `2h`, `1h30m`, `1d`. Raises UsageFault for anything else, zero
    included."""
    from .errors import UsageFault  # hooks, which only read stamps, do without

    total, number = 0, ""
    for letter in text.strip().lower():
        if letter in "0123456789":
            number += letter
        elif letter in _UNITS and number:
            total += int(number) * _UNITS[letter]
            number = ""
        else:
            raise UsageFault(f"not a duration: {text!r}", "write it like 90s, 15m, 2h or 1h30m")
    total += int(number or 0)
    if total <= 0:
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
