"""Decisions of a loop as files, `.loop/NNN-slug/learnings/NNN-slug.md`, derived from its journal."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..core import announce, slug
from . import atomic, inside

FOLDER = "learnings"
#: Words of a file's name, alternatives and characters of a line at the most: the file stays under thirty lines.
MOST_WORDS, MOST_ALTERNATIVES, LONGEST = 4, 10, 400


def name(decision: dict) -> str:
    """`001-settled-once-use.md` of a decision."""
    words = slug.slug(str(decision.get("title", ""))).split("-")[:MOST_WORDS]
    if len(words) < 2:
        words.append("decision")
    return f"{_number(decision)}-{'-'.join(words)}.md"


def _number(decision: dict) -> str:
    return f"{int(decision.get('number', 0)):03d}"


def text(decision: dict) -> str:
    """The file of a decision (rule: Files, learnings/NNN-slug.md)."""
    lines = [
        f"# Decision {_number(decision)}: {_line(decision, 'title')}",
        f"**Date**: {str(decision.get('at', ''))[:10]}",
        "**Status**: DECISION",
        f"**Context**: {_line(decision, 'context')}",
        f"**Choice**: {_line(decision, 'choice')}",
        "**Alternatives Rejected**:",
        *[f"- {_clean(one)}" for one in decision.get("alternatives", [])[:MOST_ALTERNATIVES]],
        f"**Consequences**: {_line(decision, 'consequences')}",
        f"**Depends On**: {_line(decision, 'depends_on')}",
        f"**Invalidated If**: {_line(decision, 'invalidated_if')}",
    ]
    return "\n".join(lines) + "\n"


def _line(decision: dict, key: str) -> str:
    return _clean(str(decision.get(key) or "none"))


def _clean(words: object) -> str:
    return announce.clean(" ".join(str(words).split()), LONGEST)


def write(folder: str, decisions: Iterable[dict]) -> list[str]:
    """Write the files of a loop's decisions that are not there; gives their paths. A file that is there stays as it is.

    folder: the loop's; decisions: as folded from the journal. Raises OSError.
    """
    made = []
    for one in decisions:
        target = os.path.join(folder, FOLDER, name(one))
        if os.path.exists(target):
            continue
        inside.check(folder, target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        atomic.sweep(os.path.dirname(target))
        atomic.write(target, text(one).encode("utf-8", "replace"))
        made.append(target)
    return made
