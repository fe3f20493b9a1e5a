"""Completion strategies by name: ours, and users' own by entry point."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ...core.journal.errors import Damaged
from ...core.pipeline import completion
from ...core.pipeline.completion import Verdict
from ...core.pipeline.definitions import Entry
from ...engine import extensions
from ...engine.agents import Answer
from ...store import place
from ...store.runs import Run
from ..workspace import Workspace


class View(NamedTuple):
    """What a strategy may know. at: index of the stage, from 0."""

    run: Run
    entry: Entry
    at: int
    workspace: Workspace

    @property
    def rows(self) -> list[dict]:
        """The stage's entries of the history."""
        return self.run.state.stages[self.at].rows

    @property
    def done(self) -> int:
        """The stage's iterations that count."""
        return self.run.state.stages[self.at].done


class Strategy:
    """When a stage is complete, and what it does around an agent's run.

    asks_before: completion is tested before the first iteration, whatever the stage says · works:
    its agents change the project, so that what they leave uncommitted is noted · programs: what has
    to be installed.
    """

    asks_before = False
    works = False
    programs: tuple[str, ...] = ()

    def verdict(self, view: View) -> Verdict:
        """Whether the stage is complete. Raises LoopError where that cannot be found out."""
        raise NotImplementedError

    def prepare(self, view: View) -> dict[str, str]:
        """What comes before an agent's run; gives values of further variables. Raises LoopError."""
        return {}

    def settle(self, view: View, answer: Answer) -> list[str]:
        """What follows an agent that ended well; gives lines for the next agent. Raises
        LoopError."""
        return []


class Plateau(Strategy):
    """Two agents in a row voted that there is nothing more to do."""

    def verdict(self, view: View) -> Verdict:
        stage = view.entry.stage
        return completion.plateau(view.rows, stage.markers, stage.min_iterations)


class FixedN(Strategy):
    """All runs were made."""

    def verdict(self, view: View) -> Verdict:
        return completion.counted(view.done, view.entry.runs, "iterations")


class AllItems(Strategy):
    """Every item was worked on."""

    asks_before = True

    def verdict(self, view: View) -> Verdict:
        return completion.counted(view.done, len(view.run.state.items), "items")


#: Entry points of users' own strategies: each gives a Strategy.
GROUP = "loopkit.completions"
GOAL = "goal-reached"
_KNOWN = {
    "plateau": f"{__name__}:Plateau",
    "fixed-n": f"{__name__}:FixedN",
    "all-items": f"{__name__}:AllItems",
    "beads-empty": "loopkit.ops.runs.beads:BeadsEmpty",
    "tasks-empty": "loopkit.ops.runs.on_loop:TasksEmpty",
    GOAL: "loopkit.ops.runs.on_loop:GoalReached",
}


def names() -> list[str]:
    """All strategies that a stage can name: not the one of `looper`, which is told a goal."""
    return [name for name in extensions.names(_KNOWN, GROUP) if name != GOAL]


def made(name: str) -> Strategy:
    """The strategy of a name. Raises UsageFault."""
    strategy: Any = extensions.made(name, _KNOWN, GROUP, "completion")
    return strategy


def called(name: str) -> AbstractContextManager[None]:
    """Around what is asked of a strategy: whatever a user's own raises becomes a UsageFault."""
    return extensions.called(name, _KNOWN, "completion")


def check_programs(name: str, environment: dict) -> None:
    """Raises Damaged where a program is missing that a strategy needs."""
    import shutil

    for program in made(name).programs:
        if shutil.which(program, path=place.search_path(environment)) is None:
            what = f"{program} is not on the PATH, which completion {name} asks"
            raise Damaged(what, f"install {program}, or run a stage that does without")
