"""loopkit start, resume: arm a loop on a task, go on with one."""

from collections.abc import Callable
from typing import Any

import click

from ..core.journal.errors import UsageFault
from ..core.journal.settings import POLICIES
from ..ops import resume as going_on
from ..ops import start as ops
from ..ops.workspace import Result
from . import app

#: Options that set a limit → the kind of it.
_LIMITS = {"--iterations": "iterations", "--usd": "usd", "--time": "seconds"}


def _limit(name: str, text: str) -> Callable:
    """An option that sets a limit."""
    return click.option(name, _LIMITS[name], metavar="T" if name == "--time" else "N", help=text)


def _with_limits(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with those of limits that were given as one, `most`."""
    limits = {kind: arguments.pop(kind) for kind in _LIMITS.values()}
    return {**arguments, "most": {kind: text for kind, text in limits.items() if text}}


@app.command("start", "loopkit start --task-file - <<'EOF'")
@app.file("The task's text", "--task-file")
@app.flag(
    "--from-prompt",
    "typed",
    help="The words typed after /loop:start; a refusal is printed, exit 0.",
)
@_limit("--iterations", "Turns at most, or none.")
@_limit("--usd", "Dollars at most, or none.")
@_limit("--time", "Running time at most, like 90m or 2h, or none.")
@app.flag("--unattended", help="Nobody can be asked; confirmations take their defaults.")
@click.option("--approval", type=click.Choice(list(POLICIES)), help="What completes a task.")
@click.option(
    "--list",
    "list_mode",
    type=click.Choice(ops.LISTS),
    help="Which native task list mirrors it.",
)
@app.flag("--fresh", help="Archive the unfinished loop first.")
@app.flag("--beside", help="Pause the unfinished loop and keep it for later.")
@app.flag("--purge", help="With --fresh: delete it instead.")
def start(call: app.App, source: str | None, typed: bool, **how: Any) -> Result:
    """Start a loop: its text, limits and settings are recorded, scoring comes next."""
    options = ops.Options(**_with_limits(how))
    if typed:
        return ops.start_typed(call, options)
    if not source:
        raise UsageFault("no task given", ops.USAGE)
    return ops.start(call, app.read_input(call, source), options)


@app.command("resume", "loopkit resume --iterations +25", app.words("words", metavar="[WHICH]"))
@app.flag("--take-over", help="Also where another running session owns it.")
@app.flag("--adopt", help="Also where it came with the folder from elsewhere and you trust it.")
@app.flag(
    "--again", help="Also where it ended as impossible: its open tasks get all attempts anew."
)
@_limit("--iterations", "Another limit: N, +N, none.")
@_limit("--usd", "Another limit: N, +N, none.")
@_limit("--time", "Another limit: 2h, +30m, none.")
@click.option("--answer", metavar="TEXT", help="The person's answer to the open question.")
@app.flag("--ask", "typed", hidden=True, help="Take the words typed after /loop:resume.")
def resume(call: app.App, words: str, typed: bool, **how: Any) -> Result:
    """Go on with a loop in this session: same stage, same scores, same tasks. Limits may be raised
    on the way.

    WHICH is its number, a part of its name, or what it is about; without it the active one goes on.
    A loop that was active until then is paused.
    """
    if typed and not words:
        return going_on.resume_typed(call, **_with_limits(how))
    return going_on.resume(call, words, **_with_limits(how))
