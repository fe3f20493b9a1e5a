"""Which loop somebody means: by its number, its name, a part of it, or by what it is about."""

from __future__ import annotations

import re
from collections import namedtuple

from ..journal import prose
from ..journal.errors import Refused, UsageFault
from ..memory import recall

#: A loop that may be meant: its folder, its request, where it stands.
Row = namedtuple("Row", "name text status done total")

#: Letters of a part of a name; characters of a message that are looked at; loops that are listed.
SHORTEST, LONGEST, LISTED = 3, 2000, 8
#: What anybody calls any loop.
_MEANS_ANY = set(map(recall.stem, ("loop", "task", "work", "one", "thing")))


def meant(rows: list[Row], message: str) -> str:
    """The name of the loop that a message means (rule: Folder and task resolution), the first of
    these that tells: a number or a whole name · a part of exactly one name · the most words in
    common with name and request. Raises UsageFault for an empty message; Refused, with the loops
    and their status, where several fit equally well or none does.
    """
    message = message[:LONGEST].strip()
    if not message:
        todo = "give its number, a part of its name, or what it is about"
        raise UsageFault("no loop is named", todo)
    for rule in (_named, _part, _described, _parts):
        fitting = rule(rows, message)
        if len(fitting) == 1:
            return fitting[0].name
        if fitting:
            todo = "ask the person which; give its number"
            raise Refused(f"several loops fit: {listed(fitting)}", todo)
    todo = "ask the person: go on with one of them, or start a new one"
    raise Refused(f"no loop fits: {listed(rows)}", todo)


def listed(rows: list[Row]) -> str:
    """`001-limiter (paused, 1/3 tasks), …` for one line; no more than a few."""
    shown = [f"{row.name} ({row.status}, {row.done}/{row.total} tasks)" for row in rows[-LISTED:]]
    more = len(rows) - len(shown)
    return ", ".join(shown) + (f", and {more} more; see loopkit status --list" if more > 0 else "")


def _named(rows: list[Row], message: str) -> list[Row]:
    """Loops whose folder or number the message names; one or two digits count only where alone."""
    plain = message.casefold()
    whole = r"(?<![\w-]){}(?![\w-])"
    named = [row for row in rows if re.search(whole.format(re.escape(row.name.casefold())), plain)]
    if named:
        return named
    alone = re.fullmatch(r"(?:loop\s+|#)?(\d{1,9})", plain, re.ASCII)
    digits = [alone[1]] if alone else re.findall(r"(?<![\w.-])\d{3,9}(?![\w-])", plain, re.ASCII)
    numbers = {int(text) for text in digits}
    return [row for row in rows if prose.loop_number(row.name) in numbers]


def _part(rows: list[Row], message: str) -> list[Row]:
    """The only loop whose name holds the message, or a word of it that joins parts with dashes."""
    fitting = _parts(rows, message)
    return fitting if len(fitting) == 1 else []


def _parts(rows: list[Row], message: str) -> list[Row]:
    """All loops whose name does: words that any request may have, like `add`, describe none."""
    plain = message.casefold()
    pieces = {re.sub(r"[\s_]+", "-", plain), *re.findall(r"\w+(?:-\w+)+", plain)}
    pieces = {piece for piece in pieces if len(piece) >= SHORTEST}
    return [row for row in rows if any(piece in row.name.casefold() for piece in pieces)]


def _described(rows: list[Row], message: str) -> list[Row]:
    """Loops with the most words of the message, in any form (`exports` for `export`)."""
    wanted = _stems(message) - _MEANS_ANY
    scores = [
        len(wanted & _stems(f"{row.name.partition('-')[2]} {row.text[: LONGEST * 5]}"))
        for row in rows
    ]
    best = max(scores, default=0)
    return [row for row, score in zip(rows, scores, strict=True) if score == best] if best else []


def _stems(text: str) -> set[str]:
    return set(map(recall.stem, recall.words(text)))


def described(name: str, text: str) -> str:
    """A loop in a few words, for a line that says which one is meant."""
    return f"{name} ({prose.clean((text.strip() or 'no text').splitlines()[0], 80)})"
