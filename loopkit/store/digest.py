"""Digests of files that evidence vouches for, and the commit it stood on."""

from __future__ import annotations

import hashlib
import os
import subprocess

#: Bytes of a file that are hashed whole; of larger ones size and modification time stand in.
LARGEST = 100_000_000


def of(project: str, path: str) -> str:
    """The digest of a file, or of all files below a folder; "" where it is absent. `path`: relative to the project."""
    full = os.path.join(project, path)
    if os.path.isdir(full) and not os.path.islink(full):
        digest = hashlib.sha256()
        for top, folders, names in os.walk(full):
            folders[:] = sorted(one for one in folders if one not in (".git", ".loop", "__pycache__", "node_modules"))
            for name in sorted(names):
                one = os.path.join(top, name)
                digest.update(os.fsencode(os.path.relpath(one, full)) + b"\0" + _file(one).encode() + b"\0")
        return digest.hexdigest()[:32]
    return _file(full)


def _file(full: str) -> str:
    try:
        if os.path.islink(full):
            return "link:" + hashlib.sha256(os.fsencode(os.readlink(full))).hexdigest()[:32]
        state = os.stat(full)
        if state.st_size > LARGEST:
            return f"large:{state.st_size}:{state.st_mtime_ns}"
        with open(full, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def head(project: str) -> str | None:
    """The commit that HEAD names, or None without git or without a commit."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "-q", "HEAD"],
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", "replace").strip() or None if done.returncode == 0 else None
