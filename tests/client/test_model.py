"""The scripted model obeys: the client's part is played here by hand, so that a fault of the model
is found as such."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.client.model import (
    OVER,
    Fail,
    Model,
    Scenario,
    Text,
    Tool,
    bash,
    in_turn,
    next_blocks,
    write,
)

WAVE = "wave 1 opened\nnext: agent loop:coder: Do T-001 (A). Run `loopkit task show T-001` first.\n"
WAVE += (
    "next: agent loop:coder: Do T-002 (B). Run `loopkit task show T-002` first.\nnext: loopkit "
    "wave close"
)


class Talk:
    """A conversation with the model, as the client has it."""

    def __init__(self, scenario: Scenario, *, main: bool = True):
        self.model, self.messages = Model(scenario), []
        self.system = "You are Claude" if main else "x; cc_is_subagent=true;"

    def hear(self, *parts: str | dict, role: str = "user") -> list:
        """Say something to the model and give its blocks."""
        content = [
            {"type": "text", "text": part} if isinstance(part, str) else part for part in parts
        ]
        self.messages.append({"role": role, "content": content})
        request = {
            "messages": self.messages,
            "system": self.system,
            "tools": [{"name": "Agent"}, {"name": "Bash"}],
        }
        _turn, reply = self.model.answer(request)
        self.messages.append({"role": "assistant", "content": self.model.number_calls(reply)})
        return reply

    def result(self, *texts: str, failed: bool = False) -> list:
        """Answer the newest tool calls."""
        calls = [part["id"] for part in self.messages[-1]["content"] if part["type"] == "tool_use"]
        pairs = zip(calls, texts, strict=True)
        return self.hear(
            *(
                {"type": "tool_result", "tool_use_id": i, "content": text, "is_error": failed}
                for i, text in pairs
            )
        )


def commands(reply: list) -> list[str]:
    return [block.input["command"] for block in reply if isinstance(block, Tool)]


def test_blocks_are_consecutive_lines() -> None:
    text = (
        "a\nnext: loopkit one\n  next: loopkit two \nb\nnext: agent x:y: Do it\nnext: something "
        "else"
    )
    assert next_blocks(text) == [["loopkit one", "loopkit two"], ["agent x:y: Do it"]]


def test_lines_of_a_block_are_done_in_order_and_a_newer_block_counts() -> None:
    talk = Talk(Scenario())
    assert commands(talk.hear("next: loopkit one\nnext: loopkit two\nnext: loopkit three")) == [
        "loopkit one"
    ]
    assert commands(talk.result("recorded")) == ["loopkit two"]
    assert commands(talk.result("next: loopkit four")) == ["loopkit four"]
    assert talk.result("nothing more") == [Text(OVER)]
    assert commands(
        talk.hear("<system-reminder>\nheld\nnext: loopkit four\n</system-reminder>")
    ) == ["loopkit four"]


def test_agents_run_in_parallel_and_the_line_after_them_follows() -> None:
    talk = Talk(Scenario())
    reply = talk.hear(WAVE)
    assert [block.input["subagent_type"] for block in reply] == ["loop:coder"] * 2
    assert [block.input["run_in_background"] for block in reply] == [False] * 2
    reports = (
        "T-001 completed\nnext: loopkit wave next",
        "T-002 completed\nnext: loopkit wave close",
    )
    assert commands(talk.result(*reports)) == ["loopkit wave close"]


def test_background_agents_are_awaited() -> None:
    talk = Talk(Scenario(background=True))
    assert all(block.input["run_in_background"] for block in talk.hear(WAVE))
    assert talk.result("Async agent launched successfully.", "Async agent launched.") == [
        Text("(waiting for 2 agents)")
    ]
    calls = [part["id"] for part in talk.messages[1]["content"]]
    report = "<result>done\n  next: loopkit wave next</result>"
    notice = f"<task-notification><tool-use-id>{{}}</tool-use-id>{report}</task-notification>"
    assert talk.hear(notice.format(calls[0])) == [Text("(waiting for 1 agents)")]
    assert commands(talk.hear(notice.format(calls[1]))) == ["loopkit wave close"]


def test_judgement_comes_from_the_scenario() -> None:
    answers = {
        "score": "loopkit score --outcome 2",
        "gate": in_turn({"kind": "build"}, {"kind": "debug"}),
    }
    talk = Talk(Scenario(answers=answers))
    assert commands(talk.hear("next: loopkit score --outcome <0-2>")) == [
        "loopkit score --outcome 2"
    ]
    for kind in ("build", "debug"):
        (command,) = commands(talk.result("next: loopkit gate --file -"))
        assert (
            command.startswith("loopkit gate --file - <<'EOF'\n")
            and command.endswith("\nEOF")
            and kind in command
        )
    assert talk.result("next: loopkit shape --accept -") == [
        Text("(no answer for: loopkit shape --accept -)")
    ]
    assert talk.model.unanswered == ["loopkit shape --accept -"]


def test_a_refusal_without_a_way_on_ends_the_turn() -> None:
    talk = Talk(Scenario())
    talk.hear("next: loopkit one\nnext: loopkit two")
    assert talk.result("Exit code 1\nno: a rule", failed=True) == [
        Text("(refused) Exit code 1\nno: a rule")
    ]
    assert commands(talk.hear("next: loopkit three")) == ["loopkit three"]
    assert commands(talk.result("Exit code 1\nnext: loopkit four", failed=True)) == ["loopkit four"]


def test_a_subagent_shows_edits_verifies_and_reports() -> None:
    def edits(_turn: object, attempt: int) -> list:
        return [write("a.txt", f"try {attempt}"), "true"]

    talk = Talk(Scenario(work={"T-001": edits}), main=False)
    assert commands(talk.hear("Do T-001 (A). Run `loopkit task show T-001` first.")) == [
        "loopkit task show T-001"
    ]
    for attempt in (0, 1):
        shown = "T-001\nnext: loopkit verify T-001 -- grep -q 1 a.txt"
        made = talk.result(shown, failed=attempt == 1)
        assert made[0].input["content"] == f"try {attempt}"
        assert commands(talk.result("written", "")) == ["loopkit verify T-001 -- grep -q 1 a.txt"]
    done = "T-001 completed: exit 0\nnext: loopkit wave close"
    assert talk.result(done) == [Text(done)]


def test_an_announcement_is_followed_only_when_asked_to() -> None:
    heard = (
        "SessionStart hook additional context: [LOOP RESUME] Active loop detected\nNext: loopkit "
        "wave next"
    )
    talk = Talk(Scenario())
    talk.messages.append({"role": "system", "content": heard})
    assert talk.hear("What is this project?") == [Text(OVER)]
    assert commands(talk.hear("Please go on.")) == ["loopkit wave next"]


def test_after_a_compaction_the_announcement_counts_and_not_the_restored_commands() -> None:
    talk = Talk(Scenario())
    talk.messages.append(
        {
            "role": "user",
            "content": "This session is being continued from a previous conversation that",
        }
    )
    restored = (
        "The following skills were invoked EARLIER in this session\n### Skill\nnext: loopkit "
        "score\n"
    )
    announced = (
        "SessionStart hook additional context: [LOOP RESUME] Active\nNext: loopkit wave next"
    )
    assert commands(talk.hear(restored + announced)) == ["loopkit wave next"]
    assert commands(talk.result("next: loopkit wave close")) == ["loopkit wave close"]
    assert talk.result("done") == [Text(OVER)]


@pytest.fixture
def served() -> Iterator[Model]:
    def deviate(turn: object) -> Fail | None:
        return (
            Fail(429, "rate_limit_error", "slow down", {"retry-after": "7"})
            if turn.number == 2
            else None
        )

    with Model(Scenario(deviate=deviate, usage={"input_tokens": 7, "output_tokens": 3})) as model:
        yield model


def post(model: Model, **more: object) -> bytes:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "next: loopkit one"}],
        "tools": [{"name": "Agent"}],
    }
    request = urllib.request.Request(
        f"{model.url}/v1/messages?beta=true", json.dumps({**body, **more}).encode()
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read()


def test_over_http_streamed_paused_and_refused(served: Model) -> None:
    streamed = post(served, stream=True).decode()
    assert (
        "event: message_start" in streamed
        and "loopkit one" in streamed
        and '"stop_reason": "tool_use"' in streamed
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(served)
    assert refused.value.code == 429 and refused.value.headers["retry-after"] == "7"
    served.pause_before("loopkit one").release()
    message = json.loads(post(served))
    assert message["usage"] == {"input_tokens": 7, "output_tokens": 3}
    assert message["content"][0]["input"]["command"] == bash("loopkit one").input["command"]
    assert [turn.number for turn in served.main_turns] == [1, 2, 3]
