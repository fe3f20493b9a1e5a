"""The doctor's checks of the installation: interpreters, environment, plugins, hooks."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .. import bootstrap
from ..core.journal import clock
from ..store import atomic, beats, client, place
from .findings import FAULT, OK, WARN, Case, Report

#: The exit code by which hooks/run knows that an interpreter has run our file.
RAN = 42
#: Plugins that `loop` cannot be loaded without.
NEEDED = ("hope", "counsel")
#: What must lie in the plugin beside the package and the hooks; of a folder, something.
PARTS = ("bin/loopkit", "commands", "agents", "skills", "templates", "plugins/counsel/profiles")
#: Loads the module of each event, as a hook does, and prints: event, TAB, why it cannot be loaded.
LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
from loopkit.hooks import dispatch
for event in dispatch.EVENTS:
    why = ""
    try:
        __import__("loopkit.hooks." + event, fromlist=["handle"]).handle
    except Exception as fault:
        why = type(fault).__name__ + " " + str(fault)
    print(event, " ".join(why.split()), sep="\\t")
"""
RESULTS = {
    "silent": "it had nothing to say",
    "held": "it held the turn",
    "told": "it told the session of the loop",
    "refused": "it refused",
    "fault": "it failed",
    "no-loop": "no loop there",
    "disabled": "switched off by LOOPKIT_DISABLED",
    "child": "a run's own agent, left alone",
    "no-python": "no Python was found",
    "": "what came of it is not noted",
}
#: What running a program may raise.
_ERRORS = (OSError, subprocess.TimeoutExpired)


def _run(seconds: float, *words: str, given: bytes = b"", **options: Any) -> Any:
    return subprocess.run(words, input=given, capture_output=True, timeout=seconds, **options)


def _launch(case: Case, seconds: float, word: str, given: bytes = b"", **variables: str) -> Any:
    """Call hooks/run as the client does."""
    launcher, env = os.path.join(place.plugin_root(), "hooks", "run"), {**case.env, **variables}
    sh = shutil.which("sh", path=place.search_path(case.env)) or "sh"
    return _run(seconds, sh, launcher, word, given=given, env=env, cwd=case.folder)


def _no_answer(report: Report, case: Case, error: Exception) -> None:
    sh = "`sh`" + (", which comes with Git for Windows" if case.system == "win32" else "")
    report.fault(f"hooks/run does not answer ({error.__class__.__name__}); it needs {sh}")


def programs(report: Report, case: Case) -> str:
    """What loopkit and hooks run on and why, programs it needs, the data folder and its
    environment. Gives the path of the interpreter that hooks take, or ""."""
    version = ".".join(map(str, sys.version_info[:3]))
    report.ok(f"loopkit runs on Python {version} at {sys.executable}")
    data, search = place.data_dir(case.env), place.search_path(case.env)
    rows = _interpreters(report, case, data)
    tried = {path for _, path in rows}
    for name in ("python3", "python"):
        path = shutil.which(name, path=search)
        if path is None or path in tried:
            continue
        wrong = what_is_wrong(path)
        end = f": {wrong}; it is passed over" if wrong else ""
        report.add(WARN if wrong else OK, f"{name} on the PATH is {path}{end}")
    needed = {"git": "checkpoints and stale evidence lean on it", "claude": "the client itself"}
    for name, why in needed.items():
        path = shutil.which(name, path=search)
        text = f"{name}: {path}" if path else f"{name} is not on the PATH ({why})"
        report.add(OK if path else WARN, text)
    writable = os.path.isdir(data) and os.access(data, os.W_OK | os.X_OK)
    end = "" if writable else " cannot be written"
    report.add(OK if writable else FAULT, f"data folder {data}{end}")
    _environment(report, data)
    return rows[-1][1] if rows and rows[-1][0] == RAN else ""


