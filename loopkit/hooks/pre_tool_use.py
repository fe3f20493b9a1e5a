"""PreToolUse: each tool that we hear of has a module of its own."""

from __future__ import annotations

from .reply import Call

#: Tool → the module of this package that answers its calls.
TOOLS = {
    "Bash": "own_lines",
    **dict.fromkeys(("Agent", "Task", "SubagentHandback"), "agents"),
}


def handle(call: Call) -> dict | None:
    """What the tool's module answers."""
    tool = call.given.get("tool_name")
    name = TOOLS.get(tool) if type(tool) is str else None
    if name is None:
        return None
    return __import__("loopkit.hooks." + name, fromlist=["handle"]).handle(call)
