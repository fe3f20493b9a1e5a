"""How a loop has gone: its batches with their outcomes, what the detectors said, recoveries. Folded from the journal."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable


class Course:
    """Closed batches and recoveries of one loop; changed only by FOLDS."""

    def __init__(self) -> None:
        self.batches: list = []


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {}
