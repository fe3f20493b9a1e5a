"""loopkit shape: hand in SHAPE.md."""

from __future__ import annotations

import json
import os

import click

from ..core.evidence import proofs
from ..core.journal import prose, stages, verdict
from ..core.journal.errors import Damaged
from ..core.journal.state import LoopState
from ..core.request import aspects, intake, shape
from ..core.review import convergence
from ..ops import workspace
from ..ops.shape import brief
from ..store import atomic, project
from ..store.loop import Loop
from . import app

TASKS = """\
- subject: "<one sentence>"
  verify: "<command>"
  description: "<what the one who does it has to know>"
  files: [<path>]
  blocked_by: [<1: the first of this list, or T-001>]
  criteria: [C1]
  complexity: <simple | medium | complex>"""


@app.command("shape", "loopkit shape --accept SHAPE.md")
@click.option("--accept", metavar="FILE", help="SHAPE.md as a file, or - for standard input.")
def command(call: app.App, accept: str | None) -> int:
    """Check SHAPE.md strictly and store it: aspects, criteria, mustNot, a verification each.
    Without --accept: the form, and in a loop the aspects of its request."""
    if accept is None:
        _show(call)
        return 0
    loop = call.own_loop()
    text, most = app.read_shape(call, accept)
    try:
        changes = call.change(loop, intake.shaped, text)
    except shape.ShapeFaults as error:
        rows = [{"line": number, "reason": reason} for number, reason in error.faults]
        if call.as_json:
            click.echo(json.dumps({"faults": rows}, ensure_ascii=False))
        raise
    target = os.path.join(loop.folder, shape.FILE)
    try:
        atomic.write(target, text.encode("utf-8"), most=most)
    except OSError as error:
        raise Damaged(
            f"cannot write {target}: {error.strerror}",
            "the shape is recorded; make room, then hand it in again",
        ) from None
    call.answer(loop, _said(loop.state, changes[0][1]))
    return 0


def _show(call: app.App) -> None:
    """The brief of a loop's request; without a loop, or with one that is over, the form alone."""
    found = (
        Loop.active(call.root) if call.root and not workspace.strangers_only(call.root) else None
    )
    shown = found is not None and found.ours and found.state.session.status not in verdict.FINAL
    state = found.state if found is not None and shown else None
    if call.as_json:
        row: dict = {"types": proofs.TYPES, "form": shape.FORM}
        if state is not None:
            row["aspects"] = aspects.chosen(state)
            row["commands"] = [one._asdict() for one in project.checks(call.work_folder(state))]
        click.echo(json.dumps(row, ensure_ascii=False))
        return
    click.echo(app.printable("\n".join(brief(call, state))))


def _said(state: LoopState, data: dict) -> str:
    rows = data["criteria"]
    if data.get("stronger"):
        return f"proof of {', '.join(data['stronger'])} grown stronger"
    musts = sum(row["must_not"] for row in rows)
    said = (
        f"shape recorded: {prose.count(len(rows) - musts, 'criterion', 'criteria')}, {musts} "
        "mustNot"
    )
    said += f"; aspects: {', '.join(data['aspects'])}"
    weak = [row["id"] for row in rows if row["type"] in proofs.UNSEEN and not row["must_not"]]
    if weak:
        said += f"\n{', '.join(weak)} rests on nothing that can be seen: that will block completion"
    if convergence.growing(state.shape_rounds):
        said += (
            "\nit has grown again and no goal is another: longer is not better; keep what changes "
            "the outcome"
        )
    if state.stage == stages.DECOMPOSE and not state.terms.plan_reviewed:
        said += (
            "\ntasks as a block YAML list; verify exits 0 when the task is done and runs without "
            "a shell:\n" + TASKS
        )
    return said
