"""A clear request in one form: what it asks for and how it is recorded."""

from __future__ import annotations

import os

from .. import replies
from ..core.journal import prose, score
from ..core.journal.errors import Damaged
from ..core.request import topics
from ..core.request.shape import FILE
from ..core.steps import request
from ..store import atomic, project
from . import recall
from . import score as scoring
from .workspace import Result, Workspace

#: Commands of the project that are shown at the most.
SHOWN = 8


def ask(workspace: Workspace) -> str:
    """What the form is filled in from, and the form with what the loop has not got yet."""
    loop = workspace.own_loop()
    state, fields = loop.state, request.wanted(loop.state)
    lines = []
    if "scores" in fields:
        learnt = recall.fitting(workspace, loop.root, state)
        if learnt:
            lines += ["learnt before:", *("  " + line for line in recall.lines(learnt))]
            fields.insert(3, "learnings")
        lines.append("scores, 0 to 2 each, of what the request says and nothing else:")
        lines += [f"  {name}: {scoring.values(name)}" for name in score.DIMENSIONS]
        lines.append("topics: " + ", ".join(topics.TOPICS))
    checks = project.checks(workspace.work_folder(state))[:SHOWN]
    if checks:
        lines.append("the project's own commands:")
        lines += [f"  {one.kind}: {prose.clean(one.command, 120)}" for one in checks]
    if "criteria" in fields:
        lines.append("at least one criterion and two mustNots; they are C1, C2 … and M1, M2 …")
    return "\n".join([*lines, replies.form("request", *fields)])


def record(workspace: Workspace, row: dict) -> Result:
    """Record all of it, or nothing."""
    loop = workspace.own_loop()
    titles = [one.title for _, one in recall.fitting(workspace, loop.root, loop.state)]
    changes = dict(workspace.change(loop, request.submitted, row, titles))
    state, lines = loop.state, []
    if "scored" in changes:
        lines.append(scoring.words(state.scores or {}))
    if "shape_saved" in changes:
        _keep(loop.folder, request.shape(row))
        lines.append(f"{', '.join(state.criteria)} recorded in {FILE}")
    if "task_added" in changes:
        lines += [f"{one.id} {prose.clean(one.subject, 100)}" for one in state.tasks.values()]
    return Result(loop, "\n".join(lines), {"tasks": list(state.tasks)})


def _keep(folder: str, text: str) -> None:
    target = os.path.join(folder, FILE)
    try:
        atomic.write(target, text.encode("utf-8", "replace"))
    except OSError as error:
        raise Damaged(
            f"cannot write {target}: {error.strerror}", "it is recorded; make room"
        ) from None
