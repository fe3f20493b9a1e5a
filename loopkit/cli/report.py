"""loopkit report: keep a long report of an agent in a file."""

from __future__ import annotations

import itertools
import os

import click

from ..core import announce
from ..store import reports
from . import app

#: The report whose lines are kept as relevant patterns; how many, and characters of each, at most.
GATHER, MOST_PATTERNS, LONGEST_PATTERN = "gather", 10, 200


@app.command("report", "loopkit report security-reviewer --file -")
@click.argument("name")
@click.option("--file", "source", required=True, metavar="FILE", help="The report; - for standard input.")
def command(call: app.App, name: str, source: str) -> None:
    """Keep a long report in a file of the loop and print its path; an agent answers with the path and few lines.

    One called `gather` also gives the relevant patterns of context.md: its first lines.
    """
    loop = call.own_loop()
    text = app.read_input(source)
    target = reports.keep(loop.folder, name, text)
    shown = os.path.join(".loop", os.path.relpath(target, loop.root))
    if reports.slugged(name) == GATHER:
        lines = patterns(text)
        call.change(loop, lambda state: [("patterns_gathered", {"lines": lines})])
        shown += f"\n{announce.count(len(lines), 'pattern')} in context.md"
    call.answer(loop, shown, {"path": shown.split("\n")[0]}, [])


def patterns(text: str) -> list[str]:
    """The lines of a gatherer's answer that say something, without list marks and fences; the first MOST_PATTERNS."""
    rows = (" ".join(row.strip().lstrip("-*• ").split()) for row in text.splitlines())
    kept = (announce.clean(row, LONGEST_PATTERN) for row in rows if row and not row.startswith(("```", "#")))
    return list(itertools.islice(kept, MOST_PATTERNS))
