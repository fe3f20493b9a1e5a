"""loopkit run: stages and pipelines, a fresh agent for each iteration."""

from __future__ import annotations

import json
import shlex

import click

from ..core.journal.errors import UsageFault
from ..engine import run as runner
from ..ops.runs import start as starting
from ..ops.runs.start import PIPELINE, STAGE, Asked
from ..render import printable
from . import app


@app.command(
    "run",
    "loopkit run work auth 25",
    click.argument("words", nargs=-1),
    click.option(
        "--agent", default="", metavar="NAME", help="claude, command, script, or your own."
    ),
    click.option("--script", default="", metavar="FILE", help="The answers of agent script."),
    click.option("--program", default="", metavar="LINE", help="The program of agent command."),
)
def run(call: app.App, words: tuple[str, ...], agent: str, script: str, program: str) -> int:
    """Run a stage or a pipeline: loopkit run <stage or pipeline> <session> [iterations]."""
    form = ""
    rest = list(words)
    if rest and rest[0] in (STAGE, PIPELINE):
        form = rest.pop(0)
    if len(rest) not in (2, 3):
        raise UsageFault("give a stage or pipeline and a session", "loopkit run work auth 25")
    runs = int(rest[2]) if len(rest) == 3 else None
    options = starting.Options(script=script, program=tuple(shlex.split(program)))
    asked = Asked(rest[0], rest[1], form, words, runs, agent=agent, options=options)
    code = 1
    for record in starting.start(call, asked):
        if isinstance(record, starting.Over):
            code = record.code
            click.echo(json.dumps(record.data) if call.as_json else printable(record.text))
        elif call.as_json:
            continue
        elif isinstance(record, starting.Told | runner.Recorded):
            click.echo(printable(record.text))
    return code
