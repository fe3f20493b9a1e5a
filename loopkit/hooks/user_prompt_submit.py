"""UserPromptSubmit: an agent's report begins a turn only where it lets the loop go on; the person's
own words let the session go."""

from __future__ import annotations

import re

from ..core.journal import verdict
from ..core.journal.session import BEGUN, QUEUED
from ..core.steps import announce
from ..store import answers, looks, place
from . import agents, project, reply
from .reply import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import loops

#: Whose a report is.
_WHOSE = re.compile(r"""<task-id>([^<]+)</task-id>|<agent-message from="([^"]+)\"""")
#: How the report of an agent reads that was killed or failed.
_LOST = re.compile(r"<status>\s*(?!completed\b)\w")


#: Commands of the person's that say themselves what becomes of the loop, and the one that only
#: looks.
_OWN = tuple(f"/loop:{name}" for name in ("start", "resume", "allow", "pause", "cancel"))
_LOOK = "/loop:status"


def handle(call: Call) -> dict | None:
    """The session is let go where a person typed; no turn where others are still at work."""
    words = call.given.get("prompt")
    if type(words) is not str or call.given.get("agent_id"):
        return None
    found = project.own_view(call)
    if found is None or found.session.status in verdict.FINAL:
        return None
    if found.session.status == verdict.PAUSED:
        return _kept(call, found, words) if words.lstrip().startswith(answers.REPORTS) else None
    if not words.lstrip().startswith(answers.REPORTS):
        return _typed(call, found, words.split(maxsplit=1)[:1])
    if found.session.free or _interrupted(call):
        _let_go(call, found)
        return _kept(call, found, words)
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


def _typed(call: Call, found: loops.View, first: list) -> dict | None:
    """What the person typed; where nobody can have, or it is their turn anyway, nothing follows."""
    session = found.session
    theirs = session.question is not None or found.snapshot["waits"] or session.stage == "intent"
    if theirs or first and first[0] in _OWN or place.unattended(call.env):
        return None
    look, waited = first == [_LOOK], QUEUED in session.notices
    if waited:
        project.record(found, call, ("notice_given", {"name": BEGUN}))
    if look and waited and not session.free:
        return None  # the work before it goes on
    esc = _let_go(call, found)
    return None if look else reply.add(announce.spoke(esc), "UserPromptSubmit")


def _let_go(call: Call, found: loops.View) -> bool:
    """Nothing drives the session on from here; whether Esc was pressed before."""
    esc = _interrupted(call)
    if not found.session.free:
        project.record(found, call, ("person_spoke", {"how": "esc" if esc else "typed"}))
    return esc


def _interrupted(call: Call) -> bool:
    """Whether Esc ended the turn before this prompt: no hook hears it."""
    from ..store import transcript

    path, prompt = call.given.get("transcript_path"), call.given.get("prompt_id")
    return transcript.interrupted(str(path or ""), str(prompt or ""))


def _kept(call: Call, found: loops.View, words: str) -> dict | None:
    """A report of a loop that waits, since it is paused or the person has spoken: what an agent of
    the loop brings is kept, and begins no turn."""
    lost = _LOST.search(words[:2000]) is not None
    if lost:
        _note_lost(call, found, words)
    path = looks.beside(call.given.get("transcript_path"), _agent(words))
    name = agents.asked(found, path)[0] if path else ""
    return reply.spare(announce.came(found.snapshot, name, lost)) if name else None


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
