"""Text for people: templates filled in, somebody's words as bounded lines that hide nothing."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from ..core.journal import prose, verdict

if TYPE_CHECKING:
    import jinja2

    from ..core.journal.state import LoopState

#: How the lines begin that show an open question; characters of it at most.
QUESTION, LONGEST_QUESTION = "The person is asked: ", 4000
#: Control characters but line breaks; marks that turn the direction of text, and those that nobody
#: sees (the joiners of scripts and emoji apart), which hide words from a person.
_HARMFUL = re.compile(
    r"[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e007f]"
)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.path.join(root, "templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
        bytecode_cache=_compiled(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _compiled() -> jinja2.BytecodeCache | None:
    """Templates are kept compiled where modules are (`-X pycache_prefix`), if anywhere: to compile
    them costs a command more than to fill them in."""
    if sys.pycache_prefix is None:
        return None
    import jinja2

    class Cache(jinja2.FileSystemBytecodeCache):
        """What cannot be read or written is compiled anew."""

        def load_bytecode(self, bucket: Any) -> None:
            try:
                super().load_bytecode(bucket)
            except Exception:  # a damaged file
                bucket.reset()

        def dump_bytecode(self, bucket: Any) -> None:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)

    folder = os.path.join(sys.pycache_prefix, "templates")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
    return Cache(folder)


def text(template: str, **values: object) -> str:
    """A template of `templates/` filled in; a missing value is an error, never a blank."""
    return _environment().get_template(template).render(**values)


def line(words: object, most: int) -> str:
    """A text as one line of at most `most` characters; only its beginning is looked at."""
    text = prose.clean(" ".join(str(words)[: most * 4].split()), most)
    return text.replace("<!--", "<! --").replace("-->", "-- >")


def first(rows: list[str], most: int) -> list[str]:
    """The first rows of a list, and `+3 more` for the others."""
    left = len(rows) - most
    return [*rows[:most], f"+{left} more"] if left > 0 else rows


def decisions(state: LoopState, most: int) -> tuple[list[str], list[str]]:
    """(decisions that stand, anti-patterns), newest first, in lines of `most` characters."""
    if not state.decisions and not state.decision_log.anti_patterns:
        return [], []
    from ..core.memory import decisions as rules

    lessons = reversed(state.decision_log.anti_patterns)
    return (
        [rules.line(row, most).removeprefix("decision ") for row in reversed(rules.live(state))],
        [rules.line(row, most).removeprefix("anti-pattern ") for row in lessons],
    )


def printable(text: str) -> str:
    """Text in which nothing colours or steers a terminal, or hides words."""
    return _HARMFUL.sub(" ", prose.plain(text))


def printable_json(value: object) -> str:
    """One JSON object in a line. Whatever `printable` would take out of a text is escaped: a
    terminal must not obey what a program reads unchanged."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return _HARMFUL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def quoted(text: str, most: int) -> str:
    """Somebody's words with their line breaks, at most `most` characters: each further line is
    indented, so that none can pass for one of ours."""
    rows = [row.rstrip() for row in text[:most].splitlines() if row.strip()]
    return "\n  ".join(rows) + (" …" if len(text) > most else "")


def wrapped(text: str, indent: str = "  ") -> str:
    """A line folded to 80 columns; paths and commands stay whole."""
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
