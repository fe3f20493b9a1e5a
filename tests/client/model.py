"""A scripted, obedient model: an Anthropic Messages API on 127.0.0.1 that does what the newest
`next:` lines say.

The real client is run against it. `next: loopkit …` becomes a Bash call, consecutive `next: agent
…` lines become parallel Agent calls; what needs judgement (forms, edits, agents' answers)
comes from a `Scenario`. Where nothing fits, the turn ends with "(script over)". Every request is
recorded. What to do is worked out anew from the messages of each request, so that `/clear`,
compaction and a resumed session need no special care.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.waiting import DEADLINE

OVER = "(script over)"
NEXT_LINE = re.compile(r"^[ \t]*next: ((?:loopkit|agent) .+?)[ \t]*$")
ANNOUNCED = re.compile(r"\[LOOP RESUME\].*?^Next: (loopkit .+?)$", re.M | re.S)
NOISE = re.compile(
    r"<system-reminder>\s*(As you answer|Attribution for).*?</system-reminder>", re.S
)
# What the client brings back after a compaction, "for context only": its next: lines are over.
RESTORED = re.compile(
    r"The following skills were invoked EARLIER.*?(?=SessionStart hook additional context|\Z)", re.S
)
AGENT_LINE = re.compile(r"agent (\S+): (.+)")
NOTIFICATION = re.compile(
    r"<task-notification>.*?<tool-use-id>([^<]+)</tool-use-id>.*?</task-notification>", re.S
)
TAG = re.compile(r"</?[a-z-]+>")
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)
GO_ON = re.compile(r"\b(go on|continue|resume)\b", re.I)
SUMMARY_WANTED = re.compile(
    r"create a detailed summary of (the|this|our) (conversation|RECENT portion)", re.I
)
SUMMARISED = "This session is being continued from a previous conversation"
LAUNCHED = "Async agent launched"
# What an agent is started with: a step, what it is about, which time.
TOKEN = re.compile(r"loop:(([a-z_]+?)-?(T-\d+|plan|goal|\d+)?-(\d+))")
# How a reviewer's prompt names the diff between two checkpoints.
DIFF = re.compile(r"^- The diff: `(git diff \w+ \w+)`", re.M)
# What shows files that are new too, where none is named.
ALL_FILES = "grep -rn . --exclude-dir=.git --exclude-dir=.loop"
#: What a thorough review is asked in a closed field, and the best answer.
SEEN = {
    "proofs": (r'"(C\d+|REQUEST)": "yes \|', "yes"),
    "must_nots": (r'"(M\d+)": "kept: ', "kept: the diff does not touch it"),
}
#: A line of a form, and what the form is.
FORMS = (
    (r'^- id: "<C1', "proofs"),
    (r"^points:", "gate"),
    (r"^consensus:", "panel"),
    (r"^echo:", "clarification"),
    (r"^(scores|criteria|tasks):", "request"),
    (r"^- subject:", "tasks"),
)
SMALL_USAGE = {
    "input_tokens": 1000,
    "output_tokens": 50,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class Text(NamedTuple):
    """A block of plain words in a reply."""

    text: str


class Tool(NamedTuple):
    """A tool call in a reply; `line` is the `next:` line that it obeys, if it obeys one."""

    name: str
    input: dict
    line: str = ""


class Fail(NamedTuple):
    """An API error instead of a reply; `headers` go out with it."""

    status: int
    kind: str
    message: str
    headers: dict = {}


Reply = list | Fail


def bash(command: str, line: str = "") -> Tool:
    """A Bash call that runs `command`."""
    return Tool("Bash", {"command": command, "description": command.splitlines()[0][:60]}, line)


def write(path: str, content: str) -> Tool:
    """A Write call; the model puts a relative path into its project."""
    return Tool("Write", {"file_path": path, "content": content})


def agent(kind: str, task: str, line: str = "") -> Tool:
    """An Agent call. The client starts agents in the background unless it is told otherwise."""
    found = re.search(r"\bT-\d+\b", task)
    given = {"description": found.group() if found else kind, "prompt": task, "subagent_type": kind}
    return Tool("Agent", {**given, "run_in_background": False}, line)


class Event(NamedTuple):
    """One part of a conversation, in order: kind is given, context, result, notice, call or
    said."""

    kind: str
    text: str
    call_id: str = ""
    failed: bool = False


def flatten(content: Any) -> str:
    """All words of a message's content: plain text, text blocks and the blocks nested in tool
    results."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(flatten(part.get("text") or part.get("content") or "") for part in content)
    return ""


