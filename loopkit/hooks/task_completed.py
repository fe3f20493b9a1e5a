"""TaskCompleted: a task of the loop is done when its evidence says so, not when the list does."""

from __future__ import annotations

import os

from ..core.journal import settings, verdict
from ..store import loops, native
from . import project, reply
from .reply import Call


def handle(call: Call) -> dict | None:
    """Refuse a task of the loop without passing evidence; leave every other task alone."""
    found, name = project.open_view(call), call.given.get("task_id")
    if found is None or type(name) is not str:
        return None
    state, _ = loops.fold(found.root, found.name)
    task = state.tasks.get(name)
    if task is None:
        task = next((task for task in state.tasks.values() if task.native == name), None)
        if task is not None and not native.is_of(_record(call, name), task.subject, found.name):
            return None
    if task is None:
        full = state.planned >= settings.MOST_TASKS  # what is left out then is Claude's own
        return None if full else _not_taken_in(call, found, name)
    if task.status == "completed":
        return None
    if task.evidence is not None and task.evidence.passed and not task.stale:
        if state.terms.check_completes:
            return None
        why = "has passed its check and stays open until it is approved"
    else:
        why = "has no passing evidence, so it stays open"
    return reply.refuse(f"{task.id} {why}; run loopkit next")


def _record(call: Call, name: str) -> dict | None:
    """The task of that number in the session's list."""
    folder = native.folder(call.env, project.session_id(call))
    if not folder or not native.is_number(name):
        return None
    return native.read_task(os.path.join(folder, f"{name}.json"))


def _not_taken_in(call: Call, found: loops.View, name: str) -> dict | None:
    """A task that Claude made for this loop just now, while a command held the ledger."""
    if (found.session.status, found.session.stage) != (verdict.RUNNING, "executing"):
        return None
    record = _record(call, name)
    if record is None or native.is_ours(record):
        return None
    way = "run loopkit task list, which takes it in and says how it is verified"
    return reply.refuse(f"task {name} is not in the loop's ledger yet; {way}")
