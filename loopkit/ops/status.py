"""Where a loop stands, all loops of a project, and the loop that a call names."""

import os
import time

from ..core.journal import clock, limits, prose, verdict
from ..core.journal.errors import Refused
from ..core.journal.session import OfTranscripts, Session
from ..core.journal.state import LoopState
from ..core.plan import work as tasks
from ..core.steps import announce, resolution, supervision, waves
from ..core.steps import snapshot as snapshots
from ..render import QUESTION, files, question, wrapped
from ..store import loops, place, trust
from ..store.loop import Loop
from . import gate
from .workspace import Result, Workspace, no_loop, not_ours

#: Reviews of waves that are told one by one.
SHOWN_REVIEWS = 4


def status(workspace: Workspace, words: str = "", asked: bool = False) -> Result:
    """Where the loop that the words mean stands, or the active one. asked: by the person, so that
    nothing in it is to be run."""
    runs = [] if words else _runs(workspace)
    try:
        loop = meant(workspace, words) if words else workspace.loop()
    except Refused as refusal:
        if refusal.code != "no_loop" or not runs:
            raise
        text = "\n".join(runs)
        return Result(None, text, {"runs": runs, "said": text, "next": []})
    return _of_loop(workspace, loop, words, asked, runs)


def _of_loop(workspace: Workspace, loop: Loop, words: str, asked: bool, runs: list[str]) -> Result:
    if loop.ours and loop.state.session.status == verdict.RUNNING:  # shown, and recorded by others
        OfTranscripts(workspace.unread(loop)).add(loop.state.session)
    snapshot = snapshots.build(loop.state, loop.offset)
    if words and loop.state.session.status not in verdict.FINAL:
        active = loops.view(loop.root)
        if active is not None and active.name != loop.name:
            snapshot["next"] = f"loopkit resume {loop.name}"
    lines = [
        line if line.startswith(("next: ", verdict.AGAIN, QUESTION)) else wrapped(line)
        for line in _lines(workspace, loop, snapshot, asked)
    ]
    state = loop.state
    row = {name: value for name, value in snapshot.items() if name not in ("session", "check")}
    row |= {
        "ours": loop.ours,
        "lost": waves.orphaned(state),
        "failure": state.session.failure,
        "question": state.session.question,
        "course": files.batches(state),
        "execution": supervision.execution(state),
        "supervision": supervision.record(state),
    }
    if runs:
        lines, row["runs"] = [*lines[:-1], *runs, *lines[-1:]], runs
    return Result(None, "\n".join(lines), row)


def _runs(workspace: Workspace) -> list[str]:
    """Runs that are at work, or that could go on, a few lines each."""
    root = workspace.root
    if root is None or not os.path.isdir(os.path.join(root, "runs")):
        return []
    from .runs import manage

    return manage.unfinished(root)


def listing(workspace: Workspace) -> Result:
    """All loops of the project, a line each."""
    rows = []
    for state in _states(workspace):
        session = state.session
        row = {"loop": state.name, "status": session.status, "verdict": session.verdict}
        done = state.counts["completed"]
        rows.append({**row, "stage": state.stage, "completed": done, "tasks": len(state.tasks)})
    line = "{loop:<42} {status:<18} {completed}/{tasks} tasks, {stage}"
    text = "\n".join(prose.clean(line.format(**row), 200) for row in rows)
    folder = "" if workspace.root else f" ({os.path.basename(workspace.folder)})"
    return Result(None, text or f"no loops in this project{folder}", rows)


# -- which loop is meant


def meant(workspace: Workspace, message: str) -> Loop:
    """The loop that a message means. Raises Refused where not exactly one fits."""
    rows = _rows(workspace)
    if not rows:
        raise no_loop()
    loop = Loop(str(workspace.root), resolution.meant(rows, message))
    if workspace.session and not loop.ours:
        raise not_ours()
    return loop


def unfinished(workspace: Workspace) -> str:
    """The loops that are not over, with where they stand, for one line; "" without any."""
    rows = [row for row in _rows(workspace) if not row.status.startswith(tuple(verdict.FINAL))]
    return resolution.listed(rows) if rows else ""


def _rows(workspace: Workspace) -> list[resolution.Row]:
    rows = []
    for state in _states(workspace):
        status, why = state.session.status, state.session.verdict
        status = f"{status}: {why}" if why and status != verdict.COMPLETED else status
        done = state.counts["completed"]
        rows.append(resolution.Row(state.name, state.text, status, done, len(state.tasks)))
    return rows


def _states(workspace: Workspace) -> list[LoopState]:
    """The project's loops, folded, lowest number first, as a session may see them: its person's
    own; a person at a terminal may look at all."""
    root, session = str(workspace.root), workspace.session
    states = []
    for name in loops.names(root) if workspace.root else []:
        if session and not loops.ours(root, name):
            continue
        state, _ = loops.fold(root, name)
        if not session or trust.known(root, name, state.session.token):
            states.append(state)
    return states


def figures(session: Session, snapshot: dict) -> tuple[str, str, str]:
    """What is used of the limits: iterations, money, time."""
    most, usd = snapshot["limits"], snapshot["spent"]["usd"]
    dollars = None if most["usd"] is None else f"${most['usd']:g}"
    hours = None if most["seconds"] is None else clock.human(most["seconds"])
    return (
        limits.of(session.iteration, most["iterations"]),
        limits.of(f"${usd:.2f}", dollars),
        limits.of(clock.human(session.spent_seconds), hours),
    )


