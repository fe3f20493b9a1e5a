"""loopkit start: arm a loop on a task."""

from __future__ import annotations

from typing import Any

import click

from ..core.journal.errors import UsageFault
from ..core.journal.settings import POLICIES
from ..ops import start as ops
from ..ops.workspace import Result
from . import app


@app.command("start", "loopkit start --task-file - <<'EOF'")
@app.file("The task's text", "--task-file")
@app.flag(
    "--from-prompt",
    "typed",
    help="The words typed after /loop:start; a refusal is printed, exit 0.",
)
@app.limit("--iterations", "Turns at most, or none.")
@app.limit("--usd", "Dollars at most, or none.")
@app.limit("--time", "Running time at most, like 90m or 2h, or none.")
@app.flag("--unattended", help="Nobody can be asked; confirmations take their defaults.")
@click.option("--approval", type=click.Choice(list(POLICIES)), help="What completes a task.")
@click.option(
    "--list",
    "list_mode",
    type=click.Choice(["new", "existing", "session"]),
    help="Which native task list mirrors it.",
)
@app.flag("--fresh", help="Archive the unfinished loop first.")
@app.flag("--beside", help="Pause the unfinished loop and keep it for later.")
@app.flag("--purge", help="With --fresh: delete it instead.")
def start(call: app.App, source: str | None, typed: bool, **how: Any) -> Result:
    """Start a loop: its text, limits and settings are recorded, scoring comes next."""
    options = ops.Options(**app.with_limits(how))
    if typed:
        return ops.start_typed(call, options)
    if not source:
        raise UsageFault("no task given", ops.USAGE)
    return ops.start(call, app.read_input(call, source), options)
