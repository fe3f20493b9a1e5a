"""SubagentStop: notes where a subagent's transcript is; never holds it."""

from __future__ import annotations

from . import project
from .reply import Call


def handle(call: Call) -> None:
    """Note a subagent's transcript. Agents without a type are the client's own (compaction)."""
    agent, path = call.given.get("agent_id"), call.given.get("agent_transcript_path")
    if not call.given.get("agent_type") or type(agent) is not str or type(path) is not str:
        return
    found = project.open_view(call)
    if found is None or found.session.subagents.get(agent) == path:
        return
    data = {"agent_id": agent, "agent_type": str(call.given["agent_type"])[:80], "transcript": path}
    project.record(found, call, ("subagent_stopped", data))
