"""All event types of a loop, in the order in which they fold."""

from __future__ import annotations

from ..journal import state
from ..journal.events import Table
from ..journal.session import SESSION
from ..plan import course
from ..plan import events as plan

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from types import ModuleType


def _evidence() -> tuple[ModuleType, ...]:
    from ..evidence import events as evidence

    return (evidence,)


def _memory_and_review() -> tuple[ModuleType, ...]:
    from ..memory import events as memory
    from ..review import events as review

    return memory, review


#: What many loops never write, or late, is imported with its first event.
LATER = {
    _evidence: "baseline_recorded criterion_verified proof_tried proof_replaced changes_measured "
    "watched_changed watched_settled",
    _memory_and_review: "decision_recorded anti_pattern_recorded decision_checked "
    "decision_invalidated review_light review_thorough review_asked finding_resolved "
    "panel_recorded gate_result",
}
LOOP = Table(state, plan, course, base=SESSION, later=LATER)
