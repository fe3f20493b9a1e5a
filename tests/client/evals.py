"""The judgement of the scripted model for the cases of evals/, and the run of one case in the real
client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.client.harness import KEY, ROOT
from tests.client.model import Model, Scenario, Text, Turn, in_turn
from tests.client.scenarios import CLEAR, FORMS, GATE, asked

STANDINS = Path(__file__).parent / "standins"
#: What an operator grants beside what the client lets every eval do.
GRANTED = ("Bash", "Write", "Edit")


def _asked(title: str, command: str, **scores: int) -> dict:
    """The request of one task: its criterion and its check are the same command."""
    criterion = {"text": title, "proof": command}
    task = {
        "subject": title,
        "verify": command,
        "criteria": ["C1"],
        "description": "See the subject.",
        "complexity": "simple",
    }
    return asked([criterion], [task], title=title, scores={**CLEAR, **scores})


def _one(title: str, command: str, work: dict, **more: Any) -> Scenario:
    """A loop of one task."""
    return Scenario(**{"forms": {**FORMS, "request": _asked(title, command)}, "work": work, **more})


def start() -> Scenario:
    """Two greetings and a list of them."""
    files = r"printf 'hello\n' | tee hello.txt >list.txt; printf 'bonjour\n' | tee bonjour.txt >>list.txt"
    return _one("Add greetings", "grep -q bonjour list.txt", {"T-001": [files]})


def stuck_panel() -> Scenario:
    """The first attempt uses up its fixes; what the panel says makes the second one pass."""
    work = {"T-001": ["printf 'mode=steady\\n' >settings.txt"]}
    return _one("Settings for the check", "sh check.sh settings.txt", work)


def vague_intent() -> Scenario:
    """Scored too low, clarified by assumptions, and then left to the person."""
    clarified = {
        "echo": "Make the project's README say what the app does",
        "task": "Say in README.md what the app does",
        "context": "A project with a README and nothing else",
        "done": "README.md has a sentence that says what the app does",
        "stakes": "low",
        "reviewers": "the person",
        "answers": {},
        "assumptions": {
            "outcome": "[ASSUMPTION] better means better explained",
            "scope": "[ASSUMPTION] README.md",
            "constraints": "[ASSUMPTION] no dependency is added",
            "success": "[ASSUMPTION] somebody reads it",
            "done": "[ASSUMPTION] one sentence is there",
        },
        "must_nots": ["A dependency is added", "Another file changes"],
        "approved": False,
    }
    title, command = "Explain the app", "grep -q app README.md"
    scored = [_asked(title, command, **dict.fromkeys(CLEAR, number)) for number in (0, 1)]
    return Scenario(forms={"request": in_turn(*scored), "clarification": clarified})


def blocker_remediation() -> Scenario:
    """The first review finds that NOTICE is missing, the second one nothing."""
    blocker = {
        "severity": "BLOCKER",
        "issue": "NOTICE does not name greeting.txt",
        "reason": "REVIEW.md asks for it",
        "guidance": "name it there",
        "verify": "grep -q greeting.txt NOTICE",
    }
    work = {
        "T-001": [r"printf 'hello\n' >greeting.txt"],
        "T-002": [r"printf 'greeting.txt\n' >NOTICE"],
    }
    reviews = in_turn({"findings": [blocker]}, {"findings": []})
    replies = {r"thorough_review \d+": reviews}
    return _one("Add a greeting", "grep -q hello greeting.txt", work, replies=replies)


def gate_refusal() -> Scenario:
    """The gate's edge case fails first, and holds once its task is done."""
    work = {
        "T-001": [r"printf 'echo hello $1\n' >greet.sh"],
        "T-002": [r"printf 'echo hello ${1:-nobody}\n' >greet.sh"],
    }
    points = {**GATE["points"], "edge_cases": "FAIL without a name it does not say hello nobody"}
    gates = in_turn({**GATE, "points": points, "verify": {"edge_cases": "sh edges.sh"}}, GATE)
    here = _one("Greet by name", "sh verify.sh", work)
    here.forms["gate"] = gates
    return here


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "start": start,
    "stuck-panel": stuck_panel,
    "vague-intent": vague_intent,
    "blocker-remediation": blocker_remediation,
    "gate-refusal": gate_refusal,
}


