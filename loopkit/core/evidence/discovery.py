"""Find a project's own commands (tests, lint, types, build) by its marker files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from ..journal.errors import UsageFault
from . import command, scripts, toolchains
from .checks import KINDS, Check, Folder


class Catalog:
    """The table of tool chains (data/toolchains.toml), and what it asks of a project's files.

    table: as it stands in the file · names: {name or glob of a file: whether its text tells
    something, not only its presence} · scripts, tests: names of folders · interpreters: paths.
    """

    def __init__(self, table: dict) -> None:
        self.table = table
        keys = ("skipped", "scripts", "tests")
        self._skipped, self.scripts, self.tests = (table["folders"][key] for key in keys)
        self.interpreters = table["python"]["interpreters"]
        self.names: dict[str, bool] = {}
        for name, is_read in _named(table, table["lists"]):
            self.names[name] = is_read or self.names.get(name, False)
        self._globs = [name for name in self.names if "*" in name]

    def skipped(self, name: str) -> bool:
        """Whether to pass over a folder: hidden, made by a tool, or no name for a command line."""
        return name[:1] in (".", "-") or name.lower() in self._skipped or not name.isprintable()

    def wanted(self, name: str, folder: str = "") -> bool:
        """Whether a file of that name, in such a folder ("" for the root), tells anything."""
        return self._is_read(name) is not None or self.text_matters(name, folder)

    def text_matters(self, name: str, folder: str = "") -> bool:
        """Whether the text of such a file is read, not only its name."""
        if self._is_read(name) or folder in self.scripts and name.isprintable():
            return True
        return toolchains.is_test(name) and folder in ("", *self.tests)

    def _is_read(self, name: str) -> bool | None:
        if name in self.names or not name.isprintable():
            return self.names.get(name)
        return next((self.names[glob] for glob in self._globs if fnmatchcase(name, glob)), None)

    def found(self, files: dict[str, str], folders: Iterable[str] = ()) -> list[Check]:
        """Every check of a project, those of one kind in the order in which to prefer them: the
        project's own words before what its tools make standard, the root before what lies below.

        files: {path relative to the root, one level deep at the most, with `/`: text, "" where only
        its presence matters} · folders: relative names of folders, two levels deep at the most.
        """
        root = self._tree(files, folders)
        checked: dict[str, Check] = {}
        for finders in (scripts.FINDERS, (toolchains.standard,)):
            for here in (root, *root.below.values()):
                for finder in finders:
                    for check in finder(here):
                        if _runs(check.command) and not _covered(check, here, checked):
                            checked.setdefault(check.command, check)
        return sorted(checked.values(), key=lambda check: KINDS.index(check.kind))

    def _tree(self, files: dict[str, str], folders: Iterable[str]) -> Folder:
        names = set(folders)
        inner: dict[str, dict] = {"": {}}
        for path, text in files.items():
            top, _, name = path.rpartition("/")
            if path in self.interpreters:
                inner[""][path] = text
            else:
                inner.setdefault(top, {})[name] = text.replace("\r\n", "\n").lstrip("\ufeff")
                names |= {top} - {""}
        root = Folder("", inner[""], {path for path in names if "/" not in path}, self.table)
        for name in sorted(root.folders):
            own = {path.partition("/")[2] for path in names if path.startswith(name + "/")}
            root.below[name] = Folder(name, inner.get(name, {}), own, self.table, root)
        return root


def _named(part: object, lists: dict, files: Sequence[str] = ()) -> Iterator[tuple[str, bool]]:
    """(name or glob of a file, whether its text is read) of each condition in the table."""
    if isinstance(part, dict):
        files = part.get("files", files)
        for name in lists[files] if isinstance(files, str) else files:
            yield name, "text" in part or "key" in part
    if isinstance(part, (dict, list)):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _named(inner, lists, files)


def wider(found: list[Check], tier: str, but: str) -> list[str]:
    """Up to three commands for when `but` keeps failing: of the tier, or of the next narrower."""
    names = list(command.SECONDS)
    for name in reversed(names[: names.index(tier) + 1]):
        fitting = [row.command for row in found if row.tier == name and row.command != but]
        if fitting:
            return fitting[:3]
    return []


def _runs(line: str) -> bool:
    try:
        return bool(command.split(line))
    except UsageFault:
        return False


def _covered(check: Check, here: Folder, known: dict[str, Check]) -> bool:
    """The scripts of a workspace's root run those of its members."""
    if not here.name or not check.why.startswith(f"{here.name}/package.json"):
        return False
    root = here.root
    workspace = "pnpm-workspace.yaml" in root or "workspaces" in root.document("package.json")
    same = (row for row in known.values() if row.kind == check.kind)
    return workspace and any(row.why.startswith("package.json") for row in same)
