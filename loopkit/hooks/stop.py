"""Stop: may the session end its turn? Gathers facts for the rules, records and gives the answer."""

from __future__ import annotations

import os
import time

from ..core.journal import clock, verdict
from ..core.journal.session import BEGUN, QUEUED, WAITS
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
    decision = stop.first_rows(found.session, found.snapshot, session_id, *_background(call))
    if decision is None:
        found = _synced(found, call)
        decision = _last_rows(found, call)
    if decision.record is not None:
        # a power cut ends what is held: the next stop counts what this one saw
        ended = decision.decision != "hold"
        project.record(found, call, ("iteration_ended", decision.record), sync=ended)
        if found.rebuilt or decision.record.get("verdict"):
            loops.renew(found.root, found.name)  # rare: for who reads the snapshot alone
    if decision.decision == "hold" and not _still_held(found, session_id):
        return None
    if decision.name:
        project.record(found, call, ("notice_given", {"name": decision.name}))
    if decision.decision != "hold":
        return reply.tell(decision.text)
    return {**reply.hold(decision.text), **(reply.tell(decision.notice) or {})}


def _behind(found: loops.View, call: Call) -> dict | None:
    """The snapshot of a long journal is gone, and folding the journal takes longer than a stop may:
    one hold has a command do it, which writes the snapshot anew."""
    session, again = found.session, call.given.get("stop_hook_active") is True
    waits = session.status != verdict.RUNNING or session.question is not None or session.free
    waits = waits or session.stage == "complete" or stop.talks(session)
    if waits or again or _background(call)[0]:
        return None
    return reply.hold(announce.behind(found.name))


def _last_rows(found: loops.View, call: Call) -> stop.Decision:
    forced = call.given.get("stop_hook_active") is True
    for look in range(LOOKS + 1):
        if look:
            time.sleep(LATE)
        seen, active = _seen(found, call)
        if active or not look:
            decision = stop.last_rows(found.session, found.snapshot, forced, active, seen)
        if active or decision.row != 8:
            break
    return _let_go(found, call) or decision if decision.row in (7, 9) else decision


def _let_go(found: loops.View, call: Call) -> stop.Decision | None:
    """The stop passes where a turn follows by itself, since a report or a command of the person's
    waits for it, and where the person began this one by a line in the client's shell mode."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return None
    from ..store import transcript

    follows, theirs = transcript.queued(path, clock.stamp(call.now - LONGEST_TURN))
    if follows:
        name = QUEUED if theirs and QUEUED not in found.session.notices else ""
        return stop.Decision(3, "allow", None, "", "", name)
    if place.unattended(call.env) or not transcript.by_hand(path):
        return None
    if QUEUED in found.session.notices:  # the work before it goes on
        project.record(found, call, ("notice_given", {"name": BEGUN}))
        return None
    project.record(found, call, ("person_spoke", {"how": "typed"}))
    return stop.Decision(2, "allow", None, announce.waits(found.snapshot, 0), "", WAITS)


def _still_held(found: loops.View, session_id: str) -> bool:
    """Whether the loop still runs, and here: another command may have ended it meanwhile."""
    session = loops.again(found)
    return session is not None and (session.status, session.owner) == (verdict.RUNNING, session_id)


def _background(call: Call) -> tuple:
    """(how many agents are at work, what else runs in the background: a server for one)."""
    tasks = call.given.get("background_tasks")
    rows = [task for task in tasks if type(task) is dict] if type(tasks) is list else []
    rows = [task for task in rows if task.get("status") in RUNNING]
    others = [row for row in rows if not row.get("agent_type") and row.get("type") not in AGENTS]
    named = [one.get("command") or one.get("description") or one.get("type") for one in others[:1]]
    return len(rows) - len(others), "".join(map(str, named))


def _seen(found: loops.View, call: Call) -> tuple:
    """(what the transcripts gave since the last look, whether a tool was called)."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return {}, False
    from ..store import transcript

    session = found.session
    reading = transcript.of(session, path, call.now)
    seen = transcript.fields(session, reading)
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
