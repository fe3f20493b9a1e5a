"""loopkit checkpoint: keep the working files as they are now."""

from __future__ import annotations

import click

from ..ops import checkpoint
from . import app


@app.command("checkpoint", 'loopkit checkpoint --label "before the rewrite"')
@click.option("--label", metavar="TEXT", help="What it is, in a few words.")
@app.flag("--list", "listing", help="Show those there are; change nothing.")
def command(call: app.App, label: str | None, listing: bool) -> app.Result:
    """Keep the working files: tracked and untracked ones, not ignored ones, not .loop. Index and
    branch stay as they are.

    Checkpoints are made by themselves when execution starts, after the scaffold and after every
    wave.
    """
    return checkpoint.listing(call) if listing else checkpoint.checkpoint(call, label)
