"""What is wrong with stages and pipelines, by the functions that a run uses."""

from __future__ import annotations

from ...core.journal import prose
from ...core.pipeline.definitions import Fault
from .. import taskfile
from ..workspace import Result, Workspace
from .ready import PIPELINE, STAGE, library

#: The kind of a file of tasks.
TASKS = "tasks"


def lint(workspace: Workspace, kind: str, names: list[str]) -> Result:
    """Check stages and pipelines: all that can be named here, or those of one kind or name. Exit 1
    where a run would refuse one."""
    if kind == TASKS:
        return taskfile.lint(workspace, names)
    if kind not in ("", STAGE, PIPELINE):
        names, kind = [kind, *names], ""
    books, _ = library(workspace)
    wanted = []
    for one, found in ((STAGE, books.stages()), (PIPELINE, books.pipelines())):
        wanted += [(one, name) for name, _ in found if kind in ("", one) and not names]
    wanted += [(kind, name) for name in names]
    faults: list[Fault] = []
    for one, name in wanted:
        known: object = None
        wrong: list[Fault] = []
        if one != PIPELINE:
            known, wrong = books.stage(name)
        if one != STAGE and known is None and not wrong:
            known, wrong = books.pipeline(name, workspace.folder)
        if known is None and not wrong and name not in _names(books.untrusted):
            what = f"there is no {one or 'stage or pipeline'} of that name"
            wrong = [Fault(prose.clean(name, 100), 0, what, "loopkit run lists all")]
        faults += wrong
    faults = list(dict.fromkeys(faults))
    errors = sum(fault.error for fault in faults)
    passed = [f".loop/{name} came with the repository, not looked at" for name in books.untrusted]
    warnings = len(faults) - errors
    last = f"{len(wanted)} checked: {prose.count(errors, 'error')}, "
    lines = [str(fault) for fault in faults] + passed
    text = "\n".join([*lines, last + prose.count(warnings, "warning")])
    rows = [fault._asdict() for fault in faults]
    return Result(None, text, {"faults": rows, "said": text, "next": []}, code=1 if errors else 0)


def _names(untrusted: list[str]) -> set[str]:
    """Names of what is passed over: `stages/work`, `pipelines/refine.yaml`."""
    return {name.partition("/")[2].partition(".")[0] for name in untrusted}
