"""The client's own task list, `<config dir>/tasks/<list id>/N.json`: a mirror of the ledger.

Measured on client 2.1.332. Creating a task locks `.lock.lock`, changing one locks `N.json.lock`; a
lock is a folder, taken over when its time stamp is older than 10 s; readers lock nothing, so a file
may be seen half written. Our tasks keep their own ids (`T-003.json`); a number is a task that
Claude made. That a file is missing says nothing: the client empties lists by itself.
"""

from __future__ import annotations

import os
import time
from collections import namedtuple

from ..core.journal import jsons, verdict
from ..core.journal.events import encoded
from . import atomic, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.journal.state import LoopState

STATUSES = frozenset(("pending", "in_progress", "completed"))
#: Seconds: to wait for a lock, until it counts as left behind, between two looks.
LOCK_SECONDS, STALE, STEP = 3.0, 10.0, 0.02
#: Characters of a subject that Claude wrote.
LONGEST_SUBJECT = 1000

#: A task of the ledger as the list shall show it. metadata: {wave, loopId, verification,
#: stuckCount}; native_id: its number in the list where Claude made it, else None.
Mirrored = namedtuple(
    "Mirrored", "id subject description active_form status blocked_by metadata native_id"
)
#: A task that Claude made and the ledger does not know. blocked_by: ids as they stand in the list.
Created = namedtuple("Created", "native_id subject description active_form status blocked_by")
#: created: Created records · conflicts: (task id, status in the list, status in the ledger), the
#: ledger's one was written · pushed, skipped: files written, and left for the next time ·
#: unreadable: file names that say nothing.
SyncResult = namedtuple("SyncResult", "created conflicts pushed skipped unreadable")

NOTHING = SyncResult((), (), 0, 0, ())


# -- where it is


def list_id(env: dict, session_id: str) -> str:
    """`CLAUDE_CODE_TASK_LIST_ID`, else the session's own id, in the client's spelling."""
    name = env.get("CLAUDE_CODE_TASK_LIST_ID") or session_id
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in name)


def folder(env: dict, session_id: str) -> str | None:
    """The folder of a session's list, or None where there is none: it is not ours to make one."""
    name = list_id(env, session_id)
    path = os.path.join(place.config_dir(env), "tasks", name)
    return path if name and os.path.isdir(path) else None


def has_task_tools(env: dict, seen: bool) -> bool:
    """Whether the client keeps a list at all: a native event was seen, or the person opted in."""
    value = env.get("CLAUDE_CODE_ENABLE_TODO_TOOLS", "")
    return seen or value.lower() in ("1", "true", "yes", "on")


def ensure_folder(env: dict, session_id: str, seen: bool = False) -> str | None:
    """The folder, made where the session has task tools, since the client makes none later."""
    name = list_id(env, session_id)
    if name and has_task_tools(env, seen):
        try:
            os.makedirs(os.path.join(place.config_dir(env), "tasks", name), exist_ok=True)
        except OSError:
            return None
    return folder(env, session_id)


# -- between the ledger and the list


def rows(state: LoopState) -> list:
    """The Mirrored records of a loop's tasks."""
    return [
        Mirrored(
            id=task.id,
            subject=task.subject,
            description=task.description or task.verify,
            active_form=task.active_form,
            status=task.status,
            blocked_by=task.blocked_by,
            metadata=task.metadata(state.name, state.verification(task)),
            native_id=task.native,
        )
        for task in state.tasks.values()
    ]


def pulled(state: LoopState, created: list) -> list:
    """Journal lines, as (type, data), that take Claude's own tasks into the loop: pending, without
    a verification. Before a loop is shaped Claude's list is its own business: nothing is taken
    then, and never more tasks than a loop may have. The caller holds the writing lock."""
    if state.stage not in ("decompose", "executing", "review"):
        return []
    if state.session.status in verdict.FINAL:
        return []
    from ..core.journal import settings  # most stops take nothing in

    known = {task.native: task.id for task in state.tasks.values() if task.native}
    fresh = [row for row in created if row.native_id not in known]
    fresh = fresh[: max(0, settings.MOST_TASKS - state.planned)]
    for number, row in enumerate(fresh, 1):
        known[row.native_id] = f"T-{state.highest + number:03d}"
    blocked_by = _without_circles(state, fresh, known)
    lines = []
    for row in fresh:
        task = {"id": known[row.native_id], "subject": row.subject[:LONGEST_SUBJECT]}
        task |= {"description": row.description, "activeForm": row.active_form}
        task |= {"blockedBy": blocked_by[task["id"]], "native": row.native_id}
        lines.append(("task_added", {"task": task}))
    return lines


