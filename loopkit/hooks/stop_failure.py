"""StopFailure: note for `loopkit status` that a turn died of an error of the API, and where an
agent of the loop did, that it has no answer."""

from __future__ import annotations

from ..core.journal import prose
from ..store import looks
from . import agents, project
from .reply import Call

#: Characters of the client's own words that are kept; the time of a reset stands in them.
LONGEST = 300


def handle(call: Call) -> None:
    """Note the kind of error and the client's words."""
    path = looks.beside(call.given.get("transcript_path"), call.given.get("agent_id"))
    client = project.client_view(call) if path else None
    name, files = agents.asked(client, path) if client is not None else ("", [])
    if client is not None and name:  # no SubagentStop follows
        agents.take(call, client, name, None, "failure", looks.read(files)[0])
        agents.ended(call, client, name, path)
        return
    found = project.open_view(call)
    if found is None:
        return
    words = call.given.get("last_assistant_message") or call.given.get("error_details") or ""
    data = {
        "error": prose.clean(str(call.given.get("error") or "unknown"), 80),
        "text": prose.clean(words if type(words) is str else str(words), LONGEST),
    }
    project.record(found, call, ("stop_failed", data))
