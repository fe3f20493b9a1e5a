"""What can be run here: stages and pipelines."""

from __future__ import annotations

from ...core.journal import prose
from ..workspace import Result, Workspace
from . import ready
from .on_loop import LOOPER


def definitions(workspace: Workspace) -> Result:
    """Every stage and pipeline with what it does and where it is from."""
    books, _ = ready.library(workspace)
    rows: list[dict] = []
    for kind, names, find in (
        ("stage", list(books.stages()), books.stage),
        ("pipeline", list(books.pipelines()), lambda name: books.pipeline(name, "")),
    ):
        for name, place in names:
            found, faults = find(name)
            wrong = next((str(fault) for fault in faults if fault.error), "")
            text = found.description if found else wrong
            row = {"kind": kind, "name": name, "from": place.label}
            rows.append({**row, "description": wrong or text})
        if kind == "stage":
            text = 'Work a goal to its end, plan and reviews included: looper "<goal>" [session]'
            rows.append({"kind": kind, "name": LOOPER, "from": "shipped", "description": text})
    passed = [f".loop/{name} came with the repository, not used" for name in books.untrusted]
    lines = [
        f"{row['kind']:<9} {row['name']:<20} {prose.clean(row['description'], 120)}"
        + (f"  ({row['from']})" if row["from"] != "shipped" else "")
        for row in rows
    ]
    text = "\n".join([*(lines or ["there are no stages and no pipelines"]), *passed])
    way = "run one: loopkit run <name> <session> [iterations], look first with --dry-run"
    return Result(None, f"{text}\n{way}", {"definitions": rows, "said": text, "next": []})
