"""Agents of the loop: started with a token they get the whole prompt; their answers are kept, and
one that does not fit goes back to whoever gave it."""

from __future__ import annotations

import contextlib
import os
import stat

from ..core.journal import clock
from ..core.steps import announce
from ..store import answers, looks, prompts
from . import project, reply
from .reply import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import loops

#: Characters of an answer that are kept.
LONGEST = 1_000_000
#: Files named by an answer that are looked at.
MOST_NAMED = 40


def handle(call: Call) -> dict | None:
    """PreToolUse of `Agent` (in older clients `Task`) and of `SubagentHandback`."""
    given = call.given.get("tool_input")
    if type(given) is not dict:
        return None
    if call.given.get("tool_name") == looks.HANDBACK:
        return _handed_back(call, given.get("message"))
    name = prompts.named(given.get("prompt"))
    found = project.open_view(call) if name else None
    text = prompts.read(folder(found), name) if found is not None else None
    if found is None or text is None:
        return None
    with contextlib.suppress(OSError):  # then it may be started once more: the first answer counts
        answers.start(folder(found), name)
        if found.session.free and not call.given.get("agent_id"):
            project.record(found, call, ("went_on", {}))  # as a command of the loop's does
    # in the foreground, where a client has one: each report in the background is a request more;
    # auto mode refuses a call that a hook has changed and does not allow
    permitted = reply.permit({"run_in_background": False, **given, "prompt": text})
    return {**permitted, **(reply.tell(_plan(found)) or {})}


def _plan(found: loops.View) -> str:
    """What the person reads of the plan, once, when the first of its agents starts; else ""."""
    if not found.snapshot["wave"]["number"] or not answers.first(folder(found), "plan"):
        return ""
    from ..store.loops import fold

    state, _ = fold(found.root, found.name)
    return announce.plan(found.snapshot, list(state.tasks.values()), list(state.criteria.values()))


def _handed_back(call: Call, message: object) -> dict | None:
    """In auto mode this call is the answer."""
    path = looks.beside(call.given.get("transcript_path"), call.given.get("agent_id"))
    found = project.client_view(call) if path and type(message) is str else None
    if found is None:
        return None
    name, files = asked(found, path)
    fault = take(call, found, name, message, "handback", looks.read(files)[0]) if name else ""
    return reply.deny(fault) if fault else None


def folder(found: loops.View) -> str:
    """The loop's folder."""
    return os.path.join(found.root, found.name)


def asked(found: loops.View, path: str) -> tuple:
    """(the name of the prompt of this loop that the agent with this transcript was started with, ""
    for any other agent; its transcripts)."""
    line, files = looks.started(path)
    name = prompts.named(line)
    known = name and prompts.read(folder(found), name) is not None
    return (name if known else ""), files


def take(
    call: Call, found: loops.View, name: str, text: object, by: str, seen: dict, last: bool = False
) -> str:
    """Keep an agent's answer, or say what it has to do: "" where it is kept.

    name: of its prompt · text: None where it ended without one · by: how it came, `stop`,
    `handback` or `failure` · seen: what it looked at · last: it cannot be asked for another one.
    """
    home = folder(found)
    schema = prompts.schema(home, name)
    value, fault = None, ""
    if schema is not None and type(text) is str:
        from ..core.plan import schema as rules

        value, fault = rules.found(text, schema), rules.unfit(text, schema)
    wrong = fault or _unchanged(found, name, value)
    count = answers.held(home, name)
    if wrong and not last and count < answers.MOST_HELD and not answers.given(home, name):
        answers.hold(home, name)
        return (
            f"This answer does not fit: {wrong}. Answer again with all of it: one JSON object in "
            "the form that your prompt asks for."
        )
    row = {
        "token": prompts.token(name),
        "agent_id": str(call.given.get("agent_id"))[:80],
        "agent_type": str(call.given.get("agent_type"))[:80],
        "text": text[:LONGEST] if type(text) is str else None,
        "reply": None if fault else value,
        "unfit": fault,
        "at": clock.stamp(call.now),
        "by": by,
        "corrections": count,
        "seen": seen,
    }
    answers.write(home, name, row)
    return ""


def _unchanged(found: loops.View, name: str, value: object) -> str:
    """What is wrong where an answer names files as changed that have not been touched since its
    agent was dispatched; a file that is not there may have been deleted."""
    rows = value if type(value) is dict else {}
    named = rows.get("files_modified", rows.get("filesModified"))
    home = folder(found)
    if type(named) is not list:
        return ""
    try:
        began = os.stat(os.path.join(home, prompts.FOLDER, name + ".md")).st_mtime
    except OSError:
        return ""
    tops, trees = [found.session.project or os.path.dirname(found.root)], _folders(home)
    for path in [one for one in named[:MOST_NAMED] if type(one) is str]:
        times = [_changed_at(os.path.join(top, path)) for top in tops + trees]
        if any(times) and max(times) < began - 1:
            return f"files_modified names {path[:200]}, which has not changed since you began"
    return ""


def _folders(home: str) -> list:
    """The worktrees of a loop's tasks."""
    home = os.path.join(home, "worktrees")
    try:
        return [os.path.join(home, name) for name in os.listdir(home)]
    except OSError:
        return []


def _changed_at(path: str) -> float:
    """When a file was changed or moved last; 0 for what is no file."""
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return 0
    return 0 if stat.S_ISDIR(state.st_mode) else state.st_ctime


def ended(call: Call, found: loops.View, name: str, path: str) -> None:
    """Note once that an agent has ended, and where its transcript is. name: of its prompt, ""
    where it has none of the loop's."""
    agent = str(call.given.get("agent_id"))
    if found.session.subagents.get(agent) == path:
        return
    data = {"agent_id": agent, "agent_type": str(call.given.get("agent_type"))[:80]}
    token = {"token": prompts.token(name)} if name else {}
    used = _used(call, found) if found.session.owner == project.session_id(call) else {}
    project.record(found, call, ("subagent_stopped", {**data, "transcript": path, **token, **used}))


def _used(call: Call, found: loops.View) -> dict:
    """What the transcripts of the loop's session gave since they were last looked at."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return {}
    from ..store import transcript

    return transcript.since_last(found.session, path, call.now)