def _without_circles(state: LoopState, fresh: list, known: dict) -> dict:
    """{id: blockers} of new tasks, without those that would close a circle."""
    from ..core.plan import outline

    blockers: dict = {}
    for row in fresh:
        task_id = known[row.native_id]
        blockers[task_id] = []
        for blocker in row.blocked_by:
            if blocker in known or blocker in state.tasks:
                blockers[task_id].append(known.get(blocker, blocker))
                if outline.cycle_from(task_id, blockers):
                    blockers[task_id].pop()
    return blockers


# -- reading


def read_task(path: str) -> dict | None:
    """One task file, or None where the client would not list it either."""
    try:
        with open(path, "rb") as file:
            record = jsons.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    if type(record) is not dict or record.get("status") not in STATUSES:
        return None
    texts = all(type(record.get(key)) is str for key in ("id", "subject", "description"))
    lists = type(record.get("blocks")) is type(record.get("blockedBy")) is list
    return record if texts and lists else None


def read_tasks(path: str, named: frozenset | None = None, since: float = 0.0) -> tuple:
    """({id: record}, [names of files that say nothing]) of a list's folder, in no order; ({}, [])
    without one. named: where given, of all other files only numbers are read, and those only where
    their time stamp is not before `since` (POSIX seconds)."""
    found: dict = {}
    unreadable: list = []
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if _is_wanted(entry, named, since)]
    except (OSError, ValueError):
        return found, unreadable
    for name in names:
        if not name.startswith("."):
            record = read_task(os.path.join(path, name))
            if record is None:
                unreadable.append(name)
            else:
                found[name[:-5]] = record
    return found, sorted(unreadable)


def _is_wanted(entry: os.DirEntry, named: frozenset | None, since: float) -> bool:
    name, ending = entry.name[:-5], entry.name[-5:]
    if ending != ".json":
        return False
    if named is None or name in named:
        return True
    if not is_number(name):
        return False
    try:
        return entry.stat(follow_symlinks=False).st_mtime >= since
    except OSError:
        return True


def _metadata(record: dict) -> dict:
    metadata = record.get("metadata")
    return metadata if type(metadata) is dict else {}


def is_ours(record: dict) -> bool:
    """Whether a loop wrote or adopted this task."""
    return bool(_metadata(record).get("loopId"))


def foreign_open(path: str, most: int = 1 << 60) -> tuple:
    """(at most `most` subjects of the unfinished tasks that belong to no loop, oldest number first;
    names of unreadable files)."""
    subjects: list = []
    unreadable: list = []
    try:
        names = [name[:-5] for name in os.listdir(path) if name.endswith(".json")]
    except (OSError, ValueError):
        return subjects, unreadable
    names = [name for name in names if not name.startswith(".")]
    for name in sorted(names, key=lambda name: (int(name) if is_number(name) else 1 << 60, name)):
        record = read_task(os.path.join(path, name + ".json"))
        if record is None:
            unreadable.append(name + ".json")
        elif _is_foreign(record):
            subjects.append(record["subject"])
            if len(subjects) >= most:
                break
    return subjects, sorted(unreadable)


def _is_foreign(record: dict) -> bool:
    """Whether this is an unfinished task of Claude's own."""
    internal = _metadata(record).get("_internal")
    return record["status"] != "completed" and not is_ours(record) and not internal


def is_number(name: str) -> bool:
    """Whether this is an id that the client gave."""
    return name.isascii() and name.isdigit() and len(name) <= 18


# -- writing


class LockDeadline:
    """How long one call may wait for locks in all."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

    def lock(self, path: str) -> bool:
        """Take the lock folder `path`; False where it stayed taken. Release it with `unlock`."""
        while True:
            try:
                os.mkdir(path)
                return True
            except FileExistsError:
                pass
            except OSError:
                return False
            try:
                age = time.time() - os.stat(path).st_mtime
                if abs(age) > STALE:  # of the future: the clock went back
                    os.rmdir(path)
                    continue
            except FileNotFoundError:
                continue
            except OSError:
                return False
            if time.monotonic() >= self.until:
                return False
            time.sleep(STEP)


def unlock(path: str) -> None:
    """Release a lock taken with `LockDeadline.lock`."""
    try:
        os.rmdir(path)
    except OSError:
        pass


def _write(path: str, record: dict) -> None:
    atomic.write(path, encoded(record, indent=2))


def _wanted(task: Mirrored, old: dict | None, blocks: list, blocked_by: list) -> dict:
    """The record for a task's file; what the client keeps in it (owner, other metadata) stays."""
    record = {
        **(old or {}),
        "id": task.native_id or task.id,
        "status": task.status if task.status in STATUSES else "pending",
        "blocks": blocks,
        "blockedBy": blocked_by,
        "subject": task.subject,
        "description": task.description,
        "metadata": {**_metadata(old or {}), **task.metadata},
    }
    if task.active_form:
        record["activeForm"] = task.active_form
    return record


