"""What needs taste, in the real client: vague requests, findings that block, a mustNot that came
true, a gate's refusal."""

from __future__ import annotations

from tests.client.harness import APPROVED, EVERYTHING, Sandbox
from tests.client.model import Reply, Turn, bash
from tests.client.scenarios import (
    CLEAR,
    CRITERIA,
    FORMS,
    MUST_NOTS,
    REQUEST,
    TASKS,
    asked,
    greetings,
)
from tests.client.test_sessions import holds

LOW = {**dict.fromkeys(CLEAR, 0), "outcome": 1}
GUESSES = {
    "echo": "Greet in two languages",
    "task": "greetings",
    "context": "an empty project",
    "done": "the files are there",
    "assumptions": dict.fromkeys(
        ("outcome", "scope", "constraints", "success", "done"), "the modest reading"
    ),
}
VAGUE = {**FORMS, "request": asked(CRITERIA, TASKS, LOW)}
CARD = "</loop-complete>"


def tasks_of(here: Sandbox) -> list[dict]:
    """The tasks as they were added, in order."""
    return [event["task"] for event in here.events("task_added")]


def order_of(here: Sandbox, *kinds: str) -> list[str]:
    """The types of the ledger's events that are among `kinds`, in order."""
    return [row["type"] for row in here.ledger if row["type"] in kinds]


def test_a_vague_request_that_nobody_can_clarify_ends_in_marked_assumptions(place) -> None:
    here = place(greetings())
    here.model.scenario.forms = {**VAGUE, "clarification": GUESSES}
    run = here.run("/loop:start Make it nicer", allowed=APPROVED)
    assert run.result["is_error"] is False and run.result["permission_denials"] == []
    guesses = here.events("clarified")[0]["assumptions"]
    assert len(guesses) == 5 and all(text.startswith("[ASSUMPTION] ") for text in guesses.values())
    assert (here.state["stage"], here.state["status"], here.state["verdict"]) == (
        "intent",
        "paused",
        "waiting",
    )
    assert order_of(here, "scored", "clarified", "paused") == [
        "scored",
        "clarified",
        "scored",
        "paused",
    ]
    assert "too vague" in here.events("paused")[0]["reason"]
    assert holds(run) == []  # nobody can answer: the session is let go
    assert tasks_of(here) == [] and here.events("shape_saved") == []
    assert here.events("question_asked") == [] and "task add" not in "\n".join(
        here.model.commands()
    )


def test_a_vague_request_ends_in_questions_where_somebody_can_be_asked(place, tmux) -> None:
    question = "Outcome: A) two greetings (likeliest) B) one. Scope: A) new files B) README"
    said = "The first of each"

    def ask(_turn: Turn, _count: int) -> str:
        return f'loopkit ask "{question}"'

    def answer(turn: Turn) -> Reply | None:
        if turn.main and turn.prompt == said and not here.events("question_answered"):
            return [bash(f'loopkit answer "{said}"', 'loopkit answer "<what the person said>"')]
        return None

    here = place(greetings(deviate=answer))
    here.model.scenario.forms = {**VAGUE, "clarification": ask}
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say("/loop:start Make it nicer")
    terminal.wait("the question", lambda: here.events("question_asked"))
    terminal.wait("the end of the turn", lambda: here.model.heard("next: loopkit answer"))
    assert here.events("question_asked")[0]["text"] == question
    status = here.status
    assert (status["stage"], status["status"]) == ("intent", "awaiting_approval")
    assert status["next"].startswith("loopkit answer ")
    assert order_of(here, "scored", "clarified", "paused") == ["scored"] and tasks_of(here) == []
    terminal.say(said)  # the client hears it once the Stop hook has let the session go
    terminal.wait("the next round", lambda: len(here.events("question_asked")) == 2)
    assert [one["text"] for one in here.events("question_answered")] == [said]
    assert not [event for event in here.events("iteration_ended") if event["decision"] == "hold"]
    assert tasks_of(here) == [] and here.events("shape_saved") == []


def test_a_must_not_that_has_come_true_stops_the_loop(place) -> None:
    here = place(greetings())
    breached = [{"text": "A greeting is there", "proof": "test ! -f hello.txt"}, MUST_NOTS[1]]
    here.model.scenario.forms["request"] = asked(CRITERIA, TASKS, must_nots=breached)
    run = here.run(f"/loop:start {REQUEST}", allowed=EVERYTHING)
    assert (here.state["status"], here.state["verdict"]) == ("paused", "must_not_breached"), (
        here.model.story()
    )
    assert "M1 is broken" in here.events("paused")[0]["reason"]
    assert len(here.events("wave_opened")) == 1  # the second wave was never begun
    assert order_of(here, "wave_closed", "criterion_verified", "paused") == [
        "wave_closed",
        "criterion_verified",
        "paused",
    ]
    assert here.model.heard(CARD) == 0 and here.state["tasks"]["open"][0]["id"] == "T-003"
    assert holds(run) == []  # the session is let go, and stays so
    assert holds(here.run("What now?", "--resume", run.session)) == []
    assert here.state["status"] == "paused" and len(here.events("wave_opened")) == 1
