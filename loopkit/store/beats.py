"""A mark for each hook event, `beats/<event>` in the data folder: its last call and the result.

The launcher writes the mark (`no-loop`, `disabled`, `child`, `no-python`, or `begun PID`) where
SessionStart or UserPromptExpansion has made the folder; the event's handler replaces `begun`. A
mark that stays `begun` is that of a hook which was killed. Nothing is written through a link or
into anything but an ordinary file. Standard library only.
"""

from __future__ import annotations

import os
import stat
import time

from . import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace as Beat

FOLDER = "beats"


def end(data: str, event: str, result: str) -> None:
    """Note the result of a call that the launcher has marked as begun."""
    folder = os.path.join(data, FOLDER)
    try:
        if os.path.islink(folder):
            return
        flags = os.O_WRONLY | atomic.open_flags("O_NOFOLLOW", "O_NONBLOCK")
        handle = os.open(os.path.join(folder, event), flags)
    except (OSError, ValueError):
        return
    try:
        state = os.fstat(handle)
        if stat.S_ISREG(state.st_mode):
            line = f"{result} {max(0.0, time.time() - state.st_mtime):.1f}\n".encode()
            os.ftruncate(handle, os.write(handle, line))
    except OSError:
        pass
    finally:
        os.close(handle)


def any_call(data: str) -> bool:
    """Whether a call of any event is noted."""
    try:
        return bool(os.listdir(os.path.join(data, FOLDER)))
    except OSError:
        return False


def read(data: str, event: str) -> Beat | None:
    """The last call of an event; None where there was none, or nothing could be noted.

    at: POSIX seconds of the call · result: a word of the launcher's, or silent, held, told,
    refused, fault; empty where it could not be noted · pid: of a call that is `begun`, else None ·
    took: seconds until the result, None if unknown.
    """
    from types import SimpleNamespace as Beat  # for the doctor: no hook reads a mark

    try:
        with atomic.opened(os.path.join(data, FOLDER, event), 1 << 20) as file:
            words = file.read(200).decode("ascii", "replace").split()
            at = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    result, number = [*words, "", ""][:2]
    if result == "begun":
        pid = int(number) if number.isdecimal() and len(number) < 10 else None
        return Beat(at=at, result=result, pid=pid, took=None)
    try:
        took = float(number)
    except ValueError:
        return Beat(at=at, result=result, pid=None, took=None)
    return Beat(at=at - took, result=result, pid=None, took=took)