def sync(
    tasks: list, path: str | None, loop_name: str, timeout: float = LOCK_SECONDS, since: float = 0.0
) -> SyncResult:
    """Bring a list's folder in line with the ledger's tasks, and report what Claude did there.

    tasks: Mirrored records in the ledger's order · path: the folder (None or absent: nothing
    happens) · loop_name: the loop's folder name · timeout: seconds to wait for locks in all ·
    since: POSIX seconds, what Claude wrote before is not looked at (it is older than the loop, or
    was examined). Only files that differ are written; a finished task gets no new file, since the
    client deletes a finished list. Never raises OSError.
    """
    if path is None or not os.path.isdir(path):
        return NOTHING
    numbers = {task.native_id for task in tasks}
    named = frozenset(numbers.union(task.id for task in tasks))
    found, unreadable = read_tasks(path, named, since)
    tasks = [_checked(task, found, loop_name) for task in tasks]
    names = {task.id: task.native_id or task.id for task in tasks}
    links = _links(tasks, names)
    conflicts, pushed, skipped, waiting = [], 0, 0, LockDeadline(timeout)
    for task in tasks:
        old, done = found.get(names[task.id]), task.status == "completed"
        if old is not None:
            own = _metadata(old).get("loopId") == loop_name
            if own and (old["status"] == "completed") != done:
                conflicts.append((task.id, old["status"], task.status))
        if old == _wanted(task, old, *links[task.id]) or old is None and done:
            continue
        if _push(path, task, links[task.id], waiting, loop_name):
            pushed += 1
        else:
            skipped += 1
    known = numbers.union(names.values())
    created = [
        _created(name, found[name])
        for name in sorted(found, key=lambda name: (len(name), name))
        if is_number(name) and name not in known and _is_foreign(found[name])
    ]
    return SyncResult(created, conflicts, pushed, skipped, unreadable)


def _checked(task: Mirrored, found: dict, loop_name: str) -> Mirrored:
    """A task without its number in the list where that is none, or another task's by now."""
    number = task.native_id or ""  # it becomes a file's name
    if is_number(number) and is_of(found.get(number), task.subject, loop_name):
        return task
    return task._replace(native_id=None)


def _links(tasks: list, names: dict) -> dict:
    """{id: (blocks, blocked by)} among unfinished tasks, by their names in the list."""
    unfinished = {task.id for task in tasks if task.status != "completed"}
    links: dict = {task.id: ([], []) for task in tasks}
    for task in tasks:
        for blocker in task.blocked_by:
            if blocker in unfinished:
                links[task.id][1].append(names[blocker])
                links[blocker][0].append(names[task.id])
    return links


def _created(name: str, row: dict) -> Created:
    form, blocked_by = row.get("activeForm") or "", tuple(row["blockedBy"])
    return Created(name, row["subject"], row["description"], form, row["status"], blocked_by)


def is_of(record: dict | None, subject: str, loop_name: str) -> bool:
    """Whether a number's file may be that task of Claude's: each session's list counts anew."""
    if record is None or _metadata(record).get("loopId") == loop_name:
        return True
    return bool(record["subject"][:LONGEST_SUBJECT] == subject)


def _push(path: str, task: Mirrored, links: tuple, waiting: LockDeadline, loop_name: str) -> bool:
    file = os.path.join(path, f"{task.native_id or task.id}.json")
    lock = f"{file}.lock" if os.path.lexists(file) else os.path.join(path, ".lock.lock")
    if not waiting.lock(lock):
        return False
    try:
        old = read_task(file)
        if task.native_id and not is_of(old, task.subject, loop_name):
            return False  # made just now; the next time it is seen
        _write(file, _wanted(task, old, *links))
    except OSError:
        return False
    finally:
        unlock(lock)
    return True


def withdraw(
    path: str | None, loop_name: str, timeout: float = LOCK_SECONDS, names: list | None = None
) -> int:
    """Take a loop's own tasks out of a list (cancelled, archived, removed); tasks that Claude made
    stay, unmarked. Never raises OSError. names: of the files that are meant, None for all. Returns
    how many files were changed."""
    if path is None:
        return 0
    changed, waiting = 0, LockDeadline(timeout)
    for name in read_tasks(path)[0] if names is None else names:
        file = os.path.join(path, f"{name}.json")
        lock, record = f"{file}.lock", read_task(file)
        if record is None or _metadata(record).get("loopId") != loop_name:
            continue
        if not waiting.lock(lock):
            continue
        try:
            if is_number(name):
                kept = {key: value for key, value in _metadata(record).items() if key not in _OURS}
                _write(file, {**record, "metadata": kept})
            else:
                os.unlink(file)
            changed += 1
        except OSError:
            pass
        finally:
            unlock(lock)
    return changed


_OURS = ("wave", "loopId", "verification", "stuckCount")
