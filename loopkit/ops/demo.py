"""A loop on a small real project with recorded answers: real edits, real checks, no model."""

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


class Told(NamedTuple):
    """What happens around the loop's own steps. mark: begins the line · quote: what a hook says."""

    mark: str
    text: str
    quote: str = ""


class Completed(NamedTuple):
    """The loop is complete."""

    folder: str
    loop: str
    card: str


Record = Told | Completed | run.Record


def play(folder: str | None, environment: dict[str, str]) -> Iterator[Record]:
    """Make the project and run the loop in it, as a session that nobody attends. Raises Refused or
    Damaged where it does not complete."""
    project = make_project(folder)
    yield Told("", f"A small project with failing tests:\n  {project}")
    with _session(project, environment):
        tests = _run([sys.executable, "-m", "unittest", "-q"]).splitlines() or ["no output"]
        yield Told("▸ ", f"python -m unittest -q → {tests[-1]}")
        path = os.path.join(place.plugin_root(), "demo", "script.yaml")
        script = Script(path, {"python": shlex.quote(sys.executable)})
        start.start(Workspace(_ignored), script.task, start.Options())
        yield Told("▸ ", f"/loop:start {script.task}")
        yield Told("  ", f"loop {Workspace(_ignored).loop().name} started")
        yield from _loop(script, project)


def _loop(script: Script, project: str) -> Iterator[Record]:
    card, stopped, why = "", False, ""
    for record in run.run(drive.Driver(_ignored), script, project):
        yield record
        if isinstance(record, run.Ended):
            why = record.text
        elif isinstance(record, run.Recorded) and record.step.kind == kinds.COMPLETE:
            card = record.text
        elif isinstance(record, run.Recorded) and record.step.kind == kinds.CLOSE_WAVE:
            if not stopped:
                yield _stop()
            stopped = True
    loop = Workspace(_ignored).loop()
    if loop.state.session.verdict != verdict.ACHIEVED:
        what = f"the demo's loop did not complete: {why or loop.state.session.status}"
        raise Refused(what, f"look at it: cd {project} && loopkit status")
    yield _stop()
    yield Completed(project, loop.name, card)


def make_project(folder: str | None) -> str:
    """The demo's project under git, in a temporary folder or in `folder`, which must be empty."""
    source = os.path.join(place.plugin_root(), "demo", "project")
    git = shutil.which("git", path=place.search_path(dict(os.environ)))
    if git is None:
        raise Damaged("git is not on the PATH", "install git: the demo's project is a repository")
    try:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="loopkit-demo-")
        elif os.path.exists(folder) and os.listdir(folder):
            raise Refused(f"{folder} is not empty", "give a new folder")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=ignored)
        for top, folders, names in os.walk(folder):  # the plugin may be installed read-only
            for name in [*folders, *names]:
                path = os.path.join(top, name)
                os.chmod(path, os.stat(path).st_mode | 0o600)
    except OSError as error:
        what = f"cannot make the demo's project in {folder or 'the temporary folder'}: "
        what += error.strerror or str(error)
        raise Damaged(what, "make room, or name another folder: --folder") from None
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
            why = done.stderr.decode(errors="replace").strip()[:200]
            raise Damaged(f"git {arguments[0]} fails: {why}", "see git's message")
    return os.path.realpath(folder)


@contextlib.contextmanager
def _session(project: str, environment: dict[str, str]) -> Iterator[None]:
    """Stand in the project as a session of its own does, with nothing of the one around us."""
    kept, folder, data = os.environ.copy(), os.getcwd(), place.data_dir(environment)
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "LOOPKIT_"))]:
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


def _run(command: list[str], text: bytes = b"", errors: int = subprocess.STDOUT) -> str:
    """Run a program with this text as its input; what it prints."""
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=errors, check=False)
    return done.stdout.decode("utf-8", "replace")


def _stop() -> Told:
    """What the real Stop hook tells this session when it wants to end its turn."""
    event = {
        "session_id": os.environ["CLAUDE_CODE_SESSION_ID"],
        "cwd": os.getcwd(),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "background_tasks": [],
    }
    hook = os.path.join(place.plugin_root(), "hooks", "run")
    try:
        output = _run(["sh", hook, "stop"], json.dumps(event).encode(), subprocess.DEVNULL)
        answer = json.loads(output)
        message = str(answer["hookSpecificOutput"]["additionalContext"])
    except (ValueError, KeyError, TypeError):
        return Told("  ", "The session wants to stop: it may, the loop is complete.")
    return Told("  ", "The session wants to stop. The Stop hook says:", message)


def _ignored(note: str) -> None:
    """A line about what a person need not know here."""
