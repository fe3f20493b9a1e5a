"""A project, and `loopkit` called in it: within this process, or as a program of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import loopkit.cli
from loopkit.core.evidence import trials
from loopkit.ops import proof
from loopkit.ops.workspace import Workspace
from loopkit.store import loops
from tests.waiting import DEADLINE

ROOT = Path(__file__).resolve().parents[2]
S1, S2 = "session-one", "session-two"

SHAPE = """\
# Shape: Add rate limiting to the API
criteria:
- C1: The 101st request of a minute is answered with 429
mustNot:
- M1: The signature of a public route handler changes
- M2: A runtime dependency is added
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | test -f limiter.txt |
| M2 | execution output | test ! -f forbidden.txt |
"""

#: A clear request in one form, without its tasks.
REQUEST: dict[str, Any] = {
    "scores": dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 2),
    "kind": "build",
    "title": "Rate limiting",
    "criteria": [{"text": "there is a limit", "proof": "test -f limiter.txt"}],
    "must_nots": [{"text": "a route changes"}, {"text": "a dependency is added"}],
}

#: What a thorough review says that has seen everything.
SEEN = {"proofs": {"C1": "yes"}, "must_nots": dict.fromkeys(("M1", "M2"), "kept: git diff")}

GATE = {
    "kind": "build",
    "points": dict.fromkeys(("runs", "edge_cases", "rollback", "dependencies"), "PASS seen"),
    "confidence": 90,
    "reversal": "2B",
    "size": 5,
    "alternative": "none needed",
    "risk": "edge cases",
}

PANEL = {
    "experts": [
        {"name": "systematic-debugger", "question": "what changed?", "diagnosis": "the path"},
        {"name": "test-first-developer", "question": "what is proven?", "diagnosis": "nothing"},
    ],
    "recommendations": [{"approach": "use the other path", "confidence": 7}],
    "consensus": "use the other path",
    "fallback": "ask for the old one",
}


def task(
    subject: str = "write the limiter", verify: str = "test -f limiter.txt", **fields: Any
) -> dict:
    return {"subject": subject, "verify": verify, **fields}


@contextlib.contextmanager
def surroundings(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run what is inside in this folder, with these environment variables and no others."""
    kept = os.environ.copy(), os.getcwd()
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept[0])
        os.chdir(kept[1])


def at_once(*actions: Callable[[], Any]) -> list:
    """Do each in a process of its own, all let go together; gives what each gave."""
    gate, go = os.pipe()
    children = []
    for action in actions:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(go)
            signal.alarm(int(DEADLINE))  # nobody waits for ever
            os.read(gate, 1)
            try:
                given = True, action()
            except BaseException:
                given = False, traceback.format_exc()
            with os.fdopen(writer, "wb") as file:
                pickle.dump(given, file)
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    os.close(gate)
    os.close(go)
    ended = []
    for child, reader in children:
        with os.fdopen(reader, "rb") as file:
            said = file.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ended.append(pickle.loads(said) if said else (False, f"ended with {code}"))
    fallen = [words for came, words in ended if not came]
    assert not fallen, "\n".join(map(str, fallen))
    return [given for _, given in ended]


