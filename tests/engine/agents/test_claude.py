"""The agent that is Claude Code: what its stream says of each end, and a stand-in that plays it."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.core.journal.errors import Damaged
from loopkit.engine import agents, process
from loopkit.engine.agents import Answer, Denied, Options, Prompt, claude
from loopkit.engine.process import Deadlines, Exit
from tests.engine.kit import Watch

AMPLE = Deadlines(600, 600, 600)
SCHEMA = {
    "type": "object",
    "required": ["score"],
    "properties": {"score": {"type": "integer"}},
}
INIT = {"type": "system", "subtype": "init", "session_id": "s1"}
#: As 2.1.332 prints it, what nobody reads left out.
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "all done",
    "session_id": "s1",
    "num_turns": 2,
    "total_cost_usd": 0.01,
    "terminal_reason": "completed",
    "api_error_status": None,
    "permission_denials": [],
    "modelUsage": {
        "m": {"inputTokens": 2000, "outputTokens": 100, "cacheReadInputTokens": 7},
        "n": {"inputTokens": 1, "cacheCreationInputTokens": 3},
    },
}
FAILED = {"is_error": True, "terminal_reason": "api_error"}


def result(**named: Any) -> dict:
    return {**RESULT, **named}


def failed(text: str, status: int | None = None, **named: Any) -> dict:
    return result(result=text, api_error_status=status, **FAILED, **named)


def denials(*calls: tuple[str, dict]) -> dict:
    return {"permission_denials": [{"tool_name": name, "tool_input": row} for name, row in calls]}


def answer(
    *rows: dict | str,
    code: int = 0,
    end: Exit | None = None,
    schema: dict | None = None,
    **named: Any,
) -> Answer:
    """What a run whose standard output was this comes to."""
    stream = claude.Stream(Options(**named))
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    stream.take("stdout", text.encode())
    return stream.answer(end or Exit(code), AMPLE, schema)


def test_a_good_end_with_all_that_is_known() -> None:
    found = answer(INIT, RESULT)
    assert (found.outcome, found.text, found.error) == ("done", "all done", "")
    assert (found.cost, found.turns, found.session) == (0.01, 2, "s1")
    assert found.usage == {"input": 2001, "output": 100, "cache_read": 7, "cache_write": 3}


LIMITED = "You've hit your limit · resets 1pm (Asia/Tokyo)"
WALL = {"type": "assistant", "error": "rate_limit", "message": {"content": []}}


@pytest.mark.parametrize(
    ("rows", "code", "outcome", "error"),
    [
        # the result's own fields
        ([failed("API Error: Request rejected (429) · x", 429)], 1, "limit", "API Error: Request"),
        ([failed(LIMITED, None)], 1, "limit", LIMITED),
        ([WALL, failed("No more today", None)], 1, "limit", "No more today"),
        ([WALL, failed("You've hit your monthly spend limit", 429)], 1, "fatal", "You've hit"),
        ([failed("API Error: 529 Overloaded.", 529)], 1, "transient", "API Error: 529"),
        ([failed("API Error: Connection error.")], 1, "transient", "API Error: Connection"),
        ([failed("Invalid API key · Fix", 401)], 1, "fatal", "Invalid API key"),
        ([failed("the model overloaded with work does not exist", 404)], 1, "fatal", "the model"),
        ([{**WALL, "error": "overloaded"}, failed("Repeated failures")], 1, "transient", "Repeated"),
        ([{**WALL, "error": "billing_error"}, failed("Too Many Requests", 400)], 1, "fatal", "Too"),
        ([result(subtype="error_max_budget_usd", is_error=True, result=None,
                 errors=["Reached maximum budget ($1)"])], 1, "spent", "Reached maximum budget"),
        ([result(subtype="error_max_turns", is_error=True, errors=[])], 1, "spent", "all done"),
        ([result(subtype="error_during_execution", is_error=True,
                 terminal_reason="aborted_tools")], 0, "interrupted", "it was ended"),
        ([result(terminal_reason="stop_hook_prevented")], 0, "fatal", "it ended early: stop_hook"),
        ([result(num_turns=0, result="not trusted")], 0, "fatal", "nothing ran: not trusted"),
        ([result(result="")], 0, "empty", ""),
        ([result(result=None)], 0, "empty", ""),
        ([{"type": "result"}], 0, "fatal", "None"),
        ([RESULT], 3, "fatal", "exit 3 after its result"),
        ([RESULT], 143, "interrupted", "it was ended"),
        # prose about limits is no limit
        ([result(result=LIMITED)], 0, "done", ""),
        ([{**WALL, "error": None}, result(result='the log says "is_error": true, 429')], 0, "done", ""),
        # no result: the last line that was said
        (["some words", LIMITED], 1, "limit", f"exit 1 without a result: {LIMITED}"),
        ([INIT, "Error: API Error: 503 at the end"], 1, "transient", "exit 1 without a result"),
        ([LIMITED, "something else"], 1, "limit", f"exit 1 without a result: {LIMITED}"),
        ([f"it says: {LIMITED}", "something else"], 1, "fatal",
         "exit 1 without a result: something else"),
        (["Claude Code cannot be launched inside another Claude Code session."], 1, "fatal",
         "exit 1 without a result: Claude Code cannot be launched inside"),
        ([INIT], 143, "interrupted", "it was ended"),
        ([INIT], 137, "fatal", "exit 137 without a result"),
        ([LIMITED], 0, "fatal", f"exit 0 without a result: {LIMITED}"),
        (['{"result": "usage limit reached'], 1, "fatal", "exit 1 without a result"),
        (["plain text"], 0, "fatal", "exit 0 without a result: plain text"),
        ([], 0, "fatal", "exit 0 without a result"),
        # what is no stream of ours
        (["[1]", '"x"', "{", "{}", '{"type": 3}', '{"type": "new"}', RESULT], 0, "done", ""),
        ([{"type": "assistant"}, {"type": "assistant", "message": {"content": ["x", 3]}},
          {"type": "system"}, {"type": "rate_limit_event", "rate_limit_info": 3},
          result(permission_denials=[3], modelUsage=3, num_turns=2)], 0, "done", ""),
    ],
)  # fmt: skip
def test_each_end(rows: list, code: int, outcome: str, error: str) -> None:
    found = answer(*rows, code=code)
    assert (found.outcome, found.error[: len(error)]) == (outcome, error)
    assert "\n" not in found.error and len(found.error) <= 400


@pytest.mark.parametrize("status", ["rejected", "allowed_warning"])
def test_the_clients_own_figure_of_a_reset_counts_before_words(status: str) -> None:
    at = int(time.time()) + 5000
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": at}}
    found = answer(event, failed(LIMITED, 429), code=1)
    assert (found.until == at) == (status == "rejected")
    assert found.until is not None, "else by its words"


@pytest.mark.parametrize("cost", [None, "1", True, float("nan"), float("inf"), -0.5])
def test_what_is_no_amount_is_not_known(cost: object) -> None:
    assert answer(result(total_cost_usd=cost)).cost is None


def test_of_several_results_the_last_counts_costs_are_sums_already_turns_are_not() -> None:
    last = result(result="the agent is back", total_cost_usd=0.03, num_turns=1)
    found = answer(INIT, {**RESULT, **denials(("Bash", {"command": "make"}))}, INIT, last)
    assert (found.text, found.cost, found.turns) == ("the agent is back", 0.03, 3)
    assert found.denied == (Denied("Bash: make", ("Bash(make)",)),)
    assert answer(result(structured_output={"score": 1}), last, schema=SCHEMA).reply == {"score": 1}


@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        ({"score": 5}, True), ({"score": "5"}, False), ({}, False), ([], False), (None, False),
    ],
)  # fmt: skip
def test_a_reply_that_does_not_fit_is_none(reply: object, taken: bool) -> None:
    found = answer(result(structured_output=reply), schema=SCHEMA)
    assert (found.outcome, found.reply) == ("done", reply if taken else None)
    assert found.text == "all done", "whoever asked sees what came instead"


REFUSED = denials(("Bash", {"command": "npm test 2>&1 | tail -5"}))


@pytest.mark.parametrize(
    ("row", "schema", "outcome"),
    [
        ({**RESULT, **REFUSED}, None, "done"),
        ({**RESULT, **REFUSED}, SCHEMA, "denied"),
        ({**RESULT, **REFUSED, "result": ""}, None, "denied"),
        ({**RESULT, **REFUSED, "structured_output": {"score": 1}}, SCHEMA, "done"),
    ],
)
def test_refusals_are_named_with_their_rule(row: dict, schema: dict | None, outcome: str) -> None:
    found = answer(row, schema=schema)
    assert found.outcome == outcome
    assert found.denied == (Denied("Bash: npm test 2>&1 | tail -5", ("Bash(npm test *)",)),)
    assert (outcome == "denied") == ("npm test" in found.error)


@pytest.mark.parametrize("tool", ["ExitPlanMode", "AskUserQuestion"])
def test_what_asks_a_person_ends_it(tool: str) -> None:
    found = answer({**RESULT, **denials((tool, {"description": "x"}))})
    assert found.outcome == "denied" and tool in found.error


def test_refusals_are_named_once_and_not_without_end() -> None:
    calls = [("Bash", {"command": f"make {number // 2}"}) for number in range(1000)]
    assert len(answer({**RESULT, **denials(*calls)}).denied) == 50


@pytest.mark.parametrize("late", ["start", "idle", "total"])
def test_a_deadline_keeps_what_is_known(late: str) -> None:
    found = answer(RESULT, INIT, end=Exit(143, late=late))
    assert (found.outcome, found.text, found.cost) == ("timed_out", "all done", 0.01)
    assert answer(RESULT, end=Exit(143, late=late)).outcome == "done", "it had said all"


def test_progress_is_told() -> None:
    told: list[str] = []
    answer(
        {**INIT, "plugin_errors": [{"plugin": "loop", "message": "not found"}]},
        {"type": "assistant",
         "message": {"content": [{"type": "tool_use", "name": "Edit", "input": {"file_path": "a"}}]}},
        {"type": "system", "subtype": "api_retry", "attempt": 1, "error": "overloaded"},
        told=told.append,
    )  # fmt: skip
    assert told == ["plugin loop: not found", "Edit: a", "overloaded: the client tries again (1)"]


_PLAIN = [None, True, "x", "", 0, 2.5, -1, 10**400, float("nan"), float("inf"), 429, 529]
_WORDS = [
    "error_max_turns",
    "aborted",
    "rate_limit",
    "rejected",
    "init",
    "background_tasks_changed",
]
ODD = st.sampled_from([*_PLAIN, *_WORDS, [], {}, [3], [{}], {"content": [{"type": "tool_use"}]},
                       {"status": "rejected", "resetsAt": 10**400}, {"m": {"inputTokens": -1}},
                       [{"tool_name": 3, "tool_input": "x"}]])  # fmt: skip
KEYS = {
    "system": ("subtype", "tasks", "plugin_errors", "attempt", "error"),
    "assistant": ("error", "message", "session_id"),
    "rate_limit_event": ("rate_limit_info",),
    "result": (*RESULT, "errors", "structured_output"),
}


@st.composite
def rows(draw: st.DrawFn) -> dict:
    kind = draw(st.sampled_from(sorted(KEYS)))
    return {
        **(RESULT if kind == "result" else {}),
        **draw(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS[kind], ODD))),
        "type": kind,
    }


@settings(deadline=None)  # the machine may be busy
@given(st.lists(rows(), max_size=5), st.sampled_from([0, 1, 137, 143]))
def test_no_stream_raises(stream: list[dict], code: int) -> None:
    found = answer(*stream, code=code, schema=SCHEMA)
    assert found.outcome in agents.OUTCOMES
    assert found.cost is None or 0 <= found.cost < float("inf")
    assert found.until is None or found.until > time.time() - 60


# -- when it has finished

TASKS = {"type": "system", "subtype": "background_tasks_changed"}
ENDED = {"type": "system", "subtype": "task_notification"}


@pytest.mark.parametrize(
    ("rows", "finished"),
    [
        ([INIT], False),
        ([INIT, RESULT], True),
        ([INIT, RESULT, {"type": "system", "subtype": "hook_response"}], True),
        ([INIT, {**TASKS, "tasks": [{"task_id": "b"}]}, RESULT], False),
        ([INIT, {**TASKS, "tasks": [{"task_id": "b"}]}, {**TASKS, "tasks": []}, RESULT], True),
        # a report of background work begins another turn, which has a result of its own
        ([INIT, RESULT, ENDED], False),
        ([INIT, RESULT, INIT], False),
        ([INIT, RESULT, INIT, {"type": "assistant"}, RESULT], True),
    ],
)
def test_a_result_is_the_end_where_nothing_is_left_to_come(rows: list, finished: bool) -> None:
    stream = claude.Stream()
    for row in rows:
        stream.take("stdout", json.dumps(row).encode() + b"\n")
    assert stream.finished == finished


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_lines_out_of_pieces(size: int) -> None:
    text = b"one\n\ntwo " + b"x" * 100 + b"\nthree\nlast"
    lines, found = claude.Lines(50), []
    for at in range(0, len(text), size):
        found += lines.feed(text[at : at + size])
    assert [*found, *lines.rest()] == [b"one", b"three", b"last"]


# -- a stand-in for the client

PLAY = """\
import json, os, subprocess, sys, time
row = {"argv": sys.argv[1:], "prompt": sys.stdin.read(), "env": dict(os.environ)}
open("seen.json", "w").write(json.dumps(row))
def say(row): print(json.dumps(row), flush=True)
"""


ASKED = Prompt("héllo")


class Client:
    """A folder with a program `claude` that plays what a test says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.bin = folder / "project", folder / "bin"
        self.project.mkdir()
        self.bin.mkdir()
        monkeypatch.setenv("PATH", f"{self.bin}:{os.environ['PATH']}")

    def play(self, text: str) -> None:
        path = self.bin / "claude"
        path.write_text(f"#!{sys.executable}\n{PLAY}init, result = {INIT!r}, {RESULT!r}\n{text}")
        path.chmod(0o755)

    def run(
        self, prompt: Prompt = ASKED, schema: dict | None = None,
        deadlines: Deadlines = AMPLE, **named: Any,
    ) -> Answer:  # fmt: skip
        agent = agents.make("claude", Options(**named))
        return agent.run(prompt, schema, deadlines, self.project)

    @property
    def seen(self) -> dict:
        return json.loads((self.project / "seen.json").read_text())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    return Client(tmp_path, monkeypatch)


