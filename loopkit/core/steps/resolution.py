"""Which loop somebody means: by its number, its name, a part of it, or by what it is about."""

from __future__ import annotations

import re
from collections import namedtuple

from ..journal import prose, slug
from ..journal.errors import Refused, UsageFault
from ..memory import recall

#: A loop that may be meant. name: its folder · text: its request · status, done, total: where it
#: stands.
Row = namedtuple("Row", "name text status done total")

#: Letters of a part of a name at least; characters of a message that are looked at; loops that a
#: refusal lists.
SHORTEST, LONGEST, LISTED = 3, 2000, 8

#: What anybody calls any loop.
_MEANS_ANY = {"loop", "task", "work", "one", "thing"}


def meant(rows: list[Row], message: str) -> str:
    """The name of the loop that a message means (rule: Folder and task resolution), the first of
    these that tells:

    a number or a whole name · a part of exactly one name · the most words in common with name and
    request. Raises UsageFault for an empty message; Refused, with the loops and their status, where
    several fit equally well or none does.
    """
    message = message[:LONGEST].strip()
    if not message:
        raise UsageFault(
            "no loop is named", "give its number, a part of its name, or what it is about"
        )
    for rule in (_named, _part, _described, _parts):
        found = rule(rows, message)
        if len(found) == 1:
            return found[0].name
        if found:
            raise Refused(
                f"several loops fit: {listed(found)}", "ask the person which; give its number"
            )
    raise Refused(
        f"no loop fits: {listed(rows)}",
        "ask the person: go on with one of them, or start a new one",
    )


def listed(rows: list[Row]) -> str:
    """`001-limiter (paused, 1/3 tasks), …` for one line; no more than a few."""
    shown = [f"{row.name} ({row.status}, {row.done}/{row.total} tasks)" for row in rows[-LISTED:]]
    more = len(rows) - len(shown)
    return ", ".join(shown) + (f", and {more} more; see loopkit status --list" if more > 0 else "")


def _named(rows: list[Row], message: str) -> list[Row]:
    """Loops whose folder or number stands in the message; a number of one or two digits only where
    it stands alone."""
    plain = message.casefold()
    whole = [
        row
        for row in rows
        if re.search(rf"(?<![\w-]){re.escape(row.name.casefold())}(?![\w-])", plain)
    ]
    if whole:
        return whole
    alone = re.fullmatch(r"(?:loop\s+|#)?(\d{1,9})", plain, re.ASCII)
    numbers = (
        {int(alone[1])}
        if alone
        else {int(one) for one in re.findall(r"(?<![\w.-])\d{3,9}(?![\w-])", plain, re.A)}
    )
    return [row for row in rows if slug.number_of(row.name) in numbers]


def _part(rows: list[Row], message: str) -> list[Row]:
    """The loop whose name alone holds the whole message, or a word of it that joins parts with
    dashes."""
    found = _parts(rows, message)
    return found if len(found) == 1 else []


def _parts(rows: list[Row], message: str) -> list[Row]:
    """All loops whose name does: words that any request may have, like `add`, describe none of
    them."""
    pieces = {re.sub(r"[\s_]+", "-", message.casefold())}
    pieces |= set(re.findall(r"\w+(?:-\w+)+", message.casefold()))
    pieces = {one for one in pieces if len(one) >= SHORTEST}
    return [row for row in rows if any(one in row.name.casefold() for one in pieces)]


def _described(rows: list[Row], message: str) -> list[Row]:
    """Loops with the most words of the message; a word counts in another form too (`exports` for
    `export`)."""
    wanted = set(recall.words(message)) - _MEANS_ANY
    scores = []
    for row in rows:
        own = set(recall.words(row.text[: LONGEST * 5])) | set(row.name.casefold().split("-")[1:])
        scores.append(sum(_among(word, own) for word in wanted))
    best = max(scores, default=0)
    return [row for row, score in zip(rows, scores, strict=True) if score == best] if best else []


def _among(word: str, own: set[str]) -> bool:
    return (
        word in own
        or word.isascii()
        and len(word) > SHORTEST
        and any(_alike(word, one) for one in own)
    )


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > SHORTEST and long.startswith(short) and len(long) - len(short) <= SHORTEST


def described(name: str, text: str) -> str:
    """A loop in a few words, for a line that says which one is meant."""
    return (
        f"{name} ({prose.clean(text.strip().splitlines()[0] if text.strip() else 'no text', 80)})"
    )
