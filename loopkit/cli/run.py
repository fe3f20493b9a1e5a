"""loopkit run: stages and pipelines, a fresh agent for each iteration."""

from __future__ import annotations

import json
import sys

import click

from ..core.journal.errors import UsageFault
from ..engine import run as runner
from ..ops.runs import start as starting
from ..ops.runs.start import PIPELINE, STAGE, Asked
from ..ops.workspace import Result
from ..render import printable
from . import app


class _Command(click.Command):
    """Takes the words behind `--` as the program of agent `command`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            context.meta["program"] = args[cut + 1 :]
            args = args[:cut]
        return super().parse_args(context, args)


_OPTIONS = (
    click.argument("words", nargs=-1, metavar="[stage|pipeline] NAME SESSION [ITERATIONS]"),
    app.flag("--single-stage", "single", help="Of `pipeline`: NAME is a stage."),
    click.option("--iterations", metavar="N", help="The same as the third word."),
    click.option("--usd", metavar="USD", help="What it may cost; none: no limit."),
    click.option("--time", "seconds", metavar="TIME", help="How long it may take, as 90m; none."),
    app.flag("--resume", help="Go on with the run of that session."),
    app.flag("--force", help="Put that run away, end it first if need be, and start over."),
    app.flag("--accept-changes", "accept_changes", help="Go on though its files have changed."),
    app.flag("--dry-run", "dry", help="Show what would be done; start and write nothing."),
    app.flag("--tmux", help="In a tmux session of its own, loop-<session>."),
    click.option("--agent", metavar="NAME", help="claude, command, script, or your own."),
    click.option("--model", metavar="NAME", help="The model, in the agent's own words."),
    click.option("--script", metavar="FILE", help="The answers of agent script."),
    click.option("--record", metavar="FILE", help="Write the agent's answers for agent script."),
    app.several("--items", "TEXT", "An item of an all-items stage; may be given several times."),
    app.file("One item a line", "--items-file"),
    click.option("--loop", default="", metavar="FOLDER", help="The loop of a tasks-empty stage."),
)


@app.command("run", "loopkit run work auth 25", *_OPTIONS, cls=_Command)
def run(call: app.App, words: tuple[str, ...], **given: object) -> int | Result:
    """Run a stage or a pipeline, a fresh agent each iteration, until it is complete or a limit is
    reached; without arguments, list what there is. Behind `--` stands the program of agent
    command."""
    if not words:
        from ..ops.runs import listing

        return listing.definitions(call)
    asked = _asked(call, words, given)
    if given["dry"]:
        click.echo(printable(starting.shown(call, asked).text))
        return 0
    if given["tmux"]:
        from ..ops.runs import tmux

        return tmux.start(call, asked, [word for word in sys.argv[1:] if word != "--tmux"])
    return _run(call, asked)


def _asked(call: app.App, words: tuple[str, ...], given: dict) -> Asked:
    form, rest = "", list(words)
    if rest[0] in (STAGE, PIPELINE):
        form = rest.pop(0)
    if given["single"]:
        form = STAGE
    if len(rest) not in (2, 3):
        raise UsageFault("give a stage or pipeline and a session", "loopkit run work auth 25")
    if given["resume"] and given["force"]:
        raise UsageFault("--resume and --force exclude each other", "give one of them")
    typed = given["iterations"] or (rest[2] if len(rest) == 3 else None)
    most = starting.amount(typed, "iterations")
    program = click.get_current_context().meta.get("program")
    chosen = {key: given[key] for key in ("agent", "model", "script", "record") if given[key]}
    if program:
        chosen = {"agent": "command", **chosen, "program": program}
    return Asked(
        rest[0],
        rest[1],
        form,
        words if len(rest) == 2 else words[:-1],
        None if most is None else int(most),
        starting.amount(given["usd"], "usd"),
        starting.amount(given["seconds"], "seconds"),
        how="resume" if given["resume"] else "force" if given["force"] else "plain",
        chosen=chosen,
        items=_items(call, given),
        accept_changes=bool(given["accept_changes"]),
        loop=str(given["loop"]),
    )


def _items(call: app.App, given: dict) -> tuple[str, ...] | None:
    rows = list(given["items"])
    if given["source"]:
        rows += [row for row in app.read_input(call, given["source"]).splitlines() if row.strip()]
    elif not rows:
        return None
    return tuple(rows)


def _run(call: app.App, asked: Asked) -> int:
    """Print what happens while it happens, with --json only the end."""
    code = 1
    for record in starting.start(call, asked, told=_nothing if call.as_json else _beside):
        if isinstance(record, starting.Over):
            code = record.code
            click.echo(json.dumps(record.data) if call.as_json else printable(record.text))
        elif not call.as_json:
            for line in _lines(record):
                click.echo(printable(line))
                sys.stdout.flush()
    if sys.stdout.isatty():
        click.echo("\a", nl=False)
    return code


def _lines(record: starting.Record) -> list[str]:
    if isinstance(record, runner.Asked):
        return [f"{record.step.kind} {record.step.subject}: begun"]
    if isinstance(record, starting.Told | runner.Recorded):
        return [record.text]
    return [f"failed: {record.text}"] if isinstance(record, runner.Ended) and record.text else []


def _nothing(line: str) -> None:
    """With --json progress is not printed."""


def _beside(line: str) -> None:
    """A line of an agent's progress."""
    click.echo(printable(f"  {line}"))
