"""The agent `command`: any program that takes a prompt and prints its answer."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from ...core.health import failures
from ...core.journal.errors import Damaged, UsageFault
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
#: Variables of the session around us: a child that had them would pass for that session, or write
#: into its task list.
_OURS = frozenset(
    "CLAUDECODE CLAUDE_CODE_TASK_LIST_ID CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SESSION_ATTENDED"
    " CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT CLAUDE_PID"
    " CLAUDE_ENV_FILE CLAUDE_PLUGIN_ROOT CLAUDE_PLUGIN_DATA CLAUDE_PROJECT_DIR".split()
)
#: By the first our hooks know an agent that a run has started; the second is for its own scripts.
_CHILD = {"LOOPKIT_CHILD": "1", "CLAUDE_LOOP_AGENT": "1"}
#: Exit codes of a program that somebody ended: HUP, INT, TERM.
ENDED = (129, 130, 143)
#: Exit code by which programs say "later" (sysexits.h).
_TEMPORARY = 75


def make(options: Options) -> Command:
    """The program of the options. Raises UsageFault where there is none, Damaged for one that is
    not there."""
    words = list(options.program)
    if not words or not words[0]:
        raise UsageFault("agent 'command' has no program", "name one: its argument list")
    words += options.arguments
    if options.prompt_by == "file" and not any(PROMPT in word for word in words):
        words.append(PROMPT)
    agent = Command(words, options.surroundings)
    agent.check("install it, or give the path of a program")
    return agent


class Program:
    """What agents that are programs share: the child's environment, its run, its interruption.
    name: of the program · environment: ours, unless given."""

    def __init__(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        given = os.environ if environment is None else environment
        self.environment = {name: given[name] for name in given if name not in _OURS}
        self.environment.update(_CHILD)
        self.stop = threading.Event()

    def check(self, cure: str) -> None:
        """Raises Damaged where there is no such program, so that it is known before a run."""
        name = self.name
        try:
            path = process.find(name, self.environment.get("PATH", ""))
        except FileNotFoundError as error:
            raise Damaged(str(error), cure) from None
        if not os.path.isfile(path):
            raise Damaged(f"there is no program {name}", cure)
        if not os.access(path, os.X_OK):
            raise Damaged(f"{name} may not be executed", f"chmod +x {path}")

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
        """What came of it, also where it could not be started or its output not be kept."""
        started = time.time()
        try:
            answer = self.answer(prompt, schema, deadlines, folder)
        except (OSError, ValueError) as fault:
            why = getattr(fault, "strerror", None) or fault
            answer = Answer(FATAL, error=f"cannot start {self.name}: {why}")
        return answer._replace(started=started, ended=time.time())

    def answer(
        self,
        prompt: Prompt,
        schema: dict | None,
        deadlines: process.Deadlines,
        folder: str | os.PathLike,
    ) -> Answer:
        """Start it, and what came of it. Raises OSError or ValueError as `start`."""
        raise NotImplementedError

    def start(
        self,
        arguments: Sequence[str],
        prompt: Prompt,
        deadlines: process.Deadlines,
        folder: str | os.PathLike,
        take: Callable[[str, bytes], object],
        finished: Callable[[], bool] = lambda: False,
    ) -> process.Exit:
        """Run a program, its group and all that it started end with it. Where {prompt} stands in an
        argument it is the path of a file, else the prompt comes on standard input. take, finished:
        as of `process.child`. Raises OSError or ValueError where it cannot be started or logged."""
        environment = {**self.environment, **prompt.environment}
        words, raw = list(arguments), prompt.text.encode("utf-8", "replace")
        words[0] = process.find(words[0], environment.get("PATH", ""))
        with contextlib.ExitStack() as stack:
            if any(PROMPT in word for word in words):
                file = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".md"))
                file.write(raw)
                file.flush()
                words = [word.replace(PROMPT, file.name) for word in words]
                raw = b""
            if prompt.log:
                take = stack.enter_context(process.logged_too(prompt.log, environment, take))
            return process.child(
                words, raw, os.fspath(folder), environment, deadlines, take, self.stop, finished
            )


class Command(Program):
    """A program by its argument list, run without a shell in a process group of its own. Exit 0 is
    success, whatever it prints; otherwise the exit code and the last line say how it failed."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(arguments[0], environment)
        self.arguments = list(arguments)

    def answer(
        self,
        prompt: Prompt,
        schema: dict | None,
        deadlines: process.Deadlines,
        folder: str | os.PathLike,
    ) -> Answer:
        """Run the program; it knows nothing of `schema`, the prompt says what to answer."""
        text, errors = process.Bounded(MOST_TEXT), process.Bounded(MOST_ERRORS)
        kept = {"stdout": text, "stderr": errors}

        def take(name: str, piece: bytes) -> None:
            kept[name].feed(piece)

        end = self.start(self.arguments, prompt, deadlines, folder, take)
        return told(end, text.text(), errors.text(), deadlines)._replace(text=text.text())


def told(end: process.Exit, text: str, errors: str, deadlines: process.Deadlines) -> Answer:
    """What a program's end says: the outcome, one line on a failure, when a limit ends."""
    cut = cut_short(end, deadlines)
    if cut is not None:
        return cut
    if end.code == 0:
        return Answer(DONE if text.strip() else EMPTY)
    return failed(f"exit {end.code}", errors, text, later=end.code == _TEMPORARY)


def cut_short(end: process.Exit, deadlines: process.Deadlines) -> Answer | None:
    """Of a program that did not end by itself; None for one that did."""
    if end.late:
        silent = {"start": ", no output", "idle": ", no further output"}.get(end.late, "")
        error = f"{end.late} deadline of {getattr(deadlines, end.late):g} s passed{silent}"
        return Answer(TIMED_OUT, error=error)
    if end.interrupted or end.code in ENDED and not end.lingered:
        return Answer(INTERRUPTED, error="it was ended")
    return None


def failed(how: str, *said: str, later: bool = False) -> Answer:
    """A failure, by the last words that were said of it. how: begins the error, "" for nothing ·
    said: as of failures.read · later: it passes, unless those words say more."""
    kind, words = failures.read(*said)
    error = ": ".join(word for word in (how, words.partition("\n")[0].strip()[:300]) if word)
    if kind == failures.LIMIT:
        return Answer(LIMIT, error=error, until=failures.until(words, time.time()))
    passes = later or kind == failures.TRANSIENT
    return Answer(TRANSIENT if passes else FATAL, error=error)
