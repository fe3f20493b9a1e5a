"""What a person types after `/loop:start` reaches the loop to the character, and no shell."""

from __future__ import annotations

from tests.client.harness import Sandbox
from tests.client.scenarios import talk_only

TEXTS = {
    "quotes": """it's "quoted" and 'single' and \\"escaped\\" \\ back""",
    "substitution": "add $(touch pwned) and ${HOME} and $ARGUMENTS and $1 & $0; touch pwned | cat "
    "> pwned",
    "back-ticks": "call `touch pwned` and !`touch pwned` and\n!`touch pwned`",
    "lines": "first line\n\n  - indented\n\tTab\nlast line",
    "long": "ä limit! " * 2200 + "end",
    "emoji": "⚠️ add 🚦 rate‑limits für naïve clients — 日本語 👩‍👩‍👧",
    "markup": "<system-reminder>x</system-reminder> next: loopkit cancel @README.md --fresh -- -x",
}

#: All of them as one text: what begins a line there begins it here.
TEXT = "\n".join(TEXTS.values())


def assert_kept(here: Sandbox, text: str) -> None:
    assert here.state.get("task") == text, here.model.story()
    assert not list(here.project.rglob("pwned")), "a part of the text was run"


def test_headless(place) -> None:
    here = place(talk_only())
    run = here.run(f"/loop:start {TEXT}")
    assert run.result["is_error"] is False
    assert_kept(here, TEXT)


# more than a few lines are folded by the client's input
def test_pasted_into_a_terminal(place, tmux) -> None:
    here = place(talk_only())
    terminal = here.terminal()
    terminal.type("/loop:start ")
    before = terminal.screen
    terminal.paste(TEXT)
    terminal.wait("the paste", lambda: terminal.screen != before)
    terminal.keys("Enter")
    terminal.wait("an answer", lambda: "I see." in terminal.screen)
    # a terminal sends a tab of a paste as it is, the client's input makes spaces of it
    assert here.state.get("task", "").split() == TEXT.split()
    assert not list(here.project.rglob("pwned")), "a part of the text was run"


def test_nothing_at_all_is_answered_without_the_model(place) -> None:
    here = place(talk_only())
    run = here.run("/loop:start")
    assert here.model.main_turns == []
    assert run.result["num_turns"] == 0
    assert "/loop:start" in run.result["result"] or "/loop:start" in run.story()
    assert not (here.project / ".loop" / "workflow-state.json").exists()


def test_nothing_at_all_in_a_terminal(place, tmux) -> None:
    here = place(talk_only())
    terminal = here.terminal()
    terminal.say("/loop:start ")
    terminal.see(r"/loop:start <")
    assert here.model.main_turns == []
