"""Agents of the loop: a token becomes the prompt, an answer is kept, an unfit one goes back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loopkit import replies
from loopkit.core.journal.events import Event, encode
from loopkit.core.steps import kinds
from loopkit.store import answers, prompts

from .conftest import NAME, S1, S2, Answer, Project

pytestmark = pytest.mark.usefixtures("in_process")

ONE, TWO = "implementation-T-001-1", "test-T-002-1"
GOOD = '{"status": "complete", "summary": "wrote it"}'
#: A malformed answer of each kind, and what is said of it.
MALFORMED = {
    "no object": ("status: complete", "there is no JSON object in it"),
    "cut off": ('{"status": "complete",', "there is no JSON object in it: "),
    "another object": ('{"done": true}', "it has none of the fields status, summary"),
    "a field is missing": ('{"status": "complete"}', "summary: must be given"),
    "an unknown field": (GOOD[:-1] + ', "x": 1}', "x: must be left out, there is no such field"),
    "another kind": ('{"status": "complete", "summary": []}', "summary: must be a text, not a list"),
    "an unknown word": ('{"status": "ok", "summary": "x"}', "status: must be one of complete,"),
    "an empty one": ("", "there is no JSON object in it"),
}  # fmt: skip


class Loop:
    """A project whose loop has two prompts out."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.start("write the limiter", "test it")
        self.folder = str(project.root / NAME)
        self.ask(kinds.step(kinds.IMPLEMENTATION, "T-001"), "implementation")
        self.ask(kinds.step(kinds.TEST, "T-002"), "test")
        project.save()
        self.agents = project.transcript.with_suffix("") / "subagents"
        self.agents.mkdir(parents=True)

    def ask(self, step: kinds.Step, schema: str) -> None:
        data = {"role": step.agent, "kind": schema, "task": step.subject, "number": 1}
        event = Event("role_asked", data, "2026-01-01T00:00:00Z", f"session:{S1}")
        with self.project.ledger.open("ab") as file:
            file.write(encode(event))
        prompts.write(self.folder, step, 1, "# Do it\n", replies.accepted(schema))

    def agent(self, name: str, prompt: str, *calls: tuple[str, dict]) -> Path:
        """A transcript as the client writes it."""
        rows: list[dict] = [{"type": "user", "message": {"role": "user", "content": prompt}}]
        for tool, given in calls:
            one = f"{tool}{len(rows)}"
            block = {"type": "tool_use", "id": one, "name": tool, "input": given}
            rows.append({"type": "assistant", "message": {"id": "m", "content": [block]}})
            result = {"type": "tool_result", "tool_use_id": one, "content": "ok"}
            rows.append({"type": "user", "message": {"role": "user", "content": [result]}})
        path = self.agents / f"agent-{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def stops(self, name: str, text: str | None, **more: Any) -> Answer:
        given = {
            "agent_id": name,
            "agent_type": "loop:coder",
            "agent_transcript_path": str(self.agents / f"agent-{name}.jsonl"),
            "permission_mode": "default",
            **({} if text is None else {"last_assistant_message": text}),
        }
        return self.project.hook("subagent_stop", {**given, **more})

    def hands_back(self, name: str, text: object, **more: Any) -> Answer:
        given = {
            "tool_name": "SubagentHandback",
            "tool_input": {"message": text},
            "tool_use_id": "toolu_1",
            "agent_id": name,
            "agent_type": "loop:coder",
            "permission_mode": "auto",
        }
        return self.project.hook("pre_tool_use", {**given, **more})

    def starts(self, prompt: object, tool: str = "Agent", **more: Any) -> Answer:
        given = {
            "tool_name": tool,
            "tool_input": {"description": "d", "prompt": prompt, "subagent_type": "loop:coder"},
            "tool_use_id": "toolu_1",
        }
        return self.project.hook("pre_tool_use", {**given, **more})

    def answer(self, name: str = ONE) -> dict:
        found = answers.read(self.folder, name)
        assert found is not None
        return found

    @property
    def ended(self) -> list[dict]:
        return [row["data"] for row in self.project.lines if row["type"] == "subagent_stopped"]


@pytest.fixture
def loop(project: Project) -> Loop:
    return Loop(project)


def prompt_of(name: str = ONE) -> str:
    return f"loop:{name}\n\n# Do it\n"


# -- started


