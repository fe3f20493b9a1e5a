"""loopkit rollback: put the working files back to a checkpoint."""

from __future__ import annotations

from typing import Any

import click

from ..ops import rollback
from . import app


@app.command("rollback", "loopkit rollback last-good --dry-run")
@click.argument("target", required=False, metavar="[last-good|'~2'|NUMBER|SHA]")
@app.flag("--dry-run", help="List what would change; change nothing.")
@app.flag("--force", help="Also overwrite files that were committed after the checkpoint.")
@app.flag("--undo", help="Go back to what the newest rollback saved.")
@click.option("--why", default="", metavar="TEXT", help="The reason, kept with the lesson.")
def command(call: app.App, target: str | None, **how: Any) -> app.Result:
    """Make the working files equal to a checkpoint's; the tree before is saved first. Index, HEAD
    and branch stay as they are, .loop and ignored files too. Tasks completed after the checkpoint
    are open again.
    """
    return rollback.rollback(call, target, **how)
