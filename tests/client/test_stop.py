"""Who is held, how often, and when a held session is let go: always before the client's own cap."""

from __future__ import annotations

from loopkit.store import transcript
from tests.client.harness import EVERYTHING, Sandbox
from tests.client.model import LAUNCHED, Reply, Text, Tool, Turn
from tests.client.scenarios import REQUEST, greetings
from tests.client.test_sessions import holds

CAP = "stop-hook-block-cap"


def once_there_are_tasks(here: Sandbox, then) -> None:
    """Obey until the tasks are stored, from then on do `then(turn)` in the main conversation."""

    def deviate(turn: Turn) -> Reply | None:
        return then(turn) if turn.main and here.events("task_added") else None

    here.model.scenario.deviate = deviate


def test_a_model_that_only_talks_is_let_go_at_its_second_stop(place) -> None:
    here = place(greetings())
    once_there_are_tasks(here, lambda _turn: [Text("I leave it as it is.")])
    run = here.run(f"/loop:start {REQUEST}")
    assert len(run.hooks("Stop")) == 2
    assert len(holds(run)) == 1 and len(holds(run)[0]) <= 500
    assert here.status["status"] == "running"
    assert CAP not in run.notifications() and run.result["is_error"] is False


def busy(turn: Turn) -> Reply:
    """Read a file, then stop; once more after each hold."""
    read = (
        any(event.kind == "result" for event in turn.fresh) and "README.md" in turn.calls[-1].text
    )
    return [Text("I had a look.")] if read else [Tool("Read", {"file_path": "README.md"})]


def test_tool_calls_without_progress_end_stalled(place) -> None:
    here = place(greetings())
    once_there_are_tasks(here, busy)
    run = here.run(f"/loop:start {REQUEST}")
    assert 1 <= len(holds(run)) < 8
    assert (here.status["status"], here.status["verdict"]) == ("paused", "stalled")
    assert CAP not in run.notifications()
    silent = here.run("hello again", "--resume", run.session)
    assert holds(silent) == []


def test_nobody_is_held_while_a_report_is_queued(place, tmux) -> None:
    """All agents end while the main session still says that it waits for them."""
    here = place(greetings())
    main = here.model.pause(lambda turn, _reply: turn.main and LAUNCHED in turn.newest)
    terminal = here.terminal("--permission-mode", "default", allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    main.wait()
    terminal.wait("all answers", lambda: here.events("subagent_stopped")[1:])
    terminal.wait("a report", lambda: _queued(here))
    main.release()
    terminal.wait("the next wave", lambda: here.events("wave_opened")[1:])
    assert here.events("iteration_ended") == [], here.model.story()


def _queued(here: Sandbox) -> bool:
    path = next((here.home / ".claude" / "projects").glob("*/*.jsonl"))
    return transcript.queued(str(path))[0]
