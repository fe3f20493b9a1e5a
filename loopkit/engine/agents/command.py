"""The agent `command`: any program that takes a prompt and prints its answer."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence

from ...core.journal.errors import UsageFault
from .. import process
from . import (
    DONE,
    EMPTY,
    FATAL,
    INTERRUPTED,
    LIMIT,
    TIMED_OUT,
    TRANSIENT,
    Answer,
    Options,
    Prompt,
)

#: Stands in an argument for the path of a file with the prompt; without it the prompt goes to
#: standard input.
PROMPT = "{prompt}"
#: Bytes of an answer that are kept, and of what it prints on standard error: beginning and end.
MOST_TEXT, MOST_ERRORS = 4_000_000, 20_000
#: Variables of the session around us: a child that had them would pass for that session.
_OURS = ("CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_CODE_SESSION_ID")
#: What the last line of a program that failed says of a failure that passes. Only that line: an
#: answer may well be about limits.
_PASSING = (
    (LIMIT, re.compile(r"\b(usage|rate|quota) limit (was |is )?(reached|exceeded|hit)\b", re.I)),
    (
        TRANSIENT,
        re.compile(
            r"\b(overloaded|temporarily unavailable|too many requests|connection (reset|refused)"
            r"|(http|status|error)[ :]+(429|50[0234]|529))\b",
            re.I,
        ),
    ),
)
#: Exit codes of a program that somebody ended: HUP, INT, TERM.
_ENDED = (129, 130, 143)
#: Exit code by which programs say "later" (sysexits.h).
_TEMPORARY = 75


def make(name: str, options: Options) -> Command:
    """The program of the options. Raises UsageFault where there is none."""
    words = list(options.program)
    if not words:
        raise UsageFault("agent 'command' has no program", "name one: its argument list")
    words += options.arguments
    if options.prompt_by == "file" and not any(PROMPT in word for word in words):
        words.append(PROMPT)
    return Command(words, {**os.environ, **options.environment})


class Command:
    """A program by its argument list, run without a shell in a process group of its own. Exit 0 is
    success, whatever it prints; otherwise the exit code and the last line say how it failed.
    environment: ours, unless given."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        given = os.environ if environment is None else environment
        self.arguments = list(arguments)
        self.environment = {name: given[name] for name in given if name not in _OURS}
        self.environment["LOOPKIT_CHILD"] = "1"
        self.stop = threading.Event()

    def interrupt(self) -> None:
        """End every run, now and later."""
        self.stop.set()

    def run(
        self,
        prompt: Prompt,
        schema: dict | None,
        deadlines: process.Deadlines,
        folder: str | os.PathLike,
    ) -> Answer:
        """Run the program; it knows nothing of `schema`, the prompt says what to answer."""
        started = time.time()
        text, errors = process.Bounded(MOST_TEXT), process.Bounded(MOST_ERRORS)
        kept = {"stdout": text, "stderr": errors}
        raw = prompt.text.encode("utf-8", "replace")
        arguments = self.arguments
        try:
            with contextlib.ExitStack() as stack:
                if any(PROMPT in word for word in arguments):
                    file = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".md"))
                    file.write(raw)
                    file.flush()
                    arguments = [word.replace(PROMPT, file.name) for word in arguments]
                    raw = b""
                end = process.child(
                    arguments,
                    raw,
                    os.fspath(folder),
                    {**self.environment, **prompt.environment},
                    deadlines,
                    lambda name, piece: kept[name].feed(piece),
                    self.stop,
                )
            outcome, error = told(end, text.text(), errors.text(), deadlines)
        except (OSError, ValueError) as fault:
            outcome, error = FATAL, f"cannot start {self.arguments[0]}: {fault}"
        return Answer(outcome, text.text(), error=error, started=started, ended=time.time())


def told(
    end: process.Exit, text: str, errors: str, deadlines: process.Deadlines
) -> tuple[str, str]:
    """(outcome, one line on a failure) of a program's end."""
    if end.late:
        return TIMED_OUT, f"{end.late} deadline of {getattr(deadlines, end.late):g} s passed"
    if end.interrupted or end.code in _ENDED:
        return INTERRUPTED, "it was ended"
    if end.code == 0:
        return (DONE if text.strip() else EMPTY), ""
    lines = (errors.strip() or text.strip()).splitlines()
    last = lines[-1].strip()[:300] if lines else ""
    error = f"exit {end.code}" + (f": {last}" if last else "")
    for outcome, phrase in _PASSING:
        if phrase.search(last):
            return outcome, error
    return (TRANSIENT if end.code == _TEMPORARY else FATAL), error
