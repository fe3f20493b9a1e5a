"""Runs the real Claude Code client, headless and in a terminal, away from any personal set-up.

A `Sandbox` is an empty HOME, a tiny project under git and a scripted model. `headless` runs `claude
-p`, `terminal` an interactive client in tmux. Both load the three plugins from the checkout, with
the real hooks and the real `bin/loopkit`. Nothing waits for a fixed time: `wait_for` polls what is
on disk or on the screen until a deadline.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.client.model import Model, Scenario
from tests.waiting import DEADLINE, wait_for

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = {"loop": ROOT, "hope": ROOT / "plugins" / "hope", "counsel": ROOT / "plugins" / "counsel"}
KEY = "scripted"
# What is allowed: nothing of loopkit's own lines, whose hook lets them run; and what records a
# person's decision too. Never advice to a person: the second is too wide.
APPROVED = ("Write", "Edit")
EVERYTHING = ("Bash(loopkit *)", "Write", "Edit")
STILL = json.dumps({"prefersReducedMotion": True})


def find_client() -> Path | None:
    """The client's program, as script/test (or tests/conftest.py from its cache) names it; None if
    it is not there."""
    given = os.environ.get("LOOPKIT_TEST_CLIENT")
    return Path(given) if given and os.access(given, os.X_OK) else None


def processes_with(marker: str) -> list[int]:
    """Ids of the living processes whose environment or command line contains `marker`, not this
    one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                int(entry.name) != os.getpid()
                and marker.encode() in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
    return found


class Told(NamedTuple):
    """What a hook said in a session: the event, who was told (Claude, or the person), the words,
    when (UTC stamp)."""

    event: str
    whom: str
    text: str
    at: str = ""


TOLD = {"hook_additional_context": "Claude", "hook_system_message": "person"}


class Headless:
    """One `claude -p`. Its stream-json is read from a file; `finish` waits for the end."""

    def __init__(self, process: subprocess.Popen, out: Path, err: Path, model: Model):
        self.process, self.out, self.err, self.model = process, out, err, model

    @property
    def pid(self) -> int:
        """Process id of the client, also of its process group."""
        return self.process.pid

    @property
    def lines(self) -> list[dict]:
        """The stream-json lines so far."""
        rows = self.out.read_text(encoding="utf-8", errors="replace").splitlines()
        found = []
        for row in rows:
            with contextlib.suppress(ValueError):  # the last line of a killed client
                found.append(json.loads(row))
        return found

    def finish(self, deadline: float = DEADLINE) -> Headless:
        """Wait for the client's end; AssertionError with the story if it takes longer than
        `deadline` seconds."""
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"the client did not end in {deadline:.0f} s\n{self.story()}"
            ) from None
        return self

    def kill(self) -> None:
        """kill -9 of the client and its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()

    def named(self, kind: str, subtype: str = "") -> list[dict]:
        """The lines of a type (and subtype)."""
        return [
            line
            for line in self.lines
            if line.get("type") == kind and subtype in ("", line.get("subtype"))
        ]

    @property
    def init(self) -> dict:
        """The init line."""
        return self.named("system", "init")[0]

    @property
    def result(self) -> dict:
        """The last result line."""
        found = self.named("result")
        assert found, self.story()
        return found[-1]

    @property
    def session(self) -> str:
        """The session's id."""
        return next(line["session_id"] for line in self.lines if line.get("session_id"))

    def hooks(self, event: str) -> list[dict]:
        """What each hook of an event printed, as JSON, in order; {} for one that printed
        nothing."""
        found = [
            line
            for line in self.named("system", "hook_response")
            if line.get("hook_event") == event
        ]
        return [json.loads(line.get("stdout") or "{}") for line in found]

    def notifications(self) -> list[str]:
        """Keys of the notification lines."""
        return [
            str(line.get("key"))
            for line in self.lines
            if "notification" in (line.get("type"), line.get("subtype"))
        ]

    def story(self) -> str:
        """Everything useful for a failure's message."""
        return f"{self.err.read_text(encoding='utf-8', errors='replace')}\n{self.model.story()}"


