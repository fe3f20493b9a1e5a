"""What an agent was started with and what it looked at, read from its transcript as the client
writes it (2.1.332): the first `user` record is its prompt. Standard library only."""

from __future__ import annotations

import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes read of a transcript, of one line; entries kept of a kind, characters of each.
MOST, LONGEST_LINE, KEPT, LONGEST = 64 << 20, 8 << 20, 200, 500
#: The tool by which agents answer in auto mode.
HANDBACK = "SubagentHandback"
#: Tools that look at a file, with the input that names it; those that run a command.
_LOOKING = {"Read": "file_path", "Grep": "path"}
_RUNNING = ("Bash", "PowerShell")
#: What the client gives in place of no output.
NOTHING = "(Bash completed with no output)"


def beside(transcript: object, agent: object) -> str:
    """The transcript of an agent, told by that of its session; "" where that cannot be told."""
    if type(transcript) is not str or type(agent) is not str or not agent:
        return ""
    name = agent.replace("-", "").replace("_", "")
    if not name.isalnum() or not name.isascii() or not transcript:
        return ""
    return os.path.join(os.path.splitext(transcript)[0], "subagents", f"agent-{agent}.jsonl")


def started(path: str) -> tuple:
    """(the first line that an agent was given, "" where it cannot be told; its transcripts). After
    /clear the client goes on with an agent in the folder of the new session, with a file of the
    same name that does not begin with the prompt."""
    line = _prompt(path)
    folder, name = os.path.split(path)
    if line or os.path.basename(folder) != "subagents":
        return line, [path]
    project = os.path.dirname(os.path.dirname(folder))
    try:
        sessions = os.listdir(project)
    except (OSError, ValueError):
        return "", [path]
    files = [os.path.join(project, session, "subagents", name) for session in sessions]
    files = [file for file in files if os.path.isfile(file)]
    return next(filter(None, map(_prompt, files)), ""), files


def _prompt(path: str) -> str:
    for record in _records(path, b'"user"'):
        if record.get("type") == "user":
            content = _content(record)
            if type(content) is list:
                texts = [one.get("text") for one in content if type(one) is dict]
                content = next((one for one in texts if type(one) is str), "")
            return content.strip().partition("\n")[0] if type(content) is str else ""
    return ""


def read(files: list) -> tuple:
    """What its transcripts say: ({calls: n, read: [paths], commands: [lines]}, the answer that it
    handed back last or None); what was refused, failed or printed nothing showed nothing."""
    seen: dict = {"calls": 0, "read": [], "commands": []}
    handed = None
    calls: dict = {}
    for block in (one for file in files for one in _blocks(file)):
        given = block.get("input")
        given = given if type(given) is dict else {}
        if block["type"] == "tool_result":
            if _is_empty(block):
                calls.pop(block.get("tool_use_id"), None)
        elif block.get("name") != HANDBACK:
            seen["calls"] += 1
            calls[block.get("id", len(calls))] = block.get("name"), given
        elif type(given.get("message")) is str:
            handed = given["message"]
    for tool, given in calls.values():
        _count(seen, tool, given)
    return seen, handed


def _blocks(path: str) -> Iterator:
    """The calls of a transcript, and what came of them."""
    for record in _records(path, b'"tool_use'):
        content = _content(record)
        kind = {"assistant": "tool_use", "user": "tool_result"}.get(str(record.get("type")))
        for block in content if type(content) is list else ():
            if type(block) is dict and kind and block.get("type") == kind:
                yield block


def _is_empty(result: dict) -> bool:
    content = result.get("content")
    said = content.strip() if type(content) is str else content
    return bool(result.get("is_error")) or said in ("", [], NOTHING)


def _count(seen: dict, tool: object, given: dict) -> None:
    kind, words = "read", None
    if tool in _RUNNING:
        kind, words = "commands", given.get("command")
    elif tool in _LOOKING:
        words = given.get(_LOOKING[str(tool)], os.curdir)
    if type(words) is str and words[:LONGEST] not in seen[kind] and len(seen[kind]) < KEPT:
        seen[kind].append(words[:LONGEST])


#: Tools that write a file, with the input that names it.
_WRITING = {
    **dict.fromkeys(("Edit", "MultiEdit", "Write"), "file_path"),
    "NotebookEdit": "notebook_path",
}


def written(files: list, since: str = "") -> Iterator:
    """(tool, path) of each file that an agent wrote by a tool, (tool, command line) of each command
    that it ran, by its transcripts. since: stamp; what is older does not count."""
    for record in (one for file in files for one in _records(file, b'"tool_use"')):
        content, at = _content(record), record.get("timestamp")
        if type(content) is not list or type(at) is str and at[:19] < since[:19]:
            continue
        for block in content:
            if type(block) is not dict or block.get("type") != "tool_use":
                continue
            tool, given = block.get("name"), block.get("input")
            field = "command" if tool in _RUNNING else _WRITING.get(str(tool))
            if field and type(given) is dict and type(given.get(field)) is str:
                yield tool, given[field]


def kind(path: str) -> str:
    """The type of the agent with this transcript, as the client notes it beside it, or ""."""
    try:
        with open(os.path.splitext(path)[0] + ".meta.json", "rb") as file:
            row = json.loads(file.read(LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return ""
    named = row.get("agentType") if type(row) is dict else None
    return named if type(named) is str else ""


def _records(path: str, mark: bytes) -> Iterator:
    """The records of the lines that hold these bytes; none where nothing can be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return
        with open(path, "rb") as file:
            while file.tell() < MOST and (line := file.readline(LONGEST_LINE)):
                if mark not in line:
                    continue
                try:
                    record = json.loads(line.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    continue
                if type(record) is dict:
                    yield record
    except (OSError, ValueError):  # ValueError: a path that cannot be one
        return


def _content(record: dict) -> object:
    message = record.get("message")
    return message.get("content") if type(message) is dict else None
