"""The person keeps the wheel: Esc, a question and a status in a terminal, while agents work."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.client.harness import EVERYTHING, Sandbox, Terminal
from tests.client.model import LAUNCHED, Reply, Text, Tool, Turn
from tests.client.scenarios import REQUEST, greetings
from tests.client.test_whole_loop import CARD

QUESTION, ANSWER = "what is this project?", "It greets people."
WAITS = "waits, since you spoke"


def started(here: Sandbox) -> list[str]:
    """The tokens of the agents that the main session has started."""
    rows = [record.reply for record in here.model.records if isinstance(record.reply, list)]
    calls = [one for row in rows for one in row if isinstance(one, Tool) and one.name == "Agent"]
    return [one.input["prompt"] for one in calls]


def shown(terminal: Terminal) -> str:
    """What the terminal has shown, on one line."""
    return re.sub(r"\s+", " ", terminal.history)


@pytest.mark.parametrize("mode", ["default", "auto"])
def test_after_esc_a_question_and_a_status_nothing_goes_on_unasked(
    place: Any, tmux: None, mode: str
) -> None:
    here = place(greetings())

    def answers(turn: Turn) -> Reply | None:
        asked = turn.main and turn.tools and turn.prompt == QUESTION
        return [Text(ANSWER)] if asked else None

    here.model.scenario.deviate = answers
    main = here.model.pause(lambda turn, _: turn.main and LAUNCHED in turn.newest)
    work = here.model.pause(lambda turn, _: turn.kind == "loop:coder" and "hello" in str(_))
    terminal = here.terminal("--permission-mode", mode, allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    main.wait()
    work.wait()
    plan = (f"Loop 001 “{REQUEST}” begins", "3 tasks: Greet in English;", "Done when: hello.txt")
    terminal.wait("the plan", lambda: all(line in shown(terminal) for line in plan))
    terminal.keys("Escape")
    terminal.see("(?i)interrupted")
    main.release()

    # the question is answered, the loop waits, and says so once
    terminal.say(QUESTION)
    terminal.see(WAITS)
    assert here.model.heard("pressed Esc") == 1 and here.status["status"] == "running"
    turns = len(here.model.main_turns)
    terminal.say("/loop:status")
    told = "It waits for you (since you spoke); /loop:resume goes on."
    terminal.wait("the status", lambda: here.model.heard(told))
    assert here.events("iteration_ended") == []

    # what the agents bring meanwhile is kept, and begins no turn
    work.release()
    terminal.wait("their answers", lambda: len(here.events("subagent_stopped")) == 2)
    terminal.wait("both kept", lambda: shown(terminal).count("its answer is kept") == 2)
    assert shown(terminal).count(WAITS) == 1
    assert len(here.model.main_turns) == turns + 1, here.model.story()

    # the person takes it up: what is there is taken, nobody is sent twice
    terminal.say("/loop:resume")
    terminal.wait("the loop's end", lambda: here.model.heard(CARD))
    assert here.state["status"] == "completed" and here.model.unanswered == []
    assert len(started(here)) == len(set(started(here))), started(here)
