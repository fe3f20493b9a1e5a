"""The loop's tasks in Claude Code's own list, and back: after each change, where that list
exists."""

from __future__ import annotations

import os

from ..core.journal import clock
from ..core.journal import task as tasks
from ..core.journal.errors import LoopError
from . import atomic, native, place
from .loop import Loop

#: The list that `--list new` makes: named after the loop, for sessions started with
#: CLAUDE_CODE_TASK_LIST_ID.
NEW = "new"


def make(loop: Loop, environment: dict) -> str | None:
    """The folder of a list of the loop's own, made where the person asked for one; its list id, or
    None. OSError."""
    if loop.state.list_mode != NEW:
        return None
    os.makedirs(_own(loop, environment), exist_ok=True)
    return loop.name


def follow(loop: Loop, environment: dict) -> None:
    """Push the ledger's tasks; pull what Claude added. Never raises OSError, never waits longer
    than the list's lock rule."""
    session = loop.state.session.owner
    folders = {native.folder(environment, session) if session else None}
    if loop.state.list_mode == NEW:
        folders.add(_own(loop, environment))
    for folder in folders:
        if folder is None or not os.path.isdir(folder):
            continue
        try:
            _bring_in_step(loop, folder)
        except (
            OSError,
            LoopError,
        ):  # the change itself is recorded; the list follows the next time
            continue


def _own(loop: Loop, environment: dict) -> str:
    return os.path.join(place.config_dir(environment), "tasks", loop.name)


def _file(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}.json")


def _bring_in_step(loop: Loop, folder: str) -> None:
    atomic.sweep(folder)
    begin = clock.epoch(loop.state.session.started_at)
    result = native.sync(native.rows(loop.state), folder, loop.name, since=begin)
    if loop.state.highest > len(loop.state.tasks):
        names = [tasks.make_id(number) for number in range(1, loop.state.highest + 1)]
        gone = [one for one in names if one not in loop.state.tasks]
        native.withdraw(
            folder, loop.name, names=[one for one in gone if os.path.lexists(_file(folder, one))]
        )
    if not result.created and not result.conflicts:
        return
    with loop.writing() as state:
        lines = native.pulled(state, result.created)
        lines += [
            ("native_conflict", {"id": one, "list": there, "ledger": here})
            for one, there, here in result.conflicts
        ]
        loop.record(lines, "hook")
