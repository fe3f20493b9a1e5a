"""loopkit trust: what came with the repository, taken over by the person."""

from __future__ import annotations

import json

import click

from ..core import announce
from ..core.errors import LoopError, Refused, UsageFault
from ..store import came, config, origin, trust
from ..store.came import Item
from ..store.loop import unwritable
from . import app

ALL = "all"
#: Entries that are shown at the most, and characters of each.
MOST_SHOWN, LONGEST = 50, {origin.SETTINGS: 4000, origin.LEARNING: 1000, origin.DECISION: 2000}
#: Characters of a digest that are printed.
SHORT = 12


@app.command("trust", "loopkit trust learnings decisions")
@click.argument("words", nargs=-1, metavar="[settings|learnings|decisions|all]...")
def command(call: app.App, words: tuple[str, ...]) -> None:
    """Show the settings, learnings and decisions in .loop that came with the repository, or take them over.

    They are used only once the person has taken them over, as they stand now: what is changed later is a stranger's
    again. Their contents are shown in a terminal, not in a session.
    """
    known = (*came.WORDS.values(), ALL)
    for word in words:
        if word not in known:
            raise UsageFault(f"there is nothing called {word[:40]!r} to take over", "give " + ", ".join(known))
    whose = call.origin(call.root) if call.root else None
    items = came.along(whose) if whose else []
    if not words:
        _show(call, items)
        return
    chosen = [one for one in items if ALL in words or came.WORDS[one.kind] in words]
    if not chosen:
        _answer(call, ["nothing of that came with the repository, or it is taken over already"], items, [])
        return
    _check(call, chosen)
    try:
        trust.vouch(trust.TAKEN, [(one.digest, _noted(call, one)) for one in chosen])
    except OSError as error:
        raise unwritable(trust.contents(), error) from None
    _answer(call, [f"taken over: {came.counted(chosen)}", *_listed(chosen)], items, chosen)


def _check(call: app.App, chosen: list[Item]) -> None:
    """Raises Refused where nobody can be asked, and for settings that no loop could start with."""
    if _unattended(call):
        raise Refused(
            "nobody can be asked, and only the person takes over what came with the repository",
            "the person looks at it in a terminal: loopkit trust",
        )
    for one in chosen:
        if one.kind != origin.SETTINGS:
            continue
        try:
            if one.text is None:
                raise UsageFault("it cannot be read")
            config.parsed(one.text.encode(), one.name)
        except LoopError as error:  # told in words of theirs
            why = f": {error}" if not call.session else ""
            raise Refused(
                f"the settings cannot be used as they are{why}",
                f"mend or remove .loop/{one.name}; take the rest by name",
            ) from None


def _unattended(call: app.App) -> bool:
    if not call.session:
        return False
    if call.environment.get("CLAUDE_CODE_SESSION_ATTENDED") == "0" or call.environment.get("LOOPKIT_CHILD"):
        return True
    try:
        session = call.loop().state.session
    except LoopError:  # no loop of this person's
        return False
    return session.unattended and session.owner == call.session


def _noted(call: app.App, one: Item) -> str:
    return f"{one.kind} {call.root}" if one.kind == origin.SETTINGS else one.kind


def _show(call: app.App, items: list[Item]) -> None:
    if not items:
        _answer(call, ["nothing came with the repository that is not taken over"], items, [])
        return
    said = [f"came with the repository, not used: {came.counted(items)}"]
    said += _listed(items, contents=not call.session)
    said.append("the person takes over what stands there now: loopkit trust settings | learnings | decisions | all")
    _answer(call, said, items, [])


def _listed(items: list[Item], contents: bool = False) -> list[str]:
    """A line for each with its digest; with its content in a terminal, indented: no name of theirs reaches a session."""
    lines = []
    for one in items[:MOST_SHOWN]:
        name = f" {announce.clean(one.name, 200)}" if contents else ""
        lines.append(f"  {one.kind} {one.digest[:SHORT] or '(cannot be read)'}{name}")
        if contents and one.text:
            lines += ["    " + row.strip() for row in app.quoted(one.text, LONGEST[one.kind]).splitlines()]
    if len(items) > MOST_SHOWN:
        lines.append(f"  and {len(items) - MOST_SHOWN} more")
    return lines


def _answer(call: app.App, said: list[str], items: list[Item], taken: list[Item]) -> None:
    text = app.printable("\n".join(said))
    if not call.as_json:
        click.echo(text)
        return
    shown = [] if taken else items
    rows = [[_row(call, one) for one in some] for some in (shown, taken)]
    row = {"came": rows[0], "taken": rows[1], "said": text, "next": []}
    click.echo(json.dumps(row, ensure_ascii=False))


def _row(call: app.App, one: Item) -> dict:
    row = {"kind": one.kind, "digest": one.digest}
    return row if call.session else {**row, "name": app.printable(one.name), "text": app.printable(one.text or "")}
