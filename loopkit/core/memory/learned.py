"""What was learnt: entries of four kinds and decisions of earlier loops, as they are read and as
they are kept."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import TYPE_CHECKING

from ..journal import clock, prose
from . import recall

if TYPE_CHECKING:
    from collections.abc import Iterable

FAILURE, DISCOVERY, CONSTRAINT, DELEGATION = "failure", "discovery", "constraint", "delegation"
#: What is told of an entry of each kind: the first of these fields that says something.
_TOLD = {
    FAILURE: ("prevention", "root_cause", "failure"),
    DISCOVERY: ("discovery",),
    CONSTRAINT: ("constraint",),
    DELEGATION: ("prevention", "failure_pattern", "outcome"),
}
#: What makes two entries of a kind and a context the same one.
_SAME = {
    FAILURE: ("failure", "prevention"),
    DISCOVERY: ("discovery",),
    CONSTRAINT: ("constraint",),
    DELEGATION: ("loop", "shape_chosen", "outcome", "prevention"),
}
#: Fields that say what happened; words in them count, but less than those of context and
#: applies_to.
_BODY = (
    "failure",
    "root_cause",
    "prevention",
    "discovery",
    "constraint",
    "source",
    "failure_pattern",
)
#: Characters of a title, of a text as it is told, of one field as far as it is searched.
TITLE, TEXT, SEARCHED = 120, 300, 20_000

#: A learning as it is found again. title: its context; text: what it says; context, applies_to,
#: body: what it is found by; at: POSIX seconds, 0 where unknown; seen: how often it came back; key:
#: the same for two that say the same; where: project, user or the file of a decision; taken: it
#: came with a repository, and the person took it over.
Learning = namedtuple(
    "Learning",
    "kind title text context applies_to body at sure seen key where taken",
    defaults=(False,),
)
#: How such a one is told.
CAME = "(came with the repository)"


# -- reading


def entry(row: object, where: str) -> Learning | None:
    """The learning of a JSON line, or None where it is none: no object, another kind, nothing said.
    Odd fields are passed over, never an error."""
    if (
        not isinstance(row, dict)
        or not isinstance(row.get("kind"), str)
        or row["kind"] not in _TOLD
    ):
        return None
    kind = row["kind"]
    context = _text(row.get("context"))
    told = next((text for text in (_text(row.get(name)) for name in _TOLD[kind]) if text), "")
    if not context and not told:
        return None
    body = " ".join(filter(None, (_text(row.get(name)) for name in _BODY)))
    return Learning(
        kind,
        context[:TITLE] or told[:TITLE],
        told[:TEXT],
        context,
        _text(row.get("applies_to")),
        body,
        max(clock.epoch(_text(row.get("ts"))), 0),
        number(row.get("confidence")) >= recall.SURE,
        number(row.get("seen")) if kind == FAILURE else 0,
        key(row),
        where,
    )


def key(row: dict) -> str:
    """The same for two rows of one kind, one context and one main text."""
    said = [
        _text(row.get("kind")),
        _text(row.get("context")),
        *(_text(row.get(one)) for one in _SAME[row["kind"]][:1]),
    ]
    if not said[-1] or row["kind"] == DELEGATION:
        said += [_text(row.get(name)) for name in _SAME[row["kind"]][1:]]
    return "\n".join(" ".join(one.lower().split()) for one in said)


def unlike(rows: Iterable[Learning]) -> list[Learning]:
    """Those that say different things, in their order: of two that say the same the later one
    stands, in its place; but one of an earlier source (`where`) before one of a later one, and the
    person's own before one that was taken over."""
    stand: dict[str, tuple[int, Learning]] = {}
    for place, one in enumerate(rows):
        known = stand.get(one.key)
        if known is None or (
            known[1].where == one.where if known[1].taken == one.taken else known[1].taken
        ):
            stand[one.key] = (place, one)
    return [one for _, one in sorted(stand.values(), key=lambda pair: pair[0])]


def decision(text: str, where: str) -> Learning | None:
    """The learning of a decision's or an anti-pattern's file, or None where it is none or was
    superseded."""
    lines = prose.untagged(text).replace("\r\n", "\n").split("\n")
    head = next((line for line in lines if line.startswith("# ")), "")
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        found = re.match(r"\*\*([A-Za-z ]{2,30}):?\*\*:?\s*(.*)", line)
        if found:
            name = found[1].strip().lower()
            name = "instead" if name == "avoid" else name  # as older files call it
            fields[name] = found[2].strip()
        elif name and line.strip() and not line.startswith("#"):
            fields[name] += " " + line.strip()
    status = fields.get("status", "").upper()
    kind = (
        "anti-pattern"
        if status.startswith("ANTI-PATTERN")
        else "decision"
        if status.startswith("DECISION")
        else ""
    )
    title = re.sub(r"^#\s*(?:[\w-]+\s+\d+\s*:)?\s*", "", head).strip()
    if not kind or not title:
        return None
    told = ("instead", "what") if kind == "anti-pattern" else ("choice", "context")
    said = next((fields[one] for one in told if fields.get(one)), "")
    context = f"{title} {fields.get('context', '')}".strip()
    body = " ".join(
        filter(None, (fields.get(one, "") for one in ("choice", "what", "why", "instead")))
    )
    at = max(clock.epoch(fields.get("date", "")[:10] + "T00:00:00Z"), 0)
    same = "\n".join((kind, title.lower(), said.lower()))
    return Learning(
        kind,
        title[:TITLE],
        said[:TEXT],
        context,
        "",
        body,
        at,
        False,
        0,
        same,
        prose.untagged(where),
    )


def _text(value: object) -> str:
    """A field as text that can be stored and told: lists joined, lone surrogates replaced, without
    tags, bounded."""
    if isinstance(value, (list, tuple)):
        value = " ".join(str(one)[:SEARCHED] for one in value[:100])
    if value is None or isinstance(value, (dict, bool)):
        return ""
    text = prose.untagged(str(value)[:SEARCHED])
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def number(value: object) -> float:
    """A number of a row, from 0 to 10⁹; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return float(min(max(value, 0), 10**9)) if value == value else 0


# -- keeping


def again(row: dict, known: list[dict]) -> dict | None:
    """The line to write for a learning that is to be kept, or None where it stands already; known:
    the lines so far.

    A failure that another loop has met before is written with one more in `seen`; the newer line
    takes the older's place.
    """
    same = [one for one in known if key(one) == key(row)]
    if not same:
        return row
    last = same[-1]
    if row["kind"] == FAILURE and row.get("loop") != last.get("loop"):
        return {**last, **row, "seen": int(max(number(last.get("seen")), 1)) + 1}
    if row["kind"] == FAILURE and "seen" in last:
        row = {**row, "seen": last["seen"]}
    return (
        row
        if any(row[name] != last.get(name) for name in row if name not in ("ts", "loop"))
        else None
    )
