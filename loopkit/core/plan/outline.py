"""The plan as people see it: outline numbers of its tasks, its phase, its status.

A number is group and position, `1.2`; groups count in the order of their first task, a subtask of
1.2 is 1.2.1. It is given once (plan/events) and stands for the task's id wherever one is taken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..journal import parts

if TYPE_CHECKING:
    from ..journal.state import LoopState

SCAFFOLD, EXECUTE = "SCAFFOLD", "EXECUTE"
NEEDS_CLARIFICATION, DRAFT, APPROVED = "NEEDS_CLARIFICATION", "DRAFT", "APPROVED"
IN_PROGRESS, COMPLETE = "IN_PROGRESS", "COMPLETE"
#: Heading of tasks that name no group.
UNGROUPED = "Tasks"
_NUMBER = re.compile(r"[1-9]\d{0,5}(?:\.[1-9]\d{0,5}){1,12}", re.ASCII)


def numbers(state: LoopState) -> dict[str, str]:
    """{task id: "1.2"} of the tasks there are, in the ledger's order."""
    known = state.decision_log.outline
    return {task_id: known[task_id] for task_id in state.tasks if task_id in known}


def number(state: LoopState, task_id: str) -> str:
    """The outline number of a task; its id where it has none."""
    return state.decision_log.outline.get(task_id, task_id)


def is_number(word: str) -> bool:
    """Whether a word looks like an outline number."""
    return _NUMBER.fullmatch(word.strip()) is not None


def named(state: LoopState, word: str) -> str | None:
    """The id of the task, even a removed one, with an outline number, or None."""
    return state.decision_log.ids.get(word.strip())


def groups(state: LoopState) -> dict[str, str]:
    """{"1": heading} of the groups, in their order."""
    return {str(number): name or UNGROUPED for name, number in state.decision_log.groups.items()}


def phase(state: LoopState) -> str:
    """SCAFFOLD while a task marked `scaffold` is open, else EXECUTE."""
    return SCAFFOLD if any(state.tasks[name].scaffold for name in state.open) else EXECUTE


def plan_status(state: LoopState) -> str:
    """What plan.md says of the plan."""
    if state.tasks and not state.open:
        return COMPLETE
    if state.waves:
        return IN_PROGRESS
    if state.session.question is not None or state.session.awaiting and not state.tasks:
        return NEEDS_CLARIFICATION
    if not state.tasks or state.session.awaiting:
        return DRAFT
    reviewed = state.supervision.standing == parts.SETTLED
    return APPROVED if reviewed or not state.terms.plan_reviewed else DRAFT


def iteration(state: LoopState) -> int:
    """1 for the first plan, one more for each that revised it."""
    return 1 + state.supervision.revisions
