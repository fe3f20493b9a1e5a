"""`/loop:start` to `<loop-complete>`, headless and in a terminal, with and without the client's
task tools."""

from __future__ import annotations

from tests.client.harness import APPROVED, EVERYTHING, ROOT, Sandbox
from tests.client.scenarios import REQUEST, greeting, greetings, talk_only

OPT_IN = "CLAUDE_CODE_ENABLE_TODO_TOOLS"
# the end of the completion card; /loop:start itself names only its beginning
CARD = "</loop-complete>"
AUTO = ("--permission-mode", "auto")
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


def test_headless_with_nothing_but_edits_approved(place) -> None:
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
    assert here.model.heard(OPT_IN) == 0  # nobody looks at a panel here
    assert not list((here.home / ".claude" / "tasks").glob("*/*.json"))
    turns = [one.turn for one in here.model.records]
    reviewers = [turn for turn in turns if turn.kind == "loop:review"]
    assert reviewers and all(
        not {"Edit", "Write", "Agent", "Task"} & set(turn.tools) for turn in reviewers
    )
    doctor = here.loopkit("doctor").stdout
    assert f"where --plugin-dir names it: {ROOT}" in " ".join(doctor.split())


def test_in_a_terminal_with_agents_in_the_foreground(place, tmux) -> None:
    here = place(greeting())
    terminal = here.terminal(allowed=APPROVED, env=FOREGROUND)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the loop's end", lambda: here.state.get("status") == "completed")
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))


def test_in_a_terminal_with_task_tools_and_agents_in_the_background(place, tmux) -> None:
    here = place(greetings())
    terminal = here.terminal("--model", "claude-sonnet-4-6", allowed=EVERYTHING, env={OPT_IN: "1"})
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))
    assert_complete(here)
    # turns end while agents run: these stops are let through, and the loop goes on
    assert [one for one in here.model.records if "(waiting for" in str(one.reply)]
    assert "overrid" not in terminal.history


def test_in_auto_mode_headless(place) -> None:
    here = place(greeting())
    run = here.run(f"/loop:start {REQUEST}", *AUTO, allowed=())
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1, here.model.story()
    assert run.result["permission_denials"] == [] and here.model.unanswered == []


def test_in_auto_mode_in_a_terminal_with_one_dialog(place, tmux) -> None:
    here = place(greeting())
    here.allow_checks()
    terminal = here.terminal(*AUTO, allowed=())
    terminal.say(f"/loop:start {REQUEST}")
    terminal.see("runs the project's own code")
    terminal.keys("Enter")
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))
    assert here.state["status"] == "completed" and here.model.unanswered == []
    # agents run in the background: their reports wake the session
    assert [one for one in here.model.records if "(waiting for" in str(one.reply)]


def test_a_fresh_home_prepares_loopkit_by_itself(place) -> None:
    here = place(talk_only(), prepared=False)
    here.run(f"/loop:start {REQUEST}")
    assert here.state.get("task") == REQUEST
