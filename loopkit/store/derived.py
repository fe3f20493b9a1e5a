"""Files of a loop's folder that follow its journal: written only where they say something else."""

from __future__ import annotations

import os

from . import atomic, inside

#: Bytes of a file that is compared; a larger one was not written here.
LARGEST = 4_000_000


def put(folder: str, name: str, text: str, but: str = "") -> bool:
    """Let the file `name` of a loop's folder hold this text; whether it was written. Lines that
    begin with `but` do not count as a difference. Raises OSError, also where it is a link."""
    path = os.path.join(folder, name)
    inside.check(folder, path)
    data = text.encode("utf-8", "replace")
    try:
        old = inside.read(path, LARGEST)
    except OSError:
        old = b""
    if old == data or but and old and _without(old, but.encode()) == _without(data, but.encode()):
        return False
    atomic.write(path, data)
    return True


def _without(data: bytes, start: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if not line.startswith(start)]
