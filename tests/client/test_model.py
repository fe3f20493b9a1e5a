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

WAVE = """wave 1 opened
next: agent loop:coder: loop:implementation-T-001-1
next: agent loop:coder: loop:implementation-T-002-1
next: loopkit next
"""


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
    assert commands(talk.result("{}", "{}\nnext: loopkit pause")) == ["loopkit next"]


def test_background_agents_are_awaited() -> None:
    talk = Talk(Scenario())
    talk.hear(WAVE)
    assert talk.result("Async agent launched successfully.", "Async agent launched.") == [
        Text("(waiting for 2 agents)")
    ]
    calls = [part["id"] for part in talk.messages[1]["content"]]
    report = "<result>done\n  next: loopkit pause</result>"
    notice = f"<task-notification><tool-use-id>{{}}</tool-use-id>{report}</task-notification>"
    assert talk.hear(notice.format(calls[0])) == [Text("(waiting for 1 agents)")]
    # a hook knows more than the client has told so far, and what is printed then is done
    assert commands(talk.hear("all agents have ended.\nnext: loopkit next")) == ["loopkit next"]
    assert talk.result(WAVE)[0].name == "Agent"


def test_a_form_is_filled_in_from_the_scenario() -> None:
    gates = in_turn({"kind": "build"}, {"kind": "debug"})
    request = {"title": "A", "tasks": ["one"]}
    talk = Talk(Scenario(forms={"gate": gates, "request": request}))
    due = "next: loopkit submit --file -"
    (command,) = commands(talk.hear(f"title: <words>\ncriteria:\n{due}"))
    assert command == "loopkit submit --file - <<'EOF'\ntitle: A\nEOF"
    for kind in ("build", "debug"):
        assert f"kind: {kind}\n" in commands(talk.result(f"points:\n{due}"))[0]
    assert talk.result(f"consensus: <words>\n{due}") == [
        Text("(no answer for: loopkit submit --file - panel)")
    ]
    assert talk.hear("next: loopkit answer <words>") == [
        Text("(no answer for: loopkit answer <words>)")
    ]
    assert len(talk.model.unanswered) == 2


def test_a_refusal_without_a_way_on_ends_the_turn() -> None:
    talk = Talk(Scenario())
    talk.hear("next: loopkit one\nnext: loopkit two")
    assert talk.result("Exit code 1\nno: a rule", failed=True) == [
        Text("(refused) Exit code 1\nno: a rule")
    ]
    assert commands(talk.hear("next: loopkit three")) == ["loopkit three"]
    assert commands(talk.result("Exit code 1\nnext: loopkit four", failed=True)) == ["loopkit four"]


def test_an_agent_edits_checks_and_answers() -> None:
    def edits(_turn: object, attempt: int) -> list:
        return [write("a.txt", f"try {attempt}"), "true"]

    for number in (1, 2):
        talk = Talk(Scenario(work={"implementation T-001": edits}), main=False)
        made = talk.hear(f"loop:implementation-T-001-{number}\n\n# Do T-001")
        assert made[0].input["content"] == f"try {number - 1}"
        assert commands(talk.result("written", "")) == ["loopkit verify T-001"]
        (said,) = talk.result("T-001 completed")
        assert json.loads(said.text)["status"] == "complete"


def test_an_agent_that_looks_answers_from_the_scenario() -> None:
    talk = Talk(Scenario(replies={"verification .*": {"score": 90}}), main=False)
    assert commands(talk.hear("loop:verification-T-001-1\n\n# Judge T-001")) != []
    assert talk.result("nothing") == [Text('{"score": 90}')]
    assert Talk(Scenario(), main=False).hear("Look at it") == [Text(OVER)]


def test_an_announcement_is_followed_only_when_asked_to() -> None:
    heard = (
        "SessionStart hook additional context: [LOOP RESUME] Active loop detected\nNext: loopkit "
        "next"
    )
    talk = Talk(Scenario())
    talk.messages.append({"role": "system", "content": heard})
    assert talk.hear("What is this project?") == [Text(OVER)]
    assert commands(talk.hear("Please go on.")) == ["loopkit next"]


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
