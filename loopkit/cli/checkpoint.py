"""loopkit checkpoint, rollback: the working files are kept as they are now, and put back."""

import click

from ..ops import checkpoint as ops
from ..ops.workspace import Result
from . import app


@app.command("checkpoint", 'loopkit checkpoint --label "before the rewrite"')
@click.option("--label", metavar="TEXT", help="What it is, in a few words.")
@app.flag("--list", "listing", help="Show those there are; change nothing.")
def checkpoint(call: app.App, label: str | None, listing: bool) -> Result:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop. Index and
    branch stay as they are.

    Checkpoints are made by themselves when execution starts, after the scaffold and after every
    wave.
    """
    return ops.listing(call) if listing else ops.checkpoint(call, label)


rollback = app.command(
    "rollback",
    "loopkit rollback last-good --dry-run",
    click.argument("target", required=False, metavar="[start|last-good|'~2'|NUMBER|SHA]"),
    app.flag("--dry-run", help="List what would change; change nothing."),
    app.flag("--force", help="Also overwrite files that were committed after the checkpoint."),
    app.flag("--undo", help="Go back to what the newest rollback saved."),
    click.option("--why", default="", metavar="TEXT", help="The reason, kept with the lesson."),
)(ops.rollback)
