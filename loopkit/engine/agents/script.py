"""The agent `script`: answers from a YAML file, the same each time; for tests and the demo.

steps:
  verification plan: {reply: {score: 90, feedback: good}}
  implementation T-001:               # the first time, the second …; the last one stays
  - {write: {a.py: "x = 1"}, text: wrote a.py, times: 2}
  - {outcome: limit, until: 1796115870}
  test: {reply: {status: passed}}     # whatever it is about
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...core.journal.errors import Damaged, UsageFault
from ...store import atomic
from ..process import Deadlines
from . import (
    DONE,
    EMPTY,
    FATAL,
    INTERRUPTED,
    OUTCOMES,
    TIMED_OUT,
    Agent,
    Answer,
    Denied,
    Options,
    Prompt,
)

_TEXTS = {"type": "array", "items": {"type": "string"}}
_ANSWER = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "times": {"type": "integer", "minimum": 1},  # how often before the next one's turn
        "seconds": {"type": "number", "minimum": 0},  # how long it takes
        # text of files by their paths in the folder; null removes one
        "write": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        # argument lists; one that fails is the run's own failure
        "run": {"type": "array", "items": {**_TEXTS, "minItems": 1}},
        **{name: {"type": "string"} for name in ("text", "error", "session")},
        "reply": {"type": "object"},
        "outcome": {"enum": list(OUTCOMES)},
        "cost": {"type": "number"},
        "turns": {"type": "integer"},
        "denied": _TEXTS,
        "until": {"type": "number"},
    },
}
_ANSWERS = {"anyOf": [_ANSWER, {"type": "array", "minItems": 1, "items": _ANSWER}]}
SCHEMA = {
    "type": "object",
    "required": ["steps"],
    "additionalProperties": False,
    "properties": {
        "task": {"type": "string"},
        "steps": {"type": "object", "additionalProperties": _ANSWERS},
    },
}
#: Fields of a row that are an answer's own.
_OWN = ("reply", "error", "cost", "turns", "session", "until")


def make(options: Options) -> Script:
    """The script of the options. Raises UsageFault where there is none, Damaged as `Script`."""
    if not options.script:
        raise UsageFault("agent 'script' has no file", "name the script file")
    return Script(options.script, environment=options.surroundings)


class Script:
    """A script file; `{name}` in its texts is replaced by the value of that name. Raises Damaged
    for a file that cannot be read or does not fit the schema."""

    def __init__(
        self,
        path: str,
        values: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        content = _filled(load(path), values or {})
        self.task: str = content.get("task", "")
        self.steps: dict[str, list[dict]] = {}
        for name, rows in content["steps"].items():
            rows = rows if isinstance(rows, list) else [rows]
            self.steps[name] = [row for row in rows for _ in range(row.get("times", 1))]
        self.environment = environment
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.stop = threading.Event()

    def interrupt(self) -> None:
        """End every run, now and later."""
        self.stop.set()

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        """Do what stands in the file for the prompt's step; its text is not looked at."""
        started = time.time()
        row = self._row(prompt)
        if row is None:
            answer = Answer(FATAL, error=f"the script has no answer to: {step(prompt)}")
        else:
            answer = self._wait(row, deadlines) or self._act(row, deadlines, os.fspath(folder))
        return answer._replace(started=started, ended=time.time())

    def _row(self, prompt: Prompt) -> dict | None:
        key = step(prompt)
        rows = self.steps.get(key) or self.steps.get(prompt.kind)
        if rows is None:
            return None
        with self.lock:
            self.asked[key] += 1
            return rows[min(self.asked[key], len(rows)) - 1]

    def _wait(self, row: dict, deadlines: Deadlines) -> Answer | None:
        """Take the time that the file says; an answer where a deadline or an end comes first."""
        seconds, allowed = row.get("seconds", 0), min(deadlines)
        if self.stop.wait(min(seconds, allowed)):
            return Answer(INTERRUPTED, error="it was ended")
        if seconds > allowed:
            name = Deadlines._fields[deadlines.index(allowed)]
            return Answer(TIMED_OUT, error=f"{name} deadline of {allowed:g} s passed")
        return None

    def _act(self, row: dict, deadlines: Deadlines, folder: str) -> Answer:
        printed = []
        try:
            for path, text in row.get("write", {}).items():
                _write(folder, path, text)
                printed.append(f"{'removed' if text is None else 'wrote'} {path}\n")
        except OSError as error:
            return Answer(FATAL, error=str(error))
        for arguments in row.get("run", []):
            ran = self._command(arguments).run(Prompt(""), None, deadlines, folder)
            if ran.outcome not in (DONE, EMPTY):
                return ran
            printed.append(ran.text)
        text = row.get("text")
        if text is None:
            text = written(row["reply"]) if "reply" in row else "".join(printed)
        outcome = row.get("outcome", DONE if text.strip() else EMPTY)
        own = {name: row[name] for name in _OWN if name in row}
        denied = tuple(Denied(what) for what in row.get("denied", ()))
        return Answer(outcome, text, denied=denied, **own)

    def _command(self, arguments: list[str]) -> Agent:
        from .command import Command

        command = Command(arguments, self.environment)
        command.stop = self.stop
        return command


def step(prompt: Prompt) -> str:
    """By what name a script has the answers to a prompt."""
    return f"{prompt.kind} {prompt.subject}" if prompt.subject else prompt.kind


def _write(folder: str, path: str, text: str | None) -> None:
    """Give a file of the folder a new text, or remove it. Raises OSError, also for one outside."""
    target = os.path.realpath(os.path.join(folder, path))
    if os.path.commonpath([target, os.path.realpath(folder)]) != os.path.realpath(folder):
        raise PermissionError(f"{path} is outside of the folder")
    if text is None:
        os.unlink(target)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    atomic.write(target, text.encode())


def load(path: str) -> dict:
    """The content of a script file. Raises Damaged for one that is none."""
    import jsonschema
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            content = yaml.safe_load(file)
        jsonschema.validate(content, SCHEMA)
    except (OSError, ValueError, yaml.YAMLError) as error:
        fault = " ".join(str(error).split())[:300]
    except jsonschema.ValidationError as error:
        deepest = jsonschema.exceptions.best_match([error])
        where = "/".join(map(str, deepest.absolute_path))
        fault = f"{where}: {deepest.message[:200]}" if where else deepest.message[:200]
    else:
        return dict(content)
    raise Damaged(f"cannot use {path}: {fault}", "correct the script file")


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Every text within a value, its placeholders replaced."""
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace("{" + name + "}", text)
        return value
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {_filled(key, values): _filled(item, values) for key, item in value.items()}
    return value


def written(value: dict) -> str:
    """A record as YAML."""
    import yaml

    text: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    return text
