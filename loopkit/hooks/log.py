"""`hooks.log` in the plugin's data folder: a line a fault, at most 64 kB and an older file."""

from __future__ import annotations

import os
import time

from ..store import atomic

LONGEST_FILE, LONGEST_LINE = 64 * 1024, 500


def note(data: str, event: str, text: str) -> None:
    """Append `text` as one line; where the folder cannot be written nothing happens."""
    text = f"{event}: {text}"[:LONGEST_LINE]
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path = os.path.join(data, "hooks.log")
    try:
        os.makedirs(data, exist_ok=True)
        try:
            if os.path.getsize(path) > LONGEST_FILE:
                os.replace(path, path + ".1")
        except OSError:
            pass
        line = f"{stamp} {text}\n".encode("utf-8", "replace")
        atomic.append(path, line, sync=False, bits=0o600)
    except OSError:
        pass


def fault(data: str, event: str, error: BaseException) -> None:
    """Note an exception: its kind, its words and where in our files it arose."""
    where, step = "", error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        where = f"{os.path.basename(code.co_filename)}:{step.tb_lineno}"
        step = step.tb_next
    note(data, event, f"{type(error).__name__} in {where}: {error}")
