"""What supervision leaves in a loop's state: who was asked for what, the plan and its reviews, judgements of tasks."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable


class Supervised:
    """Facts of a supervised or reviewed loop that belong to no single task; changed only by FOLDS."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}  # "kind" or "kind T-003" → how often


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {}
