"""A whole loop on a small real project, with recorded answers: real edits, real checks, no
model."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable

from ..core.journal.errors import Damaged, Refused
from ..store import loops, place
from . import drive, script

_GIT = (
    "-c",
    "user.name=loopkit demo",
    "-c",
    "user.email=demo@example.com",
    "-c",
    "commit.gpgsign=false",
)


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


class Session:
    """Stands for a Claude Code session: its id, its environment, the real program and the real Stop
    hook."""

    def __init__(self, project: str, environment: dict) -> None:
        self.project = project
        self.id = f"demo-{uuid.uuid4()}"
        root, data = place.plugin_root(), place.data_dir(environment)
        clean = {
            name: value
            for name, value in environment.items()
            if not name.startswith(("CLAUDE", "LOOPKIT_"))
        }
        self.environment = {
            **clean,
            "CLAUDE_CODE_SESSION_ID": self.id,
            "CLAUDE_CODE_SESSION_ATTENDED": "0",
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_PROJECT_DIR": project,
            "LOOPKIT_DATA": data,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        cache = os.path.join(data, "pyc")
        self.program = [
            sys.executable,
            "-I",
            "-X",
            f"pycache_prefix={cache}",
            os.path.join(root, "loopkit", "__main__.py"),
        ]
        self.launcher = os.path.join(root, "hooks", "run")

    def call(self, arguments: list, given: str) -> tuple:
        """Run `loopkit`; (exit code, both outputs)."""
        done = subprocess.run(
            [*self.program, *arguments],
            cwd=self.project,
            env=self.environment,
            input=given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def tests(self) -> str:
        """Run the project's own tests; the last line of what they print."""
        done = subprocess.run(
            [sys.executable, "-m", "unittest", "-q"],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return (done.stdout.decode("utf-8", "replace").splitlines() or ["no output"])[-1]

    def stop(self) -> str | None:
        """What the Stop hook tells this session when it wants to end its turn: the hold, or None
        when it may."""
        event = {
            "session_id": self.id,
            "cwd": self.project,
            "hook_event_name": "Stop",
            "stop_hook_active": False,
        }
        event["background_tasks"] = []
        done = subprocess.run(
            ["sh", self.launcher, "stop"],
            cwd=self.project,
            env=self.environment,
            input=json.dumps(event).encode(),
            capture_output=True,
            check=False,
        )
        try:
            return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        except (ValueError, KeyError, TypeError):
            return None


def run(folder: str | None, environment: dict, tell: Callable[[str, str], None]) -> dict:
    """Make the project, run the loop; {"project", "loop", "card"}. Raises Refused or Damaged where
    it does not complete."""
    project = make_project(folder)
    answers = script.load(
        os.path.join(place.plugin_root(), "demo", "script.yaml"), python=shlex.quote(sys.executable)
    )
    session = Session(project, environment)
    tell("project", project)
    tell("step", "python -m unittest -q")
    tell("said", session.tests())
    tell("step", f"/loop:start {answers.task.strip()}")
    code, output = session.call(["start", "--task-file", "-"], answers.task)
    tell("said", output)
    if code:
        raise Refused(f"the loop does not start: {output.strip()[:300]}", "see loopkit doctor")
    held = False

    def watched(kind: str, text: str) -> None:
        nonlocal held
        tell(kind, text)
        if kind == "said" and not held and text.startswith("wave 1 closed"):
            held = True
            message = session.stop()
            tell("hook", message or "the session may stop")

    output = drive.drive(answers, project, session.call, output, watched)
    view = loops.view(os.path.join(project, place.FOLDER))
    if view is None or view.session.verdict != "achieved":
        raise Refused(
            "the demo's loop did not complete", f"look at it: cd {project} && loopkit status"
        )
    tell("hook", session.stop() or "the session wants to stop: let go, the loop is complete")
    return {"project": project, "loop": view.name, "card": output}
