"""Checkpoints of a loop and the line they stand on, folded from the journal."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable


class Line:
    """Checkpoints and rollbacks of one loop; changed only by FOLDS."""

    def __init__(self) -> None:
        self.checkpoints: list[dict] = []


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {}
