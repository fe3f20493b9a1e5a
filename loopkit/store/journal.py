"""Append-only logs of events, as the `ledger.jsonl` of a loop; a table says which events there are.
Standard library only."""

from __future__ import annotations

import errno
import os
from collections import namedtuple

from ..core.journal.events import Table, encode
from . import atomic, inside

NAME = "ledger.jsonl"
#: Bytes of a journal that is read at all.
LARGEST = 1 << 28
BOM = b"\xef\xbb\xbf"
#: Closes an unfinished line so that it stays unreadable, also when only its line break was missing:
#: nobody was told that it was written, and the lines after it were decided without it.
_CUT = b"#\n"

#: What reading gave: events in order · offset: end of the last whole line in bytes · damaged:
#: numbers (1-based) of whole lines that are no events · cut: numbers of beginnings of lines, closed
#: by a later write; a crash left them, nobody was told that they were written · torn: an unfinished
#: line stands at the end.
Tail = namedtuple("Tail", "events offset damaged cut torn")


def append(path: str, table: Table, events: list, sync: bool = True) -> int:
    """Append lines with one write; returns the file's size afterwards. An unfinished last line is
    closed first. Raises OSError where they could not be written: what was written of them is taken
    back. A process that dies within the write leaves a torn line, which readers skip."""
    table.check(events)
    data = b"".join(map(encode, events))
    descriptor = os.open(
        path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    )
    try:
        size = os.fstat(descriptor).st_size
        if size and _last_byte(descriptor, path, size) != b"\n":
            data = _CUT + data
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if sync:
                os.fsync(descriptor)
        except OSError:
            if (
                written and os.fstat(descriptor).st_size == size + written
            ):  # nobody has written behind it
                os.ftruncate(descriptor, size)
            raise
        return os.fstat(descriptor).st_size
    finally:
        close(descriptor)


def close(descriptor: int) -> None:
    """What was to be known of the write is known by now; a fault of the closing takes nothing of it
    back."""
    try:
        os.close(descriptor)
    except OSError:
        pass


def _last_byte(descriptor: int, path: str, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, 1, size - 1)
    with open(path, "rb") as file:
        file.seek(size - 1)
        return file.read(1)


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
    changed elsewhere). Raises OSError, also where it is no ordinary file or larger than `most`
    bytes."""
    with inside.opened(path, most) as file:
        if offset:
            file.seek(offset - 1)
            if file.read(1) != b"\n":
                return None
        raw = file.read()
    found: list = []
    damaged: list = []  # whole lines that are no events
    cut: list = []  # lines that somebody could not finish
    number = position = 0
    if not offset and raw[:3] == BOM:
        position = 3
    while True:
        end = raw.find(b"\n", position)
        if end < 0:
            break
        number += 1
        line = raw[position:end]
        position = end + 1
        if (
            not line.strip() or line == _CUT.strip()
        ):  # nothing was cut: the line before was only seen half written
            continue
        event = table.decode(line[3:] if line[:3] == BOM else line)
        if event is not None:
            found.append(event)
        else:
            (cut if line[:1] == b"{" and not line.rstrip().endswith(b"}") else damaged).append(
                number
            )
    return Tail(found, offset + position, damaged, cut, position < len(raw))
