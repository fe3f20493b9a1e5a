"""A project's own check, and how its command is recognized. Marker files are text from outside."""

from __future__ import annotations

import json
import re
import shlex
from collections import namedtuple
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from . import command

TEST, LINT, TYPES, BUILD = "test", "lint", "types", "build"
KINDS = (TEST, LINT, TYPES, BUILD)
#: The tier in which a check of a kind is expected to end.
TIER = {LINT: command.QUICK, BUILD: command.THOROUGH}
TIER.update(dict.fromkeys((TEST, TYPES), command.STANDARD))

#: A command that a project defines or its tools make standard. kind: one of KINDS · command: one
#: line, run without a shell at the project's root · tier: of command.py · why: the file, and the
#: key in it, that tell of it.
Check = namedtuple("Check", "kind command tier why")

#: A script that changes files is no check, one that waits for changes never ends.
_CHANGES = re.compile(r"--(?:fix|write|apply|auto-?correct)\b|\s-w\b|\bpint(?!.*--test)")
_WATCHES = re.compile(r"--watch(?:All)?(?!\s*=?\s*false)(?:\b|=)|\bnodemon\b")
#: What always fails at its end says as little as what cannot fail: npm's own "no test specified".
_FAILS = re.compile(r"\s*&&\s*exit\s+\d+$")
#: Characters of a script that are looked at.
_LONGEST = 2000


def kind_of(table: dict, name: str, body: str = "") -> tuple[str, str] | None:
    """(kind, tier) of a script by its name and what it runs; None where it proves nothing. table:
    the `names` of each kind and of what runs `everything`, the `bodies` of that."""
    word = re.sub(r"[:_.-]+", "-", name.lower())
    kind = next((kind for kind, names in table["names"].items() if word in names), None)
    if kind is None:
        return None
    body = body[:_LONGEST].strip()
    if body and (command.is_idle_script(_FAILS.sub("", body)) or _WATCHES.search(body)):
        return None
    tier = TIER.get(kind, command.THOROUGH)
    if kind not in KINDS:
        fitting = (other for other, words in table["bodies"].items() if re.search(words, body))
        kind = next(fitting, TEST)
    if kind in (LINT, TYPES) and _CHANGES.search(body):
        return None
    return kind, tier


def check(kind: str, command: str, why: str, tier: str | None = None) -> Check:
    """A check in the tier of its kind, unless it is known to need another."""
    return Check(kind, command, tier or TIER[kind], why)


def script(here: Folder, name: str, body: str, line: str, why: str) -> Iterator[Check]:
    """The check that a script of that name and content is, if it is one."""
    known = kind_of(here.table, name, body)
    if known:
        yield Check(known[0], line, known[1], why)


class Folder:
    """One folder of a project: its marker files and what lies beside them.

    name: "" for the root, else the folder's name · files: {name: text, "" where only its presence
    matters} · folders: names of the folders in it · table: data/toolchains.toml · root: the root's
    Folder (itself for the root) · below: {name: Folder} below the root.
    """

    def __init__(
        self, name: str, files: dict, folders: set, table: dict, root: Folder | None = None
    ) -> None:
        self.name = name
        self.files = files
        self.folders = folders
        self.table = table
        self.root = root or self
        self.below: dict[str, Folder] = {}
        self.quoted = shlex.quote(name) if name else "."
        self._read: dict[str, dict] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def text(self, *names: str) -> str:
        """The text of the files that are there, one after the other."""
        return "\n".join(self.files[name] for name in names if name in self.files)

    def matching(self, names: Iterable[str]) -> Iterator[str]:
        """The files with these names or of these globs, in that order."""
        for name in names:
            if "*" in name:
                yield from sorted(file for file in self.files if fnmatchcase(file, name))
            elif name in self.files:
                yield name

    def first(self, *names: str) -> str | None:
        """The first of these files that is there."""
        return next(self.matching(names), None)

    def path(self, name: str) -> str:
        """A file's path from the project's root, quoted for a command; also `folder[name]`."""
        return shlex.quote(self.shown(name))

    __getitem__ = path

    def shown(self, name: str) -> str:
        """The same, unquoted."""
        return f"{self.name}/{name}" if self.name else name

    def document(self, name: str) -> dict:
        """The table in a JSON (comments allowed) or TOML file; {} where none can be read."""
        if name not in self._read:
            read = _toml if name.endswith(".toml") else _json
            self._read[name] = read(self.files.get(name, ""))
        return self._read[name]


def _json(text: str) -> dict:
    for form in (str, without_comments):
        try:
            found = json.loads(form(text))
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    return {}


def _toml(text: str) -> dict:
    try:
        import tomllib

        return tomllib.loads(text)
    except (ImportError, ValueError, RecursionError):
        return {}


# What is left open counts as closed at its end, so that no text makes these backtrack.
_JSON_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|,(?=\s*[}\]])', re.DOTALL)


def without_comments(text: str) -> str:
    """JSON text without comments and trailing commas; strings are left alone."""
    text = _JSON_PART.sub(lambda part: part[0] if part[0][0] == '"' else " ", text)
    return _COMMA.sub(lambda part: part[1] or "", text)


def inside(table: object, *keys: str) -> dict:
    """The table at a path of keys; {} where something on the way is missing or no table."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def has(table: dict, key: str) -> bool:
    """Whether a dotted key stands in a table."""
    *parents, last = key.split(".")
    return last in inside(table, *parents)


def words(value: object) -> str:
    """A script's command line: text, a list of steps, or a table with `cmd`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " && ".join(words(step) for step in value)
    if isinstance(value, dict):
        for key in ("cmd", "shell", "command", "composite", "chain", "sequence"):
            if key in value:
                return words(value[key])
    return ""
