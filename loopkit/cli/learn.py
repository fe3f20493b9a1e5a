"""loopkit learn: what a loop taught, kept where the person says so."""

from __future__ import annotations

import os
from typing import Any

import click

from ..core.journal import clock
from ..core.journal.errors import Damaged, Refused, UsageFault
from ..core.memory import learned, learning
from ..core.steps.events import LOOP
from ..store import journal, learnings, tables
from ..store import loop as store
from . import app, recall


@app.command("learn", "loopkit learn --accept 1,3")
@click.option("--accept", metavar="N,…", help="Keep the proposals of these numbers.")
@click.option(
    "--file", "source", metavar="FILE", help="Keep these, as block YAML; - for standard input."
)
@click.option("--user", is_flag=True, help="Keep them for all projects of this user.")
def command(call: app.App, accept: str | None, source: str | None, user: bool) -> None:
    """Show what the loop taught, or keep what the person chose of it. Nothing is kept unasked."""
    if accept and source:
        raise UsageFault(
            "--accept together with --file", "hand in the edited ones first, accept the rest then"
        )
    loop = None if source and not call.root else _loop(call, needed=not source)
    if not accept and not source:
        if user:
            raise UsageFault("--user without something to keep", "give --accept or --file")
        assert loop is not None
        _show(call, loop)
        return
    if source:
        rows = app.read_record(call, source, list)
        if not rows:
            raise UsageFault(
                "no learning was handed in",
                "each begins with `- kind:`; loopkit learn prints the form",
            )
    else:
        assert loop is not None
        rows = _chosen(proposals(loop), recall.numbers(accept))
        rows = [{name: value for name, value in row.items() if name != "loop"} for row in rows]
    rows = [_checked(row, place) for place, row in enumerate(rows, 1)]
    root = None if user else call.root
    if root is None and not user:
        raise Refused("there is no .loop in this project", "keep it for yourself: add --user")
    stamp = {"ts": clock.stamp(app.now())}
    mine = {"loop": loop.name} if loop is not None else {}
    kept = _keep(call, root, [{**stamp, **row, **mine} for row in rows])
    path = learnings.path_of(root, call.environment)
    said = [
        f"kept in {_short(call, path)}: {len(kept)} of {len(rows)}"
        + ("" if kept else " (known already)")
    ]
    said += ["  " + learning.told(row) for row in kept]
    if user and call.root and not learnings.user_too(call.origin(call.root)):
        said.append("recalled in a project whose .loop/config.toml has user = true under [recall]")
    _answer(call, loop, "\n".join(said), {"kept": kept, "file": path})


def _loop(call: app.App, needed: bool) -> store.Loop | None:
    try:
        return call.loop()
    except Refused:
        if needed:
            raise
        return None


def proposals(loop: store.Loop) -> list[dict]:
    """What the loop teaches, numbered from 1 by everybody who shows it."""
    try:
        tail = journal.read(loop.path, LOOP)
    except OSError as error:
        raise Damaged(f"cannot read {loop.path}: {error.strerror}", "see loopkit doctor") from None
    return learning.proposed(loop.state, tail.events if tail else (), tables.masks().masked)


def _show(call: app.App, loop: store.Loop) -> None:
    rows = proposals(loop)
    known = _known(call, loop.root) + _known(call, None)
    kept = [learned.again({**row}, known) is None for row in rows]
    said = [
        f"{place}. {learning.told(row)}" + (" (kept)" if is_kept else "")
        for place, (row, is_kept) in enumerate(zip(rows, kept, strict=True), 1)
    ]
    if said:
        said.append(
            "the person decides (skill hope:learn): loopkit learn --accept N, or in better words:"
        )
    else:
        said.append(f"loop {loop.name} proposes nothing; what you know better is kept like this:")
    said += ["loopkit learn --file - (--user: for all your projects), as block YAML:", learned.FORM]
    data = {
        "proposals": [{**row, "number": place} for place, row in enumerate(rows, 1)],
        "kept": kept,
    }
    _answer(call, loop, "\n".join(said), data)


