"""PreToolUse: each tool that concerns us has a module of its own."""

from __future__ import annotations

from .reply import Call

#: {tool: module of this package}
TOOLS = {"Agent": "agents", "Task": "agents", "SubagentHandback": "agents"}


def handle(call: Call) -> dict | None:
    """What that module answers."""
    name = call.given.get("tool_name")
    module = TOOLS.get(name) if type(name) is str else None
    if module is None:
        return None
    return __import__("loopkit.hooks." + module, fromlist=["handle"]).handle(call)