@pytest.mark.parametrize("tool", ["Agent", "Task"])
@pytest.mark.parametrize("words", [f"loop:{ONE}", f" loop:{ONE}\nbe quick"])
def test_a_token_becomes_the_prompt(loop: Loop, tool: str, words: str) -> None:
    own = loop.starts(words, tool).json["hookSpecificOutput"]
    assert own == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {
            "description": "d", "prompt": prompt_of(), "subagent_type": "loop:coder",
            "run_in_background": False,
        },
    }  # fmt: skip
    assert answers.started(loop.folder, ONE) and not answers.started(loop.folder, TWO)


def test_who_asks_for_the_background_gets_it(loop: Loop) -> None:
    given = {"prompt": f"loop:{ONE}", "run_in_background": True}
    own = loop.starts("", tool_input=given).json["hookSpecificOutput"]
    assert own["updatedInput"] == {"prompt": prompt_of(), "run_in_background": True}


@pytest.mark.parametrize(
    "words",
    ["look at a.py", "loop:T-009-1", "loop:../x", "loop:..", f"do loop:{ONE}", f"loop:{ONE} now",
     "", None, 3, ["loop:" + ONE]],
)  # fmt: skip
def test_any_other_agent_is_started_as_it_is(loop: Loop, words: object) -> None:
    assert loop.starts(words).silent
    assert not any(answers.started(loop.folder, name) for name in (ONE, TWO))


def test_only_the_session_of_the_loop_gets_it(loop: Loop) -> None:
    assert loop.starts(f"loop:{ONE}", session_id=S2).silent
    loop.project.record("loop_cancelled")
    assert loop.starts(f"loop:{ONE}").silent


@pytest.mark.parametrize("tool", ["Bash", "Read", "", None, ["Agent"]])
def test_other_tools_are_nothing_to_us(loop: Loop, tool: Any) -> None:
    assert loop.starts(f"loop:{ONE}", tool).silent


# -- answered


def test_an_answer_is_kept_with_what_was_looked_at(loop: Loop) -> None:
    loop.agent(
        "a1",
        prompt_of(),
        ("Read", {"file_path": "/p/a.py"}),
        ("Grep", {"pattern": "x"}),
        ("Bash", {"command": "pytest -q"}),
        ("Bash", {"command": "pytest -q"}),
        ("Edit", {"file_path": "/p/a.py"}),
    )
    text = f"I wrote it.\n```json\n{GOOD}\n```"
    assert loop.stops("a1", text).silent
    row = loop.answer()
    assert row.pop("at").endswith("Z")
    assert row == {
        "token": f"loop:{ONE}",
        "agent_id": "a1",
        "agent_type": "loop:coder",
        "text": text,
        "reply": json.loads(GOOD),
        "unfit": "",
        "by": "stop",
        "corrections": 0,
        "seen": {"calls": 5, "read": ["/p/a.py", "."], "commands": ["pytest -q"]},
    }
    assert [one["token"] for one in loop.ended] == [f"loop:{ONE}"]
    assert loop.project.session.subagents == {"a1": str(loop.agents / "agent-a1.jsonl")}


@pytest.mark.parametrize("kind", MALFORMED)
def test_the_same_agent_corrects_an_answer_that_does_not_fit(loop: Loop, kind: str) -> None:
    text, said = MALFORMED[kind]
    loop.agent("a1", prompt_of())
    own = loop.stops("a1", text).json["hookSpecificOutput"]
    assert own["hookEventName"] == "SubagentStop" and said in own["additionalContext"]
    assert answers.names(loop.folder) == [] == loop.ended, "it goes on"
    assert loop.stops("a1", GOOD).silent
    assert (loop.answer()["text"], loop.answer()["corrections"]) == (GOOD, 1)


@pytest.mark.parametrize("kind", MALFORMED)
def test_the_same_in_auto_mode(loop: Loop, kind: str) -> None:
    text, said = MALFORMED[kind]
    loop.agent("a1", prompt_of())
    own = loop.hands_back("a1", text).json["hookSpecificOutput"]
    assert own["permissionDecision"] == "deny" and said in own["permissionDecisionReason"]
    assert loop.hands_back("a1", GOOD).silent
    assert (loop.answer()["by"], loop.answer()["corrections"]) == ("handback", 1)
    loop.agent("a1", prompt_of(), ("SubagentHandback", {"message": GOOD}))
    assert loop.stops("a1", None, permission_mode="auto").silent
    assert os.listdir(Path(loop.folder, "answers")) == unordered(f"{ONE}.json", f"{ONE}.held")
    assert [one["token"] for one in loop.ended] == [f"loop:{ONE}"]


