"""The doctor: what can be wrong with an installation or a loop, found out by looking."""

from __future__ import annotations

import os

from ..core.journal import task as tasks
from ..core.journal import verdict
from ..core.journal.errors import Damaged
from ..core.plan import outline
from ..core.steps import snapshot as snapshots
from ..core.steps.events import LOOP
from ..store import atomic, client, digest, evidence, journal, loops, native, place
from ..store.loop import Loop, prepare
from . import checkpoints, environment, installation, locks, running
from .findings import OK, WARN, Case, Report

FIX = "loopkit doctor --fix"


def examine(case: Case, fix: bool) -> Report:
    """Everything, in the order in which a person would look; `fix` rebuilds derived files."""
    report = Report()
    folders = environment.folders(case)
    files = client.settings(case.env, folders, case.system)
    python = installation.programs(report, case)
    installation.plugins(report, case, files, folders)
    installation.hooks(report, case, python)
    environment.variables(report, case, files)
    environment.settings(report, case, files)
    environment.rules(report, files)
    environment.task_list(report, case, files)
    environment.start(report, case)
    environment.system(report, case)
    if case.root is None:
        report.ok("no loop in this project")
    else:
        _root(report, case, case.root, fix)
        running.runs_of(report, case, case.root)
    return report


def _root(report: Report, case: Case, root: str, fix: bool) -> None:
    if not os.access(root, os.W_OK):
        report.damage(f"{root} cannot be written: give write access")
    for name in loops.names(root):
        if not case.session or _is_ours(root, name):  # no untrusted name reaches a session
            _ledger(report, root, name)
    locks.writing_lock(report, root)
    path = os.path.join(root, loops.SNAPSHOT)
    stored = loops.read_snapshot(root)
    edited = os.path.exists(path)
    try:
        loop = Loop.looked_at(root)
    except Damaged as error:
        report.damage(str(error))
        return
    if loop is None:
        report.ok("no loop in this project")
        return
    if stored is None:
        what = "is damaged or was edited by hand" if edited else "is missing"
        todo = f"the next command rebuilds it from the ledger, or {FIX}"
        if edited and not os.path.isfile(path):
            what, todo = "is no file", "remove it"
        report.warn(f"{path} {what}; {todo}")
    _leftovers(report, loop, case)
    if _trust(report, loop, case):
        _writable(report, loop)
        _snapshot(report, loop, fix, case)
        _ownership(report, loop, case)
        _work(report, loop)
        _weight(report, loop, case)
        for name, why in evidence.unlike(loop).items():
            report.fault(f"{name}: {why}; run its check again: loopkit verify {name}")


def _ledger(report: Report, root: str, name: str) -> None:
    path = loops.ledger(root, name)
    try:
        tail = journal.read(path, LOOP)
    except OSError as error:
        report.damage(f"{path} cannot be read: {error.strerror}")
        return
    if tail is None or not tail.events or tail.events[0].type != "loop_started":
        what = f"{path} does not begin with a loop's start"
        report.damage(f"{what}: restore it from a backup, or move the folder {name} away")
        return
    for number in tail.damaged:
        what = f"{path} line {number} is no event: changed by something else"
        report.damage(f"{what}; restore it from a backup if you can")
    for number in tail.cut:
        what = f"{path} line {number} is a write that was cut short"
        report.warn(f"{what}; nobody was told that it was written, it is left out")
    if tail.torn:
        what = f"{path}: the last line has no end: a write that was cut short"
        report.warn(f"{what}; it is left out, the next write closes it")
    if not tail.damaged and not tail.cut and not tail.torn:
        report.ok(f"ledger of {name}: {len(tail.events)} lines")
    _seal(report, path, tail)


def _seal(report: Report, path: str, tail: journal.Tail) -> None:
    events = [event for event in tail.events if event.type in ("loop_started", "adopted")]
    tokens = [event.data["token"] for event in events if "token" in event.data]
    if tokens and digest.seal_broken(tokens[-1], path):
        what = f"{path} is not what loopkit wrote: a line was changed or removed"
        report.fault(f"{what}; restore it from a backup, or look at it and go on from what it says")


def _snapshot(report: Report, loop: Loop, fix: bool, case: Case) -> None:
    path = os.path.join(loop.root, loops.SNAPSHOT)
    stored = loops.read_snapshot(loop.root)
    if stored is not None and stored["loop"] == loop.name:
        view = loops.view(loop.root)
        fresh = snapshots.build(loop.state, loop.offset)["tasks"]
        if view is not None and view.snapshot["tasks"] == fresh:
            report.ok(f"{path} agrees with the ledger")
        else:
            report.warn(f"{path} is behind the ledger; the next command renews it, or {FIX}")
    _progress(report, loop, fix)
    if fix:
        prepare(loop.root)
        with loop.writing():
            loop.write_snapshot()
        case.follow(loop)
        report.ok("derived files rebuilt: workflow-state.json, PROGRESS.md")


