"""Settings, learnings, decisions, stages and pipelines in a `.loop/`, and whose they are. What git
tracks may have come with the repository: it counts for nothing until its content is known, because
loopkit wrote it on this machine (`trust.OWN`) or because the person took it over (`trust.TAKEN`).
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import shlex
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from ..core.journal import prose
from ..core.memory import learned
from ..core.memory.learned import Learning
from . import atomic, journal, place, trust

SETTINGS, LEARNING, DECISION = "settings", "learning", "decision"
#: A file of a stage or of a pipeline.
DEFINITION = "stage or pipeline file"
#: The word for all of a kind, in the order in which they are told.
WORDS = {
    SETTINGS: "settings",
    LEARNING: "learnings",
    DECISION: "decisions",
    DEFINITION: "stages",
}
#: The files of the project's settings and of its learnings.
CONFIG, LEARNINGS = "config.toml", "learnings.jsonl"
#: Most bytes of settings, and of a file of learnings or a decision; most decisions, definitions.
LARGEST_SETTINGS, LARGEST, MOST_DECISIONS, MOST_DEFINITIONS = 1_000_000, 1 << 26, 20_000, 2_000
#: Where a learning is from: the project, the user's file, or a decision's file below `.loop`.
PROJECT, USER = "project", "user"

#: A learning's line or a decision's file. number: of the line, else 0; how: whose it is.
Content = namedtuple("Content", "where number raw how")
#: Untrusted content. kind: settings, learning or decision; name: of the file below `.loop`, of a
#: learning with its line; text: None where it cannot be read.
Item = namedtuple("Item", "kind name digest text")


def digest(kind: str, raw: bytes, root: str = "") -> str:
    """The digest of settings, a learning's line or a decision's file, however their lines end.
    Settings count for one project and its linked worktrees: theirs holds the path of its `.loop`.
    The others go with the person to another clone."""
    text = raw.removeprefix(journal.BOM).replace(b"\r\n", b"\n").strip()
    where = os.fsencode(_project(root)) if kind == SETTINGS else b""
    return hashlib.sha256(b"\0".join((kind.encode(), where, text))).hexdigest()


def _project(root: str) -> str:
    """The real path of a `.loop`; in a linked worktree, where it would lie in the main one."""
    real = os.path.realpath(root)
    tree, main = (find(real, dict(os.environ)) for find in (place.work_tree, place.main_tree))
    if not tree or not main or tree == main:
        return real
    return os.path.join(os.path.realpath(main), os.path.relpath(real, tree))


def read_settings(root: str) -> bytes:
    """The bytes of the settings of a `.loop`, trusted or not. Raises OSError."""
    return atomic.read(os.path.join(root, CONFIG), LARGEST_SETTINGS, links=True)


class Origin:
    """Of one `.loop`: which of its files git tracks, and which contents of theirs are known.
    tracked: names of files below it, as `001-x/learnings/001-y.md`; None: perhaps all."""

    def __init__(self, root: str, tracked: frozenset[str] | None) -> None:
        self.root = root
        self._tracked = tracked

    def tracked(self, name: str) -> bool:
        """Whether a file may have come with the repository."""
        return self._tracked is None or name in self._tracked

    def whose(self, name: str, kind: str, raw: bytes) -> str | None:
        """trust.OWN, trust.TAKEN, or None: untrusted. raw: the file, or a learning's line."""
        if not self.tracked(name):
            return trust.OWN
        return self._known.get(digest(kind, raw, self.root))

    def settings(self) -> bytes:
        """The trusted settings, or b"". Raises OSError for an own file that cannot be read."""
        try:
            raw = read_settings(self.root)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError:
            if self.tracked(CONFIG):
                return b""
            raise
        return raw if self.whose(CONFIG, SETTINGS, raw) else b""

    @functools.cached_property
    def _known(self) -> dict[str, str]:
        try:
            return trust.known_contents()
        except OSError:  # then nobody vouches for anything
            return {}


# -- stages and pipelines


def definitions(root: str) -> list[str]:
    """The names of stages' and pipelines' files below `.loop`, in order; none through a link."""
    found: list[str] = []
    for folder in ("pipelines", "stages"):
        for above, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            if not os.path.islink(above):
                where = os.path.relpath(above, root).replace(os.sep, "/")
                found += [f"{where}/{name}" for name in sorted(names)]
            if len(found) > MOST_DEFINITIONS:
                break
    return found[:MOST_DEFINITIONS]


# -- learnings and decisions


