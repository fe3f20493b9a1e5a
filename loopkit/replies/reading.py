"""One record out of what an agent wrote: alone, in a fence, between prose; as block YAML or JSON.
Nothing is guessed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable

from ..core.journal.errors import UsageFault
from . import Invalid, records

#: Characters of a reply at the most.
LARGEST = 100_000
#: Records that are looked for in a reply with prose around them.
_TRIES = 20
#: More brackets in a row than any reply has; the reader of records would take seconds over
#: thousands.
_DEEP = re.compile(r"(?:[\[{]\s*){30}")


def record(text: str, names: list[str], prepare: Callable[[str], str] = str) -> dict:
    """The one record with these fields in a text. Raises Invalid for none, several, or one that
    cannot be read.

    prepare: what is done to block YAML first; where that cannot be read, it is read as it stands.
    """
    if len(text) > LARGEST:
        raise Invalid(
            f"the reply has {len(text):,} characters, at most {LARGEST:,}; put long output into a "
            "file"
        )
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        raise Invalid(f"the reply is empty; its fields: {', '.join(names)}")
    if _DEEP.search(text):
        raise Invalid("the reply is nested too deep")
    fenced, rest = _fences(text)
    found: list[dict | str] = [one for one in fenced if _opens(one, names)]
    objects, rest = _objects(rest, names)
    block = _block(rest, names)
    found += [*objects, *([block] if block else [])]
    if len(found) > 1:
        raise Invalid(f"the reply holds {len(found)} records; answer with one and nothing else")
    one = found[0] if found else text
    value = _read(one, prepare) if isinstance(one, str) else one
    if not set(value) & set(names):
        raise Invalid(f"the reply holds none of the fields {', '.join(names)}{_hint(text)}")
    return value


def _fences(text: str) -> tuple[list[str], str]:
    """What stands between fences that begin a line, and the text without them; a fence that never
    ends is none."""
    inside: list[str] = []
    outside: list[str] = []
    opened, begun, mark = None, 0, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if opened is None:
            found = re.match(r"(```+|~~~+)[^`]*$", line)
            if found:
                opened, begun, mark = number, len(outside), found[1]
            outside.append(line)
        elif line.rstrip() == mark:
            inside.append("\n".join(lines[opened + 1 : number]))
            del outside[begun:]
            opened = None
        else:
            outside.append(line)
    return inside, "\n".join(outside)


def _opens(text: str, names: list[str]) -> bool:
    """Whether a text begins as a record of these fields does."""
    found = re.match(r"""\s*(?:---\s+)?\{?\s*["']?([A-Za-z_]\w*)["']?\s*:""", text[:1000])
    return found is not None and found[1] in names


def _objects(text: str, names: list[str]) -> tuple[list[dict | str], str]:
    """Records in braces that begin a line, and the text without them; one that is no JSON comes as
    a text."""
    found: list[dict | str] = []
    place, decoder = 0, json.JSONDecoder(object_pairs_hook=records.once)
    for _ in range(_TRIES):
        start = re.compile(r"^[ \t]*\{", re.M).search(text, place)
        if start is None:
            break
        place = first = start.end() - 1
        value: dict | str
        try:
            value, last = decoder.raw_decode(text, first)
        except (ValueError, RecursionError):
            last = text.rindex("}") + 1 if text.rfind("}") > first else len(text)
            value = text[first:last]
        if _opens(value, names) if isinstance(value, str) else set(value) & set(names):
            found.append(value)
            text = text[:first] + text[last:]
        else:
            place += 1
    return found, text


_KEY = re.compile(r"""["']?([A-Za-z_][\w-]*)["']?[ \t]*:(?:[ \t]|$)""")


def _top(text: str, names: list[str]) -> tuple[int | None, list[str]]:
    """The number of the first line that begins with one of these fields, or None; all lines."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        found = _KEY.match(line)
        if found and found[1] in names:
            return number, lines
    return None, lines


def _block(text: str, names: list[str]) -> str:
    """The lines of a YAML record between prose, "" for none: from its first field to the first line
    that is none of it.

    A key that nobody knows belongs to it, and is refused with its name, unless an empty line parts
    it off.
    """
    first, lines = _top(text, names)
    if first is None:
        return ""
    last, blank = first, False
    for number in range(first, len(lines)):
        line = lines[number]
        if not line.strip():
            blank = True
            continue
        found = _KEY.match(line)
        inner = (
            line[0] in " \t-#"
            and not line.startswith("---")
            and (not blank or line[0] in " \t" or line[:2] == "- ")
        )
        if not inner and not (found and (found[1] in names or not blank)):
            break
        last, blank = number, False
    rest = [line for line in lines[last + 1 :] if (key := _KEY.match(line)) and key[1] in names]
    if rest:
        raise Invalid(
            f"after prose the record goes on with {rest[0].strip()[:60]!r}; answer with one "
            "record and nothing else"
        )
    return "\n".join(lines[first : last + 1]) + "\n"


def _read(text: str, prepare: Callable[[str], str]) -> dict:
    if text.lstrip()[:1] != "{":
        with contextlib.suppress(UsageFault):
            return records.parse(prepare(text), "the reply", dict)
    try:
        value = records.parse(text, "the reply", dict)
    except UsageFault as error:
        hint = "; indent with blanks" if "\\t" in error.what else _hint(text)
        raise Invalid(f"{error.what}{hint}") from None
    return value


def _hint(text: str) -> str:
    return "; write straight quotes" if re.search("[“”„]", text) else ""