def test_how_it_is_called(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDECODE", "CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.setenv(name, "around us")
    client.play("say(init); say(result)")
    found = client.run(
        Prompt(
            "héllo",
            budget=0.5,
            environment={"CLAUDE_LOOP_TYPE": "work"},
            allowed_tools=("Bash(make)", "Edit"),
        ),  # fmt: skip
        SCHEMA,
        model="opus",
        fallback_model="sonnet",
        permission_mode="acceptEdits",
        allowed_tools=("Edit", "Bash(npm test *)"),
        plugins=("/p",),
        arguments=("--effort", "low"),
        environment={"CLAUDE_LOOP_SESSION": "auth"},
        budget=7.0,
    )
    assert found.outcome == "done"
    words, env = client.seen["argv"], client.seen["env"]
    assert client.seen["prompt"].startswith("héllo\n\nYou give the answer by one call of the tool")
    assert words[:4] == ["-p", "--output-format", "stream-json", "--verbose"]
    folders = [words[at + 1] for at, word in enumerate(words) if word == "--plugin-dir"]
    assert folders == [*claude.plugins(), "/p"] and all(map(os.path.isdir, folders[:3]))
    text = " ".join(words[4:])
    for part in (
        "--model opus", "--fallback-model sonnet", "--permission-mode acceptEdits",
        "--max-budget-usd 0.500000", "--disallowedTools ExitPlanMode AskUserQuestion",
        "--allowedTools Bash(loopkit lint *) Edit Bash(npm test *) Bash(make)",
    ):  # fmt: skip
        assert part in text
    assert words[-2:] == ["--effort", "low"]
    assert json.loads(words[words.index("--json-schema") + 1]) == SCHEMA
    assert not {"--continue", "-c", "--resume", "-r"} & set(words)
    assert {"LOOPKIT_CHILD": "1", "CLAUDE_LOOP_AGENT": "1", "CLAUDE_LOOP_TYPE": "work",
            "CLAUDE_LOOP_SESSION": "auth"}.items() <= env.items()  # fmt: skip
    assert "around us" not in env.values()


def test_without_options_little_is_said(client: Client) -> None:
    client.play("say(result)")
    client.run()
    assert not {"--model", "--max-budget-usd", "--json-schema"} & set(client.seen["argv"])
    assert "StructuredOutput" not in client.seen["prompt"]


@pytest.mark.parametrize(
    ("settings", "chosen", "mode"),
    [
        ({}, "", "acceptEdits"),
        ({"permissions": {"defaultMode": "auto"}}, "", None),
        ({"permissions": {"defaultMode": "auto"}}, "plan", "plan"),
        ({"permissions": 3}, "", "acceptEdits"),
    ],
)
def test_edits_are_accepted_unless_the_person_has_chosen_a_mode(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    settings: dict, chosen: str, mode: str | None,
) -> None:  # fmt: skip
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    folder = client.project / ".claude"  # what came with the project does not choose
    folder.mkdir()
    (folder / "settings.json").write_text('{"permissions": {"defaultMode": "bypassPermissions"}}')
    client.play("say(result)")
    client.run(permission_mode=chosen)
    words = client.seen["argv"]
    given = words[words.index("--permission-mode") + 1] if "--permission-mode" in words else None
    assert given == mode


def test_where_it_is_not_installed_one_line_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.play("say(result)")
    monkeypatch.chdir(client.bin)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}/nowhere")
    with pytest.raises(Damaged, match="claude is not on the PATH .*; install Claude Code"):
        agents.make("claude")


