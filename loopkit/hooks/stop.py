"""Stop: may the session end its turn? Gathers facts for the rules, records and gives the answer."""

from __future__ import annotations

import os
import time

from ..core.journal import clock, verdict
from ..core.steps import announce, stop
from ..store import loops, place
from . import project, reply
from .reply import Call

#: What the client says of background work that still runs; anything else is over or unknown.
RUNNING = ("running", "pending", "queued", "starting", None)

#: Types of background work that are agents.
AGENTS = ("subagent", "agent", None)

#: Seconds for which a report may wait, since the turn before it goes on.
LONGEST_TURN = 600

#: Seconds between the looks at a transcript without a tool call, and how many more.
LATE, LOOKS = 0.1, 5


def handle(call: Call) -> dict | None:
    """Rule: Stop, rows 1 to 9; for a session without a loop the rule for its task list."""
    if not call.readable:
        return None
    found = project.own_view(call, loops.MOST_FOLDED)
    if found is None:
        return _foreign(call)
    if not found.snapshot:
        return _behind(found, call)
    session_id = project.session_id(call)
    decision = stop.first_rows(found.session, found.snapshot, session_id, _background(call, found))
    if decision is None:
        found = _synced(found, call)
        decision = _last_rows(found, call)
    if decision.record is not None:
        # a power cut ends what is held: the next stop counts what this one saw
        ended = decision.decision != "hold"
        project.record(found, call, ("iteration_ended", decision.record), sync=ended)
        if found.rebuilt or decision.record.get("verdict"):
            loops.renew(found.root, found.name)  # rare: for who reads the snapshot alone
    if decision.decision != "hold":
        return reply.tell(decision.text)
    if not _still_held(found, session_id):
        return None
    if decision.notice:
        project.record(found, call, ("notice_given", {"name": stop.NO_PRICE}))
    return {**reply.hold(decision.text), **(reply.tell(decision.notice) or {})}


def _behind(found: loops.View, call: Call) -> dict | None:
    """The snapshot of a long journal is gone, and folding the journal takes longer than a stop may:
    one hold has a command do it, which writes the snapshot anew."""
    session, again = found.session, call.given.get("stop_hook_active") is True
    waits = session.status != verdict.RUNNING or session.question is not None
    if waits or session.stage in ("intent", "complete") or again or _agents(call):
        return None
    return reply.hold(announce.behind(found.name))


def _last_rows(found: loops.View, call: Call) -> stop.Decision:
    forced = call.given.get("stop_hook_active") is True
    for look in range(LOOKS + 1):
        if look:
            time.sleep(LATE)
        seen, active = _seen(found, call)
        if active or not look:
            decision = stop.last_rows(found.session, found.snapshot, forced, active, seen, call.now)
        if active or decision.row != 8:
            break
    if decision.row in (7, 9) and _is_queued(call):
        return stop.Decision(3, "allow", None, "")
    return decision


def _is_queued(call: Call) -> bool:
    """Whether a turn follows by itself, since a report waits for it."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return False
    from ..store import transcript

    return transcript.queued(path, clock.stamp(call.now - LONGEST_TURN))


def _still_held(found: loops.View, session_id: str) -> bool:
    """Whether the loop still runs, and here: another command may have ended it meanwhile."""
    session = loops.again(found)
    return session is not None and (session.status, session.owner) == (verdict.RUNNING, session_id)


def _background(call: Call, found: loops.View) -> bool:
    """Whether an agent is at work; other work, a server for one, lets a stop pass once a hold has
    said what is waited for."""
    if _agents(call):
        return True
    session = found.session
    said = session.hold_count and session.hold_fingerprint == found.snapshot["tasks"]["fingerprint"]
    return bool(said and _at_work(call))


def _at_work(call: Call) -> list:
    tasks = call.given.get("background_tasks")
    rows = [task for task in tasks if type(task) is dict] if type(tasks) is list else []
    return [task for task in rows if task.get("status") in RUNNING]


def _agents(call: Call) -> bool:
    rows = _at_work(call)
    return any(task.get("agent_type") or task.get("type") in AGENTS for task in rows)


def _seen(found: loops.View, call: Call) -> tuple:
    """(what the transcripts gave since the last look, whether a tool was called)."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return {}, False
    from ..store import transcript

    session = found.session
    reading = transcript.of(session, path)
    seen = {"usage": reading.usage, "offsets": reading.offsets}
    if reading.usage:
        seen["message_ids"] = reading.message_ids
    seen["transcript_offset"] = {**session.offsets, **reading.offsets}.get(transcript.key(path), 0)
    return seen, reading.active


def _synced(found: loops.View, call: Call) -> loops.View:
    """The loop after a look at the client's task list, where Claude may have added tasks."""
    if not os.path.isdir(os.path.join(place.config_dir(call.env), "tasks")):
        return found
    from ..store import native

    folder = native.folder(call.env, project.session_id(call))
    if folder is None:
        return found
    from . import mirror

    return mirror.sync(found, folder, call) or found


def _foreign(call: Call) -> dict | None:
    """No loop of this session: the unfinished tasks of a named list hold the first stop."""
    named, again = call.env.get("CLAUDE_CODE_TASK_LIST_ID"), call.given.get("stop_hook_active")
    if not named or again is not False:
        return None
    from ..store import native

    folder = native.folder(call.env, "")
    if folder is None:
        return None
    subjects, unreadable = native.foreign_open(folder, announce.SHOWN)
    if unreadable:
        from . import log

        log.note(call.data, call.event, "task list: unreadable " + ", ".join(unreadable[:5]))
    return reply.hold(announce.foreign(subjects)) if subjects else None