def _answer(call: app.App, loop: store.Loop | None, said: str, data: dict) -> None:
    if loop is not None:
        call.answer(loop, said, data)
        return
    if call.as_json:
        import json

        said = json.dumps({**data, "said": said, "next": []}, ensure_ascii=False)
    click.echo(app.printable(said))


def _chosen(rows: list[dict], numbers: list[int]) -> list[dict]:
    for place in numbers:
        if not 1 <= place <= len(rows):
            raise Refused(
                f"there is no proposal {place}", f"see loopkit learn, it shows {len(rows)}"
            )
    if not numbers:
        raise UsageFault("no number was given", "write them like 1,3")
    return [rows[place - 1] for place in dict.fromkeys(numbers)]


def _keep(call: app.App, root: str | None, rows: list[dict]) -> list[dict]:
    """Write what is new of the rows; returns that. Raises Damaged."""
    path = learnings.path_of(root, call.environment)
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise store.unwritable(folder, error) from None
    with store.locked(folder):
        known = _known(call, root)
        kept: list[dict] = []
        for row in rows:
            new = learned.again(row, [*known, *kept])
            if new is not None:
                kept.append(new)
        try:
            if kept:
                learnings.append(path, kept)
        except OSError as error:
            raise store.unwritable(path, error) from None
    return kept


def _known(call: app.App, root: str | None) -> list[dict]:
    """The person's own lines of the project, or of the user where `root` is None. Raises
    Damaged."""
    path = learnings.path_of(root, call.environment)
    try:
        return learnings.rows(path, call.origin(root) if root else None)
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}", "mend or remove it") from None


def _short(call: app.App, path: str) -> str:
    near = os.path.relpath(path, call.folder)
    return path if near.startswith("..") else near


def _checked(given: object, place: int) -> dict:
    """A learning that was handed in, checked. Raises UsageFault naming the entry and the field."""
    from pydantic import BaseModel, ConfigDict, Field, ValidationError

    class Entry(BaseModel):
        model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
        kind: str
        context: str = Field(min_length=1, max_length=500)

    long: Any = Field(min_length=1, max_length=1000)
    short: Any = Field("", max_length=500)

    class Failure(Entry):
        failure: str = long
        root_cause: str = Field("", max_length=1000)
        prevention: str = long
        seen: int = Field(1, ge=1, le=1_000_000)

    class Discovery(Entry):
        discovery: str = long
        confidence: float = Field(0.5, ge=0, le=1, allow_inf_nan=False)
        applies_to: str = short

    class Constraint(Entry):
        constraint: str = long
        source: str = short
        permanent: bool = False

    class Delegation(Entry):
        spec_score: int | None = Field(None, ge=0, le=10)
        fit_score: int | None = Field(None, ge=0, le=75)
        shape_chosen: str = short
        verification_type: str = short
        outcome: str = long
        failure_pattern: str = short
        root_cause: str = short
        prevention: str = short

    models: dict[str, type[Entry]] = {
        learned.FAILURE: Failure,
        learned.DISCOVERY: Discovery,
        learned.CONSTRAINT: Constraint,
        learned.DELEGATION: Delegation,
    }
    kind = given.get("kind") if isinstance(given, dict) else None
    if not isinstance(given, dict) or kind not in models:
        raise UsageFault(
            f"learning {place} has kind {str(kind)[:40]!r}", "use " + ", ".join(models)
        )
    try:
        row = models[str(kind)].model_validate(given).model_dump(exclude_none=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(one) for one in first["loc"])
        raise UsageFault(
            f"learning {place}, {name}: {first['msg'].lower()}",
            "loopkit learn prints the form of each kind",
        ) from None
    for name, value in row.items():
        if isinstance(value, str) and tables.masks().masked(value) != value:
            raise Refused(
                f"learning {place}, {name} looks like it holds a secret",
                "leave it out: others read this file",
            )
    return row
