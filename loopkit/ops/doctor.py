"""What is wrong, and how to put it right."""

import sys

from ..engine import doctor
from ..render import wrapped
from .workspace import Result, Workspace


def examine(workspace: Workspace, fix: bool = False) -> Result:
    """Look at everything a loop needs; `fix` rebuilds what is derived."""
    surroundings = workspace.environment, workspace.folder, workspace.session, workspace.root
    report = doctor.examine(doctor.Case(*surroundings, workspace.follow, sys.platform), fix)
    lines = [wrapped(f"{level:>8}  {text}", " " * 10) for level, text in report.rows]
    end = "see the lines marked fault or damaged" if report.exit else "a loop would work"
    row = {"exit": report.exit, "findings": [list(finding) for finding in report.rows]}
    return Result(None, "\n".join([*lines, end]), row, code=report.exit)
