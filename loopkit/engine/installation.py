"""The doctor's look at the installation: interpreters, environment, plugins, hooks and their last
calls."""

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

from .. import bootstrap
from ..core.journal import clock
from ..store import beats, client, place
from .findings import FAULT, OK, WARN, Case, Report

#: The exit code by which hooks/run knows that an interpreter has run our file.
RAN = 42
#: Plugins that `loop` cannot be loaded without.
NEEDED = ("hope", "counsel")
#: What must lie in the plugin beside the package and the hooks; of a folder, something.
PARTS = ("bin/loopkit", "commands", "agents", "skills", "templates", "plugins/counsel/profiles")
#: Loads the module of each event, as a hook does, and prints those that cannot be loaded: event,
#: TAB, why.
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
WORDS = {
    "silent": "it had nothing to say",
    "held": "it held the turn",
    "told": "it told the session of the loop",
    "refused": "it refused",
    "fault": "it failed",
    "no-loop": "no loop there",
    "disabled": "switched off by LOOPKIT_DISABLED",
    "child": "a run's own agent, left alone",
    "no-python": "no Python was found",
}


def programs(report: Report, case: Case) -> str:
    """What loopkit runs on, what hooks run on and why, programs it leans on, the data folder and
    its environment.

    Gives the path of the interpreter that hooks take, or an empty text.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    report.add(OK, f"loopkit runs on Python {version} at {sys.executable}")
    data = place.data_dir(case.environment)
    rows = _interpreters(report, case, data)
    tried = {path for _, path in rows}
    for name in ("python3", "python"):
        found = shutil.which(name, path=case.environment.get("PATH", ""))
        if found is None or found in tried:
            continue
        wrong = what_is_wrong(found)
        report.add(
            WARN if wrong else OK,
            f"{name} on the PATH is {found}" + (f": {wrong}; it is passed over" if wrong else ""),
        )
    for name, needed in (
        ("git", "checkpoints and stale evidence lean on it"),
        ("claude", "the client itself"),
    ):
        found = shutil.which(name, path=case.environment.get("PATH", ""))
        report.add(
            OK if found else WARN,
            f"{name}: {found}" if found else f"{name} is not on the PATH ({needed})",
        )
    writable = os.path.isdir(data) and os.access(data, os.W_OK | os.X_OK)
    report.add(
        OK if writable else FAULT,
        f"data folder {data}" + ("" if writable else " cannot be written"),
    )
    _environment(report, data)
    return rows[-1][1] if rows and rows[-1][0] == RAN else ""


def _interpreters(report: Report, case: Case, data: str) -> list[tuple[int, str]]:
    """Which interpreter hooks take, by asking the launcher itself; gives (exit code, path) of those
    it tried."""
    try:
        rows = _asked(case)
    except (OSError, subprocess.TimeoutExpired) as error:
        report.add(
            FAULT,
            f"hooks/run does not answer ({error.__class__.__name__}); it needs "
            f"`sh`{_git_bash(case)}",
        )
        return []
    noted = _first_line(os.path.join(data, "python"))
    taken = rows[-1][1] if rows and rows[-1][0] == RAN else None
    if noted and noted not in [path for _, path in rows]:
        report.add(
            WARN,
            f"{os.path.join(data, 'python')} names {noted}, which is no program; it is passed over",
        )
    for code, path in rows:
        if path != taken:
            wrong = what_is_wrong(path) or f"ends with {code} on hooks: {_last_words(path, data)}"
            report.add(WARN, f"python for hooks: {path}: {wrong}; it is passed over")
    if taken is None:
        report.add(
            FAULT,
            "no Python 3.9 or newer runs here, so hooks do nothing: install Python 3.11 or newer, "
            "run loopkit again",
        )
    else:
        why = "the first on the PATH that works"
        if taken == noted:
            why = "noted when the environment was prepared"
        elif taken.startswith(os.path.join(data, "env") + os.sep):
            why = "that of the prepared environment"
        report.add(OK, f"python for hooks: {taken}, {why}; it starts in {_start_up(taken):.0f} ms")
    return rows


def _asked(case: Case) -> list[tuple[int, str]]:
    """(exit code, path) of the interpreters that hooks/run tries, up to the one it takes."""
    done = subprocess.run(
        ["sh", os.path.join(place.plugin_root(), "hooks", "run"), "which"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        env=case.environment,
        cwd=case.folder,
        check=False,
    )
    rows = [row.split("\t", 1) for row in os.fsdecode(done.stdout).split("\0") if "\t" in row]
    return [(int(code), path) for code, path in rows if code.isdecimal()]


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
        try:
            subprocess.run(
                [program, "-I", "-S", "-c", ""], stdin=subprocess.DEVNULL, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            pass
        best = min(best, time.perf_counter() - began)
    return best * 1000


def what_is_wrong(program: str) -> str | None:
    """Why a Python is no use for hooks, or None."""
    check = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [program, "-I", "-S", "-c", check],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error.__class__.__name__})"
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode or not said.replace(".", "").isdigit():
        return f"exits {done.returncode} and prints {said[:60]!r}"
    if tuple(map(int, said.split("."))) < (3, 9):
        return f"is Python {said}, hooks need 3.9"
    return None


def _last_words(program: str, data: str) -> str:
    """What our own file says on an interpreter that runs everything else."""
    file = os.path.join(place.plugin_root(), "loopkit", "hooks", "__main__.py")
    try:
        done = subprocess.run(
            [program, "-I", "-S", file, "which", data],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return error.__class__.__name__
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word"])[-1][:160]


def _environment(report: Report, data: str) -> None:
    from pathlib import Path

    try:
        ready = bootstrap.complete(
            Path(data), Path(place.plugin_root(), "requirements.lock").read_bytes()
        )
    except OSError:
        report.add(FAULT, "requirements.lock is missing from the plugin: install the plugin again")
        return
    if ready:
        report.add(OK, f"environment prepared: {ready}")
    else:
        env = os.path.join(data, "env")
        state = "is for another version" if os.path.lexists(env) else "is not prepared"
        report.add(WARN, f"the environment {env} {state}; the next `loopkit` command prepares it")


def plugins(report: Report, case: Case, files: list[client.Settings], folders: list[str]) -> None:
    """The three plugins: there, of one version, enabled; which copy of them the client reads."""
    root = place.plugin_root()
    missing = [one for one in PARTS if not _is_there(os.path.join(root, one))]
    if missing:
        report.add(
            FAULT, f"missing from the plugin {root}: {', '.join(missing)}; install the plugin again"
        )
    installed = client.installed(case.environment, folders)
    switched = {name: client.deciding(files, "enabledPlugins", name) for name in installed}
    off = {
        name: decided[1] for name, decided in switched.items() if decided and decided[0] is False
    }
    copies = client.copies(installed)
    copies = {name: folder for name, folder in copies.items() if name not in off} or copies
    _copies(report, case, root, copies)
    for plugin_id, folder in copies.items():
        market = plugin_id.partition("@")[2]
        where = {"loop": folder}
        for name in NEEDED:
            needed = f"{name}@{market}"
            if needed in installed:
                where[name] = installed[needed]
                continue
            report.add(
                FAULT,
                f"plugin {name} is not installed, and without it the client does not load loop: "
                f"claude plugin install {plugin_id}",
            )
        _versions(report, where)
        for name in (plugin_id, *(f"{name}@{market}" for name in NEEDED)):
            if name in off:
                report.add(FAULT, f"{off[name]} disables {name}: claude plugin enable {name}")
    if not copies:
        where = {"loop": root, **{name: os.path.join(root, "plugins", name) for name in NEEDED}}
        for name in NEEDED:
            if not client.manifest(where[name]):
                report.add(
                    WARN,
                    f"plugin {name} is not beside this one: loop needs it (claude plugin list)",
                )
                del where[name]
        _versions(report, where)


def _copies(report: Report, case: Case, root: str, copies: dict[str, str]) -> None:
    """Which copy of this plugin the client reads, of those that are installed: ours, another one,
    or several."""
    real = os.path.realpath(root)
    cache = (
        os.path.join(os.path.realpath(place.config_dir(case.environment)), "plugins", "cache")
        + os.sep
    )
    ours = [name for name, folder in copies.items() if os.path.realpath(folder) == real]
    if ours:
        report.add(OK, f"Claude Code reads {', '.join(ours)} from here: {root}")
    elif not copies and real.startswith(cache):
        market = real[len(cache) :].split(os.sep)[0]
        report.add(
            FAULT,
            f"this is {root}, and the plugin loop is not installed: claude plugin install "
            f"loop@{market}",
        )
    elif not copies:
        report.add(
            OK,
            "the plugin loop is not installed: Claude Code uses this one where --plugin-dir "
            f"names it: {root}",
        )
    else:
        where = ", ".join(
            f"{name} {_version(folder)} from {folder}" for name, folder in copies.items()
        )
        if real.startswith(cache):
            report.add(
                WARN,
                f"this is {root}; Claude Code has since installed {where}: start Claude Code again",
            )
        else:
            report.add(
                OK,
                f"this is loop {_version(root)} in {root}; Claude Code reads {where}, unless "
                "--plugin-dir names this one",
            )
    if len({os.path.realpath(folder) for folder in copies.values()}) > 1:
        kept, why = _kept(ours, sorted(copies))
        listed = ", ".join(f"{name} from {folder}" for name, folder in sorted(copies.items()))
        rest = ", ".join(f"claude plugin disable {name}" for name in sorted(copies) if name != kept)
        report.add(
            WARN,
            "Claude Code loads several copies of the plugin loop, and whose hooks answer is not "
            f"certain: {listed}; "
            f"keep {kept} ({why}): {rest}",
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
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    if len(set(versions.values())) > 1:
        report.add(
            FAULT,
            f"plugins of different versions: {listed}; update all three (claude plugin update)",
        )
    else:
        report.add(OK, f"plugins: {listed}")


def _is_there(path: str) -> bool:
    try:
        return os.path.isfile(path) or bool(os.listdir(path))
    except OSError:
        return False


def hooks(report: Report, case: Case, python: str) -> None:
    """The hooks that are registered, how they answer a sample, when each was last called and what
    came of it."""
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
        report.add(
            FAULT,
            f"hooks/hooks.json cannot be read ({error.__class__.__name__}): install the plugin "
            "again",
        )
        return
    _sample(report, case, python, sorted({event for event, _, _ in registered}))
    data = place.data_dir(case.environment)
    if python:
        _modules(report, python, data, {name for _, name, _ in registered})
    for event, name, limit in registered:
        _last_call(report, case, data, event, name, limit)
    last = _last_line(os.path.join(data, "hooks.log"))
    if last:
        report.add(WARN, f"the last line of {os.path.join(data, 'hooks.log')}: {last}")


def _sample(report: Report, case: Case, python: str, registered: list[str]) -> None:
    """A stop of a session that has no loop, with a data folder of its own, so that it is not noted
    as a call."""
    sample = {
        "session_id": "doctor",
        "cwd": case.folder,
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "background_tasks": [],
    }
    try:
        with tempfile.TemporaryDirectory(prefix="loopkit-doctor-") as data:
            with open(
                os.path.join(data, "python"), "w", encoding="utf-8", errors="surrogateescape"
            ) as file:
                file.write(python)
            with contextlib.suppress(OSError, NotImplementedError):  # compiled once is enough
                os.symlink(
                    os.path.join(place.data_dir(case.environment), "pyc"), os.path.join(data, "pyc")
                )
            done = subprocess.run(
                ["sh", os.path.join(place.plugin_root(), "hooks", "run"), "stop"],
                input=json.dumps(sample).encode(),
                capture_output=True,
                timeout=20,
                cwd=case.folder,
                env={**case.environment, "LOOPKIT_DATA": data},
                check=False,
            )
            fault = _last_line(os.path.join(data, "hooks.log"))
    except (OSError, subprocess.TimeoutExpired) as error:
        report.add(
            FAULT,
            f"hooks/run does not answer ({error.__class__.__name__}); it needs "
            f"`sh`{_git_bash(case)}",
        )
        return
    good = (
        done.returncode == 0 and not done.stdout.strip() and not done.stderr.strip() and not fault
    )
    said = fault or (done.stderr or done.stdout).decode("utf-8", "replace").strip()[:100]
    report.add(
        OK if good else FAULT,
        f"hooks {', '.join(registered)} registered; a sample stop of another session: "
        + ("let go" if good else f"exit {done.returncode}, {said!r}"),
    )


def _modules(report: Report, python: str, data: str, registered: set[str]) -> None:
    """Whether the client calls a hook for each event that we answer, and whether what answers it
    can be loaded."""
    argv = [
        python,
        "-I",
        "-S",
        "-B",
        "-X",
        "utf8",
        "-X",
        f"pycache_prefix={os.path.join(data, 'pyc')}",
        "-c",
        LOAD,
    ]
    try:
        done = subprocess.run(
            [*argv, place.plugin_root()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        report.add(FAULT, f"the hooks' modules cannot be loaded ({error.__class__.__name__})")
        return
    for row in done.stdout.decode("utf-8", "replace").splitlines():
        event, _, why = row.partition("\t")
        if why:
            report.add(
                FAULT,
                f"the hook for {event} cannot be loaded: {why[:200]}; install the plugin again",
            )
        if event not in registered:
            report.add(
                FAULT, f"hooks/hooks.json calls no hook for {event}: install the plugin again"
            )


def _last_call(report: Report, case: Case, data: str, event: str, name: str, limit: object) -> None:
    beat = beats.read(data, name)
    if beat is None:
        if event == "SessionStart" and case.session and not beats.any_call(data):
            report.add(
                FAULT,
                f"hook {event}: last call never, and this is a session: its hooks are not run, or "
                "the plugin loop was "
                "installed just now; is it enabled (claude plugin list)? Start Claude Code again",
            )
        else:
            report.add(OK, f"hook {event}: last call never")
        return
    age = time.time() - beat.at
    when = f"hook {event}: last call {clock.stamp(beat.at)} ({clock.human(max(0, age))} ago), "
    longest = limit if isinstance(limit, (int, float)) else 0
    if beat.result == "begun":
        if place.alive(beat.pid) and age <= longest:
            report.add(OK, when + "it is running")
        else:
            report.add(
                WARN,
                when + f"it was begun and did not end: killed, as at its time limit of {longest} s",
            )
    elif beat.took is not None and beat.took > longest:
        report.add(
            WARN, when + f"{WORDS.get(beat.result, beat.result)}, too late: after {beat.took:.0f} s"
        )
    else:
        bad = beat.result in ("fault", "no-python", "disabled")
        report.add(
            WARN if bad else OK,
            when + WORDS.get(beat.result, beat.result or "what came of it is not noted"),
        )


def _last_line(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 600))
            return (file.read().decode("utf-8", "replace").splitlines() or [""])[-1][:500]
    except OSError:
        return ""


def _git_bash(case: Case) -> str:
    return ", which comes with Git for Windows" if case.system == "win32" else ""
