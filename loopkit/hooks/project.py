"""Which loop an event is about: the project is where the session works, or where it was opened."""

from __future__ import annotations

import os

from ..core.journal import clock, verdict
from ..core.journal.events import Event
from ..core.journal.session import SESSION
from ..store import journal, loops, place, trust
from .reply import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.journal.events import Table


def _roots(call: Call) -> list:
    """The `.loop` folders that the event may be about, nearest first."""
    roots: list = []
    for folder in (call.given.get("cwd"), _here(), call.env.get("CLAUDE_PROJECT_DIR")):
        if type(folder) is str and folder:
            roots += place.candidates(folder, call.env)
    return list(dict.fromkeys(roots))


def view(call: Call, most: int = journal.LARGEST) -> loops.View | None:
    """The loop an event is about: the session's own one, else the nearest that can be read. Loops
    that came with the folder from elsewhere do not count: see `untrusted`. most: of `loops.view`.
    """
    return loops.serving(_roots(call), session_id(call), most)


def untrusted(call: Call) -> loops.View | None:
    """A loop that is not over and was neither started nor adopted on this machine."""
    for root in _roots(call):
        found = loops.view(root)
        if found is None or found.session.status in verdict.FINAL:
            continue
        if not trust.known(found.root, found.name, found.session.token):
            return found
    return None


def own_view(call: Call, most: int = journal.LARGEST) -> loops.View | None:
    """The same, if the event's session owns that loop."""
    found = view(call, most)
    return found if found is not None and found.session.owner == session_id(call) != "" else None


def open_view(call: Call) -> loops.View | None:
    """The same, unless that loop is over."""
    found = own_view(call)
    return None if found is None or found.session.status in verdict.FINAL else found


def client_view(call: Call) -> loops.View | None:
    """The same for what agents do: after /clear they go on under the new session's id, which may
    not have taken the loop over yet. The client's process is the same."""
    found = view(call)
    if found is None or found.session.status in verdict.FINAL:
        return None
    own, pid = found.session.owner == session_id(call) != "", found.session.owner_pid
    return found if own or pid is not None and pid == place.client_pid(call.env) else None


def session_id(call: Call) -> str:
    """The event's session, empty where the input does not say."""
    name = call.given.get("session_id")
    return name if type(name) is str else ""


def record(
    found: loops.View, call: Call, *changes: tuple, table: Table = SESSION, sync: bool = True
) -> None:
    """Append events, (type, data) each, to the loop's journal; raises OSError. sync: they have to
    outlive a power cut."""
    now = clock.stamp(call.now)
    events = [Event(kind, data, now, "hook") for kind, data in changes]
    journal.append(loops.ledger(found.root, found.name), table, events, sync)


def _here() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return None
