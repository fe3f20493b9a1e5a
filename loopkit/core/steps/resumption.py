"""What becomes of tasks when a loop is gone on with. Deciders: (state, input) → journal lines;
refusals raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import task as tasks
from ..journal import verdict, worktrees
from ..journal.errors import Refused
from ..journal.state import INTERRUPTED
from ..plan import approval

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState


def reopened(state: LoopState) -> list[Change]:
    """Lines that make work that was cut short pending again (rule: Resume); no attempt is counted
    for it.

    Completed tasks and tasks that wait for their subtasks stay as they are, and so does one whose
    check has passed where that alone completes it, or leads to its review or its merge: only the
    word is missing.
    """
    apart = {*worktrees.unmerged(state), *worktrees.unchecked(state)}
    parents = {task.parent for task in state.tasks.values()}
    changes: list[Change] = []
    for task in state.tasks.values():
        if task.status == tasks.IN_PROGRESS:
            passed = (
                task.evidence is not None and task.evidence.passed and approval.on_evidence(state)
            )
            if (
                not passed
                and task.id not in apart
                and not (state.approval == approval.REVIEW and approval.proven(task))
            ):
                changes.append(("task_reopened", {"id": task.id, "reason": INTERRUPTED}))
        elif task.status == tasks.FAILED:
            changes.append(
                ("task_reopened", {"id": task.id, "reason": "resumed after its failure"})
            )
        elif (
            task.block_kind == tasks.SPLIT
            and task.status == tasks.BLOCKED
            and task.id not in parents
        ):
            changes.append(
                ("task_reopened", {"id": task.id, "reason": "it was split into nothing"})
            )
    return changes


def again(state: LoopState) -> list[Change]:
    """`resume --again`: a loop that failed is tried once more, its unfinished tasks with all their
    attempts.

    The person's own decision; raises Refused for any other loop, and where nobody can be asked.
    """
    session = state.session
    if session.status != verdict.FAILED:
        kind = (
            f"is over ({session.verdict})" if session.status in verdict.FINAL else "has not failed"
        )
        raise Refused(f"loop {state.name} {kind}", "--again is for loops that ended as impossible")
    if session.unattended:
        raise Refused(
            "nobody can be asked, and only the person tries again",
            "start Claude Code in a terminal",
        )
    return [("attempts_reset", {"ids": list(state.open)}), *reopened(state)]
