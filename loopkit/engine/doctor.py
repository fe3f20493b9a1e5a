"""What can be wrong with an installation or a loop, found out by looking: programs, hooks, task list, files, work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from ..core import graph, pricing, verdict
from ..core import snapshot as snapshots
from ..core import task as tasks
from ..core.errors import EXIT_DAMAGED, Damaged
from ..core.session import MAX_IDLE_STOPS
from ..store import journal, loops, native, place
from ..store.loop import Loop, prepare

OK, WARN, FAULT, DAMAGE = "ok", "note", "fault", "damaged"
#: The client overrides a Stop hook after so many holds in a row unless this variable says otherwise.
CLIENT_CAP, CAP_VARIABLE = 8, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class Case:
    """What is looked at: environment, current folder, session id, `.loop` (or None), and how derived files are renewed."""

    def __init__(self, environment: dict, folder: str, session: str, root: str | None, renew: Callable) -> None:
        self.environment, self.folder, self.session, self.root, self.follow = environment, folder, session, root, renew


def examine(case: Case, fix: bool) -> Report:
    """Everything, in the order in which a person would look; `fix` rebuilds derived files."""
    report = Report()
    _programs(report, case)
    _hooks(report, case)
    _task_list(report, case)
    _loop(report, case, fix)
    return report


class Report:
    """Findings: (level, one line), and the exit code that follows."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def add(self, level: str, text: str) -> None:
        self.rows.append((level, " ".join(text.split())))

    @property
    def exit(self) -> int:
        levels = {level for level, _ in self.rows}
        return EXIT_DAMAGED if DAMAGE in levels else 1 if FAULT in levels else 0


def _programs(report: Report, case: Case) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    report.add(OK, f"loopkit runs on Python {version} at {sys.executable}")
    for name in ("python3", "python"):
        found = shutil.which(name)
        if found is None:
            continue
        wrong = _what_is_wrong(found)
        report.add(
            WARN if wrong else OK, f"{name} on the PATH is {found}" + (f": {wrong}; it is passed over" if wrong else "")
        )
    for name, needed in (("git", "checkpoints and stale evidence lean on it"), ("claude", "the client itself")):
        found = shutil.which(name)
        report.add(OK if found else WARN, f"{name}: {found}" if found else f"{name} is not on the PATH ({needed})")
    data = place.data_dir(case.environment)
    report.add(
        OK if os.access(data, os.W_OK) else FAULT,
        f"data folder {data}" + ("" if os.access(data, os.W_OK) else " cannot be written"),
    )


def _what_is_wrong(program: str) -> str | None:
    """Why a Python on the PATH is no use, or None."""
    check = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [program, "-I", "-S", "-c", check], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error.__class__.__name__})"
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode or not said.replace(".", "").isdigit():
        return f"exits {done.returncode} and prints {said.strip()[:60]!r}"
    if tuple(map(int, said.split("."))) < (3, 9):
        return f"is Python {said}, hooks need 3.9"
    return None


