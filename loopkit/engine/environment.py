"""The doctor's checks of variables, settings, permission rules, task tools, the system."""

from __future__ import annotations

import os

from ..core.evidence import permissions
from ..core.journal import prose
from ..core.journal.errors import LoopError
from ..core.journal.session import MAX_IDLE_STOPS
from ..store import atomic, client, config, loops, native, origin, place, trust
from . import origins
from .findings import OK, WARN, Case, Report

#: The client overrides a Stop hook after so many holds, unless this variable says otherwise.
CLIENT_CAP, CAP_VARIABLE = 8, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
TASK_TOOLS = "CLAUDE_CODE_ENABLE_TODO_TOOLS"

#: Rules of one file that are named, and characters of each.
MOST_RULES, LONGEST_RULE = 5, 200

#: By `sys.platform`; from documentation, none of it was tried.
NOTES = {
    "win32": (
        "Windows has not been tried; hooks need the `sh` of Git for Windows (without it the "
        "client runs PowerShell)",
        "on Windows `python3` is often the stub of the Microsoft Store, which exits 49 or 9009; "
        "it is passed over, `py -3` is tried last",
    ),
    "darwin": (
        "on macOS /usr/bin/python3 is a stub until the Command Line Tools are installed "
        "(xcode-select --install), then Python 3.9: enough for hooks, loopkit needs 3.11 (for "
        "example from python.org)",
    ),
}


def folders(case: Case) -> list[str]:
    """Folders whose `.claude/` the client may have read."""
    tops = [
        case.folder,
        place.opened(case.folder, case.env),
        place.work_tree(case.folder, case.env),
        os.path.dirname(case.root) if case.root else None,
    ]
    return list(dict.fromkeys(top for top in tops if top))


def variables(report: Report, case: Case, files: list[client.Settings]) -> None:
    """Variables of ours and the client's cap, from the environment or from the settings' `env`."""
    for name, means in (
        ("LOOPKIT_DISABLED", "hooks are off"),
        ("LOOPKIT_CHILD", "hooks take this for an agent that a run has started, and are silent"),
    ):
        value, source = _variable(case, files, name)
        if value == "1" or value and name == "LOOPKIT_CHILD":
            report.fault(f"{name}={value}: {means} ({source})")
    value, source = _variable(case, files, CAP_VARIABLE)
    view = loops.view(case.root) if case.root else None
    idle = view.session.max_idle_stops if view is not None else MAX_IDLE_STOPS
    if value.isdigit() and 0 < int(value) <= idle:
        means = "the client overrides our holds before a stall is noticed"
        report.fault(f"{CAP_VARIABLE}={value}: {means}; set it to {CLIENT_CAP} ({source})")
    value, source = _variable(case, files, "LOOPKIT_DIR")
    if not value:
        return
    what = f"LOOPKIT_DIR={value}"
    if not os.path.isabs(value):
        report.fault(f"{what} is no full path: it means another folder wherever the session goes")
    elif not os.path.isdir(value):
        report.fault(f"{what} is no folder, and loops are looked for nowhere else ({source})")
    else:
        report.ok(f"loops are looked for in {what} only ({source})")


def _variable(case: Case, files: list[client.Settings], name: str) -> tuple[str, str]:
    """(value, what decided it). The client puts the settings' `env` into its environment."""
    value, decided = case.env.get(name, ""), client.deciding(files, "env", name)
    if decided is None or case.session and str(decided[0]) != value:
        return value, "the environment"
    return str(decided[0]), f"env in {decided[1]}"


def settings(report: Report, case: Case, files: list[client.Settings]) -> None:
    """Settings that switch our hooks off, and other hooks on the same event."""
    for file in files:
        if file.wrong:
            report.warn(f"{file.path} {file.wrong}: the client passes over it")
    off = client.deciding(files, "", "disableAllHooks")
    if off and off[0] is True:
        what = f"disableAllHooks in {off[1]}: no hook runs, so a loop cannot hold"
        report.fault(f"{what}; take it out")
    competing = "has a Stop hook: it may hold a session that the loop lets go"
    for file in files:
        if file.managed and file.values.get("allowManagedHooksOnly") is True:
            what = f"allowManagedHooksOnly in {file.path}: hooks of plugins do not run"
            report.fault(f"{what}; ask the administrator")
        if client.table(file.values, "hooks").get("Stop"):
            report.warn(f"{file.path} {competing}")
    installed = client.installed(case.env, folders(case))
    for name, folder in sorted(installed.items()):
        enabled = client.deciding(files, "enabledPlugins", name)
        if name in client.copies(installed) or not enabled or enabled[0] is not True:
            continue
        if client.has_hook(folder, "Stop"):
            report.warn(f"plugin {name} {competing} (claude plugin disable {name})")


def rules(report: Report, files: list[client.Settings]) -> None:
    """Permission rules under which `loopkit` runs any command unasked, each where it stands."""
    for file in files:
        wide = [rule for rule in client.allowed(file) if permissions.too_wide(rule)]
        if wide:
            named = prose.few(wide, MOST_RULES, LONGEST_RULE)
            report.warn(
                f"{file.path} allows {named}: Claude may change a check and run it, so any command "
                "runs and you are not asked; take it out of permissions.allow; checks run once "
                "you have said yes to them: loopkit allow"
            )


def task_list(report: Report, case: Case, files: list[client.Settings]) -> None:
    """Whether the client keeps a task list, by which setting, and where tasks are mirrored."""
    value, source = _variable(case, files, TASK_TOOLS)
    on = native.has_task_tools({TASK_TOOLS: value}, False)
    folder = native.folder(case.env, case.session) if case.session else None
    if folder:
        list_id = native.list_id(case.env, case.session)
        report.ok(f"native task list {list_id} is mirrored: {folder}")
    if value:
        are = "switched on" if on else "off unless the model brings them"
        report.add(OK if on else WARN, f"task tools are {are}: {TASK_TOOLS}={value} ({source})")
    elif not folder:
        what = "no native task list here: current models have no task tools"
        how = f"{TASK_TOOLS}=1 in the environment or in the settings' env brings them back"
        report.warn(f"{what}; {how}. The loop works without")
    shared = case.env.get("CLAUDE_CODE_TASK_LIST_ID")
    if shared:
        report.ok(f"CLAUDE_CODE_TASK_LIST_ID={shared}: sessions share that task list")


def start(report: Report, case: Case) -> None:
    """Whether a loop can be started: its folder, the settings, the note of whose it is."""
    root = case.root or place.future(case.folder, case.env)
    project = place.project(case.folder, case.env)
    cannot = "no loop can be started here"
    if case.root is None and place.out_of_reach(project, case.env):
        report.fault(f"{cannot}: {project} is no project, it holds the home folder")
    if os.path.lexists(root) and not os.path.isdir(root):
        report.fault(f"{root} is no folder, so no loop can be kept in it: move it away")
    else:
        try:
            atomic.check_inside(os.path.dirname(root), root)
            whose = origins.of(root, case.env, report.warn)
            along = origin.line(origin.along(whose))
            if along:
                report.warn(along)
            config.read(whose)
        except OSError as error:
            report.fault(f"{cannot}: {error.filename}: {error.strerror}")
        except LoopError as error:
            report.fault(f"{cannot}: {error}")
    for folder in (root, trust.folder()):
        above = next(filter(os.path.lexists, place.upwards(folder)))
        if above != root and not (os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)):
            why = f"{above} is in the way or read-only"
            report.fault(f"{cannot}: {folder} cannot be made; {why}")


def system(report: Report, case: Case) -> None:
    for text in NOTES.get(case.system, ()):
        report.warn(text)
