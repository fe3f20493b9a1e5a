"""Stop: may the session end its turn? Gathers what the rules want to know, records the answer,
gives it."""

from __future__ import annotations

import os
import time

from ..core.journal import clock, verdict
from ..core.journal.events import Event
from ..core.steps import stop
from ..store import loops, place
from . import project, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dispatch import Call

#: What the client says of background work that still runs; anything else is over or unknown.
RUNNING = ("running", "pending", "queued", "starting", None)

#: Seconds between the looks at a transcript without a tool call, and how many more: the client may
#: write it late.
LATE, LOOKS = 0.1, 5


def handle(call: Call) -> dict | None:
    """Rule: Stop, rows 1 to 9; for a session without a loop the rule for its task list."""
    if not call.readable:
        return None
    found = project.own_view(call)
    if found is None:
        return _foreign(call)
    decision = stop.first_rows(
        found.session, found.snapshot, project.session_id(call), _background(call)
    )
    if decision is None:
        found = _in_step(found, call)
        seen, active = _seen(found, call)
        forced = call.given.get("stop_hook_active") is True
        decision = stop.last_rows(found.session, found.snapshot, forced, active, seen, call.now)
        for _ in range(LOOKS if decision.row == 8 else 0):
            time.sleep(LATE)
            seen, active = _seen(found, call)
            if active:
                decision = stop.last_rows(
                    found.session, found.snapshot, forced, active, seen, call.now
                )
                break
    if decision.record is not None:
        project.append(
            found, Event("iteration_ended", decision.record, clock.stamp(call.now), "hook")
        )
        if found.rebuilt or decision.record.get(
            "verdict"
        ):  # rare: whoever reads the snapshot alone shall see it
            loops.renew(found.root, found.name)
    if decision.decision == "hold":
        if not _still_held(found, call):
            return None
        if decision.notice:
            project.append(
                found, Event("notice_given", {"name": stop.NO_PRICE}, clock.stamp(call.now), "hook")
            )
            return {**reply.hold(decision.text), **(reply.tell(decision.notice) or {})}
        return reply.hold(decision.text)
    return reply.tell(decision.text)


def _still_held(found: loops.View, call: Call) -> bool:
    """Whether the loop still runs, and here: another command may have ended it between the look and
    the line."""
    session = loops.again(found)
    if session is None:
        return False
    return session.status == verdict.RUNNING and session.owner == project.session_id(call)


def _background(call: Call) -> bool:
    tasks = call.given.get("background_tasks")
    return type(tasks) is list and any(
        type(one) is dict and one.get("status") in RUNNING for one in tasks
    )


def _seen(found: loops.View, call: Call) -> tuple:
    """(what the transcripts gave since the last look, whether a tool was called)."""
    path = call.given.get("transcript_path")
    if type(path) is not str or not path:
        return {}, False
    from ..store import transcript

    session = found.session
    extra = tuple(one for one in session.subagents.values() if type(one) is str)
    reading = transcript.read(
        path, session.offsets, session.message_ids, session.owner_since, extra
    )
    seen = {"usage": reading.usage, "offsets": reading.offsets}
    if reading.usage:
        seen["message_ids"] = reading.message_ids
    seen["transcript_offset"] = {**session.offsets, **reading.offsets}.get(transcript.key(path), 0)
    return seen, reading.active


def _in_step(found: loops.View, call: Call) -> loops.View:
    """The loop after a look at the client's task list, where it keeps one; there Claude may have
    added tasks."""
    if not os.path.isdir(os.path.join(place.config_dir(call.env), "tasks")):
        return found
    from ..store import native

    folder = native.folder(call.env, project.session_id(call))
    if folder is None:
        return found
    from . import mirror

    return mirror.bring_in_step(found, folder, call) or found


def _foreign(call: Call) -> dict | None:
    """No loop of this session: the unfinished tasks of a named list hold the first stop."""
    if (
        not call.env.get("CLAUDE_CODE_TASK_LIST_ID")
        or call.given.get("stop_hook_active") is not False
    ):
        return None
    from ..core.steps import announce
    from ..store import native

    folder = native.folder(call.env, "")
    if folder is None:
        return None
    subjects, unreadable = native.foreign_open(folder, announce.SHOWN)
    if unreadable:
        from . import log

        log.note(call.data, call.event, "task list: unreadable " + ", ".join(unreadable[:5]))
    return reply.hold(announce.foreign(subjects)) if subjects else None
