"""Decisions and anti-patterns of a loop, folded from the journal; both count with one number."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable


class Trail:
    """Anti-patterns and what became of decisions; changed only by FOLDS. The decisions themselves are state.decisions."""

    def __init__(self) -> None:
        self.anti_patterns: list[dict] = []


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {}