needs_poll = pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")


@needs_poll
@pytest.mark.parametrize("closed", ["", "os.close(1); os.close(2); "], ids=["open", "closed"])
def test_one_that_has_finished_and_lingers_is_ended(
    client: Client, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    monkeypatch.setattr(process, "LINGER", 0.0)
    watch = Watch(client.project / "fifo")
    client.play(
        "fifo = os.open('fifo', os.O_WRONLY)\n"
        "subprocess.Popen(['sleep', '1000'], start_new_session=True, pass_fds=[fifo])\n"
        f"say(init); say(result); {closed}time.sleep(1000)"
    )
    found = client.run()
    assert (found.outcome, found.text) == ("done", "all done")
    assert watch.all_gone()


@needs_poll
def test_what_left_its_group_goes_with_it_when_time_is_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.end_group, "__defaults__", (0.05,))
    watch = Watch(client.project / "fifo")
    client.play(
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "fifo = os.open('fifo', os.O_WRONLY)\n"
        "subprocess.Popen(['sh', '-c', 'sleep 1000'], start_new_session=True, pass_fds=[fifo])\n"
        "say(init); time.sleep(1000)"
    )
    found = client.run(deadlines=Deadlines(600, 0, 600))
    assert (found.outcome, found.session) == ("timed_out", "s1")
    assert "no further output" in found.error
    assert watch.all_gone()


