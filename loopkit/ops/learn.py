"""What a loop taught, kept where the person says so."""

from __future__ import annotations

import contextlib
import os
import time

from .. import replies
from ..core.journal import clock
from ..core.journal.errors import Damaged, Refused, UsageFault
from ..core.memory import learned, learning
from ..core.steps.events import LOOP
from ..store import journal, learnings, tables
from ..store.loop import Loop, locked, unwritable
from .workspace import Result, Workspace


def show(workspace: Workspace) -> Result:
    """What the loop teaches, and the form for what is better said otherwise."""
    loop = workspace.loop()
    rows = proposals(loop)
    known = _known(workspace, loop.root) + _known(workspace, None)
    kept = [learned.again({**row}, known) is None for row in rows]
    said = [
        f"{number}. {learning.told(row)}" + (" (kept)" if is_kept else "")
        for number, (row, is_kept) in enumerate(zip(rows, kept, strict=True), 1)
    ]
    if said:
        said.append(
            "the person decides (skill hope:learn): loopkit learn --accept N, or in better words:"
        )
    else:
        said.append(f"loop {loop.name} proposes nothing; what you know better is kept like this:")
    said.append("loopkit learn --file - (--user: for all your projects), as block YAML:")
    said.append(replies.form("learnings"))
    numbered = [{**row, "number": number} for number, row in enumerate(rows, 1)]
    return Result(loop, "\n".join(said), {"proposals": numbered, "kept": kept})


def proposals(loop: Loop) -> list[dict]:
    """What the loop teaches, numbered from 1 by everybody who shows it."""
    try:
        tail = journal.read(loop.path, LOOP)
    except OSError as error:
        raise Damaged(f"cannot read {loop.path}: {error.strerror}", "see loopkit doctor") from None
    return learning.proposed(loop.state, tail.events if tail else (), tables.masks().masked)


def accept(workspace: Workspace, numbers: list[int], user: bool) -> Result:
    """Keep the proposals of these numbers."""
    loop = workspace.loop()
    rows = proposals(loop)
    for number in numbers:
        if not 1 <= number <= len(rows):
            raise Refused(
                f"there is no proposal {number}", f"see loopkit learn, it shows {len(rows)}"
            )
    if not numbers:
        raise UsageFault("no number was given", "write them like 1,3")
    chosen = [rows[number - 1] for number in dict.fromkeys(numbers)]
    bare = [{name: row[name] for name in row if name != "loop"} for row in chosen]
    return _keep(workspace, loop, replies.check("learnings", bare), user)


def keep(workspace: Workspace, rows: list[dict], user: bool) -> Result:
    """Keep these, which need no loop."""
    loop = None
    if workspace.root:
        with contextlib.suppress(Refused):
            loop = workspace.loop()
    return _keep(workspace, loop, rows, user)


def _keep(workspace: Workspace, loop: Loop | None, rows: list[dict], user: bool) -> Result:
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            if isinstance(value, str) and tables.masks().masked(value) != value:
                raise Refused(
                    f"learning {number}, {name} looks like it holds a secret",
                    "leave it out: others read this file",
                )
    root = None if user else workspace.root
    if root is None and not user:
        raise Refused("there is no .loop in this project", "keep it for yourself: add --user")
    mine = {"loop": loop.name} if loop is not None else {}
    stamped = [{"ts": clock.stamp(time.time()), **row, **mine} for row in rows]
    path = learnings.path_of(root, workspace.environment)
    kept = _write(workspace, root, path, stamped)
    near = os.path.relpath(path, workspace.folder)
    lines = [
        f"kept in {path if near.startswith('..') else near}: {len(kept)} of {len(rows)}"
        + ("" if kept else " (known already)")
    ]
    lines += ["  " + learning.told(row) for row in kept]
    if user and workspace.root and not learnings.user_too(workspace.origin(workspace.root)):
        lines.append("recalled in a project whose .loop/config.toml has user = true under [recall]")
    said, data = "\n".join(lines), {"kept": kept, "file": path}
    return Result(loop, said, data if loop is not None else {**data, "said": said, "next": []})


def _write(workspace: Workspace, root: str | None, path: str, rows: list[dict]) -> list[dict]:
    """Write what is new of the rows; returns that. Raises Damaged."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    with locked(folder):
        known = _known(workspace, root)
        kept: list[dict] = []
        for row in rows:
            new = learned.again(row, [*known, *kept])
            if new is not None:
                kept.append(new)
        try:
            if kept:
                learnings.append(path, kept)
        except OSError as error:
            raise unwritable(path, error) from None
    return kept


def _known(workspace: Workspace, root: str | None) -> list[dict]:
    """The person's own lines of the project, or of the user where `root` is None. Raises
    Damaged."""
    path = learnings.path_of(root, workspace.environment)
    try:
        return learnings.rows(path, workspace.origin(root) if root else None)
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}", "fix or remove it") from None
