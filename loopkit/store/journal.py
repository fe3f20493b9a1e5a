"""Append-only logs of events, as a loop's `ledger.jsonl`, by a table. Standard library only."""

from __future__ import annotations

import errno
import os
from collections import namedtuple

from ..core.journal.events import Table, encode
from . import atomic

NAME = "ledger.jsonl"
#: Bytes of a journal that is read at all.
LARGEST = 1 << 28
BOM = b"\xef\xbb\xbf"
#: Closes an unfinished line so that it stays unreadable, also when only its line break was missing:
#: nobody was told that it was written, and the lines after it were decided without it.
_CUT = b"#\n"

#: What reading gave: events in order · offset: end of the last whole line in bytes · damaged:
#: numbers (1-based) of whole lines that are no events · cut: numbers of beginnings of lines, closed
#: by a later write; a crash left them · torn: an unfinished line stands at the end.
Tail = namedtuple("Tail", "events offset damaged cut torn")


def append(path: str, table: Table, events: list, sync: bool = True) -> int:
    """Append events as `atomic.append` does; returns the file's size afterwards."""
    table.check(events)
    return atomic.append(path, b"".join(map(encode, events)), _CUT, False, sync)


def create(path: str, table: Table, events: list) -> int:
    """A new journal with its first lines, there as a whole or not at all; raises FileExistsError
    where one stands. Returns its size. The caller is the only one who makes journals at `path`."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    table.check(events)
    data = b"".join(map(encode, events))
    atomic.write(path, data, sync=True)
    return len(data)


def read(path: str, table: Table, offset: int = 0, most: int = LARGEST) -> Tail | None:
    """Lines from byte `offset` on; None where that is not the start of a line of this file (it was
    changed elsewhere). Raises OSError, also for more than `most` bytes."""
    with atomic.opened(path, most) as file:
        if offset:
            file.seek(offset - 1)
            if file.read(1) != b"\n":
                return None
        raw = file.read()
    events: list = []
    damaged: list = []
    cut: list = []
    position = len(BOM) if not offset and raw.startswith(BOM) else 0
    whole = raw[position : raw.rfind(b"\n") + 1]
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        if not line.strip() or line + b"\n" == _CUT:  # the line before was seen half written only
            continue
        event = table.decode(line.removeprefix(BOM))
        if event is not None:
            events.append(event)
        elif line[:1] == b"{" and not line.rstrip().endswith(b"}"):
            cut.append(number)
        else:
            damaged.append(number)
    end = position + len(whole)
    return Tail(events, offset + end, damaged, cut, end < len(raw))
