"""Words that are shown: bounded, and nothing in them that would hide or start what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.journal import prose, verdict

if TYPE_CHECKING:
    from ..core.journal.state import LoopState

#: How the lines begin that show an open question; characters of it at most.
QUESTION, LONGEST_QUESTION = "The person is asked: ", 4000
#: Control characters but line breaks; marks that turn the direction of text, and those that nobody
#: sees (the joiners of scripts and emoji apart), which hide words from a person and not from a
#: model.
_HARMLESS = dict.fromkeys(
    (
        *range(10),
        *range(11, 32),
        *range(127, 160),
        *(0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    ),
    " ",
)


def line(words: object, most: int) -> str:
    """A text as one line of at most `most` characters in a file of ours; whatever its length, only
    its beginning is looked at."""
    text = prose.clean(" ".join(str(words)[: most * 4].split()), most)
    return text.replace("<!--", "<! --").replace("-->", "-- >")


def more(count: int) -> str:
    """`+3 more`."""
    return f"+{count} more"


def printable(text: str) -> str:
    """Text that does nothing to a terminal and hides nothing: such characters become blanks, line
    breaks stay."""
    return text.translate(_HARMLESS)


def quoted(text: str, most: int) -> str:
    """Somebody's words with their line breaks, at most `most` characters: each further line is
    indented, so that none can pass for one of ours."""
    rows = [row.rstrip() for row in text[:most].splitlines() if row.strip()]
    return "\n  ".join(rows) + (" …" if len(text) > most else "")


def wrapped(text: str, indent: str = "  ") -> str:
    """A line for people, folded to 80 columns; what cannot be folded (paths, commands) stays
    whole."""
    import textwrap

    return textwrap.fill(
        text, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def question(state: LoopState) -> list[str]:
    """The question that is open, whole, in a list of one; an empty one where none is."""
    text = state.session.question
    if text is None or state.session.status in verdict.FINAL:
        return []
    return [QUESTION + quoted(text, LONGEST_QUESTION)]
