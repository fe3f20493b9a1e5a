"""loopkit task: the ledger of tasks."""

from __future__ import annotations

from collections.abc import Callable

import click

from .. import replies
from ..core.journal import task as tasks
from ..core.journal.errors import UsageFault
from ..ops import tasks as ops
from ..ops.workspace import Result
from . import app


@click.group("task", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Tasks: each carries a verification command and may wait for others.

    Example: loopkit task add "Add the counter store" --verify "pytest tests/test_store.py -q"
    """


def _add(name: str, example: str, **settings: object) -> Callable:
    def wrap(function: Callable) -> Callable:
        command.add_command(app.command(name, example, **settings)(function))
        return function

    return wrap


@_add("add", 'loopkit task add "Add the counter store" --verify "pytest -q"')
@click.argument("subject", required=False)
@click.option(
    "--verify", metavar="COMMAND", help="Exits 0 when the task is done; run without a shell."
)
@click.option("--description", default="", help="What the one who does it has to know.")
@click.option(
    "--blocked-by",
    multiple=True,
    metavar="ID",
    help="Waits for this task; may be given several times.",
)
@click.option(
    "--files", multiple=True, metavar="PATH", help="File it changes; its evidence is tied to them."
)
@click.option("--criteria", multiple=True, metavar="C1", help="Criterion of SHAPE.md it serves.")
@click.option("--complexity", default="medium", help="simple, medium or complex.")
@click.option("--active-form", default="", help="What the task list shows while it runs.")
@click.option("--scaffold", is_flag=True, help="Comes before all others.")
@click.option(
    "--file",
    "source",
    metavar="FILE",
    help="Several tasks as a block YAML list; - for standard input.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="In place of all tasks there are; only before the first attempt.",
)
def add(
    call: app.App, subject: str | None, source: str | None, replace: bool, **fields: object
) -> Result:
    """Add one task, or a whole list: entries with subject, verify, description, blocked_by, files,
    criteria, complexity."""
    if (subject is None) == (source is None):
        raise UsageFault("give either a subject or --file", 'loopkit task add "…" --verify "…"')
    if source is not None:
        return ops.add(call, app.read_record(call, source, "tasks"), replace)
    lists = {key: list(one) for key, one in fields.items() if isinstance(one, tuple)}
    return ops.add(call, replies.check("tasks", [{**fields, **lists, "subject": subject}]), replace)


@_add("list", "loopkit task list")
def list_(call: app.App) -> Result:
    """All tasks with their states."""
    result = ops.listed(call)
    return Result(None, "", result.data["tasks"]) if call.as_json else result


@_add("show", "loopkit task show T-003")
@click.argument("task_id")
def show(call: app.App, task_id: str) -> Result:
    """All that the one who does a task has to know: text, files, criteria, earlier attempts,
    advice, the check."""
    result = ops.show(call, task_id)
    lines = [result.text, *(f"next: {one}" for one in result.steps or ())]
    return Result(None, "\n".join(lines), result.data)


@_add("start", "loopkit task start T-003")
@click.argument("task_id")
def start(call: app.App, task_id: str) -> Result:
    """Start a task: within the open wave, or in a wave of its own."""
    return ops.start(call, task_id)


@_add("fail", "loopkit task fail T-003 --error 'the endpoint needs a token'")
@click.argument("task_id")
@click.option("--error", default="", help="What went wrong.")
@click.option("--error-file", metavar="FILE", help="The same from a file, or - for standard input.")
@click.option(
    "--suggest",
    type=click.Choice(["retry", "replan", "impossible"]),
    help="What you would do; the rule decides.",
)
def fail(
    call: app.App, task_id: str, error: str, error_file: str | None, suggest: str | None
) -> Result:
    """Give the attempt up. The rule names what follows: retry, replan or impossible; that ends the
    loop, exit code 1."""
    error = app.read_input(call, error_file) if error_file else error
    return ops.fail(call, task_id, error, suggest)


@_add("block", "loopkit task block T-003 --kind permission --reason 'needs a signature'")
@click.argument("task_id")
@click.option("--kind", default="external", help=" | ".join(tasks.BLOCK_KINDS))
@click.option("--reason", default="", help="What is needed to go on.")
def block(call: app.App, task_id: str, kind: str, reason: str) -> Result:
    """Mark a task as waiting for something outside the loop."""
    return ops.block(call, task_id, kind, reason)


@_add("unblock", "loopkit task unblock T-003")
@click.argument("task_id")
def unblock(call: app.App, task_id: str) -> Result:
    """What it waited for is there."""
    return ops.unblock(call, task_id)


@_add("split", "loopkit task split T-003 --file -")
@click.argument("task_id")
@click.option(
    "--file",
    "source",
    required=True,
    metavar="FILE",
    help="Subtasks as a block YAML list, as for task add.",
)
def split(call: app.App, task_id: str, source: str) -> Result:
    """Replace a task by smaller ones; it is completed with the last of them."""
    return ops.split(call, task_id, app.read_record(call, source, "tasks"))


@_add("set", 'loopkit task set T-003 --verify "pytest -q"')
@click.argument("task_id")
@click.option("--verify", metavar="COMMAND", help="Another verification command.")
@click.option(
    "--blocked-by", multiple=True, metavar="ID", help="All it waits for; `none` for nothing."
)
@click.option("--files", multiple=True, metavar="PATH", help="All files it changes.")
def set_(
    call: app.App, task_id: str, verify: str | None, blocked_by: tuple, files: tuple
) -> Result:
    """Change the check, the blockers or the files of a task."""
    blockers = [one for one in blocked_by if one != "none"] if blocked_by else None
    return ops.change(call, task_id, verify, blockers, list(files) or None)


@_add("remove", "loopkit task remove T-003")
@click.argument("task_id")
def remove(call: app.App, task_id: str) -> Result:
    """Take a task out that has not been worked on; its id stays used."""
    return ops.remove(call, task_id)


@_add("waves", "loopkit task waves")
def waves(call: app.App) -> Result:
    """The order in which the open tasks can be worked on, wave by wave."""
    return ops.waves(call)