class Answer(NamedTuple):
    """What a call printed, and how it ended."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def steps(self) -> list[str]:
        """The `next:` lines."""
        return [line[6:] for line in self.out.splitlines() if line.startswith("next: ")]

    @property
    def waits(self) -> list[str]:
        """What a person may do to go on; nothing that is followed unasked."""
        word = "to go on, if the person says so: "
        return (
            []
            if self.steps
            else [
                line.removeprefix(word) for line in self.out.splitlines() if line.startswith(word)
            ]
        )


class Project:
    """A folder with a git repository; calls are those of session one unless they say otherwise."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.root = folder / ".loop"
        self.environment = environment

    # -- calling

    def env(self, session: str | None = S1, **more: str | None) -> dict[str, str]:
        merged: dict[str, str | None] = {
            **self.environment,
            "CLAUDE_CODE_SESSION_ID": session,
            **more,
        }
        return {name: value for name, value in merged.items() if value is not None}

    def lk(
        self,
        *words: str,
        given: object = None,
        session: str | None = S1,
        cwd: Path | None = None,
        **env: str | None,
    ) -> Answer:
        """`loopkit words…` in this process. `given` is its standard input: text, bytes, or a
        record."""
        out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
        with surroundings(cwd or self.folder, self.env(session, **env)):
            try:
                sys.stdin = io.TextIOWrapper(io.BytesIO(raw(given)))
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code = loopkit.cli.main(list(words))
            finally:
                sys.stdin = stdin
        return Answer(code, out.getvalue(), err.getvalue())

    def ok(self, *words: str, **more: Any) -> Answer:
        """The same, which must exit 0 and say nothing on standard error."""
        answer = self.lk(*words, **more)
        assert (answer.exit, answer.err) == (0, ""), answer
        return answer

    def refused(self, code: int, *words: str, says: str = "", **more: Any) -> str:
        """The same, which must say no with this exit code in one line, and record nothing; gives
        the line."""
        before = self.files()
        answer = self.lk(*words, **more)
        assert answer.exit == code, answer
        assert re.fullmatch(r"loopkit: [^\n]+\n", answer.err), answer
        assert says in answer.err, answer
        assert answer.out == "", answer
        assert self.files() == before
        return answer.err

    def program(
        self, *words: str, data: Path, session: str | None = S1, **env: str | None
    ) -> subprocess.Popen:
        """`bin/loopkit words…` as a process of its own."""
        return subprocess.Popen(
            ["sh", ROOT / "bin" / "loopkit", *words],
            cwd=self.folder,
            env=self.env(session, LOOPKIT_DATA=str(data), **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    # -- looking

    def files(self) -> dict[str, bytes]:
        """Everything in `.loop/` but the lock, which every writer touches."""
        found = {}
        for path in self.root.rglob("*"):
            if path.is_file() and path.name != "lock":
                found[str(path.relative_to(self.root))] = path.read_bytes()
        return found

    @property
    def name(self) -> str:
        return loops.names(str(self.root))[-1]

    @property
    def ledger(self) -> Path:
        return self.root / self.name / "ledger.jsonl"

    @property
    def lines(self) -> list[dict]:
        rows = self.ledger.read_text(encoding="utf-8").split("\n")[:-1]
        return [
            json.loads(line) for line in rows if line != "#"
        ]  # a hook saw the line before half written

    def of(self, kind: str) -> list[dict]:
        """The data of all journal lines of a type."""
        return [line["data"] for line in self.lines if line["type"] == kind]

    @property
    def status(self) -> dict:
        return self.lk("status", "--json").json

    @property
    def snapshot(self) -> dict:
        return json.loads((self.root / "workflow-state.json").read_text(encoding="utf-8"))

    @property
    def tasks(self) -> dict[str, dict]:
        return {row["id"]: row for row in self.lk("task", "list", "--json").json}

    @property
    def progress(self) -> str:
        return (self.root / "PROGRESS.md").read_text(encoding="utf-8")

    # -- the way through a loop

    def write(self, name: str, text: str = "x\n") -> None:
        (self.folder / name).write_text(text)

    def start(self, text: str = "add rate limiting to the API", *words: str, **more: Any) -> Answer:
        return self.ok("start", "--task-file", "-", *words, given=text, **more)

    def score(self, *values: int, **more: Any) -> Answer:
        names = ("outcome", "scope", "constraints", "success", "done")
        words = [
            f"--{name}={value}"
            for name, value in zip(names, values or (2, 2, 2, 2, 2), strict=True)
        ]
        return self.lk("score", *words, **more)

    def shaped(self, *values: int, text: str = SHAPE, words: tuple = ()) -> Project:
        self.start("add rate limiting to the API", *words)
        assert self.score(*values).exit == 0
        self.ok("shape", "--accept", "-", given=text)
        return self

    def planned(self, *rows: dict) -> Project:
        self.shaped()
        self.ok("task", "add", "--file", "-", given=list(rows) or [task()])
        return self

    def tried(self) -> Project:
        """Each proof has run on the untouched tree, as `loopkit next` sees to."""
        with surroundings(self.folder, self.env()):
            workspace = Workspace(str)
            for name in trials.untried(workspace.loop().state):
                proof.try_before(workspace, name)
        return self

    def verify(self, target: str, **more: Any) -> Answer:
        import shlex

        line = self.tasks[target]["verify"] if target.startswith("T-") else self.command_of(target)
        return self.lk("verify", target, "--", *shlex.split(line), **more)

    def command_of(self, name: str) -> str:
        return next(
            row["command"] for row in self.of("shape_saved")[-1]["criteria"] if row["id"] == name
        )

    def worked(self, *rows: dict) -> Project:
        """All tasks verified and their waves closed: in review. The checks must be able to pass."""
        self.planned(*rows).tried()
        while self.status["stage"] != "review":
            self.ok("wave", "next")
            self.write("limiter.txt")
            for name, row in self.tasks.items():
                if row["status"] == "in_progress":
                    assert self.verify(name).exit == 0
            self.ok("wave", "close")
        return self

    def reviewed(self, *rows: dict, findings: list | None = None) -> Project:
        self.worked(*rows)
        self.review(findings or [])
        return self

    def review(self, findings: list) -> Answer:
        return self.ok(
            "review",
            "--thorough",
            "--file",
            "-",
            given={"findings": findings, **SEEN},
        )

    def gated(self, **changes: Any) -> Answer:
        for name in ("C1", "M2"):
            assert self.verify(name).exit == 0
        return self.lk("gate", "--file", "-", given={**GATE, **changes})

    def completed(self, *rows: dict) -> Answer:
        self.reviewed(*rows)
        assert self.gated().exit == 0
        return self.ok("complete")


def raw(given: object) -> bytes:
    if given is None:
        return b""
    if isinstance(given, bytes):
        return given
    return (given if isinstance(given, str) else json.dumps(given)).encode()
