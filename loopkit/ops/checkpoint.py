"""The working files are kept as they are now."""

from __future__ import annotations

import time
from typing import Any

from ..core.health import checkpoints as rules
from ..core.journal import clock
from ..core.journal.errors import LoopError
from ..core.journal.events import Change
from ..core.journal.parts import BEFORE, Checkpoint
from ..core.journal.state import LoopState
from ..engine import checkpoints, git, trees
from ..store.loop import Loop
from .workspace import Result, Workspace

#: Checkpoints that a listing shows at most.
SHOWN = 30
#: Numbers that are tried where others are quicker.
_TRIES = 5
_NOTICE = "no_checkpoints"


def checkpoint(workspace: Workspace, label: str | None = None) -> Result:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop."""
    words = rules.label_of(label)
    loop = workspace.own_loop()
    made = _take(workspace, loop, words, None)
    return Result(loop, _said(made), _row(loop, made))


def make(workspace: Workspace, loop: Loop, label: str | None = None) -> str:
    """The checkpoint that is due by itself, as a line to print; "" if none is. Never raises: a
    failure is that line.

    label: one that is made although none is due. Without git this is said once in a loop.
    """
    wanted = (label, None) if label else rules.due(loop.state)
    if wanted is None:
        return ""
    before = rules.parent(loop.state)
    try:
        return _said(_take(workspace, loop, *wanted), before)
    except git.Unavailable as error:
        if _NOTICE in loop.state.session.notices:
            return ""
        workspace.change(loop, lambda state: [("notice_given", {"name": _NOTICE})])
        return f"no checkpoints, and no rollback: {error.what}; {error.todo}"
    except LoopError as error:
        return f"no checkpoint was made: {error}"


def _take(workspace: Workspace, loop: Loop, label: str, wave: int | None) -> Checkpoint:
    """Take the tree, keep and record it. Raises Unavailable, GitFault, Late, Damaged."""
    lines = loop.state.lines
    newest = loop.state.checkpoints.rows[-1:]
    snapshot = checkpoints.snapshot(
        workspace.project,
        workspace.environment,
        [loop.root],
        newest[0].plain if newest else None,
    )

    def decide(state: LoopState) -> list[Change]:
        return kept(workspace, state, snapshot, label, lines=lines, wave=wave)

    number = workspace.change(loop, decide)[0][1]["number"]
    return loop.state.checkpoints.numbers[number]


def kept(
    workspace: Workspace,
    state: LoopState,
    snapshot: checkpoints.Snapshot,
    label: str,
    wave: int | None = None,
    **facts: Any,
) -> list[Change]:
    """Put a tree on the loop's next free ref; gives the line to be recorded. The caller holds the
    lock.

    A ref that is taken belongs to a checkpoint whose record was cut off, or to an older loop of
    this name.
    """
    project, environment = workspace.project, workspace.environment
    before, now = rules.parent(state), snapshot.place.head
    text = rules.message(label, rules.worked_on(state, wave))
    tree = trees.placed(snapshot.place, snapshot.tree, environment)
    sha = trees.commit(project, tree, before.sha if before else now, text, environment)
    number = rules.next_number(state)
    for _ in range(_TRIES):
        if checkpoints.keep(project, state.name, number, sha, environment):
            break
        number = max(number, checkpoints.highest(project, state.name, environment)) + 1
    else:
        raise git.GitFault(
            f"{checkpoints.REFS}{state.name}/{number} is taken again and again", "try once more"
        )
    return rules.made(
        state,
        number,
        sha=sha,
        tree=snapshot.tree,
        label=label,
        left_out=snapshot.left_out,
        head=now,
        place=git.place_of(snapshot.place),
        plain=snapshot.plain,
        wave=wave,
        **facts,
    )


def _said(made: Checkpoint, before: Checkpoint | None = None) -> str:
    line = f"checkpoint {made.number} ({made.label}) {made.sha[: rules.SHOWN_SHA]}"
    if made.left_out and (before is None or before.left_out != made.left_out):
        line += "; left out: " + rules.named(list(made.left_out))
    return line


def _row(loop: Loop, made: Checkpoint) -> dict:
    names = ("number", "sha", "label", "tasks", "parent", "wave", "left_out", "at")
    row = {name: getattr(made, name) for name in names}
    ref = f"{checkpoints.REFS}{loop.name}/{made.number}"
    return {**row, "ref": ref, "good": rules.is_good(loop.state, made)}


def listing(workspace: Workspace) -> Result:
    """The checkpoints there are."""
    loop = workspace.loop()
    state = loop.state
    on_line = {made.number for made in rules.ancestors(state)}
    rows, lines = [], []
    for made in state.checkpoints.rows:
        row = {**_row(loop, made), "on_line": made.number in on_line}
        row["here"] = made.number == state.checkpoints.head
        rows.append(row)
        kind = "good" if row["good"] else "saved" if made.label == BEFORE else "-"
        at = time.strftime("%d %b %H:%M", time.localtime(clock.epoch(made.at)))
        mark = "*" if row["here"] else " " if row["on_line"] else "~"
        sha, names = made.sha[: rules.SHOWN_SHA], rules.named(list(made.tasks))
        line = f"{mark} {made.number:>3}  {sha}  {at}  {kind:<5}  {made.label}"
        lines.append(f"{line}  {names}" if made.tasks else line)
    more = len(lines) - SHOWN
    if more > 0:
        lines = [f"{more} older ones: loopkit checkpoint --list --json", *lines[more:]]
    lines += [
        "good: nothing of its wave failed or is blocked by its review · saved: by a rollback, "
        "before it went back",
        "* the newest on the line, ~ beside it; go back: loopkit rollback <number>",
    ]
    none = "no checkpoints; the first is made when a wave is opened"
    return Result(loop, "\n".join(lines) if rows else none, {"checkpoints": rows}, [])
