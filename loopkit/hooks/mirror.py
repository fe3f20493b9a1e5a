"""Sync ledger and native task list from a hook: take in what Claude added, push the rest."""

from __future__ import annotations

import os
import time
from binascii import crc32

from ..core.journal import clock, settings
from ..store import loops, native
from . import log, project
from .reply import Call

#: Seconds a hook waits for the loop's writing lock, and for the locks of the list in all.
LOCK_SECONDS, LIST_SECONDS = 0.5, 1.0
#: Seconds after which a file counts as written: the client fills a new one in place.
SETTLED = 2.0


def sync(found: loops.View, folder: str, call: Call) -> loops.View | None:
    """Synchronise; the loop's new view where tasks were taken in, else None. New tasks need ids, so
    they are only taken in under the writing lock of the commands; where that is held by somebody
    else, the next command takes them in."""

    def note(text: str) -> None:
        log.note(call.data, call.event, "task list: " + text)

    lock = _Lock(os.path.join(found.root, "lock"))
    try:
        state, _ = loops.fold(found.root, found.name)
        mark = _Mark(call.data, found, folder, clock.epoch(state.session.started_at))
        result = native.sync(native.rows(state), folder, found.name, LIST_SECONDS, mark.since)
        if result.unreadable:
            note("unreadable " + ", ".join(result.unreadable[:5]))
        for task, listed, recorded in result.conflicts[:5]:
            note(f"{task} is {listed} there but {recorded} by its evidence; the ledger stands")
        lines = native.pulled(state, result.created) if lock.held else []
        refused = 0
        if lines or lock.held and state.planned >= settings.MOST_TASKS:
            refused = len(result.created) - len(lines)
        if refused:
            note(f"{refused} not taken in: {settings.MOST_TASKS} tasks are the most")
        if not lines:
            mark.move(len(result.created) == refused)
            return None
        from ..core.steps.events import LOOP

        project.record(found, call, *lines, table=LOOP)
        mark.move(True)
        loops.renew(found.root, found.name)
        return loops.view(found.root)
    finally:
        lock.release()


class _Mark:
    """When a list was last looked through (`since`): the time stamp of an empty file."""

    def __init__(self, data: str, found: loops.View, folder: str, begin: float) -> None:
        name = f"{found.name}-{crc32(os.fsencode(found.root + chr(0) + folder)):08x}"
        self.path = os.path.join(data, "lists", name)
        self.began = time.time()
        try:
            self.since = max(begin, os.stat(self.path).st_mtime)
        except OSError:
            self.since = begin

    def move(self, examined: bool) -> None:
        """Note this look, if everything it saw was dealt with."""
        until = self.began - SETTLED
        if not examined or until <= self.since:
            return
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(self.path, (until, until))
        except OSError:
            pass


class _Lock:
    """The commands' writing lock, if it can be had at once; a hook never insists."""

    def __init__(self, path: str) -> None:
        self.held, self.descriptor = False, -1
        try:
            import fcntl
        except ImportError:  # Windows
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        try:
            self.descriptor = os.open(path, flags, 0o644)
        except OSError:
            return
        until = time.monotonic() + LOCK_SECONDS
        while not self.held:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.held = True
            except OSError:
                if time.monotonic() >= until:
                    return
                time.sleep(0.02)

    def release(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
