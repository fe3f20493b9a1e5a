"""loopkit run: stages and pipelines, a fresh agent for each iteration."""

from __future__ import annotations

import json
import os
import sys

import click

from ..core.journal.errors import UsageFault
from ..core.journal.settings import POLICIES, SUPERVISOR
from ..engine import run as runner
from ..ops.runs import start as starting
from ..ops.runs.loops import continued, is_session, session_of
from ..ops.runs.ready import LOOPER, PIPELINE, STAGE, Asked, amount, own_words
from ..ops.workspace import Result
from ..render import printable
from . import app


class _Command(click.Command):
    """Takes the words behind `--` as the program of agent `command`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            context.meta["program"] = args[cut + 1 :] or [""]
            args = args[:cut]
        return super().parse_args(context, args)


_OPTIONS = (
    click.argument("words", nargs=-1, metavar="[stage|pipeline] NAME SESSION [ITERATIONS]"),
    app.flag("--single-stage", "single", hidden=True, help="Of `pipeline`: NAME is a stage."),
    click.option("--iterations", metavar="N", help="The same as the third word."),
    click.option("--usd", metavar="USD", help="What it may cost; none: no limit."),
    click.option("--time", "seconds", metavar="TIME", help="How long it may take, as 90m; none."),
    app.flag("--resume", help="Go on with the run of that session."),
    app.flag("--force", help="Put that run away, end it first if need be, and start over."),
    app.flag(
        "--accept-changes", "accept_changes", hidden=True, help="Go on though its files changed."
    ),
    app.flag("--dry-run", "dry", help="Show what would be done; start and write nothing."),
    app.flag("--tmux", help="In tmux session loop-<session>."),
    click.option("--agent", metavar="NAME", help="claude, command, script, or your own."),
    click.option("--model", metavar="NAME", help="The model, in the agent's own words."),
    click.option("--script", metavar="FILE", help="The answers of agent script."),
    click.option(
        "--record", metavar="FILE", hidden=True, help="Write the agent's answers for agent script."
    ),
    app.several("--items", "TEXT", "An item of an all-items stage."),
    app.file("One item a line", "--items-file"),
    click.option("--loop", default="", metavar="NAME", help="The loop that it works on."),
    click.option("--tasks", default="", metavar="FILE", help="Tasks of which that loop is made."),
    app.several("--checks", "PATTERN", "Checks that may run: 'pytest *'."),
    app.flag(
        "--take-over", "take_over", hidden=True, help="Also from a session that is at work on it."
    ),
    click.option(
        "--approval",
        type=click.Choice(POLICIES),
        metavar="POLICY",
        help="Of looper: supervisor, review.",
    ),
    app.flag("--continue", "go_on", help="Go on with the loop of a session [NAME]."),
)


@app.command("run", "loopkit run work auth 25", *_OPTIONS, cls=_Command)
def run(call: app.App, words: tuple[str, ...], **given: object) -> int | Result:
    """Run a stage or a pipeline, a fresh agent each iteration, until it is complete or a limit is
    reached; without arguments, list what there is. Behind `--` stands the program of agent
    command."""
    if not words and not given["go_on"]:
        if any(given.values()):
            raise UsageFault("give a stage or pipeline and a session", "loopkit run work auth 25")
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
    """The start that was asked for."""
    if given["resume"] and given["force"]:
        raise UsageFault("--resume and --force exclude each other", "give one of them")
    how = "resume" if given["resume"] else "force" if given["force"] else "plain"
    if given["go_on"]:
        return _continued(call, words, given)
    if words[0] == LOOPER:
        return _looper(call, words, given, how)
    form, rest = "", list(words)
    if rest[0] in (STAGE, PIPELINE):
        form = rest.pop(0)
    if given["single"]:
        form = STAGE
    if len(rest) not in (2, 3):
        raise UsageFault("give a stage or pipeline and a session", "loopkit run work auth 25")
    asked = _common(call, given, rest[2] if len(rest) == 3 else None)
    words = (*((form,) if form else ()), *rest[:2], *asked.words)
    return asked._replace(name=rest[0], session=rest[1], form=form, words=words, how=how)


def _looper(call: app.App, words: tuple[str, ...], given: dict, how: str) -> Asked:
    """A goal and a session's name, which the goal gives where it is left out; of a run that is
    there its name alone."""
    rest = list(words[1:])
    if not 1 <= len(rest) <= 3:
        raise UsageFault("give a goal in quotes", 'loopkit run looper "answer 429 over the limit"')
    if how != "plain" and is_session(rest[0]):
        goal, session, more = "", rest[0], rest[1:]
    else:
        goal = rest[0]
        session, more = rest[1] if len(rest) > 1 else session_of(goal), rest[2:]
    if how == "plain" and not goal.strip():
        raise UsageFault("the goal is empty", 'loopkit run looper "<what you want done>"')
    if len(more) > 1:
        raise UsageFault("give the name of a run and a number", "loopkit run looper auth 25")
    asked = _common(call, given, more[0] if more else None)
    approval = str(given["approval"] or SUPERVISOR)
    words = (LOOPER, session, *asked.words)
    return asked._replace(
        name=LOOPER, session=session, words=words, how=how, goal=goal, approval=approval
    )


def _continued(call: app.App, words: tuple[str, ...], given: dict) -> Asked:
    """The loop of a session, the active one where none is named."""
    if len(words) > 1:
        raise UsageFault("--continue takes the name of one loop", "loopkit run --continue auth")
    found = continued(call, words[0] if words else "")
    asked = _common(call, given, None)
    return asked._replace(
        name=LOOPER,
        session=found.session,
        words=(LOOPER, found.session, *asked.words),
        how=found.how,
        loop=found.folder,
    )


def _common(call: app.App, given: dict, number: str | None) -> Asked:
    """What the options say. number: that of iterations behind the names."""
    most = amount(given["iterations"] or number, "iterations")
    program = click.get_current_context().meta.get("program")
    chosen = {key: given[key] for key in ("agent", "model", "script", "record") if given[key]}
    if program:
        program = [_from_here(program[0]), *program[1:]]
        chosen = {"agent": "command", **chosen, "program": program}
    return Asked(
        "",
        "",
        words=_typed({**given, "iterations": given["iterations"] or number}),
        iterations=None if most is None else int(most),
        usd=amount(given["usd"], "usd"),
        seconds=amount(given["seconds"], "seconds"),
        chosen=chosen,
        items=_items(call, given),
        accept_changes=bool(given["accept_changes"]),
        loop=str(given["loop"]),
        tasks=str(given["tasks"]),
        checks=tuple(given["checks"]),
        take_over=bool(given["take_over"]),
    )


#: Options that a further start has to be told again, and what they are called here.
_TOLD_AGAIN = {
    "--iterations": "iterations",
    "--usd": "usd",
    "--time": "seconds",
    "--items": "items",
    "--items-file": "source",
    "--loop": "loop",
    "--tasks": "tasks",
    "--checks": "checks",
    "--approval": "approval",
}


def _typed(given: dict) -> tuple[str, ...]:
    """Those of them that were typed, in pairs with their values."""
    rows = ((name, given[key]) for name, key in _TOLD_AGAIN.items())
    pairs = ((name, one) for name, row in rows for one in (row if type(row) is list else [row]))
    words = [word for name, one in pairs if one for word in (name, one)]
    return (*words, *own_words(dict(os.environ)))


def _from_here(program: str) -> str:
    """A program that was typed: a path counts from here, wherever its agents work."""
    return os.path.abspath(program) if os.path.dirname(program) else program


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
        about = "" if record.step.subject is None else f" {record.step.subject}"
        return [f"{record.step.kind.replace('_', ' ')}{about}: begun"]
    if isinstance(record, starting.Told | runner.Recorded):
        return [record.text]
    if isinstance(record, runner.Unusable):
        return [f"  its answer cannot be used: {record.error}"]
    return [f"failed: {record.text}"] if isinstance(record, runner.Ended) and record.text else []


def _nothing(line: str) -> None:
    """With --json progress is not printed."""


def _beside(line: str) -> None:
    """A line of an agent's progress."""
    click.echo(printable(f"  {line}"))
