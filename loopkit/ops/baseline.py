"""How a check stood before the work, and whether it is worse now."""

import os
import shlex

from ..core.evidence import baseline
from ..core.journal import prose
from ..core.journal.errors import Damaged
from ..engine import process
from ..store import atomic, tables
from ..store.loop import Loop
from .verify import evidence, run
from .workspace import Result, Workspace

#: Names that an answer lists at the most; its data gives all.
LISTED = 20


def record(workspace: Workspace, words: list[str], replace: bool = False) -> Result:
    """Record the exit code of a check and the names that fail."""
    line = shlex.join(words)
    loop = workspace.own_loop()
    baseline.check_new(loop.state, line, replace)
    outcome, failing = run_named(workspace, loop, "baseline", line)
    workspace.change(loop, baseline.recorded, line, outcome, failing, replace)
    shown = prose.few(failing, LISTED)
    names = f"{len(failing)} failing: {shown}" if failing else "no failing name"
    text = (
        f"baseline of `{prose.clean(line, 200)}`: exit {outcome['exit']}, {names}, "
        f"{evidence(loop, outcome)}"
    )
    done = loop.state.counts["completed"]
    if done:
        count = prose.count(done, "task")
        text += f"\n{count} completed before it: what they broke counts as standing"
    row = {"exit": outcome["exit"], "failures": failing, "log": outcome["log"]}
    return Result(loop, text, {"command": line, **row})


def check(workspace: Workspace, words: list[str]) -> Result:
    """Compare with what was recorded: exit 1 and what is new, or exit 0."""
    line = shlex.join(words)
    loop = workspace.loop()
    before = baseline.known(loop.state, line)
    outcome, failing = run_named(workspace, loop, "check", line)
    result = baseline.compare(before, outcome["exit"], failing)
    told, new = result.said, result.new
    if len(new) > LISTED:
        told = f"{told.split(': ')[0]}: {prose.few(new, LISTED)}"
    note = f" ({outcome['note']})" if outcome["note"] else ""
    row = {"regression": result.regression, "new": new}
    row |= {"exit": outcome["exit"], "log": outcome["log"]}
    text = f"{told}{note}\n{evidence(loop, outcome)}"
    return Result(loop, text, row, [], int(result.regression))


def run_named(workspace: Workspace, loop: Loop, name: str, line: str) -> tuple[dict, list[str]]:
    """(outcome, failing names), run where we stand, in a worktree of a task too."""
    outcome = run(workspace, loop, name, line, [], workspace.project_in_tree)
    return outcome, names_of(workspace, loop, outcome)


def names_of(workspace: Workspace, loop: Loop, outcome: dict) -> list[str]:
    """The names that a run has printed as failing. Raises Damaged."""
    log = os.path.join(loop.folder, outcome["log"])
    try:
        text = atomic.read(log, process.MOST_OUTPUT * 2).decode("utf-8", "replace")
    except OSError as error:
        what = f"cannot read {error.filename}: {error.strerror}"
        raise Damaged(what, "give read access") from None
    tree = workspace.project_in_tree
    for top in dict.fromkeys((os.path.realpath(tree), tree)):  # another worktree has another
        text = text.replace(top + os.sep, "")
    return baseline.names(text.partition("\n")[2], tables.runners())
