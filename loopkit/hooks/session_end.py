"""SessionEnd: the loop's client is gone; the loop itself goes on as it is."""

from __future__ import annotations

from ..store import place
from . import project
from .reply import Call


def handle(call: Call) -> None:
    """Forget the owner's process, so that whoever resumes needs no take-over. After /clear the
    client lives on; and where a second client has opened the session since, that one stays."""
    found = project.open_view(call) if call.given.get("reason") != "clear" else None
    if found is None or found.session.owner_pid is None:
        return
    if place.client_pid(call.env) in (None, found.session.owner_pid):
        data = {"session_id": found.session.owner, "client_pid": None}
        project.record(found, call, ("owner_changed", data))
