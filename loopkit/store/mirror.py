"""Mirror the loop's tasks in Claude Code's own list, and back, where that list exists."""

from __future__ import annotations

import contextlib
import os

from ..core.journal import clock
from ..core.journal import task as tasks
from ..core.journal.errors import LoopError
from . import atomic, native, place
from .loop import Loop

#: `--list new`: a list named after the loop, for sessions with CLAUDE_CODE_TASK_LIST_ID.
NEW = "new"


def make(loop: Loop, environment: dict) -> str | None:
    """Make a list of the loop's own where the person asked for one; its id or None. OSError."""
    if loop.state.list_mode != NEW:
        return None
    os.makedirs(_own(loop, environment), exist_ok=True)
    return loop.name


def follow(loop: Loop, environment: dict) -> None:
    """Push the ledger's tasks; pull what Claude added. Never raises OSError."""
    session = loop.state.session.owner
    folders = {native.folder(environment, session) if session else None}
    if loop.state.list_mode == NEW:
        folders.add(_own(loop, environment))
    for folder in folders:
        if folder is None or not os.path.isdir(folder):
            continue
        with contextlib.suppress(OSError, LoopError):  # the list follows the next time
            _sync(loop, folder)


def _own(loop: Loop, environment: dict) -> str:
    return os.path.join(place.config_dir(environment), "tasks", loop.name)


def _sync(loop: Loop, folder: str) -> None:
    atomic.clean_up(folder)
    begin = clock.epoch(loop.state.session.started_at)
    result = native.sync(native.rows(loop.state), folder, loop.name, since=begin)
    if loop.state.highest > len(loop.state.tasks):
        ids = map(tasks.make_id, range(1, loop.state.highest + 1))
        gone = [task_id for task_id in ids if task_id not in loop.state.tasks]
        names = [name for name in gone if os.path.lexists(os.path.join(folder, f"{name}.json"))]
        native.withdraw(folder, loop.name, names=names)
    if not result.created and not result.conflicts:
        return
    with loop.writing() as state:
        lines = native.pulled(state, result.created)
        for task_id, listed, recorded in result.conflicts:
            data = {"id": task_id, "list": listed, "ledger": recorded}
            lines.append(("native_conflict", data))
        loop.record(lines, "hook")
