"""loopkit wave, worktree: the waves of tasks, and the git worktrees in which tasks may be done."""

import click

from ..core.journal.errors import UsageFault
from ..ops import wave as waves
from ..ops import worktree as worktrees
from ..ops.workspace import Result
from . import app

wave = app.group(
    "wave",
    "loopkit wave next",
    "Waves: the tasks that wait for nothing, worked on in parallel.",
)
worktree = app.group(
    "worktree",
    "loopkit worktree list",
    "Worktrees of tasks: which there are, and removing those that hold nothing of their own.",
)

wave.add(
    "next",
    "loopkit wave next",
    app.flag("--sequential", help="One task only, as a panel may advise."),
    app.flag("--worktrees", "apart", help="Each task in a git worktree of its own."),
)(waves.next_wave)
wave.add(
    "merge",
    "loopkit wave merge T-003",
    click.argument("task_id", required=False),
    click.option("--base", metavar="COMMIT", help="The commit that its worker says it began with."),
)(worktrees.merge)
wave.add("close", "loopkit wave close")(waves.close)
worktree.add("list", "loopkit worktree list")(worktrees.listing)


@worktree.add("remove", "loopkit worktree remove --clean")
@click.argument("names", nargs=-1, metavar="[TASK|PATH]...")
@app.flag("--clean", help="All that hold nothing of their own and that nobody works in.")
def remove(call: app.App, names: tuple, clean: bool) -> Result:
    """Remove worktrees that hold nothing that is not merged. Nothing is forced: the others are kept
    and named, exit 1."""
    if bool(names) == clean:
        raise UsageFault("name worktrees, or --clean", "loopkit worktree remove --clean")
    return worktrees.remove(call, list(names))
