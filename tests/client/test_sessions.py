"""A loop outlives its session: kill -9, `/clear`, compaction; and other sessions of the project are
left alone."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.client.harness import EVERYTHING, Headless, Sandbox, Terminal, wait_for
from tests.client.model import SMALL_USAGE, Pause, Turn, calls_of
from tests.client.scenarios import REQUEST, greeting, greetings
from tests.client.test_whole_loop import CARD, OPT_IN, assert_complete

# In a terminal the client starts every agent in the background unless this is off.
FOREGROUND = {"CLAUDE_CODE_FORK_SUBAGENT": "0"}
ANNOUNCED = "[LOOP RESUME]"


def announcements(run: Headless) -> list[str]:
    """The announcements that a headless session heard."""
    texts = [
        out.get("hookSpecificOutput", {}).get("additionalContext", "")
        for out in run.hooks("SessionStart")
    ]
    return [text for text in texts if ANNOUNCED in text]


def holds(run: Headless) -> list[str]:
    """The texts with which a headless session was held."""
    texts = [
        out.get("hookSpecificOutput", {}).get("additionalContext", "") for out in run.hooks("Stop")
    ]
    return [text for text in texts if text]


def fingerprint(folder: Path) -> dict[str, str]:
    """A hash of each file below `folder`."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def to_wave_two(here: Sandbox, *more: str, **options: Any) -> tuple[Headless, Pause]:
    """A headless loop that stands in wave 2, before the verification of T-003."""
    pause = here.model.pause_before("loopkit verify T-003")
    run = here.start(f"/loop:start {REQUEST}", *more, **options)
    pause.wait()
    return run, pause


def test_killed_before_its_verification_a_new_terminal_finishes_it(place, tmux) -> None:
    """With agents in the foreground, as in every terminal of an older client."""
    here = place(greeting())
    pause = here.model.pause_before("loopkit verify T-001")
    first = here.terminal(allowed=EVERYTHING)
    first.say(f"/loop:start {REQUEST}")
    pause.wait()
    first.kill()
    pause.release()

    second = here.terminal(env=FOREGROUND)
    second.see("LOOP RESUME")
    second.say("/loop:resume")
    second.wait("the loop's end", lambda: here.model.heard(CARD))
    assert here.state["status"] == "completed"


def test_the_words_after_loop_resume_choose_the_loop(place) -> None:
    here = place(greetings())
    gone = "00000000-0000-4000-8000-000000000000"
    for text, more in ((REQUEST, ()), ("Rename the logo", ("--beside",))):
        done = here.loopkit("start", *more, "--task-file", "-", session=gone, given=text)
        assert done.returncode == 0, done.stdout + done.stderr
    pause = here.model.pause_before("loopkit submit")
    run = here.start("/loop:resume 001; $(touch pwned) `touch pwned` greet")
    pause.wait()
    here.kill(run)
    pause.release()
    assert (
        here.state["loop"].startswith("001-") and here.state["owner"]["session_id"] == run.session
    )
    assert here.loopkit("status", "002", "--json").stdout.find('"status": "paused"') > 0
    assert not (here.project / "pwned").exists()


def interrupted(here: Sandbox, terminal: Terminal, words: str, before: str) -> None:
    """Say `words`, and interrupt the turn when it comes to a command."""
    pause = here.model.pause(lambda turn, reply: turn.main and before in calls_of(reply))
    terminal.say(words)
    pause.wait()
    terminal.keys("Escape")
    terminal.see("(?i)interrupted")
    pause.release()


def test_compact_and_clear_in_the_middle(place, tmux) -> None:
    here = place(greetings())
    terminal = here.terminal(allowed=EVERYTHING)
    interrupted(here, terminal, f"/loop:start {REQUEST}", "loop:implementation-T-003")
    before = here.state["owner"]["session_id"]
    terminal.say("/compact")
    terminal.see("(?i)compacted")
    interrupted(here, terminal, "Please go on.", "loop:thorough_review")
    assert len(here.events("wave_opened")) == 2
    assert here.state["owner"]["session_id"] == before
    terminal.say("/clear")
    terminal.wait("the announcement", lambda: ANNOUNCED in terminal.screen)
    terminal.say("Please go on.")
    terminal.wait("the loop's end", lambda: here.model.heard(CARD))
    assert_complete(here)
    assert here.state["owner"]["session_id"] != before


def test_compaction_by_itself_in_the_middle_of_a_turn(place) -> None:
    full: list[str] = []

    def usage(turn: Turn) -> dict:
        if turn.main and not full and "wave 1 closed" in turn.newest:
            full.append(turn.session)
            return {**SMALL_USAGE, "input_tokens": 190_000}
        return SMALL_USAGE

    here = place(greeting(usage=usage))
    # said outright, since not every client compacts its largest window by the figures of an answer
    run = here.run(f"/loop:start {REQUEST}", env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"})
    assert run.named("system", "compact_boundary"), "nothing was compacted"
    assert here.state["status"] == "completed" and here.model.unanswered == []


def test_the_native_list_follows_and_another_session_is_never_held_and_finishes_it(place) -> None:
    here = place(greetings())
    tools = ("--model", "claude-sonnet-4-6")
    run, pause = to_wave_two(here, *tools, env={OPT_IN: "1"})
    assert {name: task["status"] for name, task in here.list_of(run.session).items()} == {
        "T-001": "completed",
        "T-002": "completed",
        "T-003": "in_progress",
    }
    assert "TaskUpdate" in run.init["tools"]
    # the reviewer of the first wave works beside the second one
    wait_for("its answer", lambda: len(here.events("subagent_stopped")) == 3)
    before = fingerprint(here.project / ".loop")
    other = here.run("What is this project?")
    assert len(announcements(other)) == 1 and "Wave: 2" in announcements(other)[0]
    assert holds(other) == []
    assert len([turn for turn in here.model.main_turns if turn.session == other.session]) == 1
    assert fingerprint(here.project / ".loop") == before
    assert OPT_IN not in "".join(str(one) for one in run.lines)

    here.kill(run)
    pause.release()
    again = here.run("/loop:resume", "--resume", other.session)
    assert again.session != run.session
    assert_complete(here)
    assert again.result["permission_denials"] == []
