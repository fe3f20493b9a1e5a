"""UserPromptSubmit: an agent's report begins a turn only where it lets the loop go on."""

from __future__ import annotations

import re

from ..core.journal import verdict
from ..core.steps import announce
from ..store import answers, looks
from . import agents, project, reply
from .reply import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import loops

#: Whose a report is.
_WHOSE = re.compile(r"""<task-id>([^<]+)</task-id>|<agent-message from="([^"]+)\"""")
#: How the report of an agent reads that was killed or failed.
_LOST = re.compile(r"<status>\s*(?!completed\b)\w")


def handle(call: Call) -> dict | None:
    """Nothing where a person typed; no turn where others are still at work."""
    words = call.given.get("prompt")
    if type(words) is not str or not words.lstrip().startswith(answers.REPORTS):
        return None
    found = project.own_view(call)
    if found is None or found.session.status != verdict.RUNNING:
        return None
    home, out = agents.folder(found), found.snapshot["out"]
    lost = _LOST.search(words[:2000]) is not None
    if lost:
        _note_lost(call, found, words)
    given = answers.names(home)
    waiting = sum(answers.started(home, name) for name in out if name not in given)
    name = "" if lost else _answered(found, given, words)
    if name and waiting:
        return reply.spare(announce.spared(found.name, name, waiting))
    if name and name not in out:  # the turn that took it may be over
        return reply.add(announce.taken(found.name), "UserPromptSubmit")
    if not out or not given:
        return None
    return reply.add(announce.report(found.name, waiting, lost), "UserPromptSubmit")


def _note_lost(call: Call, found: loops.View, words: str) -> None:
    """An agent of the loop that was killed: nobody waits for its answer."""
    call = call._replace(given={**call.given, "agent_id": _agent(words)})
    path = looks.beside(call.given.get("transcript_path"), call.given["agent_id"])
    name, files = agents.asked(found, path) if path else ("", [])
    if name:
        agents.take(call, found, name, None, "failure", looks.read(files)[0])
        agents.ended(call, found, name, path)


def _agent(words: str) -> str:
    """Whose report it is."""
    whose = _WHOSE.search(words[:2000])
    return (whose[1] or whose[2]) if whose else ""


def _answered(found: loops.View, given: list, words: str) -> str:
    """The name of the prompt whose answer this report brings, whole; "" where it brings none: then
    somebody has asked its agent something else."""
    agent, said = _agent(words), _plain(words)
    for name in given if agent else ():
        row = answers.read(agents.folder(found), name) or {}
        text = _plain(row.get("text") or "")
        if row.get("agent_id") == agent and text and text in said:
            return name
    return ""


def _plain(text: str) -> str:
    """In auto mode a report comes indented."""
    return " ".join(text.split())
