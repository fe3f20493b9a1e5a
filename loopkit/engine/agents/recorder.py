"""Writes what an agent answers into a script, by which agent `script` does and says the same."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from ...core.journal.errors import Damaged
from ...store import atomic
from .. import listing
from ..process import Deadlines
from . import DONE, Agent, Answer, Prompt
from .script import load, step, written

#: Bytes of a changed file that is kept.
_MOST = 1_000_000
#: Fields of an answer that a script's row has as well.
_FIELDS = ("reply", "error", "session", "cost", "turns", "until")


class Recorder:
    """Runs prompts with `agent`; each answer is added to the script `path`, with the files that
    changed while it was at work. Agents that work side by side in one folder are each told to have
    changed what any of them did. Raises Damaged where the file is there and is no script."""

    def __init__(self, agent: Agent, path: str, told: Callable[[str], None]) -> None:
        self.agent, self.path, self.told = agent, path, told
        self.content: dict = load(path) if os.path.exists(path) else {"steps": {}}
        for name, rows in self.content["steps"].items():
            self.content["steps"][name] = rows if isinstance(rows, list) else [rows]
        self.lock = threading.Lock()

    def interrupt(self) -> None:
        """End every run, now and later."""
        self.agent.interrupt()

    def run(
        self, prompt: Prompt, schema: dict | None, deadlines: Deadlines, folder: str | os.PathLike
    ) -> Answer:
        """The agent's own answer."""
        project = os.fspath(folder)
        before = self._listed(project, {})
        answer = self.agent.run(prompt, schema, deadlines, folder)
        after = self._listed(project, before)
        row = {name: getattr(answer, name) for name in _FIELDS if getattr(answer, name)}
        row["text"] = answer.text
        if answer.outcome != DONE:
            row["outcome"] = answer.outcome
        if answer.denied:
            row["denied"] = [one.what for one in answer.denied]
        changed = [one.row.path for one in listing.measured(before, after)]
        row["write"] = dict(pair for path in changed for pair in self._texts(project, path))
        self._keep(step(prompt), row)
        return answer

    def _listed(self, project: str, known: dict) -> dict:
        try:
            return listing.files(project, known)
        except (OSError, Damaged) as error:
            self.told(f"changes are not recorded: {error}")
            return known

    def _texts(self, project: str, path: str) -> list[tuple[str, str | None]]:
        """A changed file and what it holds, None where it is gone; nothing for what no script can
        hold."""
        try:
            with open(os.path.join(project, path), "rb") as file:
                content = file.read(_MOST + 1)
            if len(content) <= _MOST:
                return [(path, content.decode("utf-8"))]
            fault: object = "too large"
        except FileNotFoundError:
            return [(path, None)]
        except (OSError, UnicodeDecodeError) as error:
            fault = error
        self.told(f"{path} is not recorded: {fault}")
        return []

    def _keep(self, name: str, row: dict) -> None:
        with self.lock:
            self.content["steps"].setdefault(name, []).append(row)
            try:
                atomic.write(self.path, written(self.content).encode())
            except OSError as error:
                self.told(f"{self.path} cannot be written: {error}")
