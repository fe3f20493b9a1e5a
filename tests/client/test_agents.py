"""Agents that the real client starts with a token: they get the prompt, and correct their own
answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopkit.store import answers
from tests.client.harness import EVERYTHING, Sandbox
from tests.client.model import LAUNCHED, OVER, Reply, Text, Tool, Turn, bash
from tests.client.scenarios import REQUEST
from tests.client.test_supervised import PLAN, planned

TOKEN = "loop:plan-1"
UNFIT = '{"tasks": "see above"}'


def tokens(here: Sandbox, agents: int, *, background: bool) -> None:
    """The planner is started by its token, so many times at once, and first answers what does not
    fit; after its report the loop is put aside."""
    prepared = here.model.scenario

    def deviate(turn: Turn) -> Reply | None:
        if not turn.tools:
            return None
        if not turn.main:
            return answer(turn)
        if LAUNCHED in turn.newest:
            return [Text("(waiting)")]
        if started(turn):
            return [Text(OVER)] if here.events("paused") else [bash("loopkit pause")]
        prepared.deviate = None
        reply = here.model._decide(turn)
        prepared.deviate = deviate
        return [start(number) for number in range(agents)] if asks(reply) else reply

    def asks(reply: Reply) -> bool:
        return any(isinstance(one, Tool) and one.name == "Agent" for one in reply)

    def start(number: int) -> Tool:
        given = {"description": f"plan {number}", "prompt": TOKEN, "subagent_type": "loop:planner"}
        return Tool("Agent", {**given, "run_in_background": background})

    def started(turn: Turn) -> bool:
        return any(TOKEN in call.text for call in turn.calls)

    def answer(turn: Turn) -> Reply:
        text = json.dumps(PLAN) if "does not fit" in turn.newest else UNFIT
        if not turn.calls:
            return [Tool("Read", {"file_path": "README.md"})]
        handed = "SubagentHandback" in turn.tools
        return [Tool("SubagentHandback", {"message": text}) if handed else Text(text)]

    prepared.deviate = deviate


def folder(here: Sandbox) -> Path:
    return next((here.project / ".loop").glob("0*"))


def kept(here: Sandbox) -> dict[str, Any]:
    found = answers.read(str(folder(here)), "plan-1")
    assert found is not None, here.model.story()
    return found


def it_was_told_all_and_corrected_itself(here: Sandbox, by: str) -> None:
    row = kept(here)
    assert (row["reply"], row["by"], row["unfit"]) == (PLAN, by, "")
    assert row["corrections"] >= 1 and row["seen"]["calls"] == 1
    assert [Path(one).name for one in row["seen"]["read"]] == ["README.md"]
    whole = (folder(here) / "prompts" / "plan-1.md").read_text(encoding="utf-8")
    told = [one.turn.prompt for one in here.model.records if not one.turn.main and one.turn.tools]
    assert told and all(one == whole.strip() for one in told), told[0][:300]
    assert {one.get("token") for one in here.events("subagent_stopped")} == {TOKEN}


def test_two_agents_with_one_token(place: Any) -> None:
    here = planned(place, "supervisor")
    tokens(here, 2, background=False)
    here.run(f"/loop:start {REQUEST}", allowed=EVERYTHING)
    it_was_told_all_and_corrected_itself(here, "stop")
    files = sorted(one.name for one in (folder(here) / "answers").iterdir())
    assert files == [f"plan-1.{end}" for end in ("held", "json", "late-1.json", "started")]


def test_one_in_a_terminal(place: Any, tmux: None) -> None:
    here = planned(place, "supervisor")
    tokens(here, 1, background=True)
    terminal = here.terminal("--permission-mode", "auto", allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end", lambda: here.state.get("status") == "paused")
    it_was_told_all_and_corrected_itself(here, "handback")
    assert here.model.heard("all agents have ended.\nnext: loopkit next") == 1
