"""The client's status line, which is no hook but is called like one, several times a second: the
line of the loop that this session is about. No mark is left of it."""

from __future__ import annotations

from ..core.steps import announce
from ..store import loops
from . import project
from .reply import Call


def handle(call: Call) -> str:
    """One line, or nothing without a loop that is not over."""
    found = project.view(call, loops.MOST_FOLDED)
    if found is None:
        return ""
    mine = found.session.owner == project.session_id(call) != ""
    return announce.line(found.name, found.snapshot, found.session, mine)
