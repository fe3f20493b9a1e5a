"""loopkit task: the ledger of tasks."""

import click

from .. import replies
from ..core.journal.errors import UsageFault
from ..core.journal.task import BLOCK_KINDS
from ..ops import tasks as ops
from ..ops.workspace import Result
from . import app

TASK = click.argument("task_id")

task = app.group(
    "task",
    'loopkit task add "Add the counter store" --verify "pytest tests/test_store.py -q"',
    "Tasks: each carries a verification command and may wait for others.",
)


@task.add("add", 'loopkit task add "Add the counter store" --verify "pytest -q"')
@click.argument("subject", required=False)
@click.option(
    "--verify", metavar="COMMAND", help="Exits 0 when the task is done; run without a shell."
)
@click.option("--description", default="", help="What the one who does it has to know.")
@app.several("--blocked-by", "ID", "Waits for this task; may be given several times.")
@app.several("--files", "PATH", "File it changes; its evidence is tied to them.")
@app.several("--criteria", "C1", "Criterion of SHAPE.md it serves.")
@click.option("--complexity", default="medium", help="simple, medium or complex.")
@click.option("--active-form", default="", help="What the task list shows while it runs.")
@app.flag("--scaffold", help="Comes before all others.")
@app.file("Several tasks as a block YAML list")
@app.flag("--replace", help="In place of all tasks there are; only before the first attempt.")
def add(
    call: app.App, subject: str | None, source: str | None, replace: bool, **fields: object
) -> Result:
    """Add one task, or a whole list: entries with subject, verify, description, blocked_by, files,
    criteria, complexity."""
    if (subject is None) == (source is None):
        raise UsageFault("give either a subject or --file", 'loopkit task add "…" --verify "…"')
    if source is not None:
        return ops.add(call, app.read_record(call, source, "tasks"), replace)
    return ops.add(call, replies.check("tasks", [{**fields, "subject": subject}]), replace)


@task.add("list", "loopkit task list")
def list_(call: app.App) -> Result:
    """All tasks with their states."""
    result = ops.listed(call)
    return Result(None, "", result.data["tasks"]) if call.as_json else result


@task.add("show", "loopkit task show T-003", TASK)
def show(call: app.App, task_id: str) -> Result:
    """All that the one who does a task has to know: text, files, criteria, earlier attempts,
    advice, the check."""
    result = ops.show(call, task_id)
    lines = [result.text, *(f"next: {step}" for step in result.steps or ())]
    return Result(None, "\n".join(lines), result.data)


start = task.add("start", "loopkit task start T-003", TASK)(ops.start)


@task.add("fail", "loopkit task fail T-003 --error 'the endpoint needs a token'", TASK)
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


task.add(
    "block",
    "loopkit task block T-003 --kind permission --reason 'needs a signature'",
    TASK,
    click.option("--kind", default="external", help=" | ".join(BLOCK_KINDS)),
    click.option("--reason", default="", help="What is needed to go on."),
)(ops.block)
task.add("unblock", 'loopkit task unblock T-003 "The key is in .env"', TASK, app.words("said"))(
    ops.unblock
)


@task.add("split", "loopkit task split T-003 --file -", TASK)
@app.file("Subtasks as a block YAML list, as for task add", required=True)
def split(call: app.App, task_id: str, source: str) -> Result:
    """Replace a task by smaller ones; it is completed with the last of them."""
    return ops.split(call, task_id, app.read_record(call, source, "tasks"))


@task.add("set", 'loopkit task set T-003 --verify "pytest -q"', TASK)
@click.option("--verify", metavar="COMMAND", help="Another verification command.")
@app.several("--blocked-by", "ID", "All it waits for; `none` for nothing.")
@app.several("--files", "PATH", "All files it changes.")
def set_(
    call: app.App, task_id: str, verify: str | None, blocked_by: list[str], files: list[str]
) -> Result:
    """Change the check, the blockers or the files of a task."""
    blockers = [name for name in blocked_by if name != "none"] if blocked_by else None
    return ops.change(call, task_id, verify, blockers, files or None)


task.add("remove", "loopkit task remove T-003", TASK)(ops.remove)
task.add("waves", "loopkit task waves")(ops.waves)
