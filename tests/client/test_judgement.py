"""What needs taste, in the real client: vague requests, findings that block, a mustNot that came true, a gate's refusal."""

from __future__ import annotations

from tests.client import evals
from tests.client.harness import APPROVED, EVERYTHING
from tests.client.model import Tool, Turn, write
from tests.client.scenarios import REQUEST, SHAPE, greetings

LOW = "loopkit score --outcome 1 --scope 0 --constraints 0 --success 0 --done 0"
GUESSES = {
    "echo": "Greet in two languages",
    "task": "greetings",
    "context": "an empty project",
    "done": "the files are there",
    "assumptions": dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), "the modest reading"),
}
CARD = "</loop-complete>"


def tasks_of(here) -> list[dict]:
    return [event["task"] for event in here.events("task_added")]


def test_a_vague_request_that_nobody_can_clarify_ends_in_marked_assumptions(place) -> None:
    here = place(greetings())
    here.model.scenario.answers |= {r"^loopkit score\b": LOW, r"^loopkit clarify --file": GUESSES}
    run = here.run("/loop:start Make it nicer", allowed=APPROVED)
    assert run.result["is_error"] is False and run.result["permission_denials"] == []
    guesses = here.events("clarified")[0]["assumptions"]
    assert len(guesses) == 5 and all(text.startswith("[ASSUMPTION] ") for text in guesses.values())
    assert (here.state["stage"], here.state["status"], here.state["verdict"]) == ("intent", "paused", "waiting")
    assert tasks_of(here) == [] and here.events("shape_saved") == []
    assert "task add" not in "\n".join(here.model.commands())


def test_a_vague_request_ends_in_questions_where_somebody_can_be_asked(place, tmux) -> None:
    question = "Outcome: A) two greetings (likeliest) B) one. Scope: A) new files B) README"

    def ask(_turn: Turn, _count: int) -> str:
        return f'loopkit ask "{question}"'

    here = place(greetings())
    here.model.scenario.answers |= {r"^loopkit score\b": LOW, r"^loopkit clarify --file": ask}
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say("/loop:start Make it nicer")
    terminal.wait("the question", lambda: here.events("question_asked"))
    terminal.wait("the end of the turn", lambda: here.model.heard("loopkit answer"))
    assert here.events("question_asked")[0]["text"] == question
    assert here.status["stage"] == "intent" and tasks_of(here) == []
    assert not [event for event in here.events("iteration_ended") if event["decision"] == "hold"]


def test_a_blocker_becomes_a_task_is_mended_in_a_wave_and_the_second_review_passes(place) -> None:
    here = place(evals.blocker_remediation())
    here.model.scenario.work = {
        "T-001": [write("greeting.txt", "hello\n")],
        "T-002": [write("NOTICE", "greeting.txt\n")],
    }
    run = here.run("/loop:start Add a greeting to greeting.txt", allowed=EVERYTHING)
    assert run.result["is_error"] is False, here.model.story()
    rounds = here.events("review_thorough")
    assert [len(one["findings"]) for one in rounds] == [1, 0]
    assert rounds[0]["findings"][0]["task"] == "T-002"
    assert [task.get("kind", "work") for task in tasks_of(here)] == ["work", "remediation"]
    assert [one["tasks"] for one in here.events("wave_opened")] == [["T-001"], ["T-002"]]
    assert {one["id"] for one in here.events("task_completed")} == {"T-001", "T-002"}
    thorough = here.state["reviews"]["thorough"]
    assert (thorough["passed"], thorough["blockers_remaining"]) == (True, 0)
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1
    reviewers = [turn for turn in (record.turn for record in here.model.records) if turn.kind == "loop:review"]
    assert reviewers and all(not {"Edit", "Write", "Agent", "Task"} & set(turn.tools) for turn in reviewers)


def test_a_must_not_that_has_come_true_stops_the_loop(place) -> None:
    here = place(greetings())
    breached = SHAPE.rstrip() + "\n| M1 | execution output | test ! -f hello.txt |\n"
    here.model.scenario.answers[r"^loopkit shape --accept"] = breached
    here.run(f"/loop:start {REQUEST}", allowed=EVERYTHING)
    assert (here.state["status"], here.state["verdict"]) == ("paused", "must_not_breached"), here.model.story()
    assert "M1 has come true" in here.events("paused")[0]["reason"]
    assert len(here.events("wave_opened")) == 1  # the second wave was never begun
    assert here.model.heard(CARD) == 0
    assert not [event for event in here.events("iteration_ended") if event["decision"] == "hold"]


def test_a_refusal_of_the_gate_becomes_a_task_and_the_loop_completes(place) -> None:
    here = place(evals.gate_refusal())
    here.model.scenario.work = {
        "T-001": [write("greet.sh", "echo hello $1\n")],
        "T-002": [
            Tool("Read", {"file_path": str(here.project / "greet.sh")}),
            write("greet.sh", "echo hello ${1:-nobody}\n"),
        ],
    }
    (here.project / "verify.sh").write_text("test -f greet.sh\n")
    (here.project / "edges.sh").write_text('test "$(sh greet.sh)" = "hello nobody"\n')
    here.run("/loop:start Greet by name in greet.sh", allowed=EVERYTHING)
    assert [one["passed"] for one in here.events("gate_result")] == [False, True], here.model.story()
    assert [(task.get("kind", "work"), task["verify"]) for task in tasks_of(here)][1:] == [
        ("remediation", "sh edges.sh")
    ]
    assert len(here.events("wave_opened")) == 2
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1
