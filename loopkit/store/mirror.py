"""The loop's tasks in Claude Code's own list, and back: after each change, where that list exists."""

from __future__ import annotations

import time

from ..core import clock
from ..core import task as tasks
from ..core.events import Event
from . import journal, native
from .loop import Loop


def follow(loop: Loop, environment: dict) -> None:
    """Push the ledger's tasks; pull what Claude added. Never raises, never waits longer than the list's lock rule."""
    try:
        session = loop.state.session.owner
        folder = native.folder(environment, session) if session else None
        if folder is None:
            return
        rows = [_row(loop, task) for task in loop.state.tasks.values()]
        result = native.sync(rows, folder, loop.name)
        changes = _pulled(loop, result)
        if changes:
            now = clock.stamp(time.time())
            with loop.writing():
                journal.append(loop.path, [Event(kind, data, now, "hook") for kind, data in changes])
                loop.refresh()
                loop.write_snapshot()
    except OSError:
        return


def _row(loop: Loop, task: tasks.Task) -> native.Mirrored:
    types = [loop.state.criteria[name].type for name in task.criteria if name in loop.state.criteria]
    return native.Mirrored(
        id=task.id,
        subject=task.subject,
        description=task.description or task.verify,
        active_form=task.active_form,
        status=task.status,
        blocked_by=task.blocked_by,
        metadata=task.metadata(loop.name, types[0] if types else None),
        native_id=task.native,
    )


def _pulled(loop: Loop, result: native.SyncResult) -> list:
    """Journal lines for tasks that Claude created by itself, and for contradictions with what is proven."""
    known = {task.native for task in loop.state.tasks.values() if task.native}
    changes: list = []
    if loop.state.stage in ("decompose", "executing", "review"):
        fresh = [row for row in result.created if row.native_id not in known]
        for place, row in enumerate(fresh, 1):
            task = {
                "id": tasks.make_id(loop.state.highest + place),
                "subject": row.subject[:1000],
                "description": row.description,
                "native": row.native_id,
            }
            changes.append(("task_added", {"task": task}))
        if fresh and not loop.state.session.native_seen:
            changes.append(("native_seen", {}))
    changes += [
        ("native_conflict", {"id": one, "list": there, "ledger": here}) for one, there, here in result.conflicts
    ]
    return changes
