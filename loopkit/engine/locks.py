"""The doctor's checks of locks that are held or left, and of drafts that nobody finished."""

from __future__ import annotations

import contextlib
import os
import time

from ..core.journal import clock, prose
from ..store import native, place
from .findings import FAULT, OK, WARN, Report

#: Names of drafts that are listed.
MOST = 5


def writing_lock(report: Report, root: str) -> None:
    """Whether somebody holds the project's writing lock at this moment, and who."""
    path = os.path.join(root, "lock")
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        report.damage(f"{path} is no ordinary file, so no command can write: remove it")
        return
    try:
        import fcntl

        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder, stopped = _process(_holder(path))
                end = ": it stands still, so no command can write; let it go on or end it"
                level = FAULT if stopped else WARN
                report.add(level, f"{path} is held by {holder}" + (end if stopped else ""))
            else:
                report.ok("the writing lock is free")
    except (ImportError, OSError):  # another system, or a file system without locks
        return


def _holder(path: str) -> int | None:
    """The process that holds a lock on a file, where the system tells (Linux)."""
    try:
        state = os.stat(path)
        inode = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except (OSError, AttributeError):
        return None
    for row in rows:
        if len(row) > 5 and row[1] != "->" and row[5] == inode and row[4].isdecimal():
            return int(row[4])
    return None


def _process(pid: int | None) -> tuple[str, bool]:
    """(what a process is, for a person; whether it was stopped and will not go on by itself)."""
    if not pid:
        return "another process", False
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[:1]
    except OSError:
        return f"process {pid}", False
    return f"process {pid} ({command[:160]})", state in ([b"T"], [b"t"])


def list_locks(report: Report, folder: str) -> None:
    """Locks in a native task list; writers wait for a fresh one and take over an old one."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".lock"))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            age = time.time() - os.stat(path).st_mtime
        except OSError:
            continue
        if not os.path.isdir(path):  # the file `.lock`, which the client keeps there
            continue
        left = age > native.STALE
        end = ": left behind by a process that died; the next writer takes it over"
        text = f"{path} stands for {clock.human(max(0, age))}" + (end if left else "")
        report.add(WARN if left else OK, text)


def drafts(report: Report, folders: list[str]) -> None:
    """Drafts, `NAME.PID.tmp` and the list's `NAME.tmp.PID`, whose writer is gone."""
    left: list[str] = []
    for folder in folders:
        with contextlib.suppress(OSError):
            left += [os.path.join(folder, name) for name in os.listdir(folder) if _is_left(name)]
    if left:
        what = "drafts of writes that were cut short, of no use to anybody"
        report.warn(f"{what}: {prose.few(left, MOST)}")


def _is_left(name: str) -> bool:
    parts = name.rsplit(".", 2)
    if len(parts) < 3 or "tmp" not in parts[1:]:
        return False
    number = parts[1] if parts[2] == "tmp" else ""
    return not (number.isdecimal() and len(number) < 10 and place.alive(int(number)))
