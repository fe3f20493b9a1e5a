"""Members of a JSON object's text: found, put in and taken out; every other byte stays as it is.
For files of the person's, who wrote them as they like them."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """start: where its name begins · value, end: where its value begins and ends."""

    start: int
    value: int
    end: int


def members(text: str) -> dict[str, Member]:
    """The members of the object that a text consists of, in order. Raises ValueError where it is no
    object, or a name stands there twice."""
    if type(json.loads(text)) is not dict:
        raise ValueError("no JSON object")
    found: dict[str, Member] = {}
    at = _after(text, text.index("{") + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _after(text, _after(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        if name in found:
            raise ValueError(f"{name} stands there twice")
        found[name] = Member(at, value, end)
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return found


def _after(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def added(text: str, name: str, value: object) -> str:
    """The text with a further member, the first one, set off as the one that was first."""
    first = text.index("{") + 1
    known = list(members(text).values())
    if known:
        lead, end = text[first : known[0].start], ","
    else:
        line = "\r\n" if "\r\n" in text else "\n"
        lead, end = line + "  ", line
    member = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
    return text[:first] + lead + member + end + text[first:]


def without(text: str, name: str) -> str:
    """The text without a member: what `added` put in, to the byte. Raises KeyError, ValueError."""
    found = members(text)
    own, names = found[name], list(found)
    number = names.index(name)
    if number + 1 < len(names):
        return text[: own.start] + text[found[names[number + 1]].start :]
    if number:
        return text[: found[names[number - 1]].end] + text[own.end :]
    first = text.index("{") + 1
    end = own.end + (2 if text[own.end :].startswith("\r\n") else text[own.end] == "\n")
    return text[:first] + text[end:]
