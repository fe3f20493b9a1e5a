"""The project's marker files, read from disk; what they tell is for core/evidence/discovery.py."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import stat
import sys

from ..core.evidence import command
from ..core.evidence.checks import Check
from ..core.evidence.toolchains import is_test
from . import place, tables

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


def runnable(folder: str, environment: dict) -> list[Check]:
    """The commands of a project that can be run in this environment."""
    return installed(checks(folder), folder, place.search_path(environment))


def installed(found: list[Check], folder: str, path: str) -> list[Check]:
    """Those of a project's commands whose program is there, and whose module is not known to be
    missing. folder: where they would run · path: folders of programs, as in PATH."""
    return [one for one in found if _is_installed(command.split(one.command), folder, path)]


def _is_installed(words: list[str], folder: str, path: str) -> bool:
    program = words[0]
    if "=" in program:  # a variable stands before it
        return True
    if "/" in program:
        file = os.path.join(folder, program)
        program = file if os.path.isfile(file) else ""
    else:
        program = shutil.which(program, path=path) or ""
    return bool(program) and (words[1:2] != ["-m"] or _has_module(program, "".join(words[2:3])))


def _has_module(interpreter: str, name: str) -> bool:
    """Whether an interpreter may have a module: only where its libraries lie beside it, and theirs
    alone count, is one known to be missing."""
    top = os.path.dirname(os.path.dirname(interpreter))
    libraries = glob.glob(os.path.join(glob.escape(top), "lib*", "python3*"))
    libraries += glob.glob(os.path.join(glob.escape(top), "Lib"))
    settings = _text(os.path.join(top, "pyvenv.cfg"), True)
    if settings is None or "include-system-site-packages = true" in settings or not libraries:
        return True
    return name in sys.stdlib_module_names or any(
        os.path.exists(os.path.join(folder, "site-packages", file))
        for folder in libraries
        for file in (name, name + ".py")
    )


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
