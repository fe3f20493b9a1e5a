"""Whose word lets a check of a loop run: what is allowed, what still waits for the person."""

from ..core.evidence import consent
from ..core.journal.errors import Damaged
from ..store import leave, place
from ..store.leave import Leave
from ..store.loop import Loop, writes
from .workspace import Workspace


def leave_of(workspace: Workspace, loop: Loop) -> Leave:
    """What may run in a loop. Raises Damaged, and UsageFault for the person's settings."""
    try:
        return leave.of(loop.root, loop.state, workspace.environment)
    except OSError as error:
        raise Damaged(f"cannot read {leave.path()}: {error.strerror}", "fix it") from None


def allowed(workspace: Workspace, loop: Loop, line: str) -> bool:
    """Whether a check may run."""
    known = leave_of(workspace, loop)
    return consent.is_covered(line, known.lines, known.patterns)


def missing(workspace: Workspace, loop: Loop) -> list[tuple[str, str]]:
    """(whose, command) of the loop's checks that may not run yet."""
    return leave.missing(loop.state, leave_of(workspace, loop))


def uncovered(workspace: Workspace, checks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(whose, command) of checks outside of a loop that may not run yet. Raises Damaged."""
    try:
        known = leave.in_folder(workspace.project, workspace.project, "", workspace.environment)
    except OSError as error:
        raise Damaged(f"cannot read {leave.path()}: {error.strerror}", "fix it") from None
    return [row for row in checks if not consent.is_covered(row[1], known.lines, known.patterns)]


def granted(workspace: Workspace, loop: Loop, word: str) -> list[str]:
    """The commands that the person has said yes to by the call with this word; they may run."""
    data, token = place.data_dir(workspace.environment), loop.state.session.token
    with writes(leave.path()):
        return leave.grant_requested(data, workspace.session, token, word)


def typed_patterns(loop: Loop, patterns: list[str]) -> None:
    """Keep the patterns that the person typed with the request: they hold for this loop."""
    with writes(leave.path()):
        leave.grant_patterns(loop.state.session.token, patterns)
