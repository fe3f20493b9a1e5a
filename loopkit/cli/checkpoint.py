"""loopkit checkpoint: keep the working files as they are now."""

from __future__ import annotations

import time

import click

from ..core.health import checkpoints as rules
from ..core.journal import clock
from ..core.journal.checkpointed import BEFORE, Checkpoint
from ..core.journal.errors import LoopError
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..engine import checkpoints
from ..store.loop import Loop
from . import app

#: Checkpoints that `--list` shows at most.
SHOWN = 30
#: Numbers that are tried where others are quicker.
_TRIES = 5
_NOTICE = "no_checkpoints"


@app.command("checkpoint", 'loopkit checkpoint --label "before the rewrite"')
@click.option("--label", metavar="TEXT", help="What it is, in a few words.")
@click.option("--list", "listing", is_flag=True, help="Show those there are; change nothing.")
def command(call: app.App, label: str | None, listing: bool) -> None:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop. Index and
    branch stay as they are.

    Checkpoints are made by themselves when execution starts, after the scaffold and after every
    wave.
    """
    if listing:
        _list(call)
        return
    words = rules.label_of(label)
    loop = call.own_loop()
    one = take(call, loop, words, None)
    call.answer(loop, _said(one), _row(loop, one))


def make(call: app.App, loop: Loop, label: str | None = None) -> str:
    """The checkpoint that is due by itself, as a line to print; "" if none is. Never raises: a
    failure is that line.

    label: one that is made although none is due. Without git this is said once in a loop.
    """
    wanted = (label, None) if label else rules.due(loop.state)
    if wanted is None:
        return ""
    before = rules.parent(loop.state)
    try:
        one = take(call, loop, *wanted)
    except checkpoints.Unavailable as error:
        if _NOTICE in loop.state.session.notices:
            return ""
        call.change(loop, lambda state: [("notice_given", {"name": _NOTICE})])
        return f"no checkpoints, and no rollback: {error.what}; {error.todo}"
    except LoopError as error:
        return f"no checkpoint was made: {error}"
    return _said(one, before)


def take(call: app.App, loop: Loop, label: str, wave: int | None) -> Checkpoint:
    """Take the tree, keep and record it. Raises Unavailable, GitFault, Late, Damaged."""
    project = call.project
    lines = loop.state.lines
    newest = loop.state.checkpointed.checkpoints[-1:]
    plain = newest[0].plain if newest else None
    snapshot = checkpoints.snapshot(project, call.environment, [loop.root], plain)

    def decide(state: LoopState) -> list[Change]:
        return kept(call, state, snapshot, label, lines=lines, wave=wave)

    number = call.change(loop, decide)[0][1]["number"]
    return loop.state.checkpointed.numbers[number]


def kept(
    call: app.App, state: LoopState, snapshot: checkpoints.Snapshot, label: str, **facts: object
) -> list[Change]:
    """Put a tree on the loop's next free ref; gives the line to be recorded. The caller holds the
    lock.

    A ref that is taken belongs to a checkpoint whose record was cut off, or to an older loop of
    this name.
    """
    project, environment = call.project, call.environment
    before, now = rules.parent(state), snapshot.place.head
    wave = facts.get("wave")
    text = rules.message(label, rules.worked_on(state, wave if isinstance(wave, int) else None))
    tree = checkpoints.placed(snapshot.place, snapshot.tree, environment)
    sha = checkpoints.commit(project, tree, before.sha if before else now, text, environment)
    number = rules.next_number(state)
    for _ in range(_TRIES):
        if checkpoints.keep(project, state.name, number, sha, environment):
            break
        number = max(number, checkpoints.highest(project, state.name, environment)) + 1
    else:
        raise checkpoints.GitFault(
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
        place=checkpoints.place_of(snapshot.place),
        plain=snapshot.plain,
        **facts,  # type: ignore[arg-type]
    )


def _said(one: Checkpoint, before: Checkpoint | None = None) -> str:
    line = f"checkpoint {one.number} ({one.label}) {one.sha[: rules.SHOWN_SHA]}"
    if one.left_out and (before is None or before.left_out != one.left_out):
        line += "; left out: " + rules.named(list(one.left_out))
    return line


def _row(loop: Loop, one: Checkpoint) -> dict:
    shown = ("number", "sha", "label", "tasks", "parent", "wave", "left_out", "at")
    row = {name: getattr(one, name) for name in shown}
    return {
        **row,
        "ref": f"{checkpoints.REFS}{loop.name}/{one.number}",
        "good": rules.is_good(loop.state, one),
    }


def _list(call: app.App) -> None:
    loop = call.loop()
    state = loop.state
    line = {one.number for one in rules.ancestors(state)}
    rows, lines = [], []
    for one in state.checkpointed.checkpoints:
        good, here = rules.is_good(state, one), one.number == state.checkpointed.head
        rows.append({**_row(loop, one), "on_line": one.number in line, "here": here})
        kind = "good" if good else "saved" if one.label == BEFORE else "-"
        at = time.strftime("%d %b %H:%M", time.localtime(clock.epoch(one.at)))
        mark = "*" if here else " " if one.number in line else "~"
        lines.append(
            f"{mark} {one.number:>3}  {one.sha[: rules.SHOWN_SHA]}  {at}  {kind:<5}  {one.label}"
            + (f"  {rules.named(list(one.tasks))}" if one.tasks else "")
        )
    more = len(lines) - SHOWN
    if more > 0:
        lines = [f"{more} older ones: loopkit checkpoint --list --json", *lines[more:]]
    note = (
        "good: nothing of its wave failed or is blocked by its review · saved: by a rollback, "
        "before it went back"
    )
    note += "\n* the newest on the line, ~ beside it; go back: loopkit rollback <number>"
    said = (
        "\n".join([*lines, note])
        if lines
        else "no checkpoints; the first is made when a wave is opened"
    )
    call.answer(loop, said, {"checkpoints": rows}, [])