#: Looks after which a line that cannot be seen is typed anew.
TYPED_ANEW = 100
#: A dialog of the client that asks for a yes, by what it shows.
YES = r"❯ 1\. Yes"


class Terminal:
    """An interactive client in a tmux of its own."""

    def __init__(self, socket: Path, model: Model):
        self.socket, self.model = socket, model

    def tmux(self, *args: str, data: str | None = None) -> str:
        """Run a tmux command on this terminal's server."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), "-f", "/dev/null", *args],
            input=data,
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE,
        )
        return done.stdout

    @property
    def pid(self) -> int:
        """Process id of the client."""
        return int(self.tmux("display-message", "-p", "-t", "client", "#{pane_pid}"))

    @property
    def screen(self) -> str:
        """What the terminal shows."""
        return self.tmux("capture-pane", "-p", "-t", "client")

    @property
    def history(self) -> str:
        """What it shows and has shown."""
        return self.tmux("capture-pane", "-p", "-S", "-", "-t", "client")

    def wait(self, what: str, look: Callable[[], Any], deadline: float = DEADLINE) -> Any:
        """`wait_for`, with the screen in the failure's message."""

        def seen() -> str:
            return re.sub(r"\n{3,}", "\n", self.screen) + self.model.story()

        return wait_for(what, look, deadline, seen)

    def see(self, words: str, deadline: float = DEADLINE) -> re.Match:
        """Wait until `words` (a regular expression) are on the screen; how they were found."""
        return self.wait(
            f"{words!r} on the screen", lambda: re.search(words, self.screen), deadline
        )

    def ready(self) -> None:
        """Wait until the client takes input."""
        self.see(r"(?m)^\s*❯")

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        self.tmux("send-keys", "-t", "client", *names)

    def answer(self, dialog: str, key: str = "Enter") -> None:
        """Wait until `dialog` (a regular expression) is on the screen, and press a key until it is
        gone: a busy client does not take each."""
        self.see(dialog)
        tries: list[bool] = []

        def gone() -> bool:
            if len(tries) % TYPED_ANEW == 0:
                self.keys(key)
            tries.append(True)
            return not re.search(dialog, self.screen)

        self.wait(f"an end of the dialog {dialog!r}", gone)

    def type(self, words: str) -> None:
        """Type a line without Enter, and wait until it can be seen; what a busy client has not
        taken is typed anew."""
        shown, tries = words.strip()[-20:], []

        def seen() -> bool:
            if len(tries) % TYPED_ANEW == 0:
                if tries:
                    self.keys("C-u")
                self.tmux("send-keys", "-t", "client", "-l", words)
            tries.append(True)
            return shown in self.screen

        self.wait(f"{shown!r} in the input", seen)

    def paste(self, words: str) -> None:
        """Paste text of any length and with any characters, as a terminal does."""
        self.tmux("load-buffer", "-b", "paste", "-", data=words)
        self.tmux("paste-buffer", "-p", "-d", "-b", "paste", "-t", "client")

    def say(self, words: str) -> None:
        """Type a line and send it; an Enter that a busy client has not taken is pressed anew."""
        self.type(words)
        shown = words.strip()[-20:]
        tries: list[bool] = []

        def sent() -> bool:
            if len(tries) in (0, TYPED_ANEW):
                self.keys("Enter")
            tries.append(True)
            rows = [row for row in self.screen.splitlines() if row.lstrip().startswith("❯")]
            return len(tries) > TYPED_ANEW or not rows or shown not in rows[-1]

        self.wait(f"{shown!r} sent", sent)

    def kill(self) -> None:
        """kill -9 of the client."""
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the client and its tmux."""
        self.kill()
        self.tmux("kill-server")


class Sandbox:
    """An empty HOME and a project under git; clients in it talk to `model`."""

    def __init__(self, folder: Path, client: Path, data: Path | None, scenario: Scenario):
        self.folder, self.client = folder, client
        self.home, self.project = folder / "home", folder / "project"
        self.model = Model(scenario, self.project)
        self.env: dict[str, str] = {}
        self._runs: list[Headless] = []
        self._terminals: list[Terminal] = []
        self._sockets = Path(tempfile.mkdtemp(prefix="lk-"))  # a socket's path must be short
        for made in (self.home, self.project, folder / "tmp"):
            made.mkdir(parents=True)
        self._make_home(data)
        self._make_project()

    def _make_home(self, data: Path | None) -> None:
        known = (self.project, self.folder / "tree", self.folder / "moved")
        trusted = {str(folder): {"hasTrustDialogAccepted": True} for folder in known}
        answers = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": trusted,
        }
        (self.home / ".claude.json").write_text(json.dumps(answers), encoding="utf-8")
        self.allow_checks("*")
        if data:
            plugins = self.home / ".claude" / "plugins" / "data"
            plugins.mkdir(parents=True)
            mine = plugins / "loop-loopkit"
            mine.mkdir()
            for part in data.iterdir():
                if part.name not in ("beats", "prompts"):  # what hooks note is this place's own
                    (mine / part.name).symlink_to(part)

    def allow_checks(self, *patterns: str) -> None:
        """The person's own settings: checks that may run unasked."""
        settings = self.home / ".config" / "loopkit" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f"verify_allow = {json.dumps(patterns)}\n", encoding="utf-8")

    def _make_project(self) -> None:
        (self.project / "README.md").write_text("# A project\n", encoding="utf-8")
        self.git("init", "-q", "-b", "main")
        self.git("add", "README.md")
        self.git("commit", "-q", "-m", "Start")

    def git(self, *args: str) -> str:
        """Run git in the project."""
        who = [
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@localhost",
            "-c",
            "commit.gpgsign=false",
        ]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *who, *args],
            cwd=self.project,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """Everything a client gets to know; nothing of the surroundings but PATH."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.folder / "tmp"),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.model.url,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **self.env,
            **(extra or {}),
        }

    def arguments(self, allowed: Sequence[str], *more: str, plugins: bool = True) -> list[str]:
        """The client's command line; it loads the plugins of this checkout unless they are
        installed in HOME."""
        # one by one: not every client takes a folder of plugins
        folders = [f"--plugin-dir={folder}" for folder in PLUGINS.values()] if plugins else []
        rules = ["--allowedTools", ",".join(allowed)] if allowed else []
        still = ["--settings", STILL]  # what moves on a screen takes a fifth of a core
        return [str(self.client), *folders, *still, "--permission-mode", "default", *rules, *more]

    def start(
        self,
        prompt: str,
        *more: str,
        allowed: Sequence[str] = APPROVED,
        env: dict | None = None,
        plugins: bool = True,
        folder: Path | None = None,
    ) -> Headless:
        """Start `claude -p` and give it at once; the prompt goes in as an argument. folder: where,
        if not the project."""
        number = len(self._runs) + 1
        out, err = self.folder / f"out-{number}.jsonl", self.folder / f"err-{number}.txt"
        shape = ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                self.arguments(allowed, *shape, *more, "-p", prompt, plugins=plugins),
                cwd=folder or self.project,
                env=self.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        run = Headless(process, out, err, self.model)
        self._runs.append(run)
        return run

    def run(self, prompt: str, *more: str, **options: Any) -> Headless:
        """Run `claude -p` to its end; options as for `start`."""
        return self.start(prompt, *more, **options).finish()

    def terminal(
        self,
        *more: str,
        allowed: Sequence[str] = APPROVED,
        env: dict | None = None,
        plugins: bool = True,
    ) -> Terminal:
        """An interactive client, ready for input."""
        terminal = Terminal(self._sockets / str(len(self._terminals)), self.model)
        self._terminals.append(terminal)
        clean = ["env", "-i", *(f"{name}={value}" for name, value in self.environment(env).items())]
        size = ["-x", "130", "-y", "50"]
        terminal.tmux("new-session", "-d", "-s", "client", *size, "-c", str(self.project), *clean,
                      *self.arguments(allowed, *more, plugins=plugins))  # fmt: skip
        terminal.tmux("set-option", "-g", "remain-on-exit", "on")
        terminal.tmux("set-option", "-g", "history-limit", "20000")
        terminal.ready()
        return terminal

    def kill(self, run: Headless) -> None:
        """kill -9 of a client and of all that runs in this sandbox, as a power cut does it."""
        run.kill()
        self._sweep()

    def _sweep(self) -> None:
        for left in processes_with(
            f"HOME={self.home}\0"
        ):  # Bash children are in sessions of their own
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)

    def loopkit(
        self, *args: str, session: str = "", folder: Path | None = None, given: str = ""
    ) -> subprocess.CompletedProcess:
        """Run `loopkit` outside the client, as a person in another window does. given: its standard
        input."""
        env = self.environment({"CLAUDE_CODE_SESSION_ID": session} if session else None)
        env = {name: value for name, value in env.items() if not name.startswith("ANTHROPIC")}
        program = [str(ROOT / "bin" / "loopkit"), *args]
        where = folder or self.project
        return subprocess.run(
            program,
            cwd=where,
            env=env,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE,
        )

    # -- what is on disk
    # -----------------------------------------------------------------------------------------

    @property
    def state(self) -> dict:
        """The loop's snapshot as it lies there; {} while there is none. What a hook noted since is
        not in it yet."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads(
                (self.project / ".loop" / "workflow-state.json").read_text(encoding="utf-8")
            )
        return {}

    @property
    def status(self) -> dict:
        """What `loopkit status` says, with all that the hooks noted."""
        return json.loads(self.loopkit("status", "--json").stdout)

    @property
    def ledger(self) -> list[dict]:
        """The events of all loops of the project, in order."""
        rows = []
        for file in sorted((self.project / ".loop").glob("[0-9]*/ledger.jsonl")):
            for row in file.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    rows.append(json.loads(row))
        return rows

    def events(self, kind: str) -> list[dict]:
        """The data of the ledger's events of a type."""
        return [row["data"] for row in self.ledger if row["type"] == kind]

    def transcript(self, session: str) -> list[dict]:
        """The lines of a session's transcript as they lie there now, wherever the session was
        started."""
        rows = []
        for file in (self.home / ".claude" / "projects").glob(f"*/{session}.jsonl"):
            for row in file.read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError):  # the last one may be half written
                    rows.append(json.loads(row))
        return rows

    def told(self, session: str) -> list[Told]:
        """What hooks said in a session, in order; not what `/branch` took along from its origin."""
        seen = []
        for row in self.transcript(session):
            part = row.get("attachment") or {}
            kind = TOLD.get(part.get("type"))
            if kind and not row.get("forkedFrom"):
                words = part.get("content")
                text = "\n".join(words) if isinstance(words, list) else str(words)
                seen.append(Told(part.get("hookEvent", ""), kind, text, row.get("timestamp", "")))
        return seen

    def list_of(self, session: str) -> dict[str, dict]:
        """The files of a session's native task list, by task id."""
        found = {}
        for file in (self.home / ".claude" / "tasks" / session).glob("*.json"):
            with contextlib.suppress(OSError, ValueError):  # the client writes in place
                found[file.stem] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def close(self) -> None:
        """End everything that was started here, and what it left behind."""
        for terminal in self._terminals:
            terminal.close()
        for run in self._runs:
            if run.process.poll() is None:
                run.kill()
        self._sweep()
        self.model.__exit__()
        shutil.rmtree(self._sockets, ignore_errors=True)


@contextlib.contextmanager
def sandbox(folder: Path, client: Path, data: Path | None, scenario: Scenario) -> Iterator[Sandbox]:
    """A Sandbox with its model running, cleaned up at the end."""
    place = Sandbox(folder, client, data, scenario)
    place.model.__enter__()
    try:
        yield place
    finally:
        place.close()
