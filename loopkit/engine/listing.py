"""What checkpoints do not hold, listed so that a change shows: ignored files by size and time, and
where there is no git all files by digest. A listing is a file of the loop's; contents of ignored
files are never read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections import deque
from collections.abc import Iterator

from ..core.journal.parts import Changed
from ..store import atomic, digest
from ..store.loop import MEASURED
from .git import repository
from .scratch import scratch
from .trees import Measured

#: Entries of ignored folders that are listed, files that are digested, bytes of a listing; at the
#: most.
MOST_IGNORED, MOST_FILES, LARGEST = 2000, 20_000, 64_000_000
#: Ignored folders that may be too large before no more are looked into.
MOST_MISSED = 20
#: Seconds by which the times of files lag behind the clock.
_TICK = 0.05
#: Bytes of a file whose lines are counted.
MOST_COUNTED = 1_000_000
#: Folders that come and go with every run.
_SKIPPED = digest.SKIPPED - {"node_modules"}
#: Names of listings: the first, the newest.
START, NEWEST = "start", "newest"


# -- listings as files


def read(folder: str, name: str) -> dict:
    """A listing of the loop in that folder; {} where there is none."""
    try:
        found = json.loads(atomic.read(os.path.join(folder, MEASURED, name + ".json"), LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if type(found) is dict else {}


def write(folder: str, name: str, listing: dict) -> None:
    """Keep a listing. Raises OSError."""
    path = os.path.join(folder, MEASURED, name + ".json")
    atomic.check_inside(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    atomic.write(path, json.dumps(listing).encode("ascii"))


# -- permissions that git does not keep

_USUAL = (0o644, 0o664, 0o755, 0o775)


def rights(project: str, env: dict) -> dict[str, int]:
    """{path: permission bits} of files that have others than git keeps. Raises Unavailable,
    GitFault, Late."""
    repo = repository(project, env)
    with scratch(repo, env) as run:
        named = run("ls-files -c -o -z --exclude-standard", *repo.paths).split(b"\0")[:-1]
    found = {}
    for name in named:
        path = os.fsdecode(name)[len(repo.prefix) :]
        with contextlib.suppress(OSError):
            state = os.lstat(os.path.join(project, path))
            bits = stat.S_IMODE(state.st_mode)
            if stat.S_ISREG(state.st_mode) and bits not in _USUAL:
                found[path] = bits
    return found


def kept_rights(folder: str) -> dict[str, int]:
    """The same as it was when execution began, from the loop's folder."""
    found = read(folder, START).get("rights")
    rows = found.items() if type(found) is dict else ()
    return {path: bits & 0o777 for path, bits in rows if type(bits) is int}


# -- what git ignores


def ignored(project: str, env: dict) -> dict[str, dict[str, str]]:
    """`inside` of what git ignores. Raises Unavailable, GitFault, Late."""
    repo = repository(project, env)
    with scratch(repo, env) as run:
        command = "ls-files -o -i -z --exclude-standard --directory"
        named = run(command, *repo.paths).split(b"\0")
    return inside(project, [os.fsdecode(name)[len(repo.prefix) :] for name in named])


def inside(project: str, names: list[str]) -> dict[str, dict[str, str]]:
    """{folder: {name: size and time; "" for a folder}}, a folder whole or not at all, the shallow
    ones first; under "" the names that are given."""
    found: dict[str, dict[str, str]] = {"": {}}
    for name in shown(names):
        found[""][name] = "" if name.endswith("/") else _mark(os.path.join(project, name))
    folders = deque(name for name in found[""] if name.endswith("/"))
    left, missed = MOST_IGNORED - len(found[""]), 0
    while folders and left > 0 and missed < MOST_MISSED:
        folder = folders.popleft()
        inner = _entries(os.path.join(project, folder), left)
        if inner is None:
            missed += 1
            continue
        found[folder], left = inner, left - len(inner)
        folders.extend(folder + name for name in inner if name.endswith("/"))
    return found


def shown(names: list[str]) -> list[str]:
    """Those of the ignored names that are listed."""
    return [name for name in names if name and not comes_and_goes(name.rstrip("/"))][:MOST_IGNORED]


