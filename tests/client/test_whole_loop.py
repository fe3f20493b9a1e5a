"""`/loop:start` to `<loop-complete>`, headless and in a terminal, with and without the client's
task tools."""

from __future__ import annotations

from tests.client.harness import EVERYTHING, ROOT, YES, Sandbox
from tests.client.scenarios import FOUR, ONE, REQUEST, greeting, greetings
from tests.client.test_flows import CARD, at_its_price

OPT_IN = "CLAUDE_CODE_ENABLE_TODO_TOOLS"
AUTO = ("--permission-mode", "auto")


def assert_complete(here: Sandbox, *waves: list[str]) -> None:
    """The loop, of `greetings` where no other waves are named, is complete, by its records and by
    what lies in the project."""
    waves = waves or (["T-001", "T-002"], ["T-003"])
    state = here.state
    assert (state.get("stage"), state.get("status")) == ("complete", "completed"), (
        here.model.story()
    )
    assert here.model.heard(CARD) == 1
    assert here.model.unanswered == []
    assert {event["id"] for event in here.events("task_completed")} == {*sum(waves, [])}
    assert [sorted(event["tasks"]) for event in here.events("wave_opened")] == [*waves]
    for event in here.events("task_verified"):
        assert (
            event["exit"] == 0 and (here.project / ".loop" / state["loop"] / event["log"]).is_file()
        ), event
    assert (here.project / "list.txt").read_text() == "hello\nbonjour\n"
    assert here.git("status", "--porcelain", "README.md") == ""


def test_headless_with_nothing_but_edits_approved(place) -> None:
    here, run = at_its_price(place, FOUR)
    assert run.result["is_error"] is False and run.result["subtype"] == "success"
    assert not run.init.get("plugin_errors")
    assert (
        "stop-hook-block-cap" not in run.notifications()
        and "stop-hook-error" not in run.notifications()
    )
    assert_complete(here, ["T-001", "T-002", "T-003"], ["T-004"])
    assert here.state["task"] == REQUEST
    assert here.model.heard(OPT_IN) == 0  # nobody is there to be told of the task panel
    assert not list((here.home / ".claude" / "tasks").glob("*/*.json"))
    turns = [one.turn for one in here.model.records]
    reviewers = [turn for turn in turns if turn.kind == "loop:review"]
    assert reviewers and all(
        not {"Edit", "Write", "Agent", "Task"} & set(turn.tools) for turn in reviewers
    )
    doctor = here.loopkit("doctor").stdout
    assert f"where --plugin-dir names it: {ROOT}" in " ".join(doctor.split())


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
    at_its_price(place, ONE, *AUTO, allowed=())


def test_in_auto_mode_in_a_terminal_with_one_dialog(place, tmux) -> None:
    here = place(greeting())
    here.allow_checks()
    terminal = here.terminal(*AUTO, allowed=())
    terminal.say(f"/loop:start {REQUEST}")
    terminal.see("runs the project's own code")
    terminal.answer(YES)
    terminal.wait("the end of the turn", lambda: here.model.heard(CARD))
    assert here.state["status"] == "completed" and here.model.unanswered == []
    # agents run in the background: their reports wake the session
    assert [one for one in here.model.records if "(waiting for" in str(one.reply)]
