"""loopkit wave: open the next wave, close the open one."""

from __future__ import annotations

import click

from ..ops import wave, worktree
from . import app


@click.group("wave", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Waves: the tasks that wait for nothing, worked on in parallel.

    Example: loopkit wave next
    """


@app.command("next", "loopkit wave next")
@app.flag("--sequential", help="One task only, as a panel may advise.")
@app.flag("--worktrees", "apart", help="Each task in a git worktree of its own.")
def next_(call: app.App, sequential: bool, apart: bool) -> app.Result:
    """Open the next wave and dispatch its tasks; while one is open, show who still has to report.

    Under a supervisor it dispatches whatever is due to any role: plan, plan review, coding, test,
    judgement, diagnosis.
    """
    return wave.next_wave(call, sequential, apart)


@app.command("merge", "loopkit wave merge T-003")
@click.argument("task_id", required=False)
@click.option("--base", metavar="COMMIT", help="The commit that its worker says it began with.")
def merge(call: app.App, task_id: str | None, base: str | None) -> app.Result:
    """Bring the result of a task that worked in a worktree into the project's own tree, one after
    the other.

    Its check has passed in the worktree; it runs again in the project's own tree before the task
    counts as completed.
    """
    return worktree.merge(call, task_id, base)


@app.command("close", "loopkit wave close")
def close(call: app.App) -> app.Result:
    """Close the wave: tasks without passing evidence have failed; with the last task the loop goes
    on to review."""
    return wave.close(call)


command.add_command(next_)
command.add_command(merge)
command.add_command(close)
