"""The agent that is Claude Code, with the real client: reply, cost, refusals and the rule that ends
them; a project's loop is nothing to it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from loopkit.engine.agents import Denied, Options, Prompt, claude
from loopkit.engine.process import Deadlines
from tests.client.conftest import Place
from tests.client.harness import ROOT, Sandbox
from tests.client.model import SMALL_USAGE, Reply, Scenario, Tool, Turn, bash, write

SCHEMA = {
    "type": "object",
    "required": ["score"],
    "properties": {"score": {"type": "integer"}},
}
LINES = ("make check 2>&1 | tail -5", "python3 -m unittest 2>&1")


def work(turn: Turn) -> Reply:
    """Some commands and a file at once, then the reply."""
    if not turn.calls:
        return [*map(bash, LINES), write("done.txt", "x")]
    return [Tool("StructuredOutput", {"score": 5})]


def run(here: Sandbox, prompt: Prompt, **options: object) -> claude.Answer:
    """What the agent answers; it finds the client on the PATH."""
    folder = here.folder / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "claude").exists():
        (folder / "claude").symlink_to(here.client)
    path = f"{folder}:{here.environment()['PATH']}"
    agent = claude.Claude(Options(**options), here.environment({"PATH": path}))  # type: ignore[arg-type]
    return agent.run(prompt, SCHEMA, Deadlines(), here.project)


def start_loop(here: Sandbox) -> None:
    """A loop of another session in the project."""
    words = [sys.executable, "-m", "loopkit", "start", "--task-file", "-"]
    env = {**here.environment(), "PYTHONPATH": str(ROOT), "CLAUDE_CODE_SESSION_ID": "another"}
    subprocess.run(words, cwd=here.project, env=env, input=b"build it", check=True)


@pytest.fixture
def here(place: Place) -> Sandbox:
    return place(Scenario(deviate=work))


def test_reply_cost_and_refusals(here: Sandbox) -> None:
    start_loop(here)
    ledger = next(here.project.glob(".loop/*/ledger.jsonl"))
    before, log = ledger.read_bytes(), here.folder / "001.jsonl"
    prompt = Prompt("Do it.", log=str(log))
    answer = run(here, prompt)
    assert (answer.outcome, answer.reply) == ("done", {"score": 5}), answer
    assert answer.cost and answer.turns and answer.session
    assert answer.usage["output"] == 2 * SMALL_USAGE["output_tokens"]
    assert (here.project / "done.txt").read_text() == "x"
    assert answer.denied == (
        Denied("Bash: make check 2>&1 | tail -5", ("Bash(make check *)",)),
        Denied("Bash: python3 -m unittest 2>&1", ("Bash(python3 -m unittest)",)),
    )

    rows = [json.loads(line) for line in log.read_text().splitlines()]
    init = next(row for row in rows if row.get("subtype") == "init")
    assert not init.get("plugin_errors")
    assert {plugin["name"] for plugin in init["plugins"]} >= {"loop", "hope", "counsel"}
    told = [row.get("stdout") for row in rows if row.get("subtype") == "hook_response"]
    assert not any(told), "our hooks are silent in what a run has started"
    assert ledger.read_bytes() == before
    asked = json.dumps([record.turn.request for record in here.model.records])
    assert ledger.parent.name not in asked, "nor is the model told of the loop"

    rules = tuple(rule for denied in answer.denied for rule in denied.rules)
    answer = run(here, Prompt("Do it."), allowed_tools=rules)
    assert answer.denied == (), "the rule that was named allows it"


def test_money_ends_it(here: Sandbox) -> None:
    answer = run(here, Prompt("Do it.", budget=0.0))
    assert answer.outcome == "spent" and "budget" in answer.error
    assert answer.cost
