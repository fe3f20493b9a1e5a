"""SubagentStop: keeps the answer of an agent of the loop, holds one whose answer does not fit, and
notes where every agent's transcript is."""

from __future__ import annotations

from ..store import looks
from . import agents, project, reply
from .reply import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import loops


def handle(call: Call) -> dict | None:
    """Agents without a type are the client's own (compaction)."""
    agent, path = call.given.get("agent_id"), call.given.get("agent_transcript_path")
    if not call.given.get("agent_type") or type(agent) is not str:
        return None
    found = project.client_view(call)
    if found is None:
        return None
    name, files = agents.asked(found, path) if type(path) is str else ("", [])
    fault = _answer(call, found, name, files) if name else ""
    if fault:
        return reply.add(fault, "SubagentStop")
    if name or found.session.owner == project.session_id(call):
        agents.ended(call, found, name, path if type(path) is str else "")
    return None


def _answer(call: Call, found: loops.View, name: str, files: list) -> str:
    """Keep what it said last, or what it handed back; in auto mode nothing that is said here
    reaches it."""
    text, (seen, handed) = call.given.get("last_assistant_message"), looks.read(files)
    if type(text) is not str and handed is not None:
        return agents.take(call, found, name, handed, "handback", seen, last=True)
    last = call.given.get("permission_mode") == "auto"
    return agents.take(call, found, name, text, "stop", seen, last)
