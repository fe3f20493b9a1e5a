"""loopkit start: arm a loop on a task."""

from __future__ import annotations

from typing import Any

import click

from ..core.journal.errors import UsageFault
from ..core.journal.settings import POLICIES
from ..ops import start
from . import app


@app.command("start", "loopkit start --task-file - <<'EOF'")
@click.option("--task-file", metavar="FILE", help="The task's text; - for standard input.")
@app.flag(
    "--from-prompt",
    "typed",
    help="The words typed after /loop:start; a refusal is printed, exit 0.",
)
@click.option("--iterations", metavar="N", help="Turns at most, or none.")
@click.option("--usd", metavar="N", help="Dollars at most, or none.")
@click.option(
    "--time", "seconds", metavar="T", help="Running time at most, like 90m or 2h, or none."
)
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
def command(
    call: app.App,
    task_file: str | None,
    typed: bool,
    iterations: str | None,
    usd: str | None,
    seconds: str | None,
    **how: Any,
) -> app.Result:
    """Start a loop: its text, limits and settings are recorded, scoring comes next."""
    typed_limits = {"iterations": iterations, "usd": usd, "seconds": seconds}
    most = {kind: text for kind, text in typed_limits.items() if text}
    options = start.Options(most, **how)
    if typed:
        return start.start_typed(call, options)
    if not task_file:
        raise UsageFault("no task given", start.USAGE)
    return start.start(call, app.read_input(call, task_file), options)
