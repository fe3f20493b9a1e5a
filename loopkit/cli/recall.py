"""loopkit recall: what loops taught, answered one by one."""

from __future__ import annotations

import json

import click

from ..core.journal import prose
from ..core.journal.errors import UsageFault
from ..core.journal.state import LoopState
from ..core.memory import recall
from ..core.memory.learned import Learning
from ..core.request import intake
from ..store import learnings, origin
from . import app


@app.command("recall", "loopkit recall --confirm 1,3 --dismiss 2")
@click.option("--confirm", metavar="N,…", help="Numbers that apply here.")
@click.option("--dismiss", metavar="N,…", help="Numbers that do not.")
@click.option(
    "--about",
    metavar="FILE",
    help="Find what fits this text instead; - for standard input. Needs no loop.",
)
def command(call: app.App, confirm: str | None, dismiss: str | None, about: str | None) -> None:
    """Show learnings that fit the request; record which apply. Confirmed ones count as familiarity
    in the fit score."""
    if about:
        if confirm or dismiss:
            raise UsageFault(
                "--about together with answers", "answer what fits the loop's own request"
            )
        _about(call, app.read_input(call, about))
        return
    loop = call.own_loop() if confirm or dismiss else call.loop()
    if confirm or dismiss:
        yes, no = numbers(confirm), numbers(dismiss)
        titles = [one.title for one in _ranked(call, loop.root, loop.state)]
        call.change(loop, intake.recall_answered, titles, yes, no)
        call.answer(loop, f"recorded: {len(yes)} confirmed, {len(no)} dismissed")
        return
    shown = fitting(call, loop.root, loop.state)
    said = lines(shown)
    if shown and loop.state.stage == "intent":
        said.append(
            "what applies here? the person says: skill hope:recall, loopkit recall --confirm N "
            "--dismiss N"
        )
    elif not shown:
        said = [
            "nothing else was learnt before"
            if _answered(loop.state)
            else "nothing learnt before fits this request"
        ]
    call.answer(loop, "\n".join(said), {"learnings": as_json(shown)})


def fitting(call: app.App, root: str, state: LoopState) -> list[tuple[int, Learning]]:
    """The best learnings that were not answered yet in this loop, each with its number, which
    answers do not change."""
    answered = {*state.recall_surfaced, *state.recall_dismissed}
    ranked = _ranked(call, root, state)
    return [(place, one) for place, one in enumerate(ranked, 1) if one.title not in answered][
        : recall.SHOWN
    ]


def _answered(state: LoopState) -> int:
    return len(state.recall_surfaced) + len(state.recall_dismissed)


def _ranked(call: app.App, root: str, state: LoopState) -> list[Learning]:
    most = recall.SHOWN + _answered(state)
    return learnings.fitting(
        call.origin(root), state.text, app.now(), call.environment, app.note, most
    )


def lines(shown: list[tuple[int, Learning]]) -> list[str]:
    """`1. [failure] title: text`, and where it is from unless that is this project."""
    return [
        f"{place}. [{one.kind}] {prose.clean(one.title, 200)}: {prose.clean(one.text, 200)}"
        + ("" if one.where == origin.PROJECT else f" ({prose.clean(one.where, 120)})")
        for place, one in shown
    ]


def as_json(shown: list[tuple[int, Learning]]) -> list[dict]:
    """The same for programs."""
    return [
        {
            "number": place,
            "kind": one.kind,
            "title": one.title,
            "text": one.text,
            "where": one.where,
        }
        for place, one in shown
    ]


def _about(call: app.App, text: str) -> None:
    whose = call.origin(call.root) if call.root else None
    found = learnings.fitting(whose, text, app.now(), call.environment, app.note)
    shown = list(enumerate(found, 1))
    said = "\n".join(lines(shown)) or "nothing learnt before fits this text"
    if call.as_json:
        click.echo(
            json.dumps({"learnings": as_json(shown), "said": said, "next": []}, ensure_ascii=False)
        )
        return
    click.echo(app.printable(said))


def numbers(text: str | None) -> list[int]:
    """The numbers of `1,3`. Raises UsageFault."""
    try:
        return [int(one) for one in (text or "").replace(" ", "").split(",") if one]
    except ValueError:
        raise UsageFault(f"not a list of numbers: {text!r}", "write it like 1,3") from None
