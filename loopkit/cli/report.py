"""loopkit report: keep a long report of an agent in a file."""

from __future__ import annotations

import os

import click

from ..core.journal import prose
from ..core.plan import patterns
from ..store import reports, tables
from . import app

#: The report whose lines are kept as relevant patterns.
GATHER = "gather"


@app.command("report", "loopkit report security-reviewer --file -")
@click.argument("name")
@click.option(
    "--file", "source", required=True, metavar="FILE", help="The report; - for standard input."
)
def command(call: app.App, name: str, source: str) -> None:
    """Keep a long report in a file of the loop and print its path; an agent answers with the path
    and few lines. What looks like a credential is left out of it.

    One called `gather` also gives the relevant patterns of context.md: its first lines.
    """
    loop = call.own_loop()
    text, most = app.read_copied(call, source)
    text = tables.masks().without(text, call.environment)
    target = reports.keep(loop.folder, name, text, most)
    shown = os.path.join(".loop", os.path.relpath(target, loop.root))
    if reports.slugged(name) == GATHER:
        for _, data in call.change(loop, patterns.gathered, text):
            shown += f"\n{prose.count(len(data['lines']), 'pattern')} in context.md"
    call.answer(loop, shown, {"path": shown.split("\n")[0]}, [])
