"""loopkit trust: what came with the repository, taken over by the person."""

from __future__ import annotations

import json

import click

from ..core.journal import prose
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.memory import learned
from ..store import config, origin, trust
from ..store.loop import unwritable
from ..store.origin import Item
from . import app

ALL = "all"
#: Characters of a digest that are printed, and of a line at the most: more than is ever told of a
#: learning.
SHORT, LONGEST = 12, 10_000


@app.command("trust", "loopkit trust learnings decisions")
@click.argument("words", nargs=-1, metavar="[settings|learnings|decisions|all]...")
def command(call: app.App, words: tuple[str, ...]) -> None:
    """Show the settings, learnings and decisions in .loop that came with the repository, or take
    them over, in a terminal.

    They are used only once you have taken them over, as they stand now: what is changed later is a
    stranger's again. A session of Claude Code sees how many there are, and no more.
    """
    known = (*origin.WORDS.values(), ALL)
    for word in words:
        if word not in known:
            raise UsageFault(
                f"there is nothing called {word[:40]!r} to take over", "give " + ", ".join(known)
            )
    whose = call.origin(call.root) if call.root else None
    items = origin.along(whose) if whose else []
    if not words:
        _show(call, items)
        return
    chosen = [one for one in items if ALL in words or origin.WORDS[one.kind] in words]
    if not chosen:
        _answer(
            call,
            ["nothing of that came with the repository, or it is taken over already"],
            items,
            [],
        )
        return
    _check(call, chosen)
    try:
        trust.vouch(trust.TAKEN, [(one.digest, _noted(call, one)) for one in chosen])
    except OSError as error:
        raise unwritable(trust.contents(), error) from None
    _answer(
        call,
        [f"taken over: {origin.counted(chosen)}", *_listed(chosen, contents=True)],
        items,
        chosen,
    )


def _check(call: app.App, chosen: list[Item]) -> None:
    """Raises Refused in a session, where the person would not see what they take over, and for
    settings that no loop could start with."""
    if call.session:
        raise Refused(
            "only the person takes over what came with the repository, and a session does not "
            "show what it is",
            f"they do it in a terminal of their own: {origin.program()} trust all",
        )
    for one in chosen:
        if one.kind != origin.SETTINGS:
            continue
        try:
            if one.text is None:
                raise UsageFault("it cannot be read")
            config.parsed(one.text.encode(), one.name)
        except LoopError as error:  # told in words of theirs
            raise Refused(
                f"the settings cannot be used as they are: {error}",
                f"mend or remove .loop/{one.name}; take the rest by name",
            ) from None


def _noted(call: app.App, one: Item) -> str:
    return f"{one.kind} {call.root}" if one.kind == origin.SETTINGS else one.kind


def _show(call: app.App, items: list[Item]) -> None:
    if not items:
        _answer(call, ["nothing came with the repository that is not taken over"], items, [])
        return
    said = [f"came with the repository, not used: {origin.counted(items)}"]
    said += _listed(items, contents=not call.session)
    whose = (
        f"the person, in a terminal of their own: {origin.program()}"
        if call.session
        else "to take over what stands there: loopkit"
    )
    said.append(f"{whose} trust settings | learnings | decisions | all")
    _answer(call, said, items, [])


def _listed(items: list[Item], contents: bool = False) -> list[str]:
    """A line for each with its digest; in a terminal with what would be told of it or count, whole
    and indented: no name and no word of theirs reaches a session."""
    lines = []
    for one in items:
        name = f" {prose.clean(one.name, 200)}" if contents else ""
        lines.append(f"  {one.kind} {one.digest[:SHORT] or '(cannot be read)'}{name}")
        if contents and one.text is not None:
            lines += ["    " + prose.clean(row, LONGEST) for row in _meant(one)]
    return lines


def _meant(one: Item) -> list[str]:
    """What an entry comes to once it is taken over: the settings that differ from the defaults, or
    the words that are told."""
    text = one.text or ""
    if one.kind == origin.SETTINGS:
        try:
            given, usual = (_flat(config.parsed(raw, one.name)) for raw in (text.encode(), b""))
        except LoopError as error:
            return [f"cannot be used: {error}"]
        return [
            f"{key} = {value!r}" for key, value in given.items() if usual.get(key, ...) != value
        ] or ["as usual"]
    found = (
        learned.decision(text, one.name)
        if one.kind == origin.DECISION
        else learned.entry(json.loads(text), one.name)
    )
    return [f"[{found.kind}] {found.title}: {found.text}"] if found is not None else []


def _flat(values: dict, above: str = "") -> dict:
    """Settings by their names with those of their tables in front."""
    rows = {}
    for key, value in values.items():
        rows.update(
            _flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
        )
    return rows


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
    return (
        row
        if call.session
        else {**row, "name": app.printable(one.name), "text": app.printable(one.text or "")}
    )
