"""The checks of a loop, and what the person says to them."""

from ..core.evidence import consent
from ..store import leave
from ..store.leave import Leave
from . import advance
from . import consent as leaves
from .workspace import Result, Workspace

BOUND = "what a line runs depends on the project's files: a yes is to its words"


def allow(workspace: Workspace, word: str = "") -> Result:
    """List the loop's checks, and which of them may run.

    In a session the client asks the person; this call alone allows nothing. Elsewhere the person
    types /loop:allow, or names patterns in verify_allow of ~/.config/loopkit/config.toml.
    """
    loop = workspace.own_loop()
    # the hook asked the person: the call to which they said yes has its word
    granted = leaves.granted(workspace, loop, word) if word else []
    known = leaves.leave_of(workspace, loop)
    waiting = dict(leave.missing(loop.state, known))
    rows = consent.checks(loop.state)
    said = [f"checks in {known.folder}; each {consent.WHAT}:" if rows else "no checks yet"]
    for names, line in rows:
        said.append(f"  {'not allowed' if names in waiting else 'allowed'}  {names}: {line}")
    said += _way_out(workspace, known, list(waiting.values()))
    data = {
        "code": "unconfirmed" if waiting else "",
        "allowed": [line for names, line in rows if names not in waiting],
        "missing": list(waiting.values()),
        "granted": granted,
    }
    if waiting:
        return Result(loop, "\n".join(said), data, [])
    return advance.advance(workspace, "\n".join(said))._replace(data=data)


def _way_out(workspace: Workspace, known: Leave, lines: list[str]) -> list[str]:
    """What lets the checks run that still wait."""
    unwritten = [(line, leave.unwritten(known, line)) for line in lines]
    said = [
        f"{file} does not exist yet: another check than {line}" for line, file in unwritten if file
    ]
    if not lines:
        return [BOUND]
    if len(said) < len(lines):
        way = consent.UNATTENDED if workspace.unattended else "the person types /loop:allow"
        said.append(f"nobody has said yes: {way}")
    return said
