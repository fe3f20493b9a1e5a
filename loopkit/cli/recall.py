"""loopkit recall: what loops taught, answered one by one."""

from __future__ import annotations

import click

from ..core.journal.errors import UsageFault
from ..ops import recall
from . import app


@app.command("recall", "loopkit recall --confirm 1,3 --dismiss 2")
@click.option("--confirm", metavar="N,…", help="Numbers that apply here.")
@click.option("--dismiss", metavar="N,…", help="Numbers that do not.")
@click.option(
    "--about",
    metavar="FILE",
    help="Find what fits this text instead; - for standard input. Needs no loop.",
)
def command(
    call: app.App, confirm: str | None, dismiss: str | None, about: str | None
) -> app.Result:
    """Show learnings that fit the request; record which apply. Confirmed ones count as familiarity
    in the fit score."""
    answers = confirm or dismiss
    if about and answers:
        raise UsageFault("--about together with answers", "answer what fits the loop's own request")
    if about:
        return recall.about(call, app.read_input(call, about))
    if answers:
        return recall.answer(call, app.numbers(confirm), app.numbers(dismiss))
    return recall.show(call)