def _progress(report: Report, loop: Loop, fix: bool) -> None:
    path = os.path.join(loop.root, loops.PROGRESS)
    if os.path.lexists(path) and not os.path.isfile(path):
        report.warn(f"{path} is no file, so progress is not written there: remove it")
        return
    try:
        text = atomic.read(path, loops.LARGEST).decode("utf-8", "replace")
    except OSError:
        text = ""
    if text != outline.progress(loop.state) and not fix:
        what = "is behind the ledger" if text else "is missing"
        report.warn(f"{path} {what}; the next command that records something renews it, or {FIX}")


def _leftovers(report: Report, loop: Loop, case: Case) -> None:
    """Locks of the client's list and unfinished drafts, around this loop."""
    folders = [loop.root, loop.folder, os.path.join(loop.folder, "evidence")]
    owner = loop.state.session.owner
    task_list = native.folder(case.env, owner) if owner else None
    if task_list:
        locks.list_locks(report, task_list)
        folders.append(task_list)
    locks.drafts(report, folders)


def _is_ours(root: str, name: str) -> bool:
    try:
        return loops.ours(root, name)
    except OSError:
        return False


def _trust(report: Report, loop: Loop, case: Case) -> bool:
    """Whether the loop is this person's own; nothing more is said of another one."""
    if not loop.ours:
        what = "a loop here" if case.session else f"loop {loop.name}"
        why = "came from elsewhere: hooks and commands leave it alone"
        report.fault(f"{what} {why}; look at it, then: loopkit resume --adopt")
        return False
    tail = journal.read(loop.path, LOOP)
    adopted = tail is not None and any(event.type == "adopted" for event in tail.events)
    report.ok(f"loop {loop.name} was {'adopted' if adopted else 'started'} here")
    return True


def _weight(report: Report, loop: Loop, case: Case) -> None:
    weight = checkpoints.weight(case.folder, loop.name, case.env)
    if weight:
        report.warn(weight)


def _writable(report: Report, loop: Loop) -> None:
    """Whether journal and evidence can grow, and nothing stands where a derived file belongs."""
    for path, kind, is_kind in (
        (loop.path, "file", os.path.isfile),
        (loop.folder, "folder", os.path.isdir),
        (os.path.join(loop.folder, "evidence"), "folder", os.path.isdir),
    ):
        good = is_kind(path) and not os.path.islink(path) and os.access(path, os.W_OK)
        if os.path.lexists(path) and not good:
            way_out = "give write access, or move it away"
            report.damage(f"{path} is no {kind} that can be written: {way_out}")


def _ownership(report: Report, loop: Loop, case: Case) -> None:
    session = loop.state.session
    if session.status in verdict.FINAL:
        report.ok(f"loop {loop.name} is over: {session.verdict}")
        return
    if case.session and session.owner == case.session:
        report.ok(f"loop {loop.name} belongs to this session")
    else:
        alive = "running" if place.alive(session.owner_pid) else "not running"
        whose = f"session {session.owner} ({alive}); go on here: loopkit resume"
        report.add(WARN if case.session else OK, f"loop {loop.name} belongs to {whose}")
    if session.status == verdict.PAUSED:
        cause = f" ({session.verdict})" if session.verdict else ""
        reason = session.reason or verdict.BY_HAND
        report.warn(f"the loop is paused{cause}: {reason}; go on: loopkit resume")
    if session.free:
        report.ok("it waits, since the person spoke; go on: /loop:resume")
    if session.last_stop:
        end = session.last_stop["verdict"]
        report.ok(f"last stop: {session.last_stop['decision']}" + (f", {end}" if end else ""))
    if session.failure:
        error, text = session.failure["error"], session.failure["text"]
        report.warn(f"the last turn died of {error}: {text}")


def _work(report: Report, loop: Loop) -> None:
    state = loop.state
    for task_id in state.open:
        _task(report, state.tasks[task_id])
    try:
        outline.waves({task_id: state.tasks[task_id].blocked_by for task_id in state.open})
    except ValueError as error:
        report.fault(f"{error}: loopkit task set <id> --blocked-by <what it really needs>")
    session = state.session
    if session.status in verdict.FINAL:
        return
    if session.limit_iterations is None and session.limit_seconds is None:
        ends = ("" if session.limit_usd is None else "money, ") + "its completion or a stall"
        what = f"no limit on iterations or time: only {ends} ends this loop"
        report.warn(f"{what}; set one: loopkit resume --iterations N --time T")
    unpriced = session.cost()[2]
    if unpriced and session.limit_usd is not None:
        what = f"no price for {', '.join(unpriced)}: no money limit can be kept"
        report.warn(f"{what}; add it to [prices] in config.toml")


def _task(report: Report, task: tasks.Task) -> None:
    if not task.verify and task.block_kind != tasks.SPLIT:
        what = f"{task.id} has no verification command"
        report.fault(f'{what}: loopkit task set {task.id} --verify "<command>"')
    errors = [entry["error"] for entry in task.history]
    if any(error and errors.count(error) >= 3 for error in errors):
        what = f"{task.id} failed 3 times with the same error"
        report.fault(f"{what}: split it (loopkit task split {task.id} --file -)")
    if task.panel_due:
        what = f"{task.id} failed and no panel has looked at it"
        report.warn(f"{what}: loopkit panel {task.id}")
