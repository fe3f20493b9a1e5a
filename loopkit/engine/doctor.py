"""What can be wrong with an installation or a loop, found out by looking: programs, hooks, task
list, files, work."""

from __future__ import annotations

import os

from ..core.journal import pricing, verdict
from ..core.journal import task as tasks
from ..core.journal.errors import Damaged
from ..core.plan import graph
from ..core.steps import snapshot as snapshots
from ..store import client, journal, loops, native, place
from ..store.loop import Loop, prepare
from . import installation, standing, surroundings
from .findings import DAMAGE, FAULT, OK, WARN, Case, Report

__all__ = ["Case", "Report", "examine", "rules"]


def examine(case: Case, fix: bool) -> Report:
    """Everything, in the order in which a person would look; `fix` rebuilds derived files."""
    report = Report()
    folders = surroundings.folders(case)
    files = client.settings(case.environment, folders, case.system)
    python = installation.programs(report, case)
    installation.plugins(report, case, files, folders)
    installation.hooks(report, case, python)
    surroundings.variables(report, case, files)
    surroundings.settings(report, case, files)
    surroundings.rules(report, files)
    surroundings.task_list(report, case, files)
    surroundings.start(report, case)
    surroundings.system(report, case)
    _loop(report, case, fix)
    return report


def _loop(report: Report, case: Case, fix: bool) -> None:
    root = case.root
    if root is None:
        report.add(OK, "no loop in this project")
        return
    if not os.access(root, os.W_OK):
        report.add(DAMAGE, f"{root} cannot be written: give write access")
    for name in loops.names(root):
        if not case.session or _is_ours(root, name):  # no name of a stranger's reaches a session
            _ledger(report, root, name)
    standing.writing_lock(report, root)
    stored = loops.read_snapshot(root)
    what = (
        "is damaged or was edited by hand"
        if os.path.exists(os.path.join(root, loops.SNAPSHOT))
        else "is missing"
    )
    try:
        loop = Loop.active(root)  # rebuilds a snapshot that is no use
    except Damaged as error:
        report.add(DAMAGE, str(error))
        return
    if loop is None:
        report.add(OK, "no loop in this project")
        return
    if stored is None:
        done = "it was rebuilt from the ledger just now"
        if loops.read_snapshot(root) is None:
            done = "it cannot be rebuilt; remove whatever lies there"
        report.add(WARN, f"{os.path.join(root, loops.SNAPSHOT)} {what}; {done}")
    _leftovers(report, loop, case)
    if not _trust(report, loop, case):
        return
    _writable(report, loop)
    _snapshot(report, loop, fix, case)
    _ownership(report, loop, case)
    _work(report, loop)


def _ledger(report: Report, root: str, name: str) -> None:
    path = loops.ledger(root, name)
    try:
        tail = journal.read(path)
    except OSError as error:
        report.add(DAMAGE, f"{path} cannot be read: {error.strerror}")
        return
    if tail is None or not tail.events or tail.events[0].type != "loop_started":
        report.add(
            DAMAGE,
            f"{path} does not begin with a loop's start: restore it from a backup, or move the "
            f"folder {name} away",
        )
        return
    for number in tail.damaged:
        report.add(
            DAMAGE,
            f"{path} line {number} is no event: changed by something else; restore it from a "
            "backup if you can",
        )
    for number in tail.cut:
        report.add(
            WARN,
            f"{path} line {number} is a write that was cut short; nobody was told that it was "
            "written, it is left out",
        )
    if tail.torn:
        report.add(
            WARN,
            f"{path}: the last line has no end: a write that was cut short; it is left out, the "
            "next write closes it",
        )
    if not tail.damaged and not tail.cut and not tail.torn:
        report.add(OK, f"ledger of {name}: {len(tail.events)} lines")


def _snapshot(report: Report, loop: Loop, fix: bool, case: Case) -> None:
    path = os.path.join(loop.root, loops.SNAPSHOT)
    stored = loops.read_snapshot(loop.root)
    if stored is not None and stored["loop"] == loop.name:
        fresh = snapshots.build(loop.state, loop.offset)
        view = loops.view(loop.root)
        same = view is not None and view.snapshot["tasks"] == fresh["tasks"]
        report.add(
            OK if same else WARN,
            f"{path} "
            + (
                "agrees with the ledger"
                if same
                else "is behind the ledger; the next command renews it"
            ),
        )
    if fix:
        prepare(loop.root)
        with loop.writing():
            loop.write_snapshot()
        case.follow(loop)
        report.add(OK, "derived files rebuilt: workflow-state.json, PROGRESS.md")


def _leftovers(report: Report, loop: Loop, case: Case) -> None:
    """Locks of the client's list and unfinished drafts, around this loop."""
    places = [loop.root, loop.folder, os.path.join(loop.folder, "evidence")]
    listed = (
        native.folder(case.environment, loop.state.session.owner)
        if loop.state.session.owner
        else None
    )
    if listed:
        standing.list_locks(report, listed)
        places.append(listed)
    standing.drafts(report, places)