def _lines(workspace: Workspace, loop: Loop, snapshot: dict, asked: bool) -> list[str]:
    state, session = loop.state, loop.state.session
    why = f" ({session.verdict})" if session.verdict else ""
    why += f": {session.reason}" if session.reason else ""
    why += ", waits since the person spoke" if session.free else ""
    lines = [
        f"Loop {loop.name}: {snapshot['status']}{why}",
        prose.clean((state.text.strip().splitlines() or [""])[0], 150),
        f"Stage: {session.stage} | Spec: {_or(snapshot['spec_score'])}/10 | Fit: "
        f"{_or(snapshot['fit_score'])} | Shape: {_or(snapshot['shape_chosen'])}",
        *_tasks(state, snapshot, _changed(workspace, loop)),
        *_reviews(snapshot["reviews"]),
        _spent(session, snapshot),
        *_session(workspace, session),
        *question(state),
    ]
    if not loop.ours:
        lines.append(
            "It was not started here, so it does nothing. If you trust it: loopkit resume --adopt"
        )
    elif snapshot["next"]:
        gone = session.owner != workspace.session and not place.alive(session.owner_pid)
        word = verdict.AGAIN if session.status == verdict.PAUSED else "next: "
        lines.append(_onward(session, snapshot, gone) if asked else word + snapshot["next"])
    elif session.status in verdict.FINAL:
        lines.append("Start another: /loop:start <task>")
    return lines


def _onward(session: Session, snapshot: dict, gone: bool) -> str:
    """What comes next, in words for the person. gone: the loop's session does not run."""
    waits = announce.waited(snapshot, session)
    if not waits and (session.free or gone):
        waits = "its session is gone" if gone else "since you spoke"
    if waits:
        options = ""
        if session.status == verdict.PAUSED:
            options = snapshot["next"].removeprefix("loopkit resume")
        return f"It waits for you ({waits}); /loop:resume{options} goes on. ({announce.WAYS})"
    return f"It goes on by itself. ({announce.WAYS})"


def _changed(workspace: Workspace, loop: Loop) -> list[str]:
    """Completed tasks whose files have changed after their evidence."""
    if loop.state.session.status in verdict.FINAL or not loop.ours:
        return []
    files, _ = gate.files(workspace, loop)
    return [task.id for task in tasks.stale(loop.state, files)]


def _tasks(state: LoopState, snapshot: dict, changed: list[str]) -> list[str]:
    work = dict(snapshot["tasks"])
    work["completed"] -= len(changed)
    counts = (
        "{completed}/{total} completed, {in_progress} running, {pending} pending, {failed} failed, "
        "{blocked} blocked"
    )
    lines = [f"Tasks: {counts.format(**work)} | Wave: {snapshot['wave']['number']}"]
    if changed:
        lines.append(f"To verify again, since their files changed: {', '.join(changed)}")
    for row in [*work["open"], *[row for row in work["blocked_on"] if row not in work["open"]]]:
        line = f"  {row['id']} {prose.clean(row['subject'], 70)}"
        line += f" ({row['block']}: {row['text']})" if row.get("text") else ""
        lines.append(line + (" (running)" if row["id"] in state.running else ""))
    lines += [*filter(None, [files.batches_line(state)]), *supervision.lines(state)]
    for task in waves.orphaned(state):
        seconds = max(0, int(time.time()) - clock.epoch(state.tasks[task].handed_at))
        lines.append(
            f"Lost: {task}, given to an agent {clock.human(seconds)} ago that never reported; "
            "loopkit next gives it again"
        )
    if state.worktrees.rows:
        lines.append(f"Worktrees: {len(state.worktrees.rows)}; see loopkit worktree list")
    return lines


def _reviews(reviews: dict) -> list[str]:
    earlier = [name for name in reviews if name != "thorough"][:-SHOWN_REVIEWS]
    lines = [f"Reviews of earlier waves: {len(earlier)}"] if earlier else []
    for name, row in reviews.items():
        if name == "thorough":
            left = f"{row['blockers_remaining']} blockers left"
            lines.append(f"Thorough review: {'passed' if row['passed'] else left}")
        elif name not in earlier:
            blockers = prose.count(row["blockers"], "blocker")
            issues = f"{prose.count(row['issues'], 'issue')}, {blockers}"
            lines.append(f"Review {name}: {_or(row['score'])}/10, {issues}")
    return lines


def _spent(session: Session, snapshot: dict) -> str:
    turns, money, hours = figures(session, snapshot)
    spent = snapshot["spent"]
    if spent["unpriced_models"]:
        unknown = ", ".join(spent["unpriced_models"])
        money = (
            f"at least {money}, {spent['tokens']} tokens (no price for {unknown}: no money limit "
            "can be kept)"
        )
    return f"Iterations: {turns} | Cost: {money} | Time: {hours}"


def _session(workspace: Workspace, session: Session) -> list[str]:
    owner = workspace.whose(session.owner)
    if session.owner != workspace.session and not place.alive(session.owner_pid):
        owner += " (not running)"
    lines = [
        f"Owner: {owner} | Started: {_local(session.started_at)} | Last change: "
        f"{_local(session.last_updated)}"
    ]
    if session.failure:
        at, text = _local(session.failure["at"]), prose.clean(str(session.failure["text"]), 160)
        lines.append(f"Last turn died of {session.failure['error']} at {at}: {text}")
    return lines


def _or(value: object) -> object:
    return "–" if value is None else value


def _local(stamp: str) -> str:
    moment = clock.epoch(stamp)
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(moment)) if moment else "–"
