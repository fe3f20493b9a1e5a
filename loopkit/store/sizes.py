"""How large the work is: bytes of its shape and of its tasks' files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from .digest import SKIPPED

#: Most files of a folder that are looked at.
MOST_FILES = 20_000


def of(project: str, shape: str, paths: Iterable[str]) -> int:
    """Bytes of the file `shape` and of the files or folders `paths`, relative to the project."""
    total = _file(shape)
    for path in dict.fromkeys(paths):
        full = os.path.join(project, path)
        total += _folder(full) if os.path.isdir(full) else _file(full)
    return total


def _folder(full: str) -> int:
    total = seen = 0
    for top, folders, names in os.walk(full):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in names:
            seen += 1
            if seen > MOST_FILES:
                return total
            total += _file(os.path.join(top, name))
    return total


def _file(full: str) -> int:
    try:
        state = os.stat(full)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0
