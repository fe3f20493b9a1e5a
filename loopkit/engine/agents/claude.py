"""The agent `claude`: Claude Code without a terminal, one session a run, its stream read as it
comes (measured on 2.1.332, tests/client/test_headless_agent.py)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.health import allowing, failures
from ...core.journal import pricing
from ...store import client, place, transcript
from .. import process
from . import (
    DENIED,
    DONE,
    EMPTY,
    FATAL,
    INTERRUPTED,
    LIMIT,
    SPENT,
    TRANSIENT,
    Answer,
    Denied,
    Options,
    Prompt,
    known_cost,
)
from .command import MOST_ERRORS, Program, cut_short, failed

#: What the client is always told. Nobody can answer the two tools that ask a person.
_ALWAYS = ("-p", "--output-format", "stream-json", "--verbose")
_ASKING = ("ExitPlanMode", "AskUserQuestion")
#: What our stages have agents run of ours; it only reads, and the hook that lets our lines run is
#: silent there.
_HARMLESS = ("Bash(loopkit lint *)",)
#: Files of the project may be edited; commands need rules still.
_EDITS = "acceptEdits"
#: Bytes of a line that are read; a longer one is a tool's output and says nothing of the run.
_LONGEST = 8_000_000
#: Bytes of a transcript: all of them.
_ALL = 1 << 50
#: Seconds until a reset beyond which a figure is none.
_FAR = 400 * 86400
#: Most refused calls that are named.
_MOST_DENIED = 50
#: Lines after a result by which a turn begins anew: a report of background work has come in.
_WORK = ("assistant", "user")
_TURN = ("init", "task_started", "task_notification", "task_updated")
#: What the client calls a failed request: those that pass, those that do not.
_LATER = ("408", "409", "500", "502", "503", "504", "529")
_PASSING = ("overloaded", "server_error")
_LASTING = ("authentication_failed", "billing_error", "invalid_request", "model_not_found")


#: How the client takes an answer for which there is a schema: whoever prints it is asked once more.
_BY_TOOL = (
    "You give the answer by one call of the tool StructuredOutput, and print nothing after it."
)


def make(options: Options) -> Claude:
    """Claude Code as the PATH gives it. Raises Damaged where it is not there."""
    agent = Claude(options, options.surroundings)
    agent.check("install Claude Code, or add its folder to the PATH")
    return agent


class Claude(Program):
    """A session of `claude -p` a run, with this bundle's plugins, whose hooks are silent there. The
    prompt comes on standard input; never an earlier session is continued."""

    def __init__(self, options: Options, environment: Mapping[str, str] | None = None) -> None:
        super().__init__("claude", environment)
        self.options = options

    def answer(
        self,
        prompt: Prompt,
        schema: dict | None,
        deadlines: process.Deadlines,
        folder: str | os.PathLike,
    ) -> Answer:
        """A reply is one that fits `schema`, checked here: the client may come without one."""
        stream = Stream(self.options)
        words = self._arguments(prompt, schema)
        if schema is not None:
            prompt = prompt._replace(text=f"{prompt.text.rstrip()}\n\n{_BY_TOOL}\n")
        end = self.start(words, prompt, deadlines, folder, stream.take, lambda: stream.finished)
        answer = stream.answer(end, deadlines, schema)
        if answer.cost is None and answer.session:
            answer = answer._replace(cost=self._reckoned(prompt, answer.session))
        return answer

    def _usual_mode(self) -> str:
        """The permission mode where none is chosen, neither here nor in the person's own settings:
        of itself the client would refuse every edit, and nobody could do any work."""
        files = client.settings(self.environment, [], sys.platform)
        return "" if client.deciding(files, "permissions", "defaultMode") else _EDITS

    def _reckoned(self, prompt: Prompt, session: str) -> float | None:
        """USD of a run that was ended before its result, by its transcript and our table of prices;
        None where it has none, or all its models are unknown."""
        config = place.config_dir({**self.environment, **prompt.environment})
        path = transcript.find(config, session)
        usage = transcript.read(path, {}, [], most=_ALL).usage if path else {}
        usd, _, unpriced = pricing.cost(usage, {})
        return usd if usage and (usd or not unpriced) else None

    def _arguments(self, prompt: Prompt, schema: dict | None) -> list[str]:
        options = self.options
        words = ["claude", *_ALWAYS]
        for folder in (*plugins(), *options.plugins):
            words += ["--plugin-dir", folder]
        given = {
            "--model": options.model,
            "--fallback-model": options.fallback_model,
            "--permission-mode": options.permission_mode or self._usual_mode(),
        }
        for name, value in given.items():
            words += [name, value] if value else []
        budget = options.budget if prompt.budget is None else prompt.budget
        if budget is not None:
            words += ["--max-budget-usd", f"{max(budget, 0.000001):.6f}"]
        if schema is not None:
            words += ["--json-schema", json.dumps(schema)]
        words += ["--disallowedTools", *_ASKING]
        rules = (*_HARMLESS, *options.allowed_tools, *prompt.allowed_tools)
        words += ["--allowedTools", *dict.fromkeys(rules)]
        return words + list(options.arguments)


def plugins() -> list[str]:
    """Folders of this bundle's plugins: ours and those it depends on, which the client does not
    load of itself."""
    root = place.plugin_root()
    return [root, *(os.path.join(root, "plugins", name) for name in ("hope", "counsel"))]


class Stream:
    """What a run's stream-json has said so far: the last result, all costs, all refusals.

    finished: a result has come, no background work is left and no turn has begun since.
    """

    def __init__(self, options: Options = Options()) -> None:  # noqa: B008  # it is immutable
        self.told = options.told
        self.lines = Lines(_LONGEST)
        self.words = process.Bounded(MOST_ERRORS)  # what is no JSON: standard error, stubs
        self.result: dict = {}
        self.finished = self.working = False
        self.session, self.fault = "", ""
        self.reply: Any = None
        self.turns = 0
        self.costs: list[float] = []
        self.denied: dict[str, Denied] = {}
        self.limit: dict = {}

    def take(self, name: str, piece: bytes) -> None:
        """A piece of one of the two streams."""
        if name == "stderr":
            self.words.feed(piece)
            return
        for line in self.lines.feed(piece):
            self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("type"), str):
            if not line.startswith(b"{"):  # a line that was cut says nothing either
                self.words.feed(line + b"\n")
            return
        if not self.session and isinstance(row.get("session_id"), str):
            self.session = row["session_id"]
        kind, subtype = row["type"], row.get("subtype")
        if kind in _WORK or kind == "system" and subtype in _TURN:
            self.finished = False
        read = getattr(self, f"_read_{kind}", None)
        if read is not None:
            read(row)

    def _read_system(self, row: dict) -> None:
        if row.get("subtype") == "background_tasks_changed":
            self.working = bool(row.get("tasks"))
        elif row.get("subtype") == "api_retry":
            about = row.get("error") or row.get("error_status")
            self.told(f"{about}: the client tries again ({row.get('attempt')})")
        elif row.get("subtype") == "init":
            for fault in _rows(row.get("plugin_errors")):
                self.told(f"plugin {fault.get('plugin')}: {fault.get('message')}")

    def _read_rate_limit_event(self, row: dict) -> None:
        if isinstance(row.get("rate_limit_info"), dict):
            self.limit = row["rate_limit_info"]

    def _read_assistant(self, row: dict) -> None:
        self.fault = str(row.get("error") or "")
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in _rows(content):
            if block.get("type") == "tool_use":
                self.told(allowing.call(block.get("name"), block.get("input")))

    def _read_result(self, row: dict) -> None:
        self.result, self.finished = row, not self.working
        if row.get("structured_output") is not None:
            self.reply = row["structured_output"]
        if isinstance(row.get("num_turns"), int):
            self.turns += row["num_turns"]
        cost = known_cost(row.get("total_cost_usd"))
        self.costs += [] if cost is None else [cost]
        for call in _rows(row.get("permission_denials")):
            tool, given = call.get("tool_name"), call.get("tool_input")
            denied = Denied(allowing.call(tool, given), tuple(allowing.rules(tool, given)))
            if len(self.denied) < _MOST_DENIED:
                self.denied.setdefault(denied.what, denied)

    def answer(
        self, end: process.Exit, deadlines: process.Deadlines, schema: dict | None
    ) -> Answer:
        """What came of the run whose stream this was."""
        for line in self.lines.rest():
            self._line(line)
        if end.late and self.finished:  # it had said all, and was about to be ended
            end = end._replace(late="", lingered=True)
        text = self.result.get("result")
        answer = self._ended(end, deadlines, schema, text if isinstance(text, str) else "")
        return answer._replace(
            cost=max(self.costs, default=None),  # each result counts those before it
            turns=self.turns if self.result else None,
            session=self.session,
            denied=tuple(self.denied.values()),
            usage=_usage(self.result.get("modelUsage")),
        )

    def _ended(
        self, end: process.Exit, deadlines: process.Deadlines, schema: dict | None, text: str
    ) -> Answer:
        cut = cut_short(end, deadlines)
        if cut is not None:
            return cut._replace(text=text)
        if not self.result:
            found = failed(f"exit {end.code} without a result", self.words.text())
            return found if end.code else Answer(FATAL, error=found.error)
        failure = self._failure(end, text)
        if failure is not None:
            return failure._replace(text=text)
        reply = self.reply if _fits(self.reply, schema) else None
        tools = (denied.what.partition(":")[0] for denied in self.denied.values())
        asking = [tool for tool in tools if tool in _ASKING]
        if asking:
            error = f"it asked a person ({asking[0]}), and nobody is there to answer"
            return Answer(DENIED, text, reply, error)
        if self.denied and reply is None and (schema is not None or not text.strip()):
            what = next(iter(self.denied.values())).what
            return Answer(DENIED, text, reply, f"it was not allowed: {what}")
        return Answer(DONE if text.strip() or reply is not None else EMPTY, text, reply)

    def _failure(self, end: process.Exit, text: str) -> Answer | None:
        """What the last result says against success, structured fields first."""
        subtype, why = str(self.result.get("subtype")), self.result.get("terminal_reason")
        errors = self.result.get("errors")
        said = "; ".join(map(str, errors)) if isinstance(errors, list) and errors else text
        if subtype in ("error_max_budget_usd", "error_max_turns"):
            return Answer(SPENT, error=_first_line(said) or subtype)
        if str(why).startswith("aborted"):
            return Answer(INTERRUPTED, error="it was ended")
        if self.result.get("is_error") is not False:
            return self._error(said or subtype)
        if end.code and not end.lingered:
            return failed(f"exit {end.code} after its result", self.words.text())
        if not self.turns:
            return Answer(FATAL, error=f"nothing ran: {_first_line(text)}")
        if why not in (None, "completed"):
            return Answer(FATAL, error=f"it ended early: {why}")
        return None

    def _error(self, said: str) -> Answer:
        """A failure, by what the client and its request's status call it, else by its words."""
        status, line = self.result.get("api_error_status"), _first_line(said)
        kind = failures.kind(line) or failures.read(said)[0]
        if (status == 429 or self.fault == "rate_limit") and not failures.is_about_money(line):
            kind = failures.LIMIT
        elif self.fault in _LASTING or status:
            later = self.fault not in _LASTING and str(status) in _LATER
            kind = failures.TRANSIENT if later else ""
        elif self.fault in _PASSING:
            kind = failures.TRANSIENT
        if kind == failures.LIMIT:
            return Answer(LIMIT, error=line, until=self._until(said))
        return Answer(TRANSIENT if kind else FATAL, error=line)

    def _until(self, said: str) -> float | None:
        """When the limit ends: the client's own figure before its words."""
        now, at = time.time(), self.limit.get("resetsAt")
        if self.limit.get("status") == "rejected" and isinstance(at, (int, float)):
            if now < at < now + _FAR:
                return float(at)
        return failures.until(said, now)


