"""Of what changed: what belongs to tests and to the settings of checks, and what to the work.

table, in all of these: `[tests]` of data/toolchains.toml, its `folders`, `files` and `settings`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from ..journal.parts import Changed
from ..journal.state import LoopState
from . import changes, command, consent

#: Words at the beginning of a check among which its runner is.
MOST_RUNNER = 4
#: The path of a script that does little but start others; how many are read for one check.
_SCRIPT = re.compile(r"[\w./-]+\.(?:sh|bash|zsh|mk|bat|cmd|ps1)\b")
MOST_SCRIPTS = 100
#: Folders of packages that others wrote.
PACKAGES = ("node_modules", "site-packages", "vendor", "bower_components")
#: A word that names a path or a module, and no file of settings.
_NAMES = re.compile(r"[./](?!\w*(?<=\.)(?:ini|cfg|toml|json|ya?ml)$)")


def taken_away(changed: list[str], line: str, table: dict, folder: str = ".") -> list[str]:
    """Paths of the work that a check has to need: all that changed but what belongs to tests and
    what the check runs; where nothing else changed, those. folder: where it runs."""
    return work(changed, line, table, folder) or changed


def work(changed: list[str], line: str, table: dict, folder: str = ".") -> list[str]:
    """Of what changed all but what belongs to tests."""
    run = _files_run(line, folder)
    return [path for path in changed if path not in run and not of_tests(path, table)]


def of_tests(path: str, table: dict) -> bool:
    """Whether a path belongs to tests and not to what they test."""
    *folders, name = path.split("/")
    in_tests = any(folder in table["folders"] for folder in folders)
    return in_tests or any(fnmatchcase(name, pattern) for pattern in table["files"])


def _files_run(line: str, folder: str) -> set[str]:
    """Paths that a check in this folder runs: its program, or what a runner of tests is given."""
    given = set()
    if consent.is_runner(line):
        given = {re.split("::?", word)[0] for word in consent.words(line)}
    paths = (word for word in (*given, consent.program_file(line)) if word)
    return {posixpath.normpath(posixpath.join(folder, path)) for path in paths}


def runs(line: str, path: str, folder: str) -> bool:
    """Whether a runner of tests runs this file, as far as its words tell: those that name files,
    folders or modules name it too, or there are none."""
    stem, names = posixpath.splitext(path)[0].split("/"), False
    for given in command.unwrapped(list(consent.words(line)))[1:]:
        word = re.split("::?", given)[0]
        plain = posixpath.normpath(posixpath.join(folder, word.removesuffix("...")))
        if plain == "." or f"{path}/".startswith(f"{plain}/"):
            return True
        module = word.split(".")
        if any(module[:end] == stem[-end:] for end in range(1, len(module) + 1)):
            return True
        names = names or not word.startswith("-") and bool(_NAMES.search(word))
    return not names


def old_tests(
    rows: Iterable[Changed], line: str, keeps: bool, table: dict, folder: str = "."
) -> list[Changed]:
    """Of what changed the tests and settings that a check is made of, so that it could pass by
    them alone: as they were before the work it has to pass too. None where nothing was there to
    weaken; the new tests of a check that is new are its own, and what it adds to old ones, where
    more than tests changed: it fails then without that. folder: as for `taken_away`."""
    rows, run = list(rows), _files_run(line, folder)
    tests = [row for row in rows if _any(row, lambda path: of_tests(path, table) or path in run)]
    setup = [row for row in rows if _any(row, lambda path: of_settings(path, line, table))]
    new = [row for row in tests if row.status == "A"]
    old = [row for row in tests if row not in new]
    if keeps:
        return [row for row in rows if row in tests or row in setup] if old or setup else []
    if len(tests) < len(rows):  # then what was only added to tests cannot be what passes
        old = [row for row in old if changes.lost(row)]
    return [row for row in rows if row in old or row in setup and row not in new]


def called(
    rows: Iterable[Changed], line: str, read: Callable[[str], str], table: dict, folder: str = "."
) -> list[Changed]:
    """Of what changed the scripts that were there and that a check starts: its own file names them,
    or what starts checks in the project, or another such script. read: a file's text, "" where
    there is none."""
    old = {row.path: row for row in rows if row.status != "A" and _SCRIPT.fullmatch(row.path)}
    reached = dict.fromkeys([*_files_run(line, folder), *table["starters"]]) if old else {}
    left = list(reached)
    while left and len(reached) < MOST_SCRIPTS:
        named = map(posixpath.normpath, _SCRIPT.findall(read(left.pop())))
        left += [path for path in named if path not in reached]
        reached |= dict.fromkeys(left)
    return [row for path, row in old.items() if path in reached]


def of_settings(path: str, line: str, table: dict) -> bool:
    """Whether a file says how checks run, or stands in for the runner of this one."""
    folder, _, name = path.rpartition("/")
    if any(fnmatchcase(name, pattern) for pattern in table["settings"]):
        return True
    if not consent.is_runner(line):
        return False
    words = command.unwrapped(list(consent.words(line)))[:MOST_RUNNER]
    runners = {posixpath.basename(word) for word in words} - {""}
    stem = name.rpartition(".")[0] or name
    return stem in runners or folder.partition("/")[0] in runners


def of_either(path: str, lines: Iterable[str], table: dict) -> bool:
    """Whether a path belongs to tests, or says how one of these checks runs."""
    return of_tests(path, table) or any(of_settings(path, line, table) for line in lines)


def of_checks(
    rows: Iterable[Changed], ignored: Iterable[str], state: LoopState, table: dict
) -> dict[str, list[str]]:
    """{tests, settings}: paths of existing tests that lost something, of changed settings."""
    lines = [line for _, line in consent.checks(state)] or [""]
    rows, run = list(rows), {path for line in lines for path in _files_run(line, state.folder)}
    tests = [
        row.path
        for row in rows
        if changes.lost(row) and _any(row, lambda path: of_tests(path, table) or path in run)
    ]
    known = [*(row.path for row in rows), *(path for path in ignored if _shallow(path))]
    setup = [path for path in known if any(of_settings(path, line, table) for line in lines)]
    return {"tests": tests, "settings": [path for path in setup if path not in tests]}


def _shallow(path: str) -> bool:
    """Whether an ignored file is the project's own: packages bring settings of theirs."""
    return not any(part in PACKAGES for part in path.split("/"))


def _any(row: Changed, holds: Callable[[str], bool]) -> bool:
    return any(map(holds, changes.paths(row)))