def comes_and_goes(path: str) -> bool:
    """Whether a path is, or lies in, what runs leave behind and no work is: caches."""
    parts = path.split("/")
    caches = (part.startswith(".") and part.endswith("_cache") for part in parts)
    return any(caches) or not _SKIPPED.isdisjoint(parts)


def _entries(folder: str, most: int) -> dict[str, str] | None:
    """What lies in a folder; None for one that is too large, or cannot be read."""
    inner: dict[str, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    inner[entry.name] = entry.path
                elif not comes_and_goes(entry.name):
                    inner[entry.name + "/"] = ""
                if len(inner) > most:
                    return None
    except OSError:
        return None
    return {name: _mark(path) if path else "" for name, path in inner.items()}


def _mark(full: str) -> str:
    try:
        state = os.lstat(full)
    except OSError:
        return "gone"
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_mode & 0o111:o}"


def compared(before: dict, now: dict) -> list[str]:
    """Names of what differs between two listings of ignored files, in the folders of both. A folder
    that git no longer names may only hold something else by now."""
    return [
        folder + name
        for folder in now
        if type(before.get(folder)) is dict
        for name in {*before[folder], *now[folder]}
        if before[folder].get(name) != now[folder].get(name)
        and (folder or name in now[folder] or not name.endswith("/"))
    ]


# -- all files, where there is no git


def files(project: str, known: dict) -> dict[str, list]:
    """{path: [digest, size and times, lines or None]} of the project's files. known: an earlier
    one; what has kept size and times is not read again."""
    found: dict[str, list] = {}
    for path, state in _walk(project):
        when = f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}"
        old = known.get(path)
        if type(old) is list and len(old) == 3 and old[1] == when:
            found[path] = old
        else:
            found[path] = [_digest(project, path, state), when, _lines(project, path, state)]
    return found


def _walk(project: str) -> Iterator[tuple[str, os.stat_result]]:
    count = 0
    for top, folders, names in os.walk(project):
        links = [name for name in folders if os.path.islink(os.path.join(top, name))]
        folders[:] = sorted(name for name in folders if name not in digest.SKIPPED)
        for name in sorted([*names, *links]):
            full = os.path.join(top, name)
            try:
                state = os.lstat(full)
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.relpath(full, project), state


def changed_since(project: str, since: float) -> bool:
    """Whether a file of the project was written, or one came or went, since then (seconds since
    1970); True as well where there are too many to tell."""
    for number, (top, folders, names) in enumerate(os.walk(project)):
        folders[:] = [name for name in folders if name not in digest.SKIPPED]
        for name in (os.curdir, *names):
            # what is ours may have come into the project just before
            lag = 0.0 if (top, name) == (project, os.curdir) else _TICK
            with contextlib.suppress(OSError):
                if os.lstat(os.path.join(top, name)).st_mtime > since - lag:
                    return True
        if number > MOST_FILES:
            return True
    return False


def _digest(project: str, path: str, state: os.stat_result) -> str:
    if stat.S_ISREG(state.st_mode):
        return digest.of(project, path)
    target = os.fsencode(os.readlink(os.path.join(project, path)))  # never what it leads to
    return "link:" + hashlib.sha256(target).hexdigest()[:32]


def _lines(project: str, path: str, state: os.stat_result) -> int | None:
    if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_COUNTED:
        return None
    try:
        with open(os.path.join(project, path), "rb") as file:
            text = file.read()
    except OSError:
        return None
    return None if b"\0" in text else text.count(b"\n") + (text[-1:] not in (b"\n", b""))


def measured(before: dict, now: dict) -> list[Measured]:
    """What differs between two listings of all files. Lines of a changed file are not known."""
    rows = []
    for path in sorted({*before, *now}):
        old, new = before.get(path), now.get(path)
        if old is None and new is not None:
            rows.append(Measured(Changed(path, "A", new[2], 0), new[0]))
        elif new is None and old is not None:
            rows.append(Measured(Changed(path, "D", 0, old[2]), ""))
        elif old and new and old[0] != new[0]:
            rows.append(Measured(Changed(path, "M", None, None), new[0]))
    return rows