def test_a_file_that_is_named_as_changed_and_did_not_is_told_to_its_agent(loop: Loop) -> None:
    project = Path(loop.project.root).parent
    for name in ("old.txt", "new.txt"):
        (project / name).write_text("x")
    prompt = Path(loop.folder, prompts.FOLDER, f"{ONE}.md")
    old = (project / "old.txt").stat().st_ctime
    os.utime(prompt, (old + 9, old + 9))  # it was written after both
    named = {**json.loads(GOOD), "files_modified": ["gone.txt", "src", "old.txt"]}
    loop.agent("a1", prompt_of())
    own = loop.stops("a1", json.dumps(named)).json["hookSpecificOutput"]
    assert "files_modified names old.txt, which has not changed" in own["additionalContext"]
    os.utime(prompt, (old - 9, old - 9))  # and now before
    assert loop.stops("a1", json.dumps(named)).silent
    assert (loop.answer()["corrections"], loop.answer()["unfit"]) == (1, "")


class unordered(list):
    """Equal to a list of the same entries in whatever order."""

    def __init__(self, *entries: str) -> None:
        super().__init__(entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and sorted(self) == sorted(other)


@pytest.mark.parametrize("way", ["stops", "hands_back"])
def test_the_third_answer_is_kept_as_it_is(loop: Loop, way: str) -> None:
    loop.agent("a1", prompt_of())
    answer = getattr(loop, way)
    for _ in range(2):
        assert answer("a1", "it FAILED").json
    assert answer("a1", "it FAILED, I say").silent
    row = loop.answer()
    assert (row["text"], row["reply"], row["corrections"]) == ("it FAILED, I say", None, 2)
    assert row["unfit"] == "there is no JSON object in it"


def test_agents_side_by_side_are_told_apart(loop: Loop) -> None:
    tested = '{"status": "passed", "tests_run": 1, "tests_passed": 1, "tests_failed": 0}'
    loop.agent("a1", prompt_of())
    loop.agent("a2", prompt_of(TWO))
    assert loop.stops("a2", GOOD).json and loop.stops("a1", tested).json
    assert loop.stops("a1", GOOD).silent and loop.stops("a2", tested).silent
    assert (loop.answer(ONE)["text"], loop.answer(TWO)["text"]) == (GOOD, tested)
    assert answers.names(loop.folder) == [ONE, TWO]


def test_of_two_agents_with_one_token_the_first_answer_counts(loop: Loop) -> None:
    later = GOOD.replace("wrote", "rewrote")
    for agent in ("a1", "a2"):
        loop.agent(agent, prompt_of())
    assert loop.stops("a1", GOOD).silent and loop.stops("a2", later).silent
    assert loop.stops("a2", "nonsense").silent, "nobody waits for it"
    assert loop.answer()["agent_id"] == "a1"
    late = json.loads(Path(loop.folder, "answers", f"{ONE}.late-1.json").read_text())
    assert (late["text"], late["agent_id"]) == (later, "a2")


def test_an_agent_without_text_and_one_that_was_resumed(loop: Loop) -> None:
    loop.agent("a1", prompt_of())
    assert loop.stops("a1", None).silent
    assert loop.answer()["text"] is None and len(loop.ended) == 1
    assert loop.stops("a1", GOOD, stop_hook_active=True).silent
    assert loop.answer()["text"] == GOOD and len(loop.ended) == 1
    assert loop.stops("a1", GOOD.replace("wrote", "rewrote")).silent
    assert loop.answer()["text"] == GOOD, "sent back later by the session"


def test_what_was_handed_back_while_no_hook_was_heard(loop: Loop) -> None:
    loop.agent("a1", prompt_of(), ("SubagentHandback", {"message": "nonsense"}))
    assert loop.stops("a1", None, permission_mode="auto").silent
    row = loop.answer()
    assert (row["text"], row["by"], row["seen"]["calls"]) == ("nonsense", "handback", 0)


def test_in_auto_mode_nobody_is_held_at_its_end(loop: Loop) -> None:
    loop.agent("a1", prompt_of())
    assert loop.stops("a1", "nonsense", permission_mode="auto").silent
    assert loop.answer()["unfit"]


def test_no_other_agent_is_held_or_kept(loop: Loop) -> None:
    loop.agent("a1", "look at a.py", ("Read", {"file_path": "a.py"}))
    loop.agent("a2", "loop:../../x\n")
    loop.agent("a3", f"hello\nloop:{ONE}")
    loop.agent("a4", "loop:T-009-1")
    loop.agent("a5", prompt_of())
    for agent in ("a1", "a2", "a3", "a4"):
        assert loop.stops(agent, "nonsense").silent
        assert loop.hands_back(agent, "nonsense").silent
    loop.project.env["CLAUDE_PID"] = "1"
    assert loop.stops("a5", "nonsense", session_id=S2).silent
    assert loop.hands_back("a5", "nonsense", session_id=S2).silent
    loop.project.env["CLAUDE_PID"] = str(os.getpid())
    assert loop.hands_back("../a5", "nonsense").silent and loop.hands_back("a5", 3).silent
    assert not Path(loop.folder, "answers").exists()
    assert [one.get("token") for one in loop.ended] == [None] * 4


@pytest.mark.parametrize(
    "came",
    [
        {"content": "This command requires approval", "is_error": True},
        {"content": "(Bash completed with no output)"},
        {"content": ""},
    ],
)
def test_what_was_refused_or_printed_nothing_showed_nothing(loop: Loop, came: dict) -> None:
    path = loop.agent("a1", prompt_of(), ("Bash", {"command": "git diff"}))
    path.write_text(path.read_text().replace('"content": "ok"', json.dumps(came)[1:-1]))
    assert loop.stops("a1", GOOD).silent
    assert loop.answer()["seen"] == {"calls": 1, "read": [], "commands": []}


@pytest.mark.parametrize("way", ["stops", "hands_back"])
def test_an_agent_that_outlives_clear(loop: Loop, way: str) -> None:
    """Its transcript goes on in the folder of the new session, whose id its hooks bear."""
    old = loop.agent("a1", prompt_of(), ("Read", {"file_path": "a.py"}))
    new = loop.project.transcript.with_name(f"{S2}.jsonl")
    loop.agents = new.with_suffix("") / "subagents"
    loop.agents.mkdir(parents=True)
    rows = loop.agent("a1", "", ("Bash", {"command": "pytest"})).read_text().splitlines(True)[1:]
    (loop.agents / old.name).write_text("".join(rows))
    after = {"session_id": S2, "transcript_path": str(new)}
    assert getattr(loop, way)("a1", "nonsense", **after).json
    assert getattr(loop, way)("a1", GOOD, **after).silent
    seen = loop.answer()["seen"]
    assert (seen["calls"], seen["read"], seen["commands"]) == (2, ["a.py"], ["pytest"])
    assert not said(loop, **after), "it is not its session's loop yet"


@pytest.mark.parametrize("raw", [b"", b"\x8f" * 10_000, b"{}\n[]\nnull\n", b'{"type":"user"}\n'])
def test_a_transcript_that_cannot_be_read(loop: Loop, raw: bytes) -> None:
    path = loop.agent("a1", "")
    path.write_bytes(raw)
    assert loop.stops("a1", "nonsense").silent and loop.hands_back("a1", "nonsense").silent
    path.unlink()
    path.mkdir()
    assert loop.stops("a1", "nonsense").silent
    assert loop.project.log() == "" and not Path(loop.folder, "answers").exists()


def test_a_prompt_in_blocks_and_a_huge_answer(loop: Loop) -> None:
    path = loop.agent("a1", "")
    content = [{"type": "text", "text": prompt_of()}]
    path.write_text(json.dumps({"type": "user", "message": {"content": content}}) + "\n")
    text = json.dumps({"status": "complete", "summary": "ü" * 30_000})
    assert loop.stops("a1", text).silent
    assert loop.answer()["text"] == text


def test_a_prompt_without_a_schema_takes_any_answer(loop: Loop) -> None:
    Path(loop.folder, "prompts", f"{ONE}.json").unlink()
    loop.agent("a1", prompt_of())
    assert loop.stops("a1", "as you like").silent
    assert (loop.answer()["text"], loop.answer()["unfit"]) == ("as you like", "")


def test_an_answer_that_cannot_be_kept_stops_nobody(loop: Loop, tmp_path: Path) -> None:
    Path(loop.folder, "answers").symlink_to(tmp_path)
    loop.agent("a1", prompt_of())
    assert loop.stops("a1", GOOD).silent
    assert "symbolic link" in loop.project.log()


def test_an_agent_that_died_of_an_error_has_no_answer(loop: Loop) -> None:
    loop.agent("a1", prompt_of(), ("Read", {"file_path": "a.py"}))
    died = {"error": "overloaded", "agent_id": "a1", "agent_type": "loop:coder"}
    assert loop.project.hook("stop_failure", died).silent
    row = loop.answer()
    assert (row["text"], row["by"], row["seen"]["calls"]) == (None, "failure", 1)
    assert [one["token"] for one in loop.ended] == [f"loop:{ONE}"]
    assert loop.project.session.failure is None, "the turn goes on"
    assert loop.project.hook("stop_failure", {**died, "agent_id": "a9"}).silent
    assert loop.project.session.failure["error"] == "overloaded"


# -- reports

REPORT = "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n"


def said(loop: Loop, prompt: object = REPORT, **more: Any) -> str:
    answer = loop.project.hook("user_prompt_submit", {"prompt": prompt, **more})
    return "" if answer.silent else answer.json["hookSpecificOutput"]["additionalContext"]


def spared(loop: Loop, prompt: str) -> str:
    """What the person reads of a report that reaches no model."""
    answer = loop.project.hook("user_prompt_submit", {"prompt": prompt}).json
    assert answer["decision"] == "block"
    assert answer["hookSpecificOutput"]["suppressOriginalPrompt"] is True
    return answer["reason"]


@pytest.mark.parametrize("head", [REPORT, '<agent-message from="a1">\n[Subagent hand-back]\n'])
def test_only_the_last_report_begins_a_turn(loop: Loop, head: str) -> None:
    report = head + GOOD.replace(", ", ",\n    ")
    for agent, name in (("a1", ONE), ("a2", TWO)):
        loop.agent(agent, prompt_of(name))
        answers.start(loop.folder, name)
    assert said(loop, report) == "", "no answer has come by hook"
    loop.stops("a1", GOOD)
    assert (
        spared(loop, report)
        == f"Loop {NAME}: implementation T-001 has ended, 1 agent is still at work."
    )
    line = f"Loop {NAME}: 1 agent is still at work. End the turn; the next report begins another."
    assert said(loop, head) == line, "it brings another word of the agent"
    assert said(loop, report.replace("a1", "a9")) == line
    loop.stops("a2", None)
    assert said(loop, report) == f"Loop {NAME}: all agents have ended.\nnext: loopkit next"


def test_a_report_of_what_was_taken_already_says_so(loop: Loop) -> None:
    loop.agent("a1", prompt_of())
    loop.stops("a1", GOOD)
    loop.project.record("wave_opened", wave=1, tasks=["T-001"])
    loop.project.record("wave_closed", wave=1, completed=["T-001"])
    loop.project.save()
    line = f"Loop {NAME}: this answer was taken already. Do the newest next: lines."
    assert said(loop, REPORT + GOOD) == line, "those to come are not at work yet"
    answers.start(loop.folder, TWO)
    assert "1 agent is still at work" in spared(loop, REPORT + GOOD)


def test_nobody_waits_for_one_that_was_killed(loop: Loop) -> None:
    for agent, name in (("a1", ONE), ("a2", TWO)):
        loop.agent(agent, prompt_of(name))
        answers.start(loop.folder, name)
    loop.stops("a1", GOOD)
    killed = REPORT.replace("completed", "killed").replace("a1", "a2")
    assert said(loop, killed) == f"Loop {NAME}: all agents have ended.\nnext: loopkit next"
    row = answers.read(loop.folder, TWO)
    assert row is not None and (row["text"], row["agent_id"]) == (None, "a2")
    assert [one["agent_id"] for one in loop.ended] == ["a1", "a2"]
    assert "all agents have ended" in said(loop, REPORT + GOOD), "it begins a turn"


def test_one_of_which_nothing_is_known_is_for_next_to_find(loop: Loop) -> None:
    loop.agent("a1", prompt_of())
    answers.start(loop.folder, TWO)
    loop.stops("a1", GOOD)
    killed = REPORT.replace("completed", "killed").replace("a1", "a9")
    line = f"Loop {NAME}: an agent has ended without an answer.\nnext: loopkit next"
    assert said(loop, killed) == line


def test_nobody_else_hears_it(loop: Loop) -> None:
    loop.agent("a1", prompt_of())
    loop.stops("a1", GOOD)
    assert said(loop) and not said(loop, session_id=S2)
    for typed in (None, 3):
        assert not said(loop, typed)
    loop.project.record("paused", reason="x")
    assert "its answer is kept. It waits: /loop:resume goes on." in spared(loop, REPORT)
    assert not said(loop, REPORT.replace("a1", "b9")), "an agent that is none of the loop's"
    loop.project.record("loop_cancelled")
    assert not said(loop)


def test_nothing_is_out(project: Project) -> None:
    project.start()
    assert project.hook("user_prompt_submit", {"prompt": REPORT, "session_id": S1}).silent