def test_background_work_is_waited_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LINGER", 0.0)
    client.play(
        "say(init); say({'type': 'system', 'subtype': 'background_tasks_changed', 'tasks': [1]})\n"
        "say(result); time.sleep(0.3)\n"
        "say({'type': 'system', 'subtype': 'background_tasks_changed', 'tasks': []})\n"
        "say(init); time.sleep(0.3); say({**result, 'result': 'it is back'})\n"
    )
    assert client.run().text == "it is back"


@pytest.mark.parametrize(
    ("model", "cost"), [("claude-opus-4-5", 5.0), ("mystery-1", None), ("", None)]
)
def test_what_it_cost_until_it_was_ended_is_reckoned(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, cost: object
) -> None:
    folder = tmp_path / "config" / "projects" / "-project"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    message = {"id": "m1", "model": model, "content": [], "usage": {"input_tokens": 1_000_000}}
    row = json.dumps({"type": "assistant", "message": message}) + "\n"
    if model:
        (folder / "s1.jsonl").write_text(row + row)
    client.play("say(init); time.sleep(1000)")
    found = client.run(deadlines=Deadlines(600, 0, 600))
    assert (found.outcome, found.cost) == ("timed_out", cost)


def test_its_output_is_kept_without_credentials(client: Client, tmp_path: Path) -> None:
    client.play("say(init); print('ghp_' + 'a1B2' * 9, file=sys.stderr); say(result)")
    log = tmp_path / "002.jsonl"
    client.run(Prompt("x", log=str(log)))
    text = log.read_text()
    assert '"type": "result"' in text and "ghp_a1B2" not in text
    assert client.run(Prompt("x", log=str(tmp_path / "no" / "log"))).outcome == "fatal"


def test_a_line_without_end_and_much_output_are_passed_over(client: Client) -> None:
    client.play(
        "say(init)\nfor _ in range(12): sys.stdout.write('x' * 1_000_000)\nprint()\n"
        "for _ in range(200): say({'type': 'user', 'x': 'y' * 10_000})\nsay(result)"
    )
    assert client.run().outcome == "done"
