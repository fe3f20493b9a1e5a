"""A loop outlives its session: kill -9, `/clear`, compaction; and other sessions of the project are
left alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.client.harness import EVERYTHING, Headless, Sandbox, Terminal
from tests.client.model import SMALL_USAGE, Turn
from tests.client.scenarios import REQUEST, greetings
from tests.client.test_whole_loop import CARD, assert_complete

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


def to_wave_two(here: Sandbox) -> tuple[Headless, object]:
    """A headless loop that stands in wave 2, before the verification of T-003."""
    pause = here.model.pause_before("loopkit verify T-003")
    run = here.start(f"/loop:start {REQUEST}")
    pause.wait()
    return run, pause


def test_killed_in_wave_two_a_new_headless_session_finishes_it(place) -> None:
    here = place(greetings())
    run, pause = to_wave_two(here)
    here.kill(run)
    pause.release()

    other = here.run("What is this project?")
    assert len(announcements(other)) == 1 and "Wave: 2" in announcements(other)[0]
    assert holds(other) == []

    again = here.run("/loop:resume")
    assert again.session != run.session
    assert_complete(here)
    assert again.result["permission_denials"] == []


def test_killed_in_wave_two_a_new_terminal_finishes_it(place, tmux) -> None:
    here = place(greetings())
    pause = here.model.pause_before("loopkit verify T-003")
    first = here.terminal(allowed=EVERYTHING)
    first.say(f"/loop:start {REQUEST}")
    pause.wait()
    first.kill()
    pause.release()

    second = here.terminal(allowed=EVERYTHING)
    second.see("LOOP RESUME")
    second.say("/loop:resume")
    second.wait("the loop's end", lambda: here.model.heard(CARD))
    assert_complete(here)


def test_the_words_after_loop_resume_choose_the_loop(place) -> None:
    here = place(greetings())
    gone = "00000000-0000-4000-8000-000000000000"
    for text, more in ((REQUEST, ()), ("Rename the logo", ("--beside",))):
        done = here.loopkit("start", *more, "--task-file", "-", session=gone, given=text)
        assert done.returncode == 0, done.stdout + done.stderr
    pause = here.model.pause_before("loopkit score")
    run = here.start("/loop:resume 001; $(touch pwned) `touch pwned` greet")
    pause.wait()
    here.kill(run)
    pause.release()
    assert (
        here.state["loop"].startswith("001-") and here.state["owner"]["session_id"] == run.session
    )
    assert here.loopkit("status", "002", "--json").stdout.find('"status": "paused"') > 0
    assert not (here.project / "pwned").exists()


def interrupted(here: Sandbox) -> Terminal:
    """A terminal whose loop was interrupted between its two waves."""
    waves = []

    def second_wave(turn: Turn, reply: object) -> bool:
        if "loopkit wave next" in str(reply) and turn.main:
            waves.append(turn)
        return len(waves) == 2

    pause = here.model.pause(second_wave)
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    pause.wait()
    terminal.keys("Escape")
    terminal.see("(?i)interrupted")
    pause.release()
    return terminal


def test_clear_in_the_middle(place, tmux) -> None:
    here = place(greetings())
    terminal = interrupted(here)
    before = here.state["owner"]["session_id"]
    terminal.say("/clear")
    terminal.wait("the announcement", lambda: ANNOUNCED in terminal.screen)
    terminal.say("Please go on.")
    terminal.wait("the loop's end", lambda: here.model.heard(CARD))
    assert_complete(here)
    assert here.state["owner"]["session_id"] != before


def test_compact_in_the_middle(place, tmux) -> None:
    here = place(greetings())
    terminal = interrupted(here)
    before = here.state["owner"]["session_id"]
    terminal.say("/compact")
    terminal.see("(?i)compacted")
    terminal.say("Please go on.")
    terminal.wait("the loop's end", lambda: here.model.heard(CARD))
    assert_complete(here)
    assert here.state["owner"]["session_id"] == before


def test_compaction_by_itself_in_the_middle_of_a_turn(place) -> None:
    full: list[str] = []

    def usage(turn: Turn) -> dict:
        if turn.main and not full and "wave 1 closed" in turn.newest:
            full.append(turn.session)
            return {**SMALL_USAGE, "input_tokens": 190_000}
        return SMALL_USAGE

    here = place(greetings(usage=usage))
    # said outright, since not every client compacts its largest window by the figures of an answer
    run = here.run(f"/loop:start {REQUEST}", env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"})
    assert run.named("system", "compact_boundary"), "nothing was compacted"
    assert_complete(here)


def test_another_session_is_never_held_and_hears_one_announcement(place) -> None:
    here = place(greetings())
    run, pause = to_wave_two(here)
    before = fingerprint(here.project / ".loop")
    other = here.run("What is this project?")
    assert len(announcements(other)) <= 1
    assert holds(other) == []
    assert len([turn for turn in here.model.main_turns if turn.session == other.session]) == 1
    assert fingerprint(here.project / ".loop") == before
    again = here.run("And now?", "--resume", other.session)
    assert holds(again) == []
    pause.release()
    run.finish()
    assert_complete(here)


@pytest.mark.parametrize("how", ["/loop:cancel", "loopkit cancel"])
def test_cancel_from_another_session(place, how: str) -> None:
    here = place(greetings())
    run, pause = to_wave_two(here)
    if how == "loopkit cancel":
        done = here.loopkit("cancel", session="00000000-0000-4000-8000-000000000000")
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        here.run(how)
    assert (here.state["status"], here.state["verdict"]) == ("aborted", "cancelled")
    held = len(holds(run))
    pause.release()
    run.finish()
    assert len(holds(run)) == held
    assert here.state["status"] == "aborted"
    assert announcements(here.run("hello")) == []
