"""Files of a project: digests and sizes of those that evidence vouches for, the commit of HEAD."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator

from . import place

#: Bytes of a file that are hashed whole; of larger ones size and modification time stand in.
LARGEST = 100_000_000
#: Most files of a folder whose sizes are added.
MOST_FILES = 20_000
#: Folders that are not looked into.
SKIPPED = {".git", ".loop", "__pycache__", "node_modules"}


def of(project: str, path: str) -> str:
    """The digest of a file or of a folder's files, or "". `path`: relative to the project."""
    full = os.path.join(project, path)
    link = _link(full)
    if os.path.isdir(full):
        digest = hashlib.sha256(link.encode())
        for top, folders, names in os.walk(os.path.realpath(full)):
            folders[:] = sorted(set(folders) - SKIPPED)
            for name in sorted(names):
                file = os.path.join(top, name)
                content = (_link(file) + _file(file)).encode()
                digest.update(os.fsencode(os.path.relpath(file, full)) + b"\0" + content + b"\0")
        return digest.hexdigest()[:32]
    return link + _file(full)


def _link(full: str) -> str:
    """What a symbolic link says, as a digest; "" for anything else."""
    try:
        return "link:" + hashlib.sha256(os.fsencode(os.readlink(full))).hexdigest()[:16] + ":"
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def _file(full: str) -> str:
    """A regular file's content and right to be run; anything else is never opened."""
    try:
        state = os.stat(full)
        if not stat.S_ISREG(state.st_mode):
            return f"special:{stat.S_IFMT(state.st_mode):o}"
        run = "x:" if state.st_mode & stat.S_IXUSR else ""
        if state.st_size > LARGEST:
            return f"{run}large:{state.st_size}:{state.st_mtime_ns}"
        with open(full, "rb") as file:
            return run + hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except (OSError, ValueError):
        return ""


def head(project: str, environment: dict) -> str | None:
    """The commit of HEAD; None without git, without a commit, or in a home folder's repository."""
    if place.work_tree(project, environment) is None:
        return None
    command = ["git", "rev-parse", "--verify", "-q", "HEAD"]
    try:
        done = subprocess.run(command, cwd=project, input=b"", capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", "replace").strip() or None if done.returncode == 0 else None


def size(project: str, shape: str, paths: Iterable[str]) -> int:
    """Bytes of the file `shape` and of the files or folders `paths`, relative to the project."""
    files: Iterable[str] = [shape]
    for path in dict.fromkeys(paths):
        full = os.path.join(project, path)
        inner = itertools.islice(_below(full), MOST_FILES) if os.path.isdir(full) else [full]
        files = itertools.chain(files, inner)
    return sum(map(_size, files))


def _below(folder: str) -> Iterator[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield from (os.path.join(top, name) for name in names)


def _size(full: str) -> int:
    try:
        state = os.stat(full)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0