def _interpreters(report: Report, case: Case, data: str) -> list[tuple[int, str]]:
    """Which interpreter hooks take; gives (exit code, path) of those that the launcher tried."""
    try:
        output = os.fsdecode(_launch(case, 60, "which").stdout)
    except _ERRORS as error:
        _no_answer(report, case, error)
        return []
    fields = [row.split("\t", 1) for row in output.split("\0") if "\t" in row]
    rows = [(int(code), path) for code, path in fields if code.isdecimal()]
    note = os.path.join(data, "python")
    noted = _first_line(note)
    taken = rows[-1][1] if rows and rows[-1][0] == RAN else None
    if noted and noted not in [path for _, path in rows]:
        report.warn(f"{note} names {noted}, which is no program; it is passed over")
    for code, path in rows:
        if path != taken:
            wrong = what_is_wrong(path) or f"ends with {code} on hooks: {_last_words(path, data)}"
            report.warn(f"python for hooks: {path}: {wrong}; it is passed over")
    if taken is None:
        what = "no Python 3.9 or newer runs here, so hooks do nothing"
        report.fault(f"{what}: install Python 3.11 or newer, run loopkit again")
    else:
        why = "the first on the PATH that works"
        if taken == noted:
            why = "noted when the environment was prepared"
        elif taken.startswith(os.path.join(data, "env") + os.sep):
            why = "that of the prepared environment"
        report.ok(f"python for hooks: {taken}, {why}; it starts in {_start_up(taken):.0f} ms")
    return rows


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).rstrip("\n")
    except OSError:
        return ""


