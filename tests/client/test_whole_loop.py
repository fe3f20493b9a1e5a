"""`/loop:start` to `<loop-complete>`, headless and in a terminal, with and without the client's
task tools."""

from __future__ import annotations

import json

import pytest

from tests.client.harness import APPROVED, EVERYTHING, Sandbox
from tests.client.scenarios import REQUEST, greetings, talk_only

OPT_IN = "CLAUDE_CODE_ENABLE_TODO_TOOLS"
# the end of the completion card; /loop:start itself names only its beginning
CARD = "</loop-complete>"
# In a terminal the client starts every agent in the background unless this is off.
FOREGROUND = {"CLAUDE_CODE_FORK_SUBAGENT": "0"}


def assert_complete(here: Sandbox) -> None:
    """The loop of `greetings` is complete, by its records and by what lies in the project."""
    state = here.state
    assert (state.get("stage"), state.get("status")) == ("complete", "completed"), (
        here.model.story()
    )
    assert here.model.heard(CARD) == 1
    assert here.model.unanswered == []
    assert {event["id"] for event in here.events("task_completed")} == {"T-001", "T-002", "T-003"}
    assert [sorted(event["tasks"]) for event in here.events("wave_opened")] == [
        ["T-001", "T-002"],
        ["T-003"],
    ]
    for event in here.events("task_verified"):
        assert (
            event["exit"] == 0 and (here.project / ".loop" / state["loop"] / event["log"]).is_file()
        ), event
    assert (here.project / "list.txt").read_text() == "hello\nbonjour\n"
    assert here.git("status", "--porcelain", "README.md") == ""


def test_headless_with_nothing_but_verify_and_edits_approved(place) -> None:
    here = place(greetings())
    run = here.run(f"/loop:start {REQUEST}", allowed=APPROVED)
    assert run.result["is_error"] is False and run.result["subtype"] == "success"
    assert not run.init.get("plugin_errors")
    assert run.result["permission_denials"] == []
    assert (
        "stop-hook-block-cap" not in run.notifications()
        and "stop-hook-error" not in run.notifications()
    )
    assert_complete(here)
    assert here.state["task"] == REQUEST
    assert here.model.heard(OPT_IN) == 1  # said once, since this model has no task tools
    assert not list((here.home / ".claude" / "tasks").glob("*/*.json"))


def test_headless_with_task_tools_the_native_list_follows(place) -> None:
    here = place(greetings())
    pause = here.model.pause_before("loopkit verify T-003")
    run = here.start(f"/loop:start {REQUEST}", "--model", "claude-sonnet-4-6", env={OPT_IN: "1"})
    pause.wait()
    folder = here.home / ".claude" / "tasks" / run.session
    listed = {
        file.stem: json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")
    }
    assert {name: task["status"] for name, task in listed.items()} == {
        "T-001": "completed",
        "T-002": "completed",
        "T-003": "in_progress",
    }
    assert "TaskUpdate" in run.init["tools"]
    pause.release()
    run.finish()
    assert_complete(here)
    assert here.model.heard(OPT_IN) == 0


@pytest.mark.parametrize(
    ("env", "allowed"),
    [
        pytest.param({}, EVERYTHING, id="agents in the background"),
        pytest.param(FOREGROUND, APPROVED, id="foreground"),
    ],
)
def test_in_a_terminal(place, tmux, env: dict, allowed: tuple) -> None:
    here = place(greetings())
    terminal = here.terminal(allowed=allowed, env=env)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the loop's end", lambda: here.state.get("status") == "completed")
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))
    assert_complete(here)


def test_in_a_terminal_with_task_tools(place, tmux) -> None:
    here = place(greetings())
    terminal = here.terminal("--model", "claude-sonnet-4-6", allowed=EVERYTHING, env={OPT_IN: "1"})
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))
    assert_complete(here)


def test_a_fresh_home_prepares_loopkit_by_itself(place) -> None:
    here = place(talk_only(), prepared=False)
    here.run(f"/loop:start {REQUEST}")
    assert here.state.get("task") == REQUEST
