"""loopkit status: where the loop stands."""

from __future__ import annotations

import json
import os
import time

import click

from ..core.journal import clock, limits, prose, verdict
from ..core.steps import snapshot as snapshots
from ..core.steps import supervision, waves
from ..render import loopstate
from ..render import words as shown_words
from ..store import loops, place
from ..store.loop import Loop
from . import app, which

#: Reviews of waves that are told one by one.
SHOWN_REVIEWS = 4


@app.command("status", "loopkit status")
@click.argument("words", nargs=-1, metavar="[WHICH]")
@click.option("--list", "all_loops", is_flag=True, help="All loops of this project.")
def command(call: app.App, words: tuple, all_loops: bool) -> None:
    """Stage, scores, counts, reviews, times and the one next action. Changes nothing.

    WHICH is a loop's number, a part of its name, or what it is about; without it the active one is
    shown.
    """
    if all_loops:
        _list(call)
        return
    loop = which.find(call, " ".join(words)) if words else call.loop()
    snapshot = snapshots.build(loop.state, loop.offset)
    if words and loop.state.session.status not in verdict.FINAL:
        active = loops.view(loop.root)
        if active is not None and active.name != loop.name:
            snapshot["next"] = f"loopkit resume {loop.name}"
    if call.as_json:
        del snapshot["session"]
        del snapshot["check"]
        snapshot["ours"] = loop.ours
        snapshot["lost"] = waves.lost(loop.state)
        snapshot["failure"] = loop.state.session.failure
        snapshot["question"] = loop.state.session.question
        snapshot["course"] = loopstate.record(loop.state)
        snapshot["execution"] = supervision.execution(loop.state)
        snapshot["supervision"] = supervision.record(loop.state)
        snapshot["spent"]["seconds"] = loop.state.session.seconds(time.time())
        click.echo(json.dumps(snapshot, ensure_ascii=False))
        return
    for line in _lines(call, loop, snapshot):
        whole = line.startswith(("next: ", shown_words.QUESTION))
        click.echo(app.printable(line if whole else app.wrapped(line)))


def _lines(call: app.App, loop: Loop, snapshot: dict) -> list[str]:
    session, work = loop.state.session, snapshot["tasks"]
    why = (f" ({session.verdict})" if session.verdict else "") + (
        f": {session.reason}" if session.reason else ""
    )
    lines = [f"Loop {loop.name}: {snapshot['status']}{why}"]
    lines.append(
        prose.clean(loop.state.text.strip().splitlines()[0] if loop.state.text.strip() else "", 150)
    )
    number = snapshot["wave"]["number"]
    lines.append(
        f"Stage: {session.stage} | Spec: {_or(snapshot['spec_score'])}/10 | Fit: "
        f"{_or(snapshot['fit_score'])}"
        f" | Shape: {_or(snapshot['shape_chosen'])}"
    )
    lines.append(
        f"Tasks: {work['completed']}/{work['total']} completed, {work['in_progress']} running,"
        f" {work['pending']} pending, {work['failed']} failed, {work['blocked']} blocked | Wave: "
        f"{number}"
    )
    lines += [
        f"  {row['id']} {prose.clean(row['subject'], 70)}"
        + (f" ({row['block']}: {row['text']})" if row.get("text") else "")
        + (" (running)" if row["id"] in loop.state.running else "")
        for row in [*work["open"], *[one for one in work["blocked_on"] if one not in work["open"]]]
    ]
    course = loopstate.line(loop.state)
    lines += [course] if course else []
    lines += supervision.lines(loop.state)
    for task_id in waves.lost(loop.state):
        since = clock.human(
            max(0, int(app.now()) - clock.epoch(loop.state.tasks[task_id].handed_at))
        )
        lines.append(
            f"Lost: {task_id}, given to an agent {since} ago that never reported; loopkit wave "
            "next gives it again"
        )
    if loop.state.worktrees.rows:
        lines.append(f"Worktrees: {len(loop.state.worktrees.rows)}; see loopkit worktree list")
    earlier = [name for name in snapshot["reviews"] if name != "thorough"][:-SHOWN_REVIEWS]
    if earlier:
        lines.append(f"Reviews of earlier waves: {len(earlier)}")
    for name, row in snapshot["reviews"].items():
        if name in earlier:
            continue
        if name == "thorough":
            left = f"{row['blockers_remaining']} blockers left"
            lines.append(f"Thorough review: {'passed' if row['passed'] else left}")
        else:
            found = (
                f"{prose.count(row['issues'], 'issue')}, {prose.count(row['blockers'], 'blocker')}"
            )
            lines.append(f"Review {name}: {_or(row['score'])}/10, {found}")
    spent, most = snapshot["spent"], snapshot["limits"]
    turns = limits.of(session.iteration, most["iterations"])
    money = limits.of(f"${spent['usd']:.2f}", None if most["usd"] is None else f"${most['usd']:g}")
    if spent["unpriced_models"]:
        unknown = ", ".join(spent["unpriced_models"])
        money = (
            f"at least {money}, {spent['tokens']} tokens (no price for {unknown}: no money limit "
            "can be kept)"
        )
    hours = None if most["seconds"] is None else clock.human(most["seconds"])
    clock_now = limits.of(clock.human(session.seconds(time.time())), hours)
    lines.append(f"Iterations: {turns} | Cost: {money} | Time: {clock_now}")
    owner = "this session" if session.owner == call.session else f"session {session.owner}"
    alive = (
        "" if session.owner == call.session or place.alive(session.owner_pid) else " (not running)"
    )
    lines.append(
        f"Owner: {owner}{alive} | Started: {_local(session.started_at)} | Last change: "
        f"{_local(session.last_updated)}"
    )
    if session.failure:
        lines.append(
            f"Last turn died of {session.failure['error']} at {_local(session.failure['at'])}: "
            + prose.clean(str(session.failure["text"]), 160)
        )
    lines += shown_words.question(loop.state)
    if not loop.ours:
        lines.append(
            "It was not started here, so it does nothing. If you trust it: loopkit resume --adopt"
        )
    elif snapshot["next"]:
        lines.append(f"next: {snapshot['next']}")
    elif session.status in verdict.FINAL:
        lines.append("Start another: /loop:start <task>")
    return lines


def _list(call: app.App) -> None:
    rows = [{"loop": name, **stand} for name, stand in which.stands(call)]
    if call.as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        line = (
            f"{row['loop']:<42} {row['status']:<18} {row['completed']}/{row['tasks']} tasks, "
            f"{row['stage']}"
        )
        click.echo(prose.clean(line, 200))
    if not rows:
        click.echo(
            "no loops in this project"
            + ("" if call.root else f" ({os.path.basename(call.folder)})")
        )


def _or(value: object) -> object:
    return "–" if value is None else value


def _local(stamp: str) -> str:
    moment = clock.epoch(stamp)
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(moment)) if moment else "–"
