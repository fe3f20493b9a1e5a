"""A project with a loop, made through the store, and the real launcher to call hooks with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loopkit.core.journal import clock
from loopkit.core.journal.events import Event, encode
from loopkit.core.steps.events import LOOP
from loopkit.hooks import dispatch
from loopkit.store import journal, loops, trust
from tests.cli.kit import surroundings
from tests.conftest import share_compiled

ROOT = Path(__file__).resolve().parents[2]
S1 = "11111111-2222-4333-8444-555555555555"
S2 = "66666666-7777-4888-9999-aaaaaaaaaaaa"
NAME = "001-limiter"


#: Variables that only the launcher and the interpreter look at.
LAUNCHERS = frozenset(
    ("CLAUDE_ENV_FILE", "LC_ALL", "LOOPKIT_CHILD", "LOOPKIT_DISABLED", "PATH", "PYTHONIOENCODING")
)


class Answer(NamedTuple):
    """What a hook printed, and how it ended."""

    exit: int
    out: bytes
    err: bytes

    @property
    def json(self) -> dict:
        assert self.out[:1] == b"{" and self.out.rstrip(b"\n")[-1:] == b"}", self.out
        self.out.decode("ascii")
        return json.loads(self.out)

    @property
    def held(self) -> str:
        """The text of a hold; fails where the hook did not hold."""
        special = self.json["hookSpecificOutput"]
        assert special["hookEventName"] == "Stop"
        return special["additionalContext"]

    @property
    def silent(self) -> bool:
        return (self.exit, self.out, self.err) == (0, b"", b"")


class Project:
    """A folder to work in, the client's variables, the launcher."""

    in_process = False

    def __init__(self, top: Path) -> None:
        self.folder = top / "proj"
        self.folder.mkdir(parents=True)
        self.root = self.folder / ".loop"
        self.data = top / "data"
        self.data.mkdir()
        (self.data / "python").write_text(sys.executable + "\n")
        share_compiled(self.data)
        self.config = top / "config"
        self.config.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(top),
            "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
            "CLAUDE_CONFIG_DIR": str(self.config),
            "LOOPKIT_DATA": str(self.data),
            "CLAUDE_PROJECT_DIR": str(self.folder),
            "CLAUDE_PID": str(os.getpid()),
        }
        self.launcher = ROOT / "hooks" / "run"
        self.transcript = top / "transcript.jsonl"
        self.transcript.write_text('{"type":"user","message":{"role":"user","content":"hello"}}\n')

    # -- the loop

    def event(self, kind: str, **data: Any) -> Event:
        return Event(kind, data, clock.stamp(time.time()), f"session:{S1}")

    def start(self, *tasks: str, stage: str = "executing", **data: Any) -> None:
        """A running loop of S1 with open tasks of these subjects, each verified by `test -f
        N.txt`."""
        (self.root / NAME).mkdir(parents=True)
        token = trust.new_token()
        trust.remember(str(self.root), NAME, token)
        first = {
            "task": "add rate limiting",
            "session_id": S1,
            "client_pid": os.getpid(),
            "settings": {},
            **data,
        }
        first = {"token": token, **first}
        journal.create(str(self.ledger), LOOP, [self.event("loop_started", **first)])
        self.record("limits_set", iterations=25, usd=25.0, seconds=7200)
        self.record("stage_moved", to=stage)
        for number, subject in enumerate(tasks or ("write the limiter",), 1):
            task = {"id": f"T-{number:03d}", "subject": subject, "verify": f"test -f {number}.txt"}
            self.record("task_added", task=task)
        self.save()

    @property
    def ledger(self) -> Path:
        return self.root / NAME / "ledger.jsonl"

    def record(self, kind: str, **data: Any) -> None:
        with self.ledger.open("ab") as file:  # whoever wrote it, and whatever it is
            file.write(encode(self.event(kind, **data)))

    def save(self) -> None:
        """Write the snapshot, as every command does."""
        (self.root / "workflow-state.json").unlink(missing_ok=True)
        view = loops.view(str(self.root))
        assert view is not None
        loops.write_snapshot(str(self.root), view.snapshot)

    @property
    def session(self) -> Any:
        view = loops.view(str(self.root))
        assert view is not None
        return view.session

    @property
    def lines(self) -> list[dict]:
        rows = self.ledger.read_text(encoding="utf-8").splitlines()
        return [
            json.loads(line) for line in rows if line != "#"
        ]  # a hook saw the line before half written

    def state(self) -> Any:
        return loops.fold(str(self.root), NAME)[0]

    # -- the hooks

    def call(
        self, event: str, raw: bytes, cwd: Path | None = None, shell: str = "", **env: str | None
    ) -> Answer:
        """A hook as the client calls it: by the launcher, or (`in_process`) without it unless the
        call is about it."""
        merged = {name: value for name, value in {**self.env, **env}.items() if value is not None}
        if self.in_process and not shell and LAUNCHERS.isdisjoint(env):
            with surroundings(cwd or self.folder, merged):
                said = dispatch.answer(event, raw, merged, str(self.data), time.time())
            return Answer(0, said, b"")
        argv = [shell or "sh", str(self.launcher), event]
        done = subprocess.run(
            argv, input=raw, env=merged, cwd=cwd or self.folder, capture_output=True, timeout=300
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def hook(self, event: str, given: dict, **more: Any) -> Answer:
        session = {
            "session_id": S1,
            "cwd": str(more.get("cwd") or self.folder),
            "transcript_path": str(self.transcript),
        }
        answer = self.call(
            event, json.dumps({**session, **given}, ensure_ascii=False).encode(), **more
        )
        assert answer.exit == 0 and answer.err == b"", answer
        return answer

    def stop(
        self, session: str = S1, forced: bool = False, background: list | None = None, **more: Any
    ) -> Answer:
        given = {
            "session_id": session,
            "stop_hook_active": forced,
            "background_tasks": background or [],
        }
        return self.hook(
            "stop", {**given, "last_assistant_message": more.pop("words", "working")}, **more
        )

    def session_start(self, source: str, session: str = S1, **more: Any) -> Answer:
        return self.hook("session_start", {"session_id": session, "source": source}, **more)

    def list_folder(self, name: str = S1) -> Path:
        return self.config / "tasks" / name

    def native(self, task: str, status: str = "pending", name: str = S1, **fields: Any) -> Path:
        """A file of the client's own task list."""
        folder = self.list_folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "id": task,
            "subject": f"task {task}",
            "description": "d",
            "status": status,
            "blocks": [],
            "blockedBy": [],
        }
        file = folder / f"{task}.json"
        file.write_text(json.dumps({**record, **fields}))
        return file

    def log(self) -> str:
        file = self.data / "hooks.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "XDG_STATE_HOME", str(tmp_path / "state")
    )  # the loops that this machine knows


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a hook answers and records: no process for each call. What the launcher
    and the process add is tested in test_launcher, test_places, test_isolation, test_encoding."""
    monkeypatch.setattr(Project, "in_process", True)
