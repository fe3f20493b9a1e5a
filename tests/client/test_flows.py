"""Loops from `/loop:start` to their card, headless, for no more requests than they may take."""

from __future__ import annotations

from typing import Any

from tests.client.harness import APPROVED, EVERYTHING, Headless, Sandbox
from tests.client.model import LAUNCHED, Reply, Tool, Turn, bash
from tests.client.scenarios import FOUR, REQUEST, Flow, flows, troubled

# the end of the completion card; /loop:start itself names only its beginning
CARD = "</loop-complete>"


def at_its_price(place: Any, name: str, *more: str, **options: Any) -> tuple[Sandbox, Headless]:
    """The loop of this name, which goes through."""
    return goes_through(place, flows()[name], *more, **options)


def goes_through(
    place: Any, flow: Flow, *more: str, allowed: tuple = APPROVED
) -> tuple[Sandbox, Headless]:
    here = place(flow.scenario)
    run = here.run(f"/loop:start {flow.words}", *more, allowed=allowed)
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1, here.model.story()
    assert here.events("loop_completed")[0]["card"] == "SHIP", here.model.story()
    assert run.result["permission_denials"] == [] and here.model.unanswered == []
    # nobody is asked for leave in `-p`
    assert len(here.model.main_turns) <= flow.most - 1, here.model.story()
    heard = [one.turn.newest for one in here.model.records if not one.turn.main]
    assert not [text for text in heard if "next: loopkit" in text], "nothing follows for an agent"
    return here, run


def test_a_vague_request_a_failed_attempt_and_a_blocker(place: Any) -> None:
    """Each costs what it costs alone (`script/bench price`)."""
    here, _ = goes_through(place, troubled())
    for event in ("clarified", "task_failed", "panel_recorded"):
        assert len(here.events(event)) == 1, event
    assert len(here.events("review_thorough")) == 2


def test_a_model_that_never_waits_is_as_good_as_a_patient_one(place: Any, tmux: None) -> None:
    """It runs all printed lines at once, `loopkit next` beside the agents, and goes on asking while
    they work in the background."""
    here = place(flows()[FOUR].scenario)
    asked = []

    def hasty(turn: Turn) -> Reply | None:
        if not turn.main or not turn.tools:
            return None
        again = [bash("loopkit next", "loopkit next")]
        if LAUNCHED in turn.newest and len(asked) < 6:
            asked.append(turn)
            return again
        here.model.scenario.deviate = None
        reply = here.model._decide(turn)
        here.model.scenario.deviate = hasty
        starts = any(isinstance(one, Tool) and one.name == "Agent" for one in reply)
        return [*reply, *again] if starts else reply

    here.model.scenario.deviate = hasty
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end", lambda: here.state.get("status") in ("completed", "failed", "paused"))
    assert here.state["status"] == "completed", here.model.story()
    assert here.events("task_failed") == [] and len(here.events("task_completed")) == 4
    assert here.events("loop_completed")[0]["card"] == "SHIP", here.model.story()
