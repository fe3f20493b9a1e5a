"""Telling the person that a run has ended or waits for them: on the desktop, and by a command of
their own."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys

from ...core.journal import prose
from ...core.pipeline import status
from ...core.pipeline.events import RunState
from ...render import runs as words
from ...store import place
from ..workspace import Workspace

#: Seconds that a command has which tells the person.
_SECONDS = 20
#: What is told of a run by its status.
EVENTS = {
    status.COMPLETED: "complete",
    status.FAILED: "failed",
    status.LIMIT: "limit",
    status.PAUSED: "approval needed",
}


def event(state: RunState) -> str:
    """The event of a run that has ended; "" where the person ended it."""
    by_person = (status.INTERRUPTED, status.ASKED)
    if state.status == status.PAUSED and state.reason in by_person:
        return ""
    return EVENTS.get(state.status, "")


def give(state: RunState, command: list[str], workspace: Workspace) -> None:
    """Tell of a run's end. What cannot be told is noted and fails nothing."""
    name = event(state)
    if not name:
        return
    stands = words.how_it_stands(state, status.FREE)[0].partition(": ")[2]
    why = prose.clean(state.error or stands, 200)
    values = {
        "{event}": name,
        "{session}": state.session,
        "{title}": f"loopkit: {state.session} {name}",
        "{text}": why,
    }
    _desktop(values["{title}"], values["{text}"], workspace.environment)
    if not command:
        return
    filled = [_filled(word, values) for word in command]
    more = {f"LOOPKIT_{key.strip('{}').upper()}": value for key, value in values.items()}
    fault = _call(filled, {**workspace.environment, **more})
    if fault:
        workspace.note(f"the command of setting notify: {fault}")


def _filled(word: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(?:event|session|title|text)\}", lambda match: values[match.group()], word)


def _desktop(title: str, text: str, environment: dict[str, str]) -> None:
    """Show it on the desktop, where there is one and a program that does so."""
    path = place.search_path(environment)
    if environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        if program := shutil.which("notify-send", path=path):
            _call([program, "--app-name=loopkit", "--", title, text], environment)
    elif sys.platform == "darwin":
        if program := shutil.which("osascript", path=path):
            script = "on run {a, b}\ndisplay notification b with title a\nend run"
            _call([program, "-e", script, title, text], environment)


def _call(line: list[str], environment: dict[str, str]) -> str:
    """Run a command that tells the person; what went wrong, or ""."""
    try:
        done = subprocess.run(
            line,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{line[0]} did not end within {_SECONDS} s"
    except (OSError, ValueError) as error:
        return f"{line[0]!r} cannot be started: {getattr(error, 'strerror', None) or error}"
    if done.returncode:
        with contextlib.suppress(IndexError):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1]
            return f"{line[0]} exits {done.returncode}: {prose.clean(last, 200)}"
        return f"{line[0]} exits {done.returncode}"
    return ""
