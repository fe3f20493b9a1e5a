"""SessionStart: tell the session of the project's loop, and bind it to the same client's."""

from __future__ import annotations

from ..core.journal import verdict
from ..core.journal.session import COMPACTED
from ..core.steps import announce
from ..store import loops, native, place
from . import project, reply
from .reply import Call

#: What the person reads where a loop came with the folder: nothing of its content.
UNTRUSTED = (
    "loop: the .loop folder of this project was not made here, so it does nothing. "
    "Look at it: loopkit status. If you trust it: loopkit resume --adopt"
)


def handle(call: Call) -> dict | None:
    """Announce a loop that is not over; after compaction to its owner only."""
    found = project.view(call) if call.readable else None
    if found is None and call.readable and project.untrusted(call) is not None:
        return reply.tell(UNTRUSTED)
    if found is not None and _over(found):
        found = loops.put_aside(found)
    if found is None or _over(found):
        return None
    session_id, source = project.session_id(call), call.given.get("source")
    found = _bind(found, session_id, source, call)
    mine = found.session.owner == session_id != ""
    if source == "compact":
        if not mine:
            return None
        project.record(found, call, ("notice_given", {"name": COMPACTED}))
    text = announce.resume(found.snapshot, found.session, mine)
    if not mine:
        alive = place.alive(found.session.owner_pid)
        owner = (
            "It belongs to a live session; /loop:resume asks before it changes hands."
            if alive
            else "It belongs to a session that is gone."
        )
        advice = "Leave it alone unless the person asks for it (/loop:resume)."
        return reply.announce(f"{text}\n{owner}", f"{text}\n{owner} {advice}")
    folder = native.ensure_folder(call.env, session_id, found.session.native_seen)
    if folder is not None:
        from . import mirror

        mirror.sync(found, folder, call)
    return reply.announce(text, f"{text}\n{_mine(found)}")


def _mine(found: loops.View) -> str:
    """What Claude is told of a loop of its session."""
    owner = "It belongs to this session"
    if announce.waited(found.snapshot, found.session):
        return owner + " and waits for the person: do nothing about it unless they say so."
    if found.session.free:
        return f"{owner}. {announce.spoke(False)}"
    return owner + "; the line after Next: is what to run now."


def _over(found: loops.View) -> bool:
    return found.session.status in verdict.FINAL or found.session.stage == "complete"


def _bind(found: loops.View, session_id: str, source: object, call: Call) -> loops.View:
    """The same session keeps its loop; after /clear the new id inherits it within one client."""
    session, pid = found.session, place.client_pid(call.env)
    same = session.owner == session_id != "" and pid not in (None, session.owner_pid)
    heir = source == "clear" and session.owner != session_id != ""
    heir = heir and pid is not None and pid == session.owner_pid
    if not same and not heir:
        return found
    data = {"session_id": session_id, "client_pid": pid}
    changes: list = [("owner_changed", data)]
    from ..store import transcript

    # a client that is gone was at work up to its last line, whatever it had begun
    data.update(transcript.unread(place.config_dir(call.env), session, call.now if heir else 0))
    if heir:
        from ..store import answers
        from . import agents

        home, out = agents.folder(found), found.snapshot["out"]
        started = [name for name in out if answers.started(home, name)]
        data["same_client"] = not all(answers.given(home, name) for name in started)
    alone = place.unattended(call.env)
    if alone != session.unattended and not session.by_word:
        changes.append(("attended_changed", {"unattended": alone}))
    project.record(found, call, *changes)
    return loops.view(found.root) or found
