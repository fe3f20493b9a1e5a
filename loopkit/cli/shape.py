"""loopkit shape: hand in SHAPE.md."""

from __future__ import annotations

import json
import os

import click

from ..core import announce, intake, shape
from ..store import atomic
from ..store.loop import unwritable
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
def command(call: app.App, accept: str | None) -> None:
    """Check SHAPE.md strictly and store it: criteria, mustNot, a verification each. Without --accept: the form."""
    if accept is None:
        if call.as_json:
            click.echo(json.dumps({"types": shape.TYPES, "form": shape.FORM}))
            return
        click.echo("types, strongest first: " + ", ".join(shape.TYPES))
        click.echo(shape.FORM.rstrip())
        return
    loop = call.own_loop()
    text = app.read_input(accept)
    changes = call.change(loop, intake.shaped, text)
    target = os.path.join(loop.folder, "SHAPE.md")
    try:
        atomic.write(target, text.encode("utf-8"))
    except OSError as error:
        raise unwritable(target, error) from None
    rows = changes[0][1]["criteria"]
    musts = sum(row["must_not"] for row in rows)
    said = f"shape recorded: {announce.count(len(rows) - musts, 'criterion', 'criteria')}, {musts} mustNot"
    weak = [row["id"] for row in rows if row["type"] in shape.UNSEEN and not row["must_not"]]
    if weak:
        said += f"\n{', '.join(weak)} rests on nothing that can be seen: that will block completion"
    if loop.state.stage == "decompose":
        said += "\ntasks as a block YAML list; verify exits 0 when the task is done and runs without a shell:\n" + TASKS
    call.answer(loop, said)
