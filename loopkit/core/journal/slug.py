"""Names of loop folders: `001-add-user-auth`."""

from __future__ import annotations

import re
import unicodedata

_STOP = frozenset(
    "a an the to of in on at for and or with by from into is are be it its this that we i you "
    "please can could should "
    "make sure so as our my your not do does when where which will would".split()
)
LONGEST, MOST_WORDS = 40, 5


def slug(text: str) -> str:
    """3-5 keywords of a request in kebab-case, ASCII, at most 40 characters; `task` where nothing
    remains."""
    plain = unicodedata.normalize("NFKD", text[:2000]).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in _STOP]
    result = ""
    for word in words[:MOST_WORDS]:
        longer = f"{result}-{word}" if result else word[:LONGEST]
        if len(longer) > LONGEST:
            break
        result = longer
    return result or "task"


def folder(number: int, text: str) -> str:
    """`001-add-user-auth` of a loop's number and request; four digits from 1000 on."""
    return f"{number:03d}-{slug(text)}"


def number_of(name: str) -> int | None:
    """The number of a loop folder, archive or purge mark, or None for any other name."""
    found = re.match(r"(\d{3,})-", name)
    return int(found[1]) if found else None
