"""The journal's lines: one JSON object each, `{"v":1,"at":…,"type":…,"by":…,"data":{…}}`."""

from __future__ import annotations

import json
from collections import namedtuple

VERSION = 1

#: One journal line. `at`: UTC stamp; `by`: session:<id>, hook, run:<name> or person; `data`: the type's own fields.
Event = namedtuple("Event", "type data at by")

#: Types whose effect needs no task: a reader that has the snapshot can fold them onto it alone (see session.fold).
SESSION_TYPES = frozenset(
    (
        "iteration_ended",
        "limits_set",
        "question_asked",
        "question_answered",
        "paused",
        "resumed",
        "owner_changed",
        "stop_failed",
        "subagent_stopped",
        "notice_given",
        "native_seen",
        "loop_cancelled",
    )
)


def encode(event: Event) -> bytes:
    """The line of an event, newline included. Readable text; lone surrogates are escaped, so it is always UTF-8."""
    record = {"v": VERSION, "at": event.at, "type": event.type, "by": event.by, "data": event.data}
    try:
        return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def decode(line: bytes) -> Event | None:
    """The event of a line, or None where the line is not one (torn, damaged, of another kind)."""
    try:
        record = json.loads(line)
        data = record["data"]
        if type(data) is not dict:
            return None
        return Event(str(record["type"]), data, str(record["at"]), str(record["by"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
