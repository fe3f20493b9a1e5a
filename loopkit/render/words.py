"""Somebody's words within a file of ours: one line, bounded, and nothing that would hide what
follows."""

from __future__ import annotations

from ..core.journal import prose


def line(words: object, most: int) -> str:
    """A text as one line of at most `most` characters; whatever its length, only its beginning is
    looked at."""
    text = prose.clean(" ".join(str(words)[: most * 4].split()), most)
    return text.replace("<!--", "<! --").replace("-->", "-- >")


def more(count: int) -> str:
    """`+3 more`."""
    return f"+{count} more"
