"""loopkit worktree: the git worktrees of tasks; made by wave next --worktrees, brought together by
wave merge."""

from __future__ import annotations

import click

from ..core.journal.errors import UsageFault
from ..ops import worktree
from . import app


@click.group("worktree", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Worktrees of tasks: which there are, and removing those that hold nothing of their own.

    Example: loopkit worktree list
    """


@app.command("list", "loopkit worktree list")
def list_(call: app.App) -> app.Result:
    """Worktrees of this project's loops, each with task, branch, and whether it holds something
    that is not merged."""
    return worktree.listing(call)


@app.command("remove", "loopkit worktree remove --clean")
@click.argument("names", nargs=-1, metavar="[TASK|PATH]...")
@app.flag("--clean", help="All that hold nothing of their own and that nobody works in.")
def remove(call: app.App, names: tuple, clean: bool) -> app.Result:
    """Remove worktrees that hold nothing that is not merged. Nothing is forced: the others are kept
    and named, exit 1."""
    if bool(names) == clean:
        raise UsageFault("name worktrees, or --clean", "loopkit worktree remove --clean")
    return worktree.remove(call, list(names))


command.add_command(list_)
command.add_command(remove)
