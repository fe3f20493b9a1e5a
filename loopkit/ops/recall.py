"""What loops taught: what fits the request, answered one by one."""

from __future__ import annotations

import time

from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.memory import recall
from ..core.memory.learned import Learning
from ..core.request import intake
from ..store import learnings, origin
from .workspace import Result, Workspace

ASK = (
    "what applies here? the person says: skill hope:recall, loopkit recall --confirm N --dismiss N"
)


def show(workspace: Workspace) -> Result:
    """What fits the loop's request and was not answered yet."""
    loop = workspace.loop()
    shown = fitting(workspace, loop.root, loop.state)
    said = lines(shown)
    if shown and loop.state.stage == "intent":
        said.append(ASK)
    elif not shown:
        nothing = "nothing else was learnt before", "nothing learnt before fits this request"
        said = [nothing[not _answered(loop.state)]]
    return Result(loop, "\n".join(said), {"learnings": rows(shown)})


def answer(workspace: Workspace, confirm: list[int], dismiss: list[int]) -> Result:
    """Record which of them apply, by their numbers."""
    loop = workspace.own_loop()
    titles = [learning.title for learning in _ranked(workspace, loop.root, loop.state)]
    workspace.change(loop, intake.recall_answered, titles, confirm, dismiss)
    return Result(loop, f"recorded: {len(confirm)} confirmed, {len(dismiss)} dismissed")


def about(workspace: Workspace, text: str) -> Result:
    """What fits a text; needs no loop."""
    whose = workspace.origin(workspace.root) if workspace.root else None
    ranked = learnings.fitting(whose, text, time.time(), workspace.environment, workspace.note)
    shown = list(enumerate(ranked, 1))
    said = "\n".join(lines(shown)) or "nothing learnt before fits this text"
    return Result(None, said, {"learnings": rows(shown), "said": said, "next": []})


def fitting(workspace: Workspace, root: str, state: LoopState) -> list[tuple[int, Learning]]:
    """The best learnings that this loop has not answered, with numbers that stay."""
    answered = {*state.recall_surfaced, *state.recall_dismissed}
    numbered = enumerate(_ranked(workspace, root, state), 1)
    return [row for row in numbered if row[1].title not in answered][: recall.SHOWN]


def _answered(state: LoopState) -> int:
    return len(state.recall_surfaced) + len(state.recall_dismissed)


def _ranked(workspace: Workspace, root: str, state: LoopState) -> list[Learning]:
    most = recall.SHOWN + _answered(state)
    whose, environment = workspace.origin(root), workspace.environment
    return learnings.fitting(whose, state.text, time.time(), environment, workspace.note, most)


def lines(shown: list[tuple[int, Learning]]) -> list[str]:
    """`1. [failure] title: text`, and where it is from unless that is this project."""
    return [
        f"{number}. [{row.kind}] {prose.clean(row.title, 200)}: {prose.clean(row.text, 200)}"
        + ("" if row.where == origin.PROJECT else f" ({prose.clean(row.where, 120)})")
        for number, row in shown
    ]


def rows(shown: list[tuple[int, Learning]]) -> list[dict]:
    """The same for programs."""
    names = ("kind", "title", "text", "where")
    return [
        {"number": number, **{name: getattr(row, name) for name in names}} for number, row in shown
    ]
