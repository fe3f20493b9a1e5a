"""TaskCompleted: a task of the loop is done when its evidence says so, not when the list is
told."""

from __future__ import annotations

import os

from ..core.journal import prose, settings, verdict
from ..core.plan import approval
from ..store import loops, native
from . import project, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dispatch import Call


def handle(call: Call) -> dict | None:
    """Refuse a mirrored task, or one that the loop took in, without passing evidence; leave every
    other task alone."""
    found = project.own_view(call)
    name = call.given.get("task_id")
    if found is None or found.session.status in verdict.FINAL or type(name) is not str:
        return None
    state, _ = loops.fold(found.root, found.name)
    task = state.tasks.get(name)
    if task is None:
        task = next((one for one in state.tasks.values() if one.native == name), None)
        if task is not None and not native.is_of(_record(call, name), task.subject, found.name):
            return None
    if task is None:
        full = state.planned >= settings.MOST_TASKS  # what is left out then is Claude's own
        return None if full else _not_taken_in(call, found, name)
    evidence = task.evidence
    if task.status == "completed":
        return None
    if evidence is not None and evidence.passed and not task.stale:
        if approval.on_evidence(state):
            return None
        return reply.refuse(
            f"{task.id} has passed its check and stays open until it is approved; run loopkit "
            "wave next"
        )
    if task.verify:
        way = (
            f"run on a line of its own: loopkit verify {task.id} -- {prose.clean(task.verify, 300)}"
        )
    else:
        way = f'give it a verification first: loopkit task set {task.id} --verify "<command>"'
    return reply.refuse(f"{task.id} has no passing evidence, so it stays open; {way}")


def _record(call: Call, name: str) -> dict | None:
    """The task of that number in the session's list."""
    folder = native.folder(call.env, project.session_id(call))
    return (
        native.read_task(os.path.join(folder, f"{name}.json"))
        if folder and native.is_number(name)
        else None
    )


def _not_taken_in(call: Call, found: loops.View, name: str) -> dict | None:
    """A task that Claude made for this loop just now, while a command held the ledger."""
    if (
        not native.is_number(name)
        or found.session.status != verdict.RUNNING
        or found.session.stage != "executing"
    ):
        return None
    record = _record(call, name)
    if record is None or native.is_ours(record):
        return None
    return reply.refuse(
        f"task {name} is not in the loop's ledger yet; run loopkit task list, which takes it in "
        "and says how it is verified"
    )
