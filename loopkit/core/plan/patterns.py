"""Relevant patterns: what was gathered about the code that a loop touches, kept for context.md."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..journal import prose, verdict

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

#: Patterns that are kept, and characters of each, at most.
MOST, LONGEST = 10, 200


def gathered(state: LoopState, text: str) -> list[Change]:
    """A gatherer's answer: its lines that say something, without list marks and fences, the first
    ones. They take the place of those before; no line once the loop is over."""
    if state.session.status in verdict.FINAL:
        return []
    rows = (" ".join(row.strip().lstrip("-*• ").split()) for row in text.splitlines())
    kept = (prose.clean(row, LONGEST) for row in rows if row and not row.startswith(("```", "#")))
    return [("patterns_gathered", {"lines": list(itertools.islice(kept, MOST))})]