def _start_up(program: str) -> float:
    """Milliseconds that an interpreter takes to start and do nothing, the best of three."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        with contextlib.suppress(*_ERRORS):
            _run(20, program, "-I", "-S", "-c", "")
        best = min(best, time.perf_counter() - began)
    return best * 1000


def what_is_wrong(program: str) -> str | None:
    """Why a Python is no use for hooks, or None."""
    check = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    try:
        done = _run(10, program, "-I", "-S", "-c", check)
    except _ERRORS as error:
        return f"does not run ({error.__class__.__name__})"
    version = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode or not version.replace(".", "").isdigit():
        return f"exits {done.returncode} and prints {version[:60]!r}"
    if tuple(map(int, version.split("."))) < (3, 9):
        return f"is Python {version}, hooks need 3.9"
    return None


def _last_words(program: str, data: str) -> str:
    """What our own file says on an interpreter that runs everything else."""
    file = os.path.join(place.plugin_root(), "loopkit", "hooks", "__main__.py")
    try:
        done = _run(10, program, "-I", "-S", file, "which", data)
    except _ERRORS as error:
        return error.__class__.__name__
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word"])[-1][:160]


def _environment(report: Report, data: str) -> None:
    try:
        lock = Path(place.plugin_root(), "requirements.lock").read_bytes()
        ready = bootstrap.complete(Path(data), lock)
    except OSError:
        report.fault("requirements.lock is missing from the plugin: install the plugin again")
        return
    if ready:
        report.ok(f"environment prepared: {ready}")
    else:
        env = os.path.join(data, "env")
        state = "is for another version" if os.path.lexists(env) else "is not prepared"
        report.warn(f"the environment {env} {state}; the next `loopkit` command prepares it")


def plugins(report: Report, case: Case, files: list[client.Settings], folders: list[str]) -> None:
    """The three plugins: there, of one version, enabled; which copy of them the client reads."""
    root = place.plugin_root()
    missing = [part for part in PARTS if not _is_there(os.path.join(root, part))]
    if missing:
        what = f"missing from the plugin {root}: {', '.join(missing)}"
        report.fault(f"{what}; install the plugin again")
    installed = client.installed(case.env, folders)
    switches = {name: client.deciding(files, "enabledPlugins", name) for name in installed}
    off = {name: switch[1] for name, switch in switches.items() if switch and switch[0] is False}
    copies = client.copies(installed)
    copies = {name: folder for name, folder in copies.items() if name not in off} or copies
    _copies(report, case, root, copies)
    for plugin_id, folder in copies.items():
        _needed(report, plugin_id, folder, installed, off)
    if not copies:
        where = {name: os.path.join(root, "plugins", name) for name in NEEDED}
        for name in [name for name, folder in where.items() if not client.manifest(folder)]:
            what = f"plugin {name} is not beside this one"
            report.warn(f"{what}: loop needs it (claude plugin list)")
            del where[name]
        _versions(report, {"loop": root, **where})


def _needed(report: Report, plugin_id: str, folder: str, installed: dict, off: dict) -> None:
    """The plugins that an installed copy of this one needs, from the same marketplace."""
    ids = {name: f"{name}@{plugin_id.partition('@')[2]}" for name in NEEDED}
    for name in NEEDED:
        if ids[name] not in installed:
            what = f"plugin {name} is not installed, and without it the client does not load loop"
            report.fault(f"{what}: claude plugin install {plugin_id}")
    where = {name: installed[key] for name, key in ids.items() if key in installed}
    _versions(report, {"loop": folder, **where})
    for key in (plugin_id, *ids.values()):
        if key in off:
            report.fault(f"{off[key]} disables {key}: claude plugin enable {key}")


def _copies(report: Report, case: Case, root: str, copies: dict[str, str]) -> None:
    """Which copy of this plugin the client reads: ours, another one, or several."""
    real = os.path.realpath(root)
    cache = os.path.join(os.path.realpath(place.config_dir(case.env)), "plugins", "cache") + os.sep
    ours = [name for name, folder in copies.items() if os.path.realpath(folder) == real]
    is_cached, this = real.startswith(cache), f"this is {root}"
    if ours:
        report.ok(f"Claude Code reads {', '.join(ours)} from here: {root}")
    elif not copies and is_cached:
        market = real[len(cache) :].split(os.sep)[0]
        way_out = f"claude plugin install loop@{market}"
        report.fault(f"{this}, and the plugin loop is not installed: {way_out}")
    elif not copies:
        what = "the plugin loop is not installed"
        report.ok(f"{what}: Claude Code uses this one where --plugin-dir names it: {root}")
    else:
        rows = (f"{name} {_version(folder)} from {folder}" for name, folder in copies.items())
        where = ", ".join(rows)
        what = f"this is loop {_version(root)} in {root}; Claude Code reads {where}"
        if is_cached:
            report.warn(f"{this}; Claude Code has since installed {where}: start Claude Code again")
        else:
            report.ok(f"{what}, unless --plugin-dir names this one")
    if len({os.path.realpath(folder) for folder in copies.values()}) > 1:
        kept, why = _kept(ours, sorted(copies))
        where = ", ".join(f"{name} from {folder}" for name, folder in sorted(copies.items()))
        rest = ", ".join(f"claude plugin disable {name}" for name in sorted(copies) if name != kept)
        report.warn(
            "Claude Code loads several copies of the plugin loop, and whose hooks answer is not "
            f"certain: {where}; keep {kept} ({why}): {rest}"
        )


def _kept(ours: list[str], loaded: list[str]) -> tuple[str, str]:
    """(plugin id, why) of the copy to keep, of several that the client loads."""
    if ours:
        return ours[0], "it is the one that this `loopkit` comes from"
    if "loop@loopkit" in loaded:
        return "loop@loopkit", "uninstalling it also removes the data folder"
    return loaded[0], "any one will do"


def _version(folder: str) -> str:
    return str(client.manifest(folder).get("version", "unknown"))


def _versions(report: Report, where: dict[str, str]) -> None:
    """{plugin: folder}, which must be of one version."""
    versions = {name: _version(folder) for name, folder in where.items()}
    rows = ", ".join(f"{name} {version}" for name, version in versions.items())
    if len(set(versions.values())) > 1:
        what = f"plugins of different versions: {rows}"
        report.fault(f"{what}; update all three (claude plugin update)")
    else:
        report.ok(f"plugins: {rows}")


def _is_there(path: str) -> bool:
    try:
        return os.path.isfile(path) or bool(os.listdir(path))
    except OSError:
        return False


def hooks(report: Report, case: Case, python: str) -> None:
    """The registered hooks, how they answer a sample, when each was last called."""
    path = os.path.join(place.plugin_root(), "hooks", "hooks.json")
    try:
        with open(path, encoding="utf-8-sig") as file:
            registered = [
                (event, shlex.split(hook["command"])[-1], hook.get("timeout"))
                for event, entries in json.load(file)["hooks"].items()
                for entry in entries
                for hook in entry["hooks"]
            ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        what = f"hooks/hooks.json cannot be read ({error.__class__.__name__})"
        report.fault(f"{what}: install the plugin again")
        return
    _sample(report, case, python, sorted({event for event, _, _ in registered}))
    data = place.data_dir(case.env)
    if python:
        _modules(report, python, data, {name for _, name, _ in registered})
    for event, name, limit in registered:
        _last_call(report, case, data, event, name, limit)
    log = os.path.join(data, "hooks.log")
    if last := _last_line(log):
        report.warn(f"the last line of {log}: {last}")


def _sample(report: Report, case: Case, python: str, registered: list[str]) -> None:
    """A stop of a session without a loop, with a data folder of its own: it leaves no mark."""
    sample = {"session_id": "doctor", "cwd": case.folder, "hook_event_name": "Stop"}
    sample |= {"stop_hook_active": False, "background_tasks": []}
    try:
        with tempfile.TemporaryDirectory(prefix="loopkit-doctor-") as data:
            Path(data, "python").write_bytes(os.fsencode(python))
            with contextlib.suppress(OSError, NotImplementedError):  # compiled once is enough
                pyc = os.path.join(place.data_dir(case.env), "pyc")
                os.symlink(pyc, os.path.join(data, "pyc"))
            done = _launch(case, 20, "stop", json.dumps(sample).encode(), LOOPKIT_DATA=data)
            fault = _last_line(os.path.join(data, "hooks.log"))
    except _ERRORS as error:
        _no_answer(report, case, error)
        return
    output = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[:100]
    good = not (done.returncode or done.stdout.strip() or done.stderr.strip() or fault)
    result = "let go" if good else f"exit {done.returncode}, {fault or output!r}"
    what = f"hooks {', '.join(registered)} registered; a sample stop of another session"
    report.add(OK if good else FAULT, f"{what}: {result}")


def _modules(report: Report, python: str, data: str, registered: set[str]) -> None:
    """Whether each event that we answer has a hook, and its module can be loaded."""
    cache = f"pycache_prefix={os.path.join(data, 'pyc')}"
    options = ("-I", "-S", "-B", "-X", "utf8", "-X", cache)
    try:
        done = _run(20, python, *options, "-c", LOAD, place.plugin_root())
    except _ERRORS as error:
        report.fault(f"the hooks' modules cannot be loaded ({error.__class__.__name__})")
        return
    for row in done.stdout.decode("utf-8", "replace").splitlines():
        event, _, why = row.partition("\t")
        if why:
            what = f"the hook for {event} cannot be loaded: {why[:200]}"
            report.fault(f"{what}; install the plugin again")
        if event not in registered:
            report.fault(f"hooks/hooks.json calls no hook for {event}: install the plugin again")


def _last_call(report: Report, case: Case, data: str, event: str, name: str, limit: object) -> None:
    beat = beats.read(data, name)
    if beat is None:
        never = f"hook {event}: last call never"
        if event == "SessionStart" and case.session and not beats.any_call(data):
            why = "its hooks are not run, or the plugin loop was installed just now"
            todo = "is it enabled (claude plugin list)? Start Claude Code again"
            report.fault(f"{never}, and this is a session: {why}; {todo}")
        else:
            report.ok(never)
        return
    age = time.time() - beat.at
    when = f"hook {event}: last call {clock.stamp(beat.at)} ({clock.human(max(0, age))} ago), "
    longest = limit if isinstance(limit, (int, float)) else 0
    result = RESULTS.get(beat.result, beat.result)
    if beat.result == "begun":
        if place.alive(beat.pid) and age <= longest:
            report.ok(when + "it is running")
        else:
            end = "it was begun and did not end: killed, as at its time limit of"
            report.warn(f"{when}{end} {longest} s")
    elif beat.took is not None and beat.took > longest:
        report.warn(f"{when}{result}, too late: after {beat.took:.0f} s")
    else:
        bad = beat.result in ("fault", "no-python", "disabled")
        report.add(WARN if bad else OK, when + result)


def _last_line(path: str) -> str:
    try:
        with atomic.opened(path, sys.maxsize, links=True) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 600))
            return (file.read().decode("utf-8", "replace").splitlines() or [""])[-1][:500]
    except OSError:
        return ""
