"""What the last words of an agent that failed say: a usage limit and until when, or a failure that
passes. Only such words are read: an answer may well be about limits (spec/pipelines.md, 7)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

#: What `kind` gives.
LIMIT, TRANSIENT = "limit", "transient"

_LIMIT = re.compile(
    r"\byou(['’]ve| have) (hit|reached|exceeded|exhausted|used up)"
    r" your ([\w-]+ ){0,3}(limit|quota)\b"
    r"|\b(usage|rate|quota|session|weekly|daily|hourly|[0-9]+-hour|request|token)[ -]limit"
    r" (was |is |has been )?(reached|exceeded|hit)\b"
    r"|\bexceed(s|ed)? your ([\w'’]+ ){0,3}(quota|rate limit)\b"
    r"|\bexhausted your ([\w'’]+ ){0,3}(quota|capacity)\b"
    r"|\b(quota (exceeded|exhausted)|resource_exhausted|too many requests|rate_limit_error)\b"
    r"|(\b(http|status|error|code)[\"' :=]*|\()429\b",
    re.I,
)
#: Lines of a message of several lines, and characters of one that are read; more may be an answer.
_MOST_LINES, _LONGEST = 12, 400
_LABEL = (
    r"(?:\S{0,40}\s+)?[\w.]*(?:error|fatal|exception|message|reason|type|status)[\"'\])]*\s*[:=]\s*"
)
#: A line that says nothing but such words, after the label of a failure or a field at most, and
#: until when: prose goes on otherwise.
_LIMIT_ALONE = re.compile(
    rf"\W*(?:{_LABEL})?\W*(?:error\s+|[45]\d\d\s+)?"
    rf"(?:{_LIMIT.pattern}|(?<=[:=] )[\w ]{{1,40}}\(429\))"
    r"[\"'\])}]*(?:,?\s*$|\s*[.!·∙|:;(–—-]|\s+(?:until|resets?|try again|please)\b)",
    re.I,
)
#: Of what a person has to pay for, no waiting helps.
_MONEY = re.compile(
    r"\bspend limit\b|\bcredit balance\b|\bout of credits\b|\binsufficient_quota\b|\bbilling\b",
    re.I,
)
#: Who asks for money and says as well when to come back means a limit.
_RETRY = re.compile(r"\b(please )?retry in \d", re.I)
_TRANSIENT = re.compile(
    r"\boverloaded(_error)?\b|\btemporarily unavailable\b|\bservice unavailable\b"
    r"|\bhigh (demand|load)\b|\bno capacity available\b|\bcapacity exceeded\b"
    r"|\bstream disconnected before completion\b|\berror sending request\b|\bunable to connect\b"
    r"|\binternal server error\b|\bbad gateway\b|\bgateway time-?out\b|\bsocket hang up\b"
    r"|\b(connection|network) (error|reset|refused|closed|aborted|timed out|is unreachable)\b"
    r"|\b(api|request|stream) [\w ]{0,20}timed out\b"
    r"|\b(econnreset|econnrefused|etimedout|enotfound|eai_again|epipe|fetch failed)\b"
    r"|\b(http|status|api error|error|code)[\"' :=(]*(500|502|503|504|529)\b",
    re.I,
)


def is_about_money(words: str) -> bool:
    """Whether a failure is one that only paying ends."""
    return bool(_MONEY.search(words)) and not _RETRY.search(words)


def kind(words: str) -> str:
    """LIMIT, TRANSIENT, or "" where the words of a failure say neither."""
    if is_about_money(words):
        return ""
    if _LIMIT.search(words) or _MONEY.search(words):  # it says when to come back
        return LIMIT
    return TRANSIENT if _TRANSIENT.search(words) else ""


def read(*streams: str) -> tuple[str, str]:
    """(kind, the words that say so, else the last line) of a failure. streams: all that was said of
    it, what counts most first. A limit may stand before further lines of its message, on a line of
    its own."""
    said = [text.strip().splitlines()[-_MOST_LINES:] for text in streams if text.strip()]
    last = said[0][-1].strip() if said else ""
    if found := kind(last):
        return found, last
    for lines in said:
        if is_about_money("\n".join(lines)):
            continue
        for number, line in enumerate(lines):
            if _LIMIT_ALONE.match(line[:_LONGEST]):
                return LIMIT, "\n".join(lines[number:]).strip()
    return "", last


# -- until when

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SPAN = (
    r"(?:\d+(?:\.\d+)? ?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d"
    r"|weeks?|w)(?![a-z])(?:,| and)? ?)+"
)
_EPOCH = re.compile(r"\||\b(?:resets?|reset_?at|resets_?at)['\"]?[ :=]+(?=\d{10})", re.I)
_NUMBER = re.compile(r"[ ]?(\d{10}|\d{13})(?!\d)")
_AFTER = re.compile(r"\bretry[ -_]?after(?:-ms)?['\"]?[ :=]+['\"]?(\d+(?:\.\d+)?)(?![\d:])", re.I)
_IN = re.compile(
    r"\b(?:try again|retry|resets?|reset|available|wait|please wait)(?: again)?(?: in| after| for)?"
    rf" (?:about |another )?(?={_SPAN})",
    re.I,
)
_ISO = re.compile(
    r"\b(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)? ?(Z\b|[+-]\d\d:?\d\d\b)?"
    r"(?: ?\(?([A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*)\)?)?"
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
#: A date without its year that is longer ago is next year's.
_OLD = timedelta(60)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WALL = re.compile(
    r"\b(?:resets?|until|again|available|back)(?: again)?(?: (?:at|on|from|by))?,? (?:"
    r"(?P<word>today|tomorrow)|(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    rf"|{_MONTH} {_DAY}(?:,? (?P<year>\d{{4}}))?)?,?(?: ?(?:at|on|by))? ?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)? ?(?P<half>[ap]\.?m\b\.?)?"
    r"(?: ?\(?(?P<zone>(?:UTC|GMT)[+-]\d{1,2}(?::?\d\d)?|[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*)\)?)?",
    re.I,
)


def until(words: str, now: float, local: tzinfo | None = None) -> float | None:
    """When the limit that the words are about ends, in seconds since 1970; None where they do not
    say, or name a date that has passed.

    now: seconds since 1970 · local: the zone of times without one; None: this machine's. A time of
    day that has passed is tomorrow's. Where clocks change, the earliest such time to come counts.
    """
    words = " ".join(words.split())
    for read in (_epoch, _span, _iso, _wall):
        try:
            found: float | None = read(words, now, local)
        except (ValueError, OverflowError, OSError):  # no such day, or year
            found = None
        if found is not None:
            return found if found > now else None
    return None


def _epoch(words: str, now: float, local: tzinfo | None) -> float | None:
    for mark in _EPOCH.finditer(words):
        number = _NUMBER.match(words, mark.end())
        if number:
            value = float(number[1])
            return value / 1000 if len(number[1]) > 10 else value
    return None


def _span(words: str, now: float, local: tzinfo | None) -> float | None:
    after = _AFTER.search(words)
    if after:
        unit = 0.001 if "-ms" in after[0].lower() else 1
        return now + float(after[1]) * unit
    begin = _IN.search(words)
    if begin is None:
        return None
    span = re.compile(_SPAN, re.I).match(words, begin.end())
    if span is None:
        return None
    seconds = 0.0
    for number, unit in re.findall(r"(\d+(?:\.\d+)?) ?([a-z]+)", span[0], re.I):
        name = "ms" if unit.lower().startswith(("ms", "milli")) else unit[0].lower()
        seconds += float(number) * _UNITS[name]
    return now + seconds


def _iso(words: str, now: float, local: tzinfo | None) -> float | None:
    found = _ISO.search(words)
    if found is None:
        return None
    wall = datetime(*(int(part or 0) for part in found.groups()[:6]))  # type: ignore[arg-type]
    offset, name = found[7], found[8]
    if offset:
        zone: tzinfo | None = timezone.utc if offset == "Z" else _offset(offset)
    else:
        zone = _zone(name) or local
    return wall.replace(tzinfo=zone).timestamp()


def _wall(words: str, now: float, local: tzinfo | None) -> float | None:
    for found in _WALL.finditer(words):
        if not (found["half"] or found["minute"]):
            continue  # a number, not a time
        zone = _zone(found["zone"]) or local
        hour = int(found["hour"])
        if found["half"]:
            hour = hour % 12 + (12 if found["half"][0].lower() == "p" else 0)
        here = datetime.fromtimestamp(now, zone)
        wall = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        return _first(_days(found, wall), now)
    return None


def _days(found: re.Match, wall: datetime) -> list[datetime]:
    """The time of day on the days that are meant, earliest first."""
    if found["weekday"]:
        ahead = (_DAYS.index(found["weekday"].lower()) - wall.weekday()) % 7
        return [wall + timedelta(ahead), wall + timedelta(ahead + 7)]
    if found["word"]:
        return [wall + timedelta(found["word"].lower() == "tomorrow")]
    if found["month"]:
        month, day = _MONTHS.index(found["month"].lower()[:3]) + 1, int(found["day"])
        year = int(found["year"] or wall.year)
        meant = wall.replace(year=year, month=month, day=day)
        if not found["year"] and wall - meant > _OLD:
            meant = meant.replace(year=year + 1)
        return [meant]
    return [wall, wall + timedelta(1)]


def _first(days: list[datetime], now: float) -> float:
    """The first of the times that is still to come, else the last one. Of a time that the clock
    shows twice, the first comes first; one that it leaves out is as long after midnight."""
    for day in days:
        for fold in (0, 1):
            at = day.replace(fold=fold).timestamp()
            if at > now:
                return at
    return at


# -- zones

#: Minutes east of Greenwich of abbreviations that name one offset.
_OFFSETS = {"utc": 0, "gmt": 0, "z": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300}
_OFFSETS.update({"mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "cet": 60, "cest": 120})
_OFFSETS.update({"eet": 120, "eest": 180, "bst": 60, "ist": 330, "jst": 540, "kst": 540})
#: Names of the zones whose offset depends on the day.
_REGIONS = {"et": "New_York", "ct": "Chicago", "mt": "Denver", "pt": "Los_Angeles"}
_REGIONS.update(eastern="New_York", central="Chicago", mountain="Denver", pacific="Los_Angeles")


def _zone(name: str | None) -> tzinfo | None:
    """The zone of a name, abbreviation or offset (UTC+2); None for what is none."""
    if not name:
        return None
    lower = name.lower()
    if lower in _OFFSETS:
        return timezone(timedelta(minutes=_OFFSETS[lower]))
    if lower[:3] in ("utc", "gmt"):
        return _offset(lower[3:])
    if lower in _REGIONS:
        name = "America/" + _REGIONS[lower]
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown here, or a folder of the database
        return None


def _offset(text: str) -> tzinfo | None:
    """The zone of +02:00, -0330 or +2."""
    found = re.fullmatch(r"([+-])(\d{1,2}):?(\d\d)?", text)
    if found is None:
        return None
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
