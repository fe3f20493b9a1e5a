"""loopkit recall: what loops taught, answered one by one."""

from __future__ import annotations

import click

from ..core import announce, intake
from ..core.errors import UsageFault
from ..store import learnings
from . import app


@app.command("recall", "loopkit recall --confirm 1,3 --dismiss 2")
@click.option("--confirm", metavar="N,…", help="Numbers that apply here.")
@click.option("--dismiss", metavar="N,…", help="Numbers that do not.")
def command(call: app.App, confirm: str | None, dismiss: str | None) -> None:
    """Show learnings that fit the request; record which apply. Confirmed ones count as familiarity in the fit score."""
    loop = call.own_loop() if confirm or dismiss else call.loop()
    found = learnings.fitting(learnings.read(loop.root), loop.state.text, app.now())
    titles = [one.title for one in found]
    if confirm or dismiss:
        call.change(loop, intake.recall_answered, titles, _numbers(confirm), _numbers(dismiss))
        call.answer(loop, f"recorded: {len(_numbers(confirm))} confirmed, {len(_numbers(dismiss))} dismissed")
        return
    lines = [
        f"{place}. [{one.kind}] {one.title}: {announce.clean(one.text, 200)}" for place, one in enumerate(found, 1)
    ]
    call.answer(
        loop,
        "\n".join(lines) or "nothing learnt before fits this request",
        {"learnings": [one._asdict() for one in found]},
    )


def _numbers(text: str | None) -> list[int]:
    try:
        return [int(one) for one in (text or "").replace(" ", "").split(",") if one]
    except ValueError:
        raise UsageFault(f"not a list of numbers: {text!r}", "write it like 1,3") from None
