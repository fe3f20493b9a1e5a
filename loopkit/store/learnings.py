"""`.loop/learnings.jsonl`: what loops taught; found again by the words of a request."""

from __future__ import annotations

import json
import os
import re
from collections import namedtuple

from ..core import clock

NAME = "learnings.jsonl"
SHOWN = 5
_RECENT, _SURE = 30 * 86400, 0.8
_TEXT = {"failure": "prevention", "discovery": "discovery", "constraint": "constraint", "delegation": "prevention"}

Learning = namedtuple("Learning", "title kind text")


def read(root: str) -> list[dict]:
    """All entries; lines that are none are passed over. No file: none."""
    try:
        with open(os.path.join(root, NAME), "rb") as file:
            raw = file.read()
    except OSError:
        return []
    found = []
    for line in raw.decode("utf-8-sig", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("kind") in _TEXT:
            found.append(row)
    return found


def fitting(rows: list[dict], request: str, now: float) -> list[Learning]:
    """The best 5 of those that share a word with the request; fresh, sure and repeated ones come first, then by words."""
    words = _words(request)
    ranked = []
    for place, row in enumerate(rows):
        shared = len(words & _words(f"{row.get('context', '')} {row.get('applies_to', '')}"))
        if shared:
            fresh = now - clock.epoch(str(row.get("ts", ""))) < _RECENT
            sure = _number(row.get("confidence")) >= _SURE
            again = row["kind"] == "failure" and _number(row.get("seen")) >= 2
            ranked.append((-(fresh + sure + again), -shared, -place, row))
    ranked.sort(key=lambda entry: entry[:3])
    found: list[Learning] = []
    for *_, row in ranked[:SHOWN]:
        text = str(row.get(_TEXT[row["kind"]], ""))[:300]
        title = str(row.get("context", ""))[:120]
        if any(title == other.title for other in found):  # an answer names one of them by its title
            title = f"{title}: {text[:80]}"
        found.append(Learning(title, row["kind"], text))
    return found


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def _words(text: str) -> set:
    return set(re.findall(r"\w{3,}", str(text).lower()))
