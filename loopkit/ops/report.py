"""Long reports of agents, each in a file of the loop."""

from __future__ import annotations

import os

from ..core.journal import prose
from ..core.plan import patterns
from ..store import reports, tables
from .workspace import Result, Workspace

#: The report whose lines are kept as relevant patterns.
GATHER = "gather"


def keep(workspace: Workspace, name: str, text: str, most: int) -> Result:
    """Keep a report without what looks like a credential, with at most these permission bits."""
    loop = workspace.own_loop()
    text = tables.masks().without(text, workspace.environment)
    target = reports.keep(loop.folder, name, text, most)
    path = os.path.join(".loop", os.path.relpath(target, loop.root))
    lines = [path]
    if reports.slugged(name) == GATHER:
        for _, data in workspace.change(loop, patterns.gathered, text):
            lines.append(f"{prose.count(len(data['lines']), 'pattern')} in context.md")
    return Result(loop, "\n".join(lines), {"path": path}, [])