def _hooks(report: Report, case: Case) -> None:
    root = place.plugin_root()
    launcher = os.path.join(root, "hooks", "run")
    try:
        with open(os.path.join(root, "hooks", "hooks.json"), encoding="utf-8-sig") as file:
            registered = sorted(json.load(file)["hooks"])
    except (OSError, ValueError, KeyError) as error:
        report.add(FAULT, f"hooks/hooks.json cannot be read ({error.__class__.__name__}): install the plugin again")
        return
    sample = {
        "session_id": "doctor",
        "cwd": case.folder,
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "background_tasks": [],
    }
    try:
        done = subprocess.run(
            ["sh", launcher, "stop"],
            input=json.dumps(sample).encode(),
            capture_output=True,
            timeout=20,
            cwd=case.folder,
            check=False,
        )
        good = done.returncode == 0 and not done.stdout.strip() and not done.stderr.strip()
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[:100]
        report.add(
            OK if good else FAULT,
            f"hooks {', '.join(registered)} registered; a sample stop of another session: "
            + ("let go" if good else f"exit {done.returncode}, {said!r}"),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        report.add(
            FAULT, f"hooks/run does not answer ({error.__class__.__name__}); it needs `sh` (on Windows: Git Bash)"
        )
    if case.environment.get("LOOPKIT_DISABLED") == "1":
        report.add(FAULT, "LOOPKIT_DISABLED=1: hooks are off")
    cap = case.environment.get(CAP_VARIABLE, "")
    view = loops.view(case.root) if case.root else None
    idle = view.session.max_idle_stops if view is not None else MAX_IDLE_STOPS
    if cap.isdigit() and 0 < int(cap) <= idle:
        report.add(
            FAULT,
            f"{CAP_VARIABLE}={cap}: the client overrides our holds before a stall is noticed; set it to {CLIENT_CAP}",
        )
    counsel = os.path.join(root, "plugins", "counsel", "skills", "panel", "SKILL.md")
    if not os.path.exists(counsel):
        report.add(WARN, "plugin counsel is not beside this one: /counsel:panel needs it (claude plugin list)")


def _task_list(report: Report, case: Case) -> None:
    folder = native.folder(case.environment, case.session) if case.session else None
    if folder:
        report.add(OK, f"native task list {native.list_id(case.environment, case.session)} is mirrored: {folder}")
    elif native.has_task_tools(case.environment, False):
        report.add(OK, "task tools are switched on; the list is mirrored once the client has made it")
    else:
        report.add(
            WARN,
            "no native task list here: current models have no task tools; CLAUDE_CODE_ENABLE_TODO_TOOLS=1 in the "
            "environment or in the settings' env brings them back. The loop works without",
        )


def _loop(report: Report, case: Case, fix: bool) -> None:
    root = case.root
    if root is None:
        report.add(OK, "no loop in this project")
        return
    if not os.access(root, os.W_OK):
        report.add(DAMAGE, f"{root} cannot be written: give write access")
    for name in loops.names(root):
        _ledger(report, root, name)
    stored = loops.read_snapshot(root)
    what = "is damaged or was edited by hand" if os.path.exists(os.path.join(root, loops.SNAPSHOT)) else "is missing"
    try:
        loop = Loop.active(root)  # rebuilds a snapshot that is no use
    except Damaged as error:
        report.add(DAMAGE, str(error))
        return
    if loop is None:
        report.add(OK, "no loop in this project")
        return
    if stored is None:
        report.add(WARN, f"{os.path.join(root, loops.SNAPSHOT)} {what}; it was rebuilt from the ledger just now")
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
            f"{path} does not begin with a loop's start: restore it from a backup, or move the folder {name} away",
        )
        return
    for number in tail.damaged:
        report.add(
            DAMAGE, f"{path} line {number} is no event: changed by something else; restore it from a backup if you can"
        )
    for number in tail.cut:
        report.add(
            WARN,
            f"{path} line {number} is a write that was cut short; nobody was told that it was written, it is left out",
        )
    if tail.torn:
        report.add(
            WARN,
            f"{path}: the last line has no end: a write that was cut short; it is left out, the next write closes it",
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
            f"{path} " + ("agrees with the ledger" if same else "is behind the ledger; the next command renews it"),
        )
    if fix:
        prepare(loop.root)
        with loop.writing():
            loop.write_snapshot()
        case.follow(loop)
        report.add(OK, "derived files rebuilt: workflow-state.json, PROGRESS.md")


def _ownership(report: Report, loop: Loop, case: Case) -> None:
    session = loop.state.session
    if session.status in verdict.FINAL:
        report.add(OK, f"loop {loop.name} is over: {session.verdict}")
        return
    mine = bool(case.session) and session.owner == case.session
    alive = "running" if place.alive(session.owner_pid) else "not running"
    whose = "this session" if mine else f"session {session.owner} ({alive}); go on here: loopkit resume"
    report.add(OK if mine or not case.session else WARN, f"loop {loop.name} belongs to {whose}")
    if session.status == verdict.PAUSED:
        report.add(
            WARN, f"the loop is paused ({session.verdict or 'by hand'}): {session.reason or '–'}; go on: loopkit resume"
        )
    if session.last_stop:
        last = session.last_stop
        report.add(OK, f"last stop: {last['decision']}" + (f", {last['verdict']}" if last["verdict"] else ""))
    if session.failure:
        report.add(WARN, f"the last turn died of {session.failure['error']}: {session.failure['text']}")


def _work(report: Report, loop: Loop) -> None:
    state = loop.state
    for task_id in state.open:
        task = state.tasks[task_id]
        if not task.verify and task.block_kind != tasks.SPLIT:
            report.add(FAULT, f'{task_id} has no verification command: loopkit task set {task_id} --verify "<command>"')
        errors = [entry["error"] for entry in task.history]
        if any(one and errors.count(one) >= 3 for one in errors):
            report.add(
                FAULT, f"{task_id} failed 3 times with the same error: split it (loopkit task split {task_id} --file -)"
            )
        if task.panel_due:
            report.add(WARN, f"{task_id} failed and no panel has looked at it: loopkit panel {task_id}")
    try:
        graph.waves({one: state.tasks[one].blocked_by for one in state.open})
    except ValueError as error:
        report.add(FAULT, f"{error}: loopkit task set <id> --blocked-by <what it really needs>")
    session = state.session
    if session.status in verdict.FINAL:
        return
    if session.limit_iterations is None and session.limit_seconds is None:
        ends = "its completion or a stall" if session.limit_usd is None else "money, its completion or a stall"
        report.add(
            WARN,
            f"no limit on iterations or time: only {ends} ends this loop; set one: loopkit resume --iterations N --time T",
        )
    unpriced = pricing.cost(session.usage, session.prices)[2]
    if unpriced and session.limit_usd is not None:
        report.add(
            WARN, f"no price for {', '.join(unpriced)}: no money limit can be kept; add it to [prices] in config.toml"
        )


def rules() -> list[str]:
    """Permission rules a person may want to add: what /loop:start allows for one prompt, and running the checks."""
    import yaml

    with open(os.path.join(place.plugin_root(), "commands", "start.md"), encoding="utf-8") as file:
        head = yaml.safe_load(file.read().split("---", 2)[1])
    return ["Bash(loopkit verify *)", *head["allowed-tools"]]
