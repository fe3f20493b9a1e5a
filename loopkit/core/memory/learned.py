"""What was learnt, as it is read and kept: entries of four kinds, decisions of earlier loops."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Iterable

from ..journal import clock, prose
from . import recall

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
#: Fields that say what happened; words in them count less than those of context and applies_to.
_BODY = "failure root_cause prevention discovery constraint source failure_pattern".split()
#: Characters of a title, of a text as it is told, of one field as far as it is searched.
TITLE, TEXT, SEARCHED = 120, 300, 20_000

#: A learning as it is found again. title: its context; text: what it says; context, applies_to,
#: body: what it is found by; at: POSIX seconds, 0 where unknown; seen: how often it came back; key:
#: the same for two that say the same; where: project, user or the file of a decision; taken: it
#: came with a repository, and the person took it over.
Learning = namedtuple(
    "Learning",
    "kind title text context applies_to body at sure seen key where taken",
    defaults=("", "", 0, False, 0, "", "", False),
)
#: How such a one is told.
CAME = "(came with the repository)"


# -- reading


def entry(row: object, where: str) -> Learning | None:
    """The learning of a JSON line, or None where it is none; odd fields are passed over."""
    kind = row.get("kind") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(kind, str) or kind not in _TOLD:
        return None
    context = _text(row.get("context"))
    told = next(filter(None, (_text(row.get(name)) for name in _TOLD[kind])), "")
    if not context and not told:
        return None
    return Learning(
        kind,
        context[:TITLE] or told[:TITLE],
        told[:TEXT],
        context,
        _text(row.get("applies_to")),
        body=" ".join(filter(None, (_text(row.get(name)) for name in _BODY))),
        at=max(clock.epoch(_text(row.get("ts"))), 0),
        sure=number(row.get("confidence")) >= recall.SURE,
        seen=number(row.get("seen")) if kind == FAILURE else 0,
        key=key(row),
        where=where,
    )


def key(row: dict) -> str:
    """The same for two rows of one kind, one context and one main text."""
    main, *others = _SAME[row["kind"]]
    texts = [_text(row.get(name)) for name in ("kind", "context", main)]
    if not texts[-1] or row["kind"] == DELEGATION:
        texts += [_text(row.get(name)) for name in others]
    return "\n".join(" ".join(text.lower().split()) for text in texts)


def unlike(rows: Iterable[Learning]) -> list[Learning]:
    """Those that say different things, in their order: of two that say the same the later one
    stands, in its place; but one of an earlier source (`where`) before one of a later one, and the
    person's own before one that was taken over."""
    stand: dict[str, Learning] = {}
    for row in rows:
        known = stand.get(row.key)
        if known is not None:
            if not (known.where == row.where if known.taken == row.taken else known.taken):
                continue
            del stand[row.key]
        stand[row.key] = row
    return list(stand.values())


def decision(text: str, where: str) -> Learning | None:
    """The learning of a file of a decision or an anti-pattern; None if none, or superseded."""
    lines = prose.untagged(text).replace("\r\n", "\n").split("\n")
    head = next((line for line in lines if line.startswith("# ")), "")
    fields = _fields(lines)
    status = fields.get("status", "").upper()
    kinds = {"ANTI-PATTERN": ("instead", "what"), "DECISION": ("choice", "context")}
    kind = next((kind for kind in kinds if status.startswith(kind)), "")
    title = re.sub(r"^#\s*(?:[\w-]+\s+\d+\s*:)?\s*", "", head).strip()
    if not kind or not title:
        return None
    name = next((name for name in kinds[kind] if fields.get(name)), "")
    told = f"instead: {fields[name]}" if name == "instead" else fields.get(name, "")
    texts = (fields.get(name, "") for name in ("choice", "what", "why", "instead"))
    kind = kind.lower()
    return Learning(
        kind,
        title[:TITLE],
        told[:TEXT],
        context=f"{title} {fields.get('context', '')}".strip(),
        body=" ".join(filter(None, texts)),
        at=max(clock.epoch(fields.get("date", "")[:10] + "T00:00:00Z"), 0),
        key="\n".join((kind, title.lower(), told.lower())),
        where=prose.untagged(where),
    )


def _fields(lines: list[str]) -> dict[str, str]:
    """{name in small letters: text} of lines like `**Status:** text` and what goes on below."""
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        field = re.match(r"\*\*([A-Za-z ]{2,30}):?\*\*:?\s*(.*)", line)
        if field:
            name = field[1].strip().lower()
            name = "instead" if name == "avoid" else name  # as older files call it
            fields[name] = field[2].strip()
        elif name and line.strip() and not line.startswith("#"):
            fields[name] += " " + line.strip()
    return fields


def _text(value: object) -> str:
    """A field as text that can be stored and told: one text, without tags and lone surrogates."""
    if isinstance(value, (list, tuple)):
        value = " ".join(str(entry)[:SEARCHED] for entry in value[:100])
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
    the lines so far. A failure that another loop has met before is written with one more in `seen`;
    the newer line takes the older's place.
    """
    same = [line for line in known if key(line) == key(row)]
    if not same:
        return row
    last = same[-1]
    if row["kind"] == FAILURE and row.get("loop") != last.get("loop"):
        return {**last, **row, "seen": int(max(number(last.get("seen")), 1)) + 1}
    if row["kind"] == FAILURE and "seen" in last:
        row = {**row, "seen": last["seen"]}
    told = row.keys() - {"ts", "loop"}
    return row if any(row[name] != last.get(name) for name in told) else None
