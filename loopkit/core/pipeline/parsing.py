"""What an agent's final message says in lines `MARKER: value`."""

from __future__ import annotations

from collections.abc import Mapping

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def pairs(text: str) -> dict[str, str]:
    """`plateau:PLATEAU reasoning:REASONING` as {key: marker}. Raises ValueError naming the word
    that is no pair, a key that stands twice or one that the history has for itself."""
    found: dict[str, str] = {}
    for word in text.split():
        key, colon, marker = word.partition(":")
        if not (colon and key.isidentifier() and marker.isidentifier()):
            raise ValueError(f"{word!r} is not key:MARKER")
        if key in found:
            raise ValueError(f"{key!r} stands twice")
        if key in OWN:
            raise ValueError(f"{key!r} is a key of the history itself")
        found[key] = marker
    return found


#: Keys of an entry of the history that no marker may take.
OWN = frozenset(
    "stage iteration timestamp outcome exit seconds usd dirty task commit error denied notes"
    " validation".split()
)


def parse(text: str, markers: Mapping[str, str]) -> dict[str, object]:
    """The values of markers {key: marker}. Of several lines of one the last counts: agents tend to
    quote the instruction first. true, yes, false, no become booleans; None: it is missing."""
    values: dict[str, object] = dict.fromkeys(markers)
    if not markers:
        return values
    keys = {f"{marker}:": key for key, marker in markers.items()}
    for line in text.splitlines():
        marker, colon, value = line.partition(":")
        key = keys.get(marker + colon)
        if key is not None:
            word = value.strip()
            values[key] = _BOOLEANS.get(word.lower(), word)
    return values
