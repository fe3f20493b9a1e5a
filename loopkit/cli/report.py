"""loopkit report: keep a long report of an agent in a file."""

from __future__ import annotations

import os

import click

from ..store import reports
from . import app


@app.command("report", "loopkit report security-reviewer --file -")
@click.argument("name")
@click.option("--file", "source", required=True, metavar="FILE", help="The report; - for standard input.")
def command(call: app.App, name: str, source: str) -> None:
    """Keep a long report in a file of the loop and print its path; an agent answers with the path and few lines."""
    loop = call.own_loop()
    target = reports.keep(loop.folder, name, app.read_input(source))
    shown = os.path.join(".loop", os.path.relpath(target, loop.root))
    call.answer(loop, shown, {"path": shown}, [])
