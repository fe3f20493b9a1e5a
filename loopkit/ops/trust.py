"""What came with the repository, shown and taken over by the person."""

import json
from collections.abc import Sequence

from ..core.journal import prose
from ..core.journal.errors import LoopError, Refused, UsageFault
from ..core.memory import learned
from ..render import printable
from ..store import config, origin, trust
from ..store.loop import writes
from ..store.origin import Item
from .workspace import Result, Workspace

ALL = "all"
#: Characters of a digest that are printed, and of a line at the most: more than is ever told of a
#: learning.
SHORT, LONGEST = 12, 10_000


def take_over(workspace: Workspace, words: list[str]) -> Result:
    """Show the settings, learnings, decisions, stages and pipelines in .loop that came with the
    repository, or take them over, in a terminal.

    They are used only once you have taken them over, as they stand now: what is changed later is
    untrusted again. A session of Claude Code sees how many there are, and no more.
    """
    known = (*origin.WORDS.values(), ALL)
    unknown = [word for word in words if word not in known]
    if unknown:
        what = f"there is nothing called {unknown[0][:40]!r} to take over"
        raise UsageFault(what, "give " + ", ".join(known))
    items = origin.along(workspace.origin(workspace.root)) if workspace.root else []
    chosen = [item for item in items if ALL in words or origin.WORDS[item.kind] in words]
    if not items and not words:
        return _result(workspace, ["nothing came with the repository that is not taken over"])
    if not words:
        who = "to take over what stands there: loopkit"
        if workspace.session:
            who = f"the person, in a terminal of their own: {origin.program()}"
        lines = [
            f"came with the repository, not used: {origin.counted(items)}",
            *_listed(items, contents=not workspace.session),
            f"{who} trust {' | '.join(known)}",
        ]
        return _result(workspace, lines, came=items)
    if not chosen:
        nothing = "nothing of that came with the repository, or it is taken over already"
        return _result(workspace, [nothing], came=items)
    _check(workspace, chosen)
    about = {origin.SETTINGS: f"{origin.SETTINGS} {workspace.root}"}  # they count here only
    with writes(trust.contents()):
        trust.vouch(trust.TAKEN, [(row.digest, about.get(row.kind, row.kind)) for row in chosen])
    lines = [f"taken over: {origin.counted(chosen)}", *_listed(chosen, contents=True)]
    return _result(workspace, lines, taken=chosen)


def _check(workspace: Workspace, chosen: list[Item]) -> None:
    """Raises Refused in a session, which does not show it, and for settings that are invalid."""
    if workspace.session:
        raise Refused(
            "only the person takes over what came with the repository, and a session does not "
            "show what it is",
            f"they do it in a terminal of their own: {origin.program()} trust all",
        )
    for item in (item for item in chosen if item.kind == origin.SETTINGS):
        try:
            if item.text is None:
                raise UsageFault("it cannot be read")
            config.parsed(item.text.encode(), item.name)
        except LoopError as error:  # its text may hold untrusted words
            what = f"the settings cannot be used as they are: {error}"
            raise Refused(what, f"fix or remove .loop/{item.name}; take the rest by name") from None


def _listed(items: list[Item], contents: bool) -> list[str]:
    """A line for each with its digest; in a terminal with what would be told of it or count, whole
    and indented: no name and no word of theirs reaches a session."""
    lines = []
    for item in items:
        name = f" {prose.clean(item.name, 200)}" if contents else ""
        lines.append(f"  {item.kind} {item.digest[:SHORT] or '(cannot be read)'}{name}")
        if contents and item.text is not None:
            lines += ["    " + prose.clean(row, LONGEST) for row in _meant(item, item.text)]
    return lines


def _meant(item: Item, text: str) -> list[str]:
    """What an entry means: settings that differ from the defaults, or the words that are told."""
    if item.kind == origin.SETTINGS:
        try:
            values, usual = (_flat(config.parsed(raw, item.name)) for raw in (text.encode(), b""))
        except LoopError as error:
            return [f"cannot be used: {error}"]
        changed = [name for name in values if usual.get(name, ...) != values[name]]
        return [f"{name} = {values[name]!r}" for name in changed] or ["as usual"]
    if item.kind == origin.DEFINITION:
        return text.splitlines()
    if item.kind == origin.DECISION:
        row = learned.decision(text, item.name)
    else:
        row = learned.entry(json.loads(text), item.name)
    return [f"[{row.kind}] {row.title}: {row.text}"] if row is not None else []


def _flat(values: dict, above: str = "") -> dict:
    """Settings by their names with those of their tables in front."""
    rows = {}
    for key, value in values.items():
        name = above + key
        rows.update(_flat(value, f"{name}.") if isinstance(value, dict) else {name: value})
    return rows


def _result(
    workspace: Workspace, lines: list[str], came: Sequence[Item] = (), taken: Sequence[Item] = ()
) -> Result:
    text, rows = printable("\n".join(lines)), {}
    for name, items in (("came", came), ("taken", taken)):
        rows[name] = [{"kind": item.kind, "digest": item.digest} for item in items]
        if not workspace.session:
            for row, item in zip(rows[name], items, strict=True):
                row |= {"name": printable(item.name), "text": printable(item.text or "")}
    return Result(None, text, {**rows, "said": text, "next": []})
