"""A whole loop on a small real project, with recorded answers: real edits, real checks, no
model."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from ..core.journal import verdict
from ..core.journal.errors import Damaged, Refused
from ..core.steps import kinds
from ..engine import run
from ..engine.agents.script import Script
from ..store import place
from . import drive, start
from .workspace import Workspace

_GIT = (
    *("-c", "user.name=loopkit demo", "-c", "user.email=demo@example.com"),
    *("-c", "commit.gpgsign=false"),
)


class Made(NamedTuple):
    """The project was made."""

    folder: str


class Tested(NamedTuple):
    """The project's own tests, by `command`, before anything is done; the last line they print."""

    command: str
    line: str


class Started(NamedTuple):
    """A loop was started on a request."""

    request: str
    name: str


class Held(NamedTuple):
    """The session wanted to stop; what the Stop hook told it, or "" where it may."""

    message: str


class Completed(NamedTuple):
    """The loop is complete."""

    folder: str
    loop: str
    card: str


Record = Made | Tested | Started | Held | Completed | run.Record


def play(folder: str | None, environment: dict[str, str]) -> Iterator[Record]:
    """Make the project and run the loop in it, as a session that nobody attends. Raises Refused or
    Damaged where it does not complete."""
    project = make_project(folder)
    yield Made(project)
    with _session(project, environment):
        yield Tested("python -m unittest -q", _tests())
        script = Script(
            os.path.join(place.plugin_root(), "demo", "script.yaml"),
            {"python": shlex.quote(sys.executable)},
        )
        start.start(Workspace(_ignored), script.task, start.Options())
        yield Started(script.task, Workspace(_ignored).loop().name)
        card, held, why = "", False, ""
        for record in run.run(drive.Driver(_ignored), script, project):
            yield record
            if isinstance(record, run.Ended):
                why = record.text
            elif isinstance(record, run.Recorded) and record.step.kind == kinds.COMPLETE:
                card = record.text
            elif isinstance(record, run.Recorded) and record.step.kind == kinds.CLOSE_WAVE:
                if not held:
                    yield Held(_stop())
                held = True
        loop = Workspace(_ignored).loop()
        if loop.state.session.verdict != verdict.ACHIEVED:
            raise Refused(
                f"the demo's loop did not complete: {why or loop.state.session.status}",
                f"look at it: cd {project} && loopkit status",
            )
        yield Held(_stop())
        yield Completed(project, loop.name, card)


def make_project(folder: str | None) -> str:
    """The demo's project under git, in a new temporary folder or in `folder`, which must not exist
    or be empty."""
    source = os.path.join(place.plugin_root(), "demo", "project")
    git = shutil.which("git")
    if git is None:
        raise Damaged("git is not on the PATH", "install git: the demo's project is a repository")
    try:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="loopkit-demo-")
        elif os.path.exists(folder) and os.listdir(folder):
            raise Refused(f"{folder} is not empty", "give a new folder")
        shutil.copytree(
            source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        for top, folders, names in os.walk(folder):  # the plugin may be installed read-only
            for name in [*folders, *names]:
                path = os.path.join(top, name)
                os.chmod(path, os.stat(path).st_mode | 0o600)
    except OSError as error:
        raise Damaged(
            f"cannot make the demo's project: {error}", "make room or set TMPDIR"
        ) from None
    for arguments in (
        ("init", "-q", "--template=", "."),
        ("add", "-A"),
        ("commit", "-q", "--no-verify", "-m", "An empty invoice package with its tests"),
    ):
        done = subprocess.run(
            [git, *_GIT, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise Damaged(
                f"git {arguments[0]} fails: {done.stderr.decode(errors='replace').strip()[:200]}",
                "see git's message",
            )
    return os.path.realpath(folder)


@contextlib.contextmanager
def _session(project: str, environment: dict[str, str]) -> Iterator[None]:
    """Stand in the project as a session of its own does, with nothing of the one around us."""
    kept, folder = os.environ.copy(), os.getcwd()
    data = place.data_dir(environment)
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "LOOPKIT_")):
            del os.environ[name]
    os.environ |= {
        "CLAUDE_CODE_SESSION_ID": f"demo-{uuid.uuid4()}",
        "CLAUDE_CODE_SESSION_ATTENDED": "0",
        "CLAUDE_PID": str(os.getpid()),
        "CLAUDE_PROJECT_DIR": project,
        "LOOPKIT_DATA": data,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        os.chdir(project)
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(folder)


def _tests() -> str:
    """Run the project's own tests; the last line of what they print."""
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return (done.stdout.decode("utf-8", "replace").splitlines() or ["no output"])[-1]


def _stop() -> str:
    """What the real Stop hook tells this session when it wants to end its turn; "" where it may."""
    event = {
        "session_id": os.environ["CLAUDE_CODE_SESSION_ID"],
        "cwd": os.getcwd(),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "background_tasks": [],
    }
    done = subprocess.run(
        ["sh", os.path.join(place.plugin_root(), "hooks", "run"), "stop"],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=False,
    )
    try:
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])
    except (ValueError, KeyError, TypeError):
        return ""


def _ignored(note: str) -> None:
    """A line about what a person need not know here."""
