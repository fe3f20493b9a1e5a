"""Words of a person, a model or a file within text of ours: one line, bounded, unable to pass for
ours."""

from __future__ import annotations

#: What stands behind a `<` that begins no tag; nothing does so too.
_NO_TAG = ("", *" \t\n0123456789=-")


def clean(text: str, most: int) -> str:
    """One line of somebody's text: control characters become spaces, at most `most` characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: most + 1])
    return line if len(line) <= most else line[: most - 1] + "…"


def untagged(text: str) -> str:
    """Somebody's text in which no `<` opens or closes a block of a prompt, as `</name>` would;
    comparisons stay."""
    first, *rest = text.split("<")
    return first + "".join(("<" if part[:1] in _NO_TAG else "‹") + part for part in rest)


def subject(text: str, most: int) -> str:
    """A task's subject within a line of ours: cut like `clean`, without the marks between which our
    own commands and paths stand, so that no subject can bring any of its own."""
    return clean(text, most).replace("`", "'")


def count(number: int, one: str, many: str = "") -> str:
    """A number with its word: `1 issue`, `2 issues`; `many` where the plural is not the word with
    an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