class Lines:
    """Whole lines out of pieces; one longer than `most` bytes is left out."""

    def __init__(self, most: int) -> None:
        self.most, self.begun, self.skip = most, bytearray(), False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that a further piece ends."""
        *whole, last = piece.split(b"\n")
        for part in whole:
            self._add(part)
            yield from self.rest()
        self._add(last)

    def rest(self) -> Iterator[bytes]:
        """The line that has begun, if there is one."""
        if self.begun and not self.skip:
            yield bytes(self.begun)
        self.begun, self.skip = bytearray(), False

    def _add(self, part: bytes) -> None:
        if self.skip or len(self.begun) + len(part) > self.most:
            self.begun, self.skip = bytearray(), True
        else:
            self.begun += part


def _usage(models: object) -> dict[str, int]:
    """Tokens by kind, of all models together."""
    names = {
        "input": "inputTokens",
        "output": "outputTokens",
        "cache_read": "cacheReadInputTokens",
        "cache_write": "cacheCreationInputTokens",
    }
    rows = _rows(list(models.values())) if isinstance(models, dict) else []
    found = {}
    for name, field in names.items():
        figures = [row.get(field) for row in rows]
        found[name] = sum(figure for figure in figures if isinstance(figure, int) and figure > 0)
    return found if rows else {}


def _fits(reply: object, schema: dict | None) -> bool:
    if schema is None or not isinstance(reply, dict):
        return False
    import jsonschema

    try:
        jsonschema.validate(reply, schema)
    except jsonschema.ValidationError:
        return False
    return True


def _rows(value: object) -> list[dict]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].strip()[:300] if lines else ""