def read_events(messages: Sequence[dict]) -> list[Event]:
    """The conversation of a request as one flat list."""
    events: list[Event] = []
    for message in messages:
        content, role = message.get("content"), message.get("role")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            kind = part.get("type")
            if kind == "tool_use":
                events.append(Event("call", json.dumps(part.get("input")), part["id"]))
            elif kind == "tool_result":
                failed = bool(part.get("is_error"))
                events.append(
                    Event("result", flatten(part.get("content")), part["tool_use_id"], failed)
                )
            elif kind == "text" and role == "assistant":
                events.append(Event("said", part["text"]))
            elif kind == "text":
                notices = list(NOTIFICATION.finditer(part["text"]))
                events += [
                    Event("notice", TAG.sub("\n", found.group()), found.group(1))
                    for found in notices
                ]
                if not notices:
                    events.append(Event("context" if role == "system" else "given", part["text"]))
    return events


def next_blocks(text: str) -> list[list[str]]:
    """The blocks of consecutive `next:` lines of a text, oldest first, each line without its `next:
    `."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        found = NEXT_LINE.match(line)
        if found:
            blocks[-1].append(found.group(1))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def here_document(command: str, body: str) -> str:
    """A command that takes `body` on its standard input, untouched by the shell."""
    mark = "EOF"
    while mark in body.splitlines():
        mark += "_"
    return f"{command} <<'{mark}'\n{body.rstrip()}\n{mark}"


@dataclass
class Turn:
    """One request of the client, as the model sees it."""

    request: dict
    events: list[Event]
    main: bool
    session: str
    kind: str = ""  # the subagent's type, "" for the main conversation
    number: int = 0  # 1-based count of this session's main requests, or of this subagent's

    @property
    def tools(self) -> list[str]:
        """Names of the tools that the client offers."""
        return [tool.get("name") for tool in self.request.get("tools") or []]

    @functools.cached_property
    def fresh(self) -> list[Event]:
        """What came since the model spoke last."""
        fresh = itertools.takewhile(
            lambda event: event.kind not in ("call", "said"), reversed(self.events)
        )
        return list(reversed(list(fresh)))

    @functools.cached_property
    def newest(self) -> str:
        """Everything that was said to the model since it spoke last."""
        return "\n".join(event.text for event in self.fresh)

    @functools.cached_property
    def prompt(self) -> str:
        """The newest words of a person (in a subagent: its caller's task), without what the client
        adds."""
        given = [
            REMINDER.sub("", event.text).strip() for event in self.events if event.kind == "given"
        ]
        words = [text for text in given if text]
        return (words[-1] if self.main else words[0]) if words else ""

    @property
    def calls(self) -> list[Event]:
        """The tool calls made so far."""
        return [event for event in self.events if event.kind == "call"]


@dataclass
class Scenario:
    """What the model decides by itself. Everything else it obeys.

    forms       name of a form (`request`, `clarification`, `tasks`, `panel`, `gate`) -> the record
                that is submitted, of `request` the fields that are asked for; a text that begins
                with "loopkit " is run instead; a function gets (turn, n), n counting its uses
                from 0.
    work        expression on an agent's step, `implementation T-001` -> its tool calls; a function
                gets (turn, attempt), attempt counting from 0.
    replies     expression on the whole of an agent's step -> what it answers, a record (as JSON) or
                a text; a function gets (turn, n).
    deviate     gets a Turn and gives a Reply instead of obeying, or None.
    usage       usage figures of each reply: a dict, or a function of the Turn.
    """

    forms: dict[str, Any] = field(default_factory=dict)
    work: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, Any] = field(default_factory=dict)
    deviate: Callable[[Turn], Reply | None] | None = None
    usage: dict | Callable[[Turn], dict] = field(default_factory=lambda: dict(SMALL_USAGE))


class Record(NamedTuple):
    """A request and what was answered."""

    turn: Turn
    reply: Reply


class Pause:
    """Keeps one answer back. `reached` is set when the model is about to give it; `release` lets it
    go."""

    def __init__(self, when: Callable[[Turn, Reply], bool]):
        self.when, self.reached, self.released = when, threading.Event(), threading.Event()

    def wait(self, deadline: float = DEADLINE) -> None:
        """Wait until the answer is being kept back; AssertionError after `deadline` seconds."""
        assert self.reached.wait(deadline), (
            "the model never came to the point where it was to pause"
        )

    def release(self) -> None:
        """Give the answer."""
        self.released.set()


class Model:
    """The server. Use it as a context manager; `url` is what ANTHROPIC_BASE_URL must be."""

    def __init__(self, scenario: Scenario, project: Path = Path("/")):
        self.scenario, self.project = scenario, project
        self.records: list[Record] = []
        self.unanswered: list[
            str
        ] = []  # next: lines that needed judgement and found none in the scenario
        self._lock = threading.Lock()
        self._lines: dict[str, Tool] = {}  # call id -> the call, with the line that it obeys
        self._kinds: dict[str, str] = {}  # a subagent's task -> its type
        self._uses: dict[str, int] = {}
        self._pauses: list[Pause] = []
        self._prefix, self._ids = secrets.token_hex(3), itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Model:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        for pause in self._pauses:
            pause.release()
        self._server.shutdown()
        self._server.server_close()

    # -- for tests
    # -----------------------------------------------------------------------------------------------

    def pause(self, when: Callable[[Turn, Reply], bool]) -> Pause:
        """Keep back the first answer for which `when(turn, reply)` is true."""
        made = Pause(when)
        self._pauses.append(made)
        return made

    def pause_before(self, words: str) -> Pause:
        """Keep back the first answer whose tool calls contain `words`."""
        return self.pause(lambda _turn, reply: words in calls_of(reply))

    @property
    def main_turns(self) -> list[Turn]:
        """The requests of main conversations, in order."""
        return [record.turn for record in self.records if record.turn.main]

    def commands(self, session: str = "") -> list[str]:
        """All Bash commands that were asked for, main and subagents', in order; of one session if
        it is given."""
        return [
            block.input["command"]
            for record in self.records
            if isinstance(record.reply, list) and session in ("", record.turn.session)
            for block in record.reply
            if isinstance(block, Tool) and block.name == "Bash"
        ]

    def story(self) -> str:
        """What happened, for a failed test's message."""
        lines = []
        for turn, reply in self.records:
            who = "main" if turn.main else turn.kind or "agent"
            said = (
                reply
                if isinstance(reply, Fail)
                else [block[0] if len(block) == 1 else block[1] for block in reply]
            )
            fresh = [event.text for event in turn.fresh if event.kind != "context"]
            lines.append(
                f"[{who}] <- {NOISE.sub('', chr(10).join(fresh)).strip()[-900:]}\n[{who}] -> {said}"
            )
        return "\n".join(lines)

    def heard(self, words: str) -> int:
        """In how many requests of main conversations `words` were new."""
        return sum(1 for turn in self.main_turns if words in turn.newest)

    # -- answering
    # -----------------------------------------------------------------------------------------------

    def answer(self, request: dict) -> tuple[Turn, Reply]:
        """The turn that a request is, and the reply to it. Records both."""
        turn = self._read(request)
        with self._lock:
            same = [
                r.turn
                for r in self.records
                if (r.turn.main, r.turn.session) == (turn.main, turn.session)
            ]
            turn.number = 1 + sum(1 for other in same if turn.main or other.prompt == turn.prompt)
            reply = self._decide(turn)
            for block in reply if isinstance(reply, list) else ():
                if isinstance(block, Tool) and block.name == "Agent":
                    self._kinds[block.input["prompt"].strip()] = block.input.get(
                        "subagent_type", ""
                    )
            self.records.append(Record(turn, reply))
            pauses = [p for p in self._pauses if not p.reached.is_set() and p.when(turn, reply)]
            for pause in pauses:
                pause.reached.set()
        for pause in pauses:
            pause.released.wait()
        return turn, reply

    def _read(self, request: dict) -> Turn:
        system, tools = (
            flatten(request.get("system")),
            [t.get("name") for t in request.get("tools") or []],
        )
        events = read_events(request.get("messages") or [])
        main = bool({"Agent", "Task"} & set(tools)) and "cc_is_subagent=true" not in system
        found = re.search(
            r'"session_id": ?"([^"]+)"', str((request.get("metadata") or {}).get("user_id"))
        )
        turn = Turn(request, events, main, found.group(1) if found else "")
        asked = turn.prompt.partition("\n")[0] if TOKEN.match(turn.prompt) else turn.prompt
        turn.kind = "" if main else self._kinds.get(asked, "agent")
        return turn

    def _decide(self, turn: Turn) -> Reply:
        if not turn.tools:  # titles and other small helper calls
            return [Text('{"title": "scripted", "isNewTopic": false}')]
        if SUMMARY_WANTED.search(turn.newest):
            return [
                Text("<analysis>-</analysis>\n<summary>The person works on a project.</summary>")
            ]
        other = self.scenario.deviate(turn) if self.scenario.deviate else None
        if other is not None:
            return other
        return self._obey(turn) if turn.main else self._work(turn)

    def _obey(self, turn: Turn) -> Reply:
        waiting = _running_agents(turn)
        agents = {call_id for call_id, tool in self._lines.items() if tool.name == "Agent"}
        told = [one.text for one in turn.fresh if one.call_id not in agents]
        if waiting and not re.search("next: (loopkit|agent) ", "\n".join(told)):
            return [Text(f"(waiting for {waiting} agents)")]
        lines, failed = self._due(turn)
        if failed:
            return [Text("(refused) " + failed[-400:])]
        if not lines:
            return [Text(OVER)]
        group = list(itertools.takewhile(AGENT_LINE.fullmatch, lines))
        if group:
            parts = [(line, *AGENT_LINE.fullmatch(line).groups()) for line in group]
            return [agent(kind, task, line) for line, kind, task in parts]
        return self._run(turn, lines[0])

    def _due(self, turn: Turn) -> tuple[list[str], str]:
        """The lines still to be done, and the words of a refusal if what was tried failed without a
        way on."""
        agents = {i for i, tool in self._lines.items() if tool.name == "Agent"}
        # An announcement is followed by who is asked to go on, and after a compaction; another
        # session just hears it.
        asked = len(turn.prompt) < 80 and GO_ON.search(turn.prompt)
        told = turn.main and bool(asked or any(SUMMARISED in event.text for event in turn.events))
        newest, left = len(turn.events), []
        for place, event in enumerate(turn.events):
            if event.kind in ("call", "said", "notice") or event.call_id in agents:
                continue
            found = next_blocks(RESTORED.sub("", event.text))
            announced = ANNOUNCED.search(event.text) if told and event.kind != "result" else None
            if announced:
                found.append([announced.group(1)])
            if found:
                newest, left = place, list(found[-1])
        later = [(one, self._lines.get(one.call_id)) for one in turn.events[newest:]]
        for event, tool in later:
            if event.kind == "call" and tool and tool.line in left:
                left.remove(tool.line)
        refused = [(one, tool) for one, tool in later[1:] if one.kind == "result" and one.failed]
        if any(tool and tool.line and tool.name != "Agent" for _, tool in refused):
            return [], refused[-1][0].text
        return left, ""

    def _run(self, turn: Turn, line: str) -> Reply:
        if line == "loopkit submit --file -":
            return self._form(turn, line)
        if re.search(r"<[^<>]+>|(--file|--accept|--error-file|--task-file) -\s*$", line):
            self.unanswered.append(line)
            return [Text(f"(no answer for: {line})")]
        return [bash(line, line)]

    def _value(self, pattern: str, given: Any, turn: Turn) -> Any:
        if not callable(given):
            return given
        count = self._uses.get(pattern, 0)
        self._uses[pattern] = count + 1
        return given(turn, count)

    def _work(self, turn: Turn) -> Reply:
        """An agent, whose prompt begins with its token."""
        token = TOKEN.match(turn.prompt)
        return self._prompted(turn, *token.groups()[1:]) if token else [Text(OVER)]

    def _prompted(self, turn: Turn, kind: str, target: str | None, number: str) -> Reply:
        """An agent with its whole prompt: the scenario's edits (coders), the check, one JSON
        object."""
        made = [self._lines[call.call_id] for call in turn.calls if call.call_id in self._lines]
        working = kind in ("implementation", "fix")
        if working and not any(tool.line == "edit" for tool in made):
            edits = self._edits(turn, f"{kind} {target}", int(number) - 1)
            unread = self._unread(turn, edits)
            if unread:
                return unread
            if edits:
                return [tool._replace(line="edit") for tool in edits]
        if (working or kind == "test") and not any(tool.line == "check" for tool in made):
            return [bash(f"loopkit verify {target}", "check")]
        if not made:
            diff = DIFF.search(turn.prompt)
            look = bash(diff[1] if diff else ALL_FILES)
            return [look if "Bash" in turn.tools else Tool("Glob", {"pattern": "*"})]
        name = f"{kind} {target or ''}".strip()
        for pattern, given in self.scenario.replies.items():
            if re.fullmatch(pattern, name):
                value = self._value(f"reply {pattern}", given, turn)
                thorough = kind == "thorough_review" and isinstance(value, dict)
                return self._answered(turn, {**praise(turn), **value} if thorough else value)
        if kind == "thorough_review":
            return self._answered(turn, praise(turn))
        if kind == "wave_review":
            names = ["test-first-developer", "simplifier"]
            return self._answered(turn, {"score": 8, "experts": names, "findings": []})
        if working:
            return self._answered(turn, {"status": "complete", "summary": f"{target} is done"})
        self.unanswered.append(name)
        return [Text(OVER)]

    def _answered(self, turn: Turn, value: Any) -> Reply:
        """In auto mode a call hands the answer back."""
        text = value if isinstance(value, str) else json.dumps(value)
        handed = "SubagentHandback" in turn.tools
        return [Tool("SubagentHandback", {"message": text}) if handed else Text(text)]

    def _form(self, turn: Turn, line: str) -> Reply:
        """The form that was printed last, filled in."""
        name = next((name for mark, name in FORMS if re.search(mark, turn.newest, re.M)), "")
        if name not in self.scenario.forms:
            self.unanswered.append(f"{line} ({name or 'no form'})")
            return [Text(f"(no answer for: {line} {name})")]
        value = self._value(f"form {name}", self.scenario.forms[name], turn)
        if name == "request" and isinstance(value, dict):
            value = {
                key: one for key, one in value.items() if re.search(f"^{key}:", turn.newest, re.M)
            }
        return [bash(_command(line, value), line)]

    def _edits(self, turn: Turn, task: str, attempt: int) -> list[Tool]:
        for pattern, given in self.scenario.work.items():
            if re.search(pattern, task):
                edits = given(turn, attempt) if callable(given) else given
                return [bash(edit) if isinstance(edit, str) else edit for edit in edits]
        return []

    def _unread(self, turn: Turn, edits: list[Tool]) -> list[Tool]:
        """Reads of the files that `edits` will overwrite: some clients refuse to write over an
        unread file."""
        known = "\n".join(call.text for call in turn.calls)
        files = [tool.input["file_path"] for tool in edits if tool.name == "Write"]
        old = [
            file
            for file in files
            if json.dumps(file)[1:-1] not in known and (self.project / file).exists()
        ]
        return [Tool("Read", {"file_path": file}) for file in old]

    def number_calls(self, reply: list) -> list[dict]:
        """A reply as content blocks; its calls are remembered under their new ids."""
        content = []
        for block in reply:
            if isinstance(block, Text):
                content.append({"type": "text", "text": block.text})
                continue
            with self._lock:
                call_id = f"toolu_{self._prefix}_{next(self._ids):06d}"
                self._lines[call_id] = block
            given = dict(block.input)
            if "file_path" in given:
                given["file_path"] = str(self.project / given["file_path"])
            content.append({"type": "tool_use", "id": call_id, "name": block.name, "input": given})
        return content

    def message(self, turn: Turn, content: list[dict]) -> dict:
        """The Messages API's answer around `content`."""
        usage = self.scenario.usage(turn) if callable(self.scenario.usage) else self.scenario.usage
        with self._lock:
            number = next(self._ids)
        return {
            "id": f"msg_{self._prefix}_{number:06d}",
            "type": "message",
            "role": "assistant",
            "model": turn.request.get("model"),
            "content": content,
            "stop_reason": "tool_use"
            if any(part["type"] == "tool_use" for part in content)
            else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }


def in_turn(*values: Any) -> Callable[[Turn, int], Any]:
    """An answer that is another one each time; the last one stays."""
    return lambda _turn, count: values[min(count, len(values) - 1)]


def calls_of(reply: Reply) -> str:
    """The inputs of a reply's tool calls as one text."""
    blocks = reply if isinstance(reply, list) else []
    return "\n".join(json.dumps(block.input) for block in blocks if isinstance(block, Tool))


def _command(line: str, value: Any) -> str:
    if isinstance(value, str) and value.startswith("loopkit "):
        return value
    # YAML, since the client refuses a command with a brace before a quotation mark, even in a
    # here-document
    return here_document(
        line, value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
    )


def _running_agents(turn: Turn) -> int:
    launched = {
        e.call_id for e in turn.events if e.kind == "result" and e.text.startswith(LAUNCHED)
    }
    return len(launched - {e.call_id for e in turn.events if e.kind == "notice"})


def praise(turn: Turn) -> dict:
    """A review with the best answer to whatever its prompt asks."""
    asked = {
        field: dict.fromkeys(re.findall(mark, turn.prompt), best)
        for field, (mark, best) in SEEN.items()
    }
    return {"findings": [], **asked}


def _judged(request: dict, message: dict) -> dict:
    """Auto mode's verdict on the calls of a message, where the client asks for one: no danger."""
    asked = [one.get("type") for one in request.get("safeguards") or []]
    if "dangerous_tool_use" not in asked:
        return {}
    harmless = {"type": "evaluated", "outcome": "not_flagged"}
    calls = {part["id"]: harmless for part in message["content"] if part["type"] == "tool_use"}
    status = {"type": "available", "tool_uses": calls}
    return {"safeguard_results": [{"type": "dangerous_tool_use", "status": status}]}


def _stream(message: dict, judged: dict) -> bytes:
    """A message as server-sent events."""
    opened = {**message, "content": [], "stop_reason": None}
    events: list[tuple[str, dict]] = [("message_start", {"message": opened})]
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            start, delta = (
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": part["text"]},
            )
        else:
            start = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        events += [
            ("content_block_start", {"index": index, "content_block": start}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None, **judged}
    events += [("message_delta", {"delta": ended, "usage": message["usage"]}), ("message_stop", {})]
    return "".join(
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events
    ).encode()


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _send(
            self,
            body: bytes,
            kind: str = "application/json",
            status: int = 200,
            headers: dict | None = None,
        ):
            try:
                self.send_response(status)
                for name, value in {
                    "content-type": kind,
                    "content-length": len(body),
                    **(headers or {}),
                }.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client was killed while it waited
                self.close_connection = True

        def do_HEAD(self) -> None:
            self._send(b"")

        def do_GET(self) -> None:
            self._send(b'{"data": [], "has_more": false}')

        def do_POST(self) -> None:
            request = json.loads(
                self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"
            )
            if "count_tokens" in self.path:
                return self._send(b'{"input_tokens": 100}')
            if not self.path.startswith("/v1/messages"):
                return self._send(b"{}")
            turn, reply = model.answer(request)
            if isinstance(reply, Fail):
                error = {"type": "error", "error": {"type": reply.kind, "message": reply.message}}
                return self._send(
                    json.dumps(error).encode(), status=reply.status, headers=reply.headers
                )
            message = model.message(turn, model.number_calls(reply))
            if request.get("stream"):
                said = _stream(message, _judged(request, message))
                return self._send(said, "text/event-stream")
            return self._send(json.dumps(message).encode())

    return Handler
