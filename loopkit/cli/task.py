"""loopkit task: the ledger of tasks."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from ..core.journal import prose, verdict
from ..core.journal import task as tasks
from ..core.journal.errors import UsageFault
from ..core.journal.task import Task
from ..core.memory import decisions
from ..core.plan import drafts, graph, work, worktrees
from ..core.request import clarify
from ..core.review import panel
from ..core.steps import attempts
from ..core.steps.waves import started
from ..ops.reply import weighed
from . import app

#: Decisions and anti-patterns that a task shows at the most, the oldest first.
MOST_REASONS = 12
#: Tasks that a list shows at the most.
MOST_LISTED = 36


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
) -> None:
    """Add one task, or a whole list: entries with subject, verify, description, blocked_by, files,
    criteria, complexity."""
    if (subject is None) == (source is None):
        raise UsageFault("give either a subject or --file", 'loopkit task add "…" --verify "…"')
    rows = (
        app.read_record(call, source, list) if source else [{"subject": subject, **_plain(fields)}]
    )
    loop = call.own_loop()
    changes = call.change(loop, work.replaced if replace else work.hand_in, rows)
    gone = [change[1]["id"] for change in changes if change[0] == "task_removed"]
    made = [change[1]["task"] for change in changes if change[0] == "task_added"]
    lines = [f"{row['id']} added: {prose.clean(row['subject'], 100)}" for row in made]
    if gone:
        lines.insert(0, f"{', '.join(gone)} replaced")
    doubtful = [row["id"] for row in made if " and " in row["subject"].lower()]
    if doubtful:
        lines.append(f"{', '.join(doubtful)}: a subject with “and” is often two tasks")
    data = {"added": [row["id"] for row in made]}
    call.answer(loop, "\n".join(lines), {**data, "replaced": gone} if replace else data)


def _plain(fields: dict) -> dict:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }


@_add("list", "loopkit task list")
def list_(call: app.App) -> None:
    """All tasks with their states."""
    loop = call.loop()
    if call.as_json:
        rows = [
            task.to_json(loop.name, loop.state.verification(task))
            for task in loop.state.tasks.values()
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    marks = {"pending": " ", "in_progress": ">", "completed": "x", "failed": "!", "blocked": "-"}
    shown, left = _shown(list(loop.state.tasks.values()))
    for task in shown:
        waits = [one for one in task.blocked_by if one in loop.state.open]
        note = f" (waits for {', '.join(waits)})" if waits else ""
        if task.block_kind:
            note = (
                f" ({task.block_kind}: {prose.clean(task.block_text, 60)})"
                if task.block_text
                else f" ({task.block_kind})"
            )
        click.echo(f"[{marks[task.status]}] {task.id} {prose.clean(task.subject, 90)}{note}")
    more = f"; {left} of them not shown: loopkit task list --json" if left else ""
    call.answer(loop, f"{loop.state.counts['completed']}/{len(loop.state.tasks)} completed{more}")


def _shown(rows: list[Task]) -> tuple[list[Task], int]:
    """As many tasks as a screen takes, in order, and how many are left out: completed ones
    first."""
    spare = [one.id for one in rows if one.status == tasks.COMPLETED] + [
        one.id for one in reversed(rows) if one.status != tasks.COMPLETED
    ]
    out = set(spare[: max(0, len(rows) - MOST_LISTED)])
    return [one for one in rows if one.id not in out], len(out)


@_add("show", "loopkit task show T-003")
@click.argument("task_id")
def show(call: app.App, task_id: str) -> None:
    """All that the one who does a task has to know: text, files, criteria, earlier attempts,
    advice, the check."""
    loop = call.loop()
    task = work.find(loop.state, task_id)
    if call.as_json:
        click.echo(
            json.dumps(task.to_json(loop.name, loop.state.verification(task)), ensure_ascii=False)
        )
        return
    state = loop.state
    goal = (state.clarified or {}).get("echo") or state.text.strip()
    lines = [
        f"{task.id} {task.status}: {prose.clean(task.subject, 300)}",
        f"goal of the loop: {prose.clean(goal, 300)}",
    ]
    lines += [
        f"{what}: {prose.clean(text, 160)}" for what, text in clarify.told(state)[1:] if "," in what
    ]
    if task.description:
        lines.append(app.quoted(task.description, drafts.LONGEST_TEXT))
    row = worktrees.apart(state, task.id)
    if row:
        lines.append(
            f"work in {loop.folder}/{row.path}, a git worktree of its own, and change nothing "
            "outside it;"
        )
        lines.append(
            "  its check runs there; what it needs and git does not know is not there; no commit "
            "is needed"
        )
    for earlier in worktrees.earlier(state, task.id):
        lines.append(
            f"an earlier attempt lies in {loop.folder}/{earlier.path}: to be looked at, not to be "
            "changed"
        )
    if task.files:
        lines.append("files: " + prose.clean(", ".join(task.files), 2000))
    lines += [
        f"criterion {one}: {state.criteria[one].text}"
        for one in task.criteria
        if one in state.criteria
    ]
    lines += [f"must not: {one.text}" for one in state.must_nots]
    reasons = decisions.touching(state, task.files)
    for one in reasons[:MOST_REASONS]:
        lines.append(
            ("not again: " if decisions.is_lesson(one) else "keep to ") + decisions.line(one, 300)
        )
    if len(reasons) > MOST_REASONS:
        lines.append(f"and {len(reasons) - MOST_REASONS} more: loopkit decide --list")
    for entry in task.history[-3:]:
        lines.append(
            f"attempt {entry['attempt']} failed ({prose.clean(entry['approach'], 160)}): "
            + app.quoted(f"{entry['result']}; {entry['error'][-400:].strip()}", 600)
        )
    told = task.history[-1]["error"] if task.history else task.description
    for finding in state.findings.values():
        if finding.task == task.id and finding.issue not in told:
            what = f"; do: {finding.guidance}" if finding.guidance else ""
            lines.append(
                f"found by review {finding.source}: "
                f"{app.quoted(f'{finding.place} {finding.issue}{what}', 600)}"
            )
    if state.course.answer:
        lines.append(f"the person was asked and said: {app.quoted(state.course.answer, 600)}")
    advice = panel.advice(state, task.id)
    if advice:
        lines.append(
            f"the panel says: {app.quoted(advice['consensus'], 600)}; if that fails: "
            f"{app.quoted(advice['fallback'], 400)}"
        )
        lines += [
            f"  recommended ({one['confidence']}/9): {prose.clean(one['approach'], 300)}"
            for one in advice["recommendations"]
            if one["approach"] != advice["consensus"]
        ]
        if advice.get("dissent"):
            lines.append(f"  seen otherwise: {prose.clean(advice['dissent'], 300)}")
    if task.evidence:
        lines.append(f"last check: exit {task.evidence.exit}, {loop.folder}/{task.evidence.log}")
    lines.append(
        "only this task; nothing in .loop/ is edited; when its check has passed, stop and report "
        "what verify printed"
    )
    click.echo(app.printable("\n".join(lines)))
    click.echo(
        f"next: loopkit verify {task.id} -- {task.verify}"
        if task.verify
        else f'next: loopkit task set {task.id} --verify "<command>"'
    )


@_add("start", "loopkit task start T-003")
@click.argument("task_id")
def start(call: app.App, task_id: str) -> None:
    """Start a task: within the open wave, or in a wave of its own."""
    loop = call.own_loop()
    changes = call.change(loop, started, task_id)
    task = work.find(loop.state, task_id)
    call.answer(loop, f"{task.id} {'started' if changes else 'runs already'} in wave {task.wave}")


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
) -> int:
    """Give the attempt up. The rule names what follows: retry, replan or impossible; that ends the
    loop, exit code 1."""
    loop = call.own_loop()
    error = app.read_input(call, error_file) if error_file else error
    changes = call.change(loop, attempts.failed, task_id, error, suggest)
    data = changes[0][1]
    task = work.find(loop.state, task_id)
    row = work.escalated(loop.state, task.id, data)
    call.answer(
        loop, f"{task.id} failed, attempt {task.attempts}: {data['action']}{weighed(data)}", row
    )
    return int(loop.state.session.status == verdict.FAILED)


@_add("block", "loopkit task block T-003 --kind permission --reason 'needs a signature'")
@click.argument("task_id")
@click.option("--kind", default="external", help=" | ".join(tasks.BLOCK_KINDS))
@click.option("--reason", default="", help="What is needed to go on.")
def block(call: app.App, task_id: str, kind: str, reason: str) -> None:
    """Mark a task as waiting for something outside the loop."""
    loop = call.own_loop()
    call.change(loop, work.blocked, task_id, kind, reason)
    call.answer(
        loop, f"{work.find(loop.state, task_id).id} blocked ({kind}): {prose.clean(reason, 300)}"
    )


@_add("unblock", "loopkit task unblock T-003")
@click.argument("task_id")
def unblock(call: app.App, task_id: str) -> None:
    """What it waited for is there."""
    loop = call.own_loop()
    call.change(loop, work.unblocked, task_id)
    call.answer(loop, f"{work.find(loop.state, task_id).id} is pending again")


@_add("split", "loopkit task split T-003 --file -")
@click.argument("task_id")
@click.option(
    "--file",
    "source",
    required=True,
    metavar="FILE",
    help="Subtasks as a block YAML list, as for task add.",
)
def split(call: app.App, task_id: str, source: str) -> None:
    """Replace a task by smaller ones; it is completed with the last of them."""
    loop = call.own_loop()
    rows = app.read_record(call, source, list)
    changes = call.change(loop, work.split, task_id, rows)
    call.answer(loop, f"{changes[-1][1]['id']} split into {', '.join(changes[-1][1]['subtasks'])}")


@_add("set", 'loopkit task set T-003 --verify "pytest -q"')
@click.argument("task_id")
@click.option("--verify", metavar="COMMAND", help="Another verification command.")
@click.option(
    "--blocked-by", multiple=True, metavar="ID", help="All it waits for; `none` for nothing."
)
@click.option("--files", multiple=True, metavar="PATH", help="All files it changes.")
def set_(call: app.App, task_id: str, verify: str | None, blocked_by: tuple, files: tuple) -> None:
    """Change the check, the blockers or the files of a task."""
    loop = call.own_loop()
    blockers = [one for one in blocked_by if one != "none"] if blocked_by else None
    call.change(loop, work.changed, task_id, verify, blockers, list(files) or None)
    call.answer(loop, f"{work.find(loop.state, task_id).id} changed")


@_add("remove", "loopkit task remove T-003")
@click.argument("task_id")
def remove(call: app.App, task_id: str) -> None:
    """Take a task out that has not been worked on; its id stays used."""
    loop = call.own_loop()
    changes = call.change(loop, work.removed, task_id)
    call.answer(loop, f"{changes[0][1]['id']} removed")


@_add("waves", "loopkit task waves")
def waves(call: app.App) -> None:
    """The order in which the open tasks can be worked on, wave by wave."""
    loop = call.loop()
    left = {
        one: [two for two in loop.state.tasks[one].blocked_by if two in loop.state.open]
        for one in loop.state.open
    }
    layers = graph.waves(left)
    call.answer(
        loop,
        "\n".join(f"{place}: {', '.join(layer)}" for place, layer in enumerate(layers, 1)),
        {"waves": layers},
    )