def idle() -> Scenario:
    """A model that says something and does nothing."""

    def nothing(turn: Turn) -> list | None:
        return [Text("All done: it works, everything was reviewed.")] if turn.tools else None

    return Scenario(deviate=nothing)


def confining() -> bool:
    """Whether this machine can confine a shell as the client does it: bubblewrap that works, and
    socat."""
    if not (shutil.which("bwrap") and shutil.which("socat")):
        return False
    probe = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--unshare-net",
        "--unshare-user",
        "--unshare-pid",
        "--dev",
        "/dev",
    ]
    return (
        subprocess.run(
            [*probe, "--proc", "/proc", "true"], capture_output=True, timeout=60
        ).returncode
        == 0
    )


def able(client: Path) -> bool:
    """Whether this client has `plugin eval` with all options that `run` gives it."""
    argv = [str(client), "plugin", "eval", "--help"]
    told = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60
    ).stdout
    options = (
        "trust-plugin no-publish ablation runs scaffold allow-tools threshold json output-dir "
        "case concurrency"
    )
    return all(f"--{name}" in told for name in options.split())


def pinned(client: Path) -> bool:
    """Whether this is the client of tests/package.json."""
    wanted = json.loads((ROOT / "tests" / "package.json").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    argv = [str(client), "--version"]
    told = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60
    ).stdout
    return told.startswith(wanted["@anthropic-ai/claude-code"])


class Run:
    """What `claude plugin eval` made of some cases: exit code, its words, and each case's
    result."""

    def __init__(self, done: subprocess.CompletedProcess, result: dict, story: str):
        self.code, self.result = done.returncode, result
        self.told = f"{done.stdout}\n{done.stderr}\n{story[-20_000:]}"

    @property
    def cases(self) -> dict[str, dict]:
        """{case: its only run}."""
        return {case["name"]: case["arms"]["with"][0] for case in self.result["cases"]}

    def graders(self, case: str) -> dict[str, bool]:
        """{grader: passed}."""
        return {grader["name"]: grader["passed"] for grader in self.cases[case]["graders"]}


def run(client: Path, scenario: Scenario, *more: str, folder: Path, timeout: float = 300) -> Run:
    """Run the cases of this checkout that `more` chooses. `folder`: a scratch folder of this run's
    own."""
    # A confined shell may write nowhere below the usual temporary folders, so the runs are kept
    # elsewhere.
    cache = os.environ.get("LOOPKIT_TEST_CACHE") or str(ROOT)
    Path(cache).mkdir(parents=True, exist_ok=True)
    runs = tempfile.mkdtemp(prefix="evals-", dir=cache)
    home, out = folder / "home", folder / "result.json"
    home.mkdir()
    path = os.environ["PATH"] if confining() else f"{STANDINS}{os.pathsep}{os.environ['PATH']}"
    argv: Sequence[str] = [
        *[
            str(client),
            "plugin",
            "eval",
            str(ROOT),
            "--trust-plugin",
            "--no-publish",
            "--ablation",
            "none",
        ],
        *["--runs", "1", "--scaffold", "--allow-tools", *GRANTED, "--threshold", "1"],
        *["--json", str(out), "--output-dir", str(folder / "results"), *more],
    ]
    with Model(scenario) as model:
        environment = {
            "PATH": path,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": runs,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": model.url,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        try:
            done = subprocess.run(
                argv,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                timeout=timeout,
            )
            result = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"cases": []}
            return Run(done, result, model.story())
        finally:
            shutil.rmtree(runs, ignore_errors=True)
