"""The project's marker files, read from disk; what they tell is for core/evidence/discovery.py."""

from __future__ import annotations

import itertools
import os
import stat

from ..core.evidence.checks import Check
from ..core.evidence.toolchains import is_test
from . import tables

#: Bytes of a marker file; a larger one counts as there, but unread.
LARGEST = 256 * 1024
#: Most entries of a folder, folders below the root, and files of tests that are looked at.
MOST_ENTRIES, MOST_FOLDERS, MOST_TESTS = 20_000, 100, 20


def checks(root: str) -> list[Check]:
    """The commands that a project defines or its tools make standard."""
    catalog = tables.tool_chains()
    files: dict[str, str] = {}
    folders: list[str] = []
    below = _look(root, "", files, folders)
    for name in sorted(below, key=lambda name: (name not in catalog.tests, name))[:MOST_FOLDERS]:
        _look(os.path.join(root, name), name, files, folders)
    for name in catalog.interpreters:
        if os.path.isfile(os.path.join(root, name)):
            files[name] = ""
    return catalog.found(files, folders)


def _look(folder: str, name: str, files: dict[str, str], folders: list[str]) -> list[str]:
    """Collect the marker files of one folder; gives the folders in it that are worth a look."""
    catalog = tables.tool_chains()
    below, seen, tests = [], [], 0
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, MOST_ENTRIES):
                if _is_folder(entry):
                    below.append(entry.name)
                elif catalog.wanted(entry.name, name):
                    seen.append(entry)
    except OSError:
        return []
    prefix = name + "/" if name else ""
    below = [folder for folder in below if not catalog.skipped(folder)]
    folders += [prefix + folder for folder in below]
    for entry in sorted(seen, key=lambda entry: entry.name):
        if name in catalog.scripts and not os.access(entry.path, os.X_OK):
            continue
        matters = catalog.text_matters(entry.name, name)
        if is_test(entry.name):
            tests += 1
            matters = tests <= MOST_TESTS
        text = _text(entry.path, matters)
        if text is not None:
            files[prefix + entry.name] = text
    return below


def _is_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _text(path: str, matters: bool) -> str | None:
    """The text of a regular file, "" if it need not be read or is too large; None if it is none."""
    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            return None
        if not matters or state.st_size > LARGEST:
            return ""
        with open(path, "rb") as file:
            return file.read(LARGEST).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return None
