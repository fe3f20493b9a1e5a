"""Agents: whatever takes a prompt and answers, and how its end is told.

A new one implements `Agent` and is made by a function that takes `Options`: ours stand in `_KNOWN`,
a user's own is an entry point of the group `loopkit.agents`. Nothing else asks which agent it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ...core.journal.errors import LoopError
from .. import extensions
from ..process import Deadlines

#: How a run ended; `Answer.outcome` is one of them.
DONE = "done"  # it answered
EMPTY = "empty"  # it ended well and said nothing
DENIED = "denied"  # it could not go on without what it may not do: `denied` names it
LIMIT = "limit"  # a usage limit, until `until` where that was said
SPENT = "spent"  # what this run may cost, or its turns, are used up: `error` says which
TRANSIENT = "transient"  # overload, network: the same run may succeed later
FATAL = "fatal"  # any other failure, `error` says which
TIMED_OUT = "timed_out"  # a deadline passed, `error` says which
INTERRUPTED = "interrupted"  # somebody ended it
OUTCOMES = (DONE, EMPTY, DENIED, LIMIT, SPENT, TRANSIENT, FATAL, TIMED_OUT, INTERRUPTED)


class Prompt(NamedTuple):
    """What an agent is told; kind and subject of the step, for agents that answer from a file.

    budget: USD that this run may cost, where the agent can keep to it; None: as its options say ·
    log: file that gets what the agent prints as it comes, credentials masked; "": none ·
    environment: further variables for it · allowed_tools: further permission rules, as for the
    check that its task names.
    """

    text: str
    kind: str = ""
    subject: str | None = None
    budget: float | None = None
    log: str = ""
    environment: Mapping[str, str] = {}
    allowed_tools: tuple[str, ...] = ()


class Denied(NamedTuple):
    """A call that an agent was not allowed: what, as `Bash: npm test` or `Write: src/a.py`, and the
    rules in its settings that would allow it; none where no rule can."""

    what: str
    rules: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What came of a run.

    text: the final message · reply: the structured one, where the agent gives it and it fits ·
    error: one line on a failure · cost: USD, None where it is not known · session: the agent's own
    id · denied: what it was not allowed, whatever the outcome · final: the agent has corrected it
    already · by: how it came · looked: at the work that it judges; None: nobody knows · started,
    ended, until: seconds since 1970 · usage: tokens by kind (input, output, cache_read,
    cache_write) where they are known.
    """

    outcome: str
    text: str = ""
    reply: dict | None = None
    error: str = ""
    cost: float | None = None
    turns: int | None = None
    session: str = ""
    denied: tuple[Denied, ...] = ()
    started: float = 0.0
    ended: float = 0.0
    until: float | None = None
    final: bool = False
    by: str = "run"
    looked: bool | None = None
    usage: Mapping[str, int] = {}


class Agent(Protocol):
    """Runs prompts, several at once where it is asked to by several threads."""

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        """Work in `folder` until the agent has answered; schema: JSON Schema of its reply. Does not
        raise: what goes wrong is an outcome."""

    def interrupt(self) -> None:
        """End every run, now and later, as interrupted."""


#: USD of a run above which a figure is none.
_MOST_COST = 1e9


def known_cost(value: object) -> float | None:
    """USD, where the value is an amount: neither NaN nor negative nor beyond all measure."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < _MOST_COST else None


def unheard(line: str) -> None:
    """Nobody listens to progress."""


class Options(NamedTuple):
    """How an agent is to run; each takes of it what it knows.

    model, fallback_model, permission_mode: in the agent's own words, "" for its default ·
    allowed_tools: permission rules · arguments: further words of its command line · program: the
    argument list of agent `command` · prompt_by: "stdin" or "file", for `command` · script: the
    file of agent `script` · record: file to which answers are written so that agent `script` can
    give them again · plugins: folders of plugins that it loads · environment: variables besides
    ours · budget: USD that a run may cost · told: gets lines of progress, from any thread.
    """

    model: str = ""
    fallback_model: str = ""
    permission_mode: str = ""
    allowed_tools: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    prompt_by: str = "stdin"
    script: str = ""
    record: str = ""
    plugins: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    budget: float | None = None
    told: Callable[[str], None] = unheard

    @property
    def surroundings(self) -> dict[str, str]:
        """Our environment with those variables."""
        return {**os.environ, **self.environment}


#: Entry points of users' own agents: each gives a function that takes `Options`.
GROUP = "loopkit.agents"
#: Ours: functions that take `Options`.
_KNOWN = {
    "claude": f"{__name__}.claude:make",
    "codex": f"{__name__}.presets:codex",
    "gemini": f"{__name__}.presets:gemini",
    "opencode": f"{__name__}.presets:opencode",
    "command": f"{__name__}.command:make",
    "script": f"{__name__}.script:make",
}


class _Own:
    """A user's own agent: what it raises is its failure."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name = agent, name

    def interrupt(self) -> None:
        self.agent.interrupt()

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        try:
            with extensions.told(f"agent {self.name[:40]!r}"):
                return self.agent.run(prompt, schema, deadlines, folder)
        except LoopError as error:
            return Answer(FATAL, error=str(error))


def names() -> list[str]:
    """All agents there are: ours, then users' own."""
    return extensions.names(_KNOWN, GROUP)


def make(name: str, options: Options = Options()) -> Agent:  # noqa: B008  # it is immutable
    """The agent of this name. Raises UsageFault for no such agent, one that cannot be loaded, or
    options that it cannot do without; Damaged for a program or file that is not there."""
    maker: Any = extensions.load(name, _KNOWN, GROUP, "agent")
    with extensions.told(f"agent {name[:40]!r}"):
        agent: Agent = maker(options) if name in _KNOWN else _Own(maker(options), name)
    if not options.record:
        return agent
    from .recorder import Recorder

    return Recorder(agent, options.record, options.told)
