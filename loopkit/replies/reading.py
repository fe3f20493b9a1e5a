"""One record out of what an agent wrote: alone, in a fence, between prose. Nothing is guessed."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable

from ..core.journal.errors import UsageFault
from . import Invalid, check, records

#: Characters of a reply at the most.
LARGEST = 100_000
#: Records that are looked for in a reply with prose around them.
_TRIES = 20
#: More brackets in a row than any reply has; the reader would take seconds over thousands.
_DEEP = re.compile(r"(?:[\[{]\s*){30}")


def record(text: str, names: list[str], prepare: Callable[[str], str] = str) -> dict:
    """The one record with these fields in a text. Raises Invalid for none, several, or one that
    cannot be read. prepare: what is done to block YAML first; where that cannot be read, it is read
    as it stands.
    """
    if len(text) > LARGEST:
        size = f"{len(text):,} characters, at most {LARGEST:,}"
        raise Invalid(f"the reply has {size}; put long output into a file")
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        raise Invalid(f"the reply is empty; its fields: {', '.join(names)}")
    if _DEEP.search(text):
        raise Invalid("the reply is nested too deep")
    fenced, rest = _fences(text)
    objects, rest = _objects(rest, names)
    block = _block(rest, names)
    fenced = [inner for inner in fenced if _opens(inner, names)]
    rows: list[dict | str] = [*fenced, *objects, *filter(None, [block])]
    if len(rows) > 1:
        raise Invalid(f"the reply holds {len(rows)} records; answer with one and nothing else")
    value = rows[0] if rows else text
    row = _read(value, prepare) if isinstance(value, str) else value
    if not set(row) & set(names):
        raise Invalid(f"the reply holds none of the fields {', '.join(names)}{_hint(text)}")
    return row


def _fences(text: str) -> tuple[list[str], str]:
    """What stands between fences that begin a line, and the text without them; each must end."""
    inside: list[str] = []
    outside: list[str] = []
    opened, begun, mark = None, 0, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if opened is None:
            fence = re.match(r"(```+|~~~+)[^`]*$", line)
            if fence:
                opened, begun, mark = number, len(outside), fence[1]
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
    """Records in braces that begin a line (no JSON: as text), and the text without them."""
    objects: list[dict | str] = []
    start, decoder = 0, json.JSONDecoder(object_pairs_hook=records.once)
    for _ in range(_TRIES):
        brace = re.compile(r"^[ \t]*\{", re.M).search(text, start)
        if brace is None:
            break
        start = brace.end() - 1
        value: dict | str
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = text.rindex("}") + 1 if text.rfind("}") > start else len(text)
            value = text[start:end]
        if _opens(value, names) if isinstance(value, str) else set(value) & set(names):
            objects.append(value)
            text = text[:start] + text[end:]
        else:
            start += 1
    return objects, text


_KEY = re.compile(r"""["']?([A-Za-z_][\w-]*)["']?[ \t]*:(?:[ \t]|$)""")


def _block(text: str, names: list[str]) -> str:
    """The lines of a YAML record between prose, "" for none: from its first field to the first line
    that is none of it. A key that nobody knows belongs to it, and is refused with its name, unless
    an empty line parts it off.
    """
    lines = text.split("\n")
    keys = [match[1] if (match := _KEY.match(line)) else "" for line in lines]
    first = next((number for number, key in enumerate(keys) if key in names), None)
    if first is None:
        return ""
    end, blank = first, False
    for number in range(first, len(lines)):
        if not lines[number].strip():
            blank = True
            continue
        known = keys[number] in names or bool(keys[number]) and not blank
        if not known and not _is_inner(lines[number], blank):
            break
        end, blank = number + 1, False
    for line, key in zip(lines[end:], keys[end:], strict=True):
        if key in names:
            what = f"after prose the record goes on with {line.strip()[:60]!r}"
            raise Invalid(f"{what}; answer with one record and nothing else")
    return "\n".join(lines[first:end]) + "\n"


def _is_inner(line: str, blank: bool) -> bool:
    """Whether a line goes on with the value above it; blank: behind an empty line."""
    if line.startswith((" ", "\t", "- ")):
        return True
    return not blank and line[0] in "-#" and not line.startswith("---")


def _read(text: str, prepare: Callable[[str], str]) -> dict:
    if text.lstrip()[:1] != "{":
        with contextlib.suppress(UsageFault):
            return records.parse(prepare(text), "the reply", dict)
    try:
        return records.parse(text, "the reply", dict)
    except UsageFault as error:
        hint = "; indent with blanks" if "\\t" in error.what else _hint(text)
        raise Invalid(f"{error.what}{hint}") from None


def _hint(text: str) -> str:
    return "; write straight quotes" if re.search("[“”„]", text) else ""


# -- a plan read from a numbered list, where a planner gives no record


#: Entries that such a list may have.
MOST = 15
_ITEM = re.compile(r"^[ ]{0,3}(\d{1,3})[.)][ \t]+(\S.*)$")


def fallback(name: str, text: str, test_command: str | None) -> dict | None:
    """A plan or replan, or None: no such list, two of them, too long, no test command known.

    An entry is `description | complexity`; without a complexity that we know it is medium.
    """
    if name not in ("plan", "replan") or not test_command:
        return None
    tasks: list[dict] = []
    for line in text[:LARGEST].splitlines():
        item = _ITEM.match(line)
        if item:
            if int(item[1]) != len(tasks) + 1:
                return None
            tasks.append({**_task(item[2]), "verify": test_command})
        elif tasks and line[:2] in ("  ", "\t") and line.strip():
            tasks[-1]["description"] += "\n" + line.strip()
    if not tasks or len(tasks) > MOST:
        return None
    analysis = {} if name == "plan" else {"analysis": "read from a numbered list"}
    try:
        return check(name, {**analysis, "tasks": tasks})
    except Invalid:
        return None


def _task(text: str) -> dict:
    words, _, grade = text.rpartition("|")
    grade = grade.strip(" *_.`").lower()
    if not words or grade not in ("simple", "medium", "complex"):
        words, grade = text, "medium"
    return {"description": " ".join(words.replace("**", "").split()), "complexity": grade}
