"""The journal's lines: one JSON object each, `{"v":1,"at":…,"type":…,"by":…,"data":{…}}`."""

from __future__ import annotations

import json
from collections import namedtuple

VERSION = 1

#: A line to be written: (type, data).
Change = tuple
#: One journal line. `at`: UTC stamp; `by`: session:<id>, hook, run:<name> or person; `data`: the
#: type's own fields.
Event = namedtuple("Event", "type data at by")

#: Types whose effect needs no task and that leave the snapshot's next step as it is, or make it
#: plain by the status: a reader that has the snapshot can fold them onto it alone (see
#: session.fold).
SESSION_TYPES = frozenset(
    (
        "iteration_ended",
        "adopted",
        "limits_set",
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
    """The line of an event, newline included. Readable text; lone surrogates are escaped, so it is
    always UTF-8."""
    record = {"v": VERSION, "at": event.at, "type": event.type, "by": event.by, "data": event.data}
    try:
        return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def decode(line: bytes) -> Event | None:
    """The event of a line, or None where the line is not one (torn, damaged, of another kind, a
    field of another kind)."""
    from . import fields  # only readers of lines pay for it

    try:
        record = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
        data, kind, at, by = record["data"], record["type"], record["at"], record["by"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if (
        type(data) is not dict
        or not type(kind) is type(at) is type(by) is str
        or not fields.fit(kind, data)
    ):
        return None
    return Event(kind, data, at, by)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