def _is_ours(root: str, name: str) -> bool:
    try:
        return loops.ours(root, name)
    except OSError:
        return False


def _trust(report: Report, loop: Loop, case: Case) -> bool:
    """Whether the loop is this person's own; of another one nothing more is said, and nothing of it
    is renewed."""
    if not loop.ours:
        report.add(
            FAULT,
            ("a loop here" if case.session else f"loop {loop.name}")
            + " came from elsewhere: hooks and commands leave it alone; look at it, then: loopkit "
            "resume --adopt",
        )
        return False
    tail = journal.read(loop.path)
    adopted = tail is not None and any(event.type == "adopted" for event in tail.events)
    report.add(OK, f"loop {loop.name} was {'adopted' if adopted else 'started'} here")
    return True


def _writable(report: Report, loop: Loop) -> None:
    """Whether the journal can grow and evidence can be kept, and whether something lies where a
    derived file belongs."""
    for path, kind in (
        (loop.path, "file"),
        (loop.folder, "folder"),
        (os.path.join(loop.folder, "evidence"), "folder"),
    ):
        right = os.path.isdir(path) if kind == "folder" else os.path.isfile(path)
        if os.path.lexists(path) and not (
            right and not os.path.islink(path) and os.access(path, os.W_OK)
        ):
            report.add(
                DAMAGE,
                f"{path} is no {kind} that can be written: give write access, or move it away",
            )
    progress = os.path.join(loop.root, "PROGRESS.md")
    if os.path.lexists(progress) and not os.path.isfile(progress):
        report.add(WARN, f"{progress} is no file, so progress is not written there: remove it")


def _ownership(report: Report, loop: Loop, case: Case) -> None:
    session = loop.state.session
    if session.status in verdict.FINAL:
        report.add(OK, f"loop {loop.name} is over: {session.verdict}")
        return
    mine = bool(case.session) and session.owner == case.session
    alive = "running" if place.alive(session.owner_pid) else "not running"
    whose = (
        "this session" if mine else f"session {session.owner} ({alive}); go on here: loopkit resume"
    )
    report.add(OK if mine or not case.session else WARN, f"loop {loop.name} belongs to {whose}")
    if session.status == verdict.PAUSED:
        named = f" ({session.verdict})" if session.verdict else ""
        report.add(
            WARN,
            f"the loop is paused{named}: {session.reason or verdict.BY_HAND}; go on: loopkit "
            "resume",
        )
    if session.last_stop:
        last = session.last_stop
        report.add(
            OK,
            f"last stop: {last['decision']}" + (f", {last['verdict']}" if last["verdict"] else ""),
        )
    if session.failure:
        report.add(
            WARN, f"the last turn died of {session.failure['error']}: {session.failure['text']}"
        )


def _work(report: Report, loop: Loop) -> None:
    state = loop.state
    for task_id in state.open:
        task = state.tasks[task_id]
        if not task.verify and task.block_kind != tasks.SPLIT:
            report.add(
                FAULT,
                f"{task_id} has no verification command: loopkit task set {task_id} --verify "
                '"<command>"',
            )
        errors = [entry["error"] for entry in task.history]
        if any(one and errors.count(one) >= 3 for one in errors):
            report.add(
                FAULT,
                f"{task_id} failed 3 times with the same error: split it (loopkit task split "
                f"{task_id} --file -)",
            )
        if task.panel_due:
            report.add(
                WARN, f"{task_id} failed and no panel has looked at it: loopkit panel {task_id}"
            )
    try:
        graph.waves({one: state.tasks[one].blocked_by for one in state.open})
    except ValueError as error:
        report.add(FAULT, f"{error}: loopkit task set <id> --blocked-by <what it really needs>")
    session = state.session
    if session.status in verdict.FINAL:
        return
    if session.limit_iterations is None and session.limit_seconds is None:
        ends = (
            "its completion or a stall"
            if session.limit_usd is None
            else "money, its completion or a stall"
        )
        report.add(
            WARN,
            f"no limit on iterations or time: only {ends} ends this loop; set one: loopkit resume "
            "--iterations N --time T",
        )
    unpriced = pricing.cost(session.usage, session.prices)[2]
    if unpriced and session.limit_usd is not None:
        report.add(
            WARN,
            f"no price for {', '.join(unpriced)}: no money limit can be kept; add it to [prices] "
            "in config.toml",
        )


def rules() -> list[str]:
    """Permission rules a person may want to add: what /loop:start allows for one prompt. Running
    checks is not in them."""
    import yaml

    with open(os.path.join(place.plugin_root(), "commands", "start.md"), encoding="utf-8") as file:
        head = yaml.safe_load(file.read().split("---", 2)[1])
    return list(head["allowed-tools"])
