"""Agents: whatever takes a prompt and answers, and how its end is told.

A new one implements `Agent` and gets a row in `_KNOWN`; nothing else asks which agent it is.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, NamedTuple, Protocol

from ...core.journal.errors import UsageFault
from ..process import Deadlines

#: How a run ended; `Answer.outcome` is one of them.
DONE = "done"  # it answered
EMPTY = "empty"  # it ended well and said nothing
DENIED = "denied"  # it needed a command that it may not run: `denied` names it
LIMIT = "limit"  # a usage limit, until `until` where that was said
TRANSIENT = "transient"  # overload, network: the same run may succeed later
FATAL = "fatal"  # any other failure, `error` says which
TIMED_OUT = "timed_out"  # a deadline passed, `error` says which
INTERRUPTED = "interrupted"  # somebody ended it
OUTCOMES = (DONE, EMPTY, DENIED, LIMIT, TRANSIENT, FATAL, TIMED_OUT, INTERRUPTED)


class Prompt(NamedTuple):
    """What an agent is told; kind and subject of the step, for agents that answer from a file."""

    text: str
    kind: str = ""
    subject: str | None = None


class Answer(NamedTuple):
    """What came of a run.

    text: the final message · reply: the structured one, where the agent gives it · error: one line
    on a failure · cost: USD, None where it is not known · session: the agent's own id · denied:
    command lines it was not allowed · final: the agent has corrected it already · by: how it came ·
    looked: at the work that it judges; None: nobody knows · started, ended, until: seconds since
    1970.
    """

    outcome: str
    text: str = ""
    reply: dict | None = None
    error: str = ""
    cost: float | None = None
    turns: int | None = None
    session: str = ""
    denied: tuple[str, ...] = ()
    started: float = 0.0
    ended: float = 0.0
    until: float | None = None
    final: bool = False
    by: str = "run"
    looked: bool | None = None


class Agent(Protocol):
    """Runs prompts, several at once where it is asked to by several threads."""

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        """Work in `folder` until the agent has answered; schema: JSON Schema of its reply. Does not
        raise: what goes wrong is an outcome."""

    def interrupt(self) -> None:
        """End every run, now and later, as interrupted."""


_KNOWN = {"command": ("command", "Command"), "script": ("script", "Script")}


def named(name: str, *arguments: Any, **options: Any) -> Agent:
    """The agent of this name, made of what its class takes. Raises UsageFault for no such agent."""
    if name not in _KNOWN:
        raise UsageFault(f"there is no agent {name[:40]!r}", "use one of " + ", ".join(_KNOWN))
    module, kind = _KNOWN[name]
    agent: Agent = getattr(importlib.import_module(f"{__name__}.{module}"), kind)(
        *arguments, **options
    )
    return agent
