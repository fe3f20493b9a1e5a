"""loopkit doctor: what is wrong, and how to put it right."""

from ..ops import doctor as ops
from ..ops.workspace import Result
from . import app


@app.command("doctor", "loopkit doctor --fix")
@app.flag("--fix", help="Rebuild derived files: snapshot, PROGRESS.md, ignore file.")
def doctor(call: app.App, fix: bool) -> Result:
    """Check programs, hooks, ownership, the task list and the files of the loop. Exit 0: a loop
    would work; 1: it would not, or not as wished; 3: damaged files."""
    return ops.examine(call, fix)
