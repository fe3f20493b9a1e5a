"""loopkit statusline: the loop's line of the client's status line."""

import json
import sys

from ..core.journal.errors import UsageFault
from ..ops import statusline as ops
from ..ops.workspace import Result
from . import app

#: Bytes of what the client says at the most.
_MOST = 1 << 20


@app.command("statusline", "loopkit statusline --install")
@app.flag("--install", help="Show what that changes in your settings of Claude Code.")
@app.flag("--remove", help="The same for taking it out again.")
@app.flag("--yes", help="Change them.")
def statusline(call: app.App, install: bool, remove: bool, yes: bool) -> Result | None:
    """Print the loop's line, for Claude Code's status line; nothing without a loop. Standard input
    is the JSON that Claude Code gives.

    With --install the line stands in the status line of each session; a command that is there
    already goes on to run, and both are shown. --remove puts back what was there.
    """
    if install and remove:
        raise UsageFault("--install and --remove together", "give one of them")
    if install or remove:
        return (ops.install if install else ops.remove)(call, yes)
    if yes:
        raise UsageFault("--yes stands alone", "give --install or --remove with it")
    result = ops.line(call, _given())
    return result if result.text or call.as_json else None


def _given() -> dict:
    try:
        if sys.stdin.isatty():
            return {}
        given = json.loads(sys.stdin.buffer.read(_MOST).decode("utf-8", "replace") or "{}")
    except (ValueError, RecursionError, OSError):
        return {}
    return given if type(given) is dict else {}