def decisions(root: str) -> list[str]:
    """The names of decisions' files below `.loop`, in order; none through a link."""
    found: list[str] = []
    for loop in sorted(_listed(root)):
        folder = os.path.join(root, loop, "learnings")
        if loop[:1].isdigit() and not any(map(os.path.islink, (os.path.dirname(folder), folder))):
            names = sorted(name for name in _listed(folder) if name.endswith(".md"))
            found += [f"{loop}/learnings/{name}" for name in names]
    return found[:MOST_DECISIONS]


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def contents(whose: Origin, note: Callable[[str], None], user: str = "") -> Iterator[Content]:
    """The project's lines, its decisions, then the lines of the file `user`, trusted or not. `note`
    is told which file cannot be read, unless its name is untrusted."""
    files = [(PROJECT, os.path.join(whose.root, LEARNINGS))]
    files += [(name, os.path.join(whose.root, name)) for name in decisions(whose.root)]
    files += [(USER, user)] if user else []
    for where, path in files:
        try:
            raw = read(path, links=where == USER)
        except OSError as error:
            if where in (PROJECT, USER) or not whose.tracked(where):
                note(f"cannot read {path}: {error.strerror}")
            continue
        if where in (PROJECT, USER):
            yield from lines(raw, where, whose if where == PROJECT else None)
        else:
            yield Content(where, 0, raw, whose.whose(where, DECISION, raw))


def read(path: str, links: bool = False) -> bytes:
    """The bytes of a file; b"" where it is absent or, unless `links`, a link. Raises OSError."""
    if not links and os.path.islink(path):
        return b""
    try:
        return atomic.read(path, LARGEST, links)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def lines(raw: bytes, where: str, whose: Origin | None) -> Iterator[Content]:
    """The lines of a file that are not blank. whose: of a project's file."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.removeprefix(journal.BOM).strip():
            how = whose.whose(LEARNINGS, LEARNING, line) if whose else trust.OWN
            yield Content(where, number, line, how)


def row(line: bytes) -> Any:
    """A line's JSON, or None."""
    try:
        return json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def learning(content: Content) -> Learning | None:
    """The learning or live decision that a content is, or None."""
    if content.number:
        found = learned.entry(row(content.raw), content.where)
    else:
        found = learned.decision(content.raw.decode("utf-8-sig", "replace"), content.where)
    return found._replace(taken=content.how == trust.TAKEN) if found else None


# -- what came along and counts for nothing yet


def along(whose: Origin) -> list[Item]:
    """All of it that would do something, settings first."""
    found = _settings(whose)
    for content in contents(whose, lambda _: None):
        if content.how is None and learning(content):
            kind, name = DECISION, content.where
            if content.number:
                kind, name = LEARNING, f"{LEARNINGS}:{content.number}"
            found.append(_item(whose, kind, name, content.raw))
    return found + list(_definitions(whose))


def _definitions(whose: Origin) -> Iterator[Item]:
    for name in definitions(whose.root):
        if not whose.tracked(name):
            continue
        try:
            raw = atomic.read(os.path.join(whose.root, name), LARGEST_SETTINGS)
        except OSError:
            yield Item(DEFINITION, name, "", None)
            continue
        if whose.whose(name, DEFINITION, raw) is None:
            yield _item(whose, DEFINITION, name, raw)


def _settings(whose: Origin) -> list[Item]:
    if not whose.tracked(CONFIG):
        return []
    try:
        if os.path.islink(os.path.join(whose.root, CONFIG)):  # it may lead elsewhere tomorrow
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        raw = read_settings(whose.root)
    except FileNotFoundError:
        return []
    except OSError:
        return [Item(SETTINGS, CONFIG, "", None)]
    new = raw.strip() and whose.whose(CONFIG, SETTINGS, raw) is None
    return [_item(whose, SETTINGS, CONFIG, raw)] if new else []


def _item(whose: Origin, kind: str, name: str, raw: bytes) -> Item:
    return Item(kind, name, digest(kind, raw, whose.root), raw.decode("utf-8-sig", "replace"))


def line(items: list[Item]) -> str:
    """What is said of them where a loop begins, without quoting them; "" without any."""
    if not items:
        return ""
    return (
        f"came with the repository, not used: {counted(items)}; tell the person, who looks at it "
        f"in a terminal of their own and takes it over or not: {program()} trust"
    )


def program() -> str:
    """How `loopkit` is called where it is not on the PATH."""
    return shlex.quote(os.path.join(place.plugin_root(), "bin", "loopkit"))


def counted(items: list[Item]) -> str:
    """`settings (.loop/config.toml), 3 learnings, 1 decision`."""
    kinds = [item.kind for item in items]
    parts = [f"settings (.loop/{CONFIG})"] if SETTINGS in kinds else []
    several = (LEARNING, DECISION, DEFINITION)
    parts += [prose.count(kinds.count(key), key) for key in several if key in kinds]
    return ", ".join(parts)
