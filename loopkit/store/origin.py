"""Settings, learnings and decisions in a `.loop/`, and whose they are. What git tracks may have
come with the repository: it counts for nothing until its content is known, because loopkit wrote it
on this machine (`trust.OWN`) or because the person took it over (`trust.TAKEN`)."""

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
from . import inside, journal, place, trust

SETTINGS, LEARNING, DECISION = "settings", "learning", "decision"
#: The word for all of a kind, in the order in which they are told.
WORDS = {SETTINGS: "settings", LEARNING: "learnings", DECISION: "decisions"}
#: The files of the project's settings and of its learnings.
CONFIG, LEARNINGS = "config.toml", "learnings.jsonl"
#: Bytes of settings, and of a file of learnings or a decision, at the most; decisions that are
#: looked at.
LARGEST_SETTINGS, LARGEST, MOST_DECISIONS = 1_000_000, 1 << 26, 20_000
#: Where a learning is from: this project, the user's own file, else the name of a decision's file
#: below `.loop`.
PROJECT, USER = "project", "user"

#: A learning's line or a decision's file as it stands there. number: of the line, 0 for a decision;
#: how: whose it is.
Content = namedtuple("Content", "where number raw how")
#: What counts for nothing yet. kind: settings, learning or decision; name: of the file below
#: `.loop`, of a learning with its line; digest: of the content; text: the content, or None where it
#: cannot be read.
Item = namedtuple("Item", "kind name digest text")


def digest(kind: str, raw: bytes, root: str = "") -> str:
    """The digest of settings, of the line of a learning or of a decision's file, however their
    lines end.

    Settings count for one project and its linked worktrees: theirs holds the path of its `.loop`.
    The others go with the person to another clone.
    """
    text = raw.removeprefix(journal.BOM).replace(b"\r\n", b"\n").strip()
    where = os.fsencode(_project(root)) if kind == SETTINGS else b""
    return hashlib.sha256(b"\0".join((kind.encode(), where, text))).hexdigest()


def _project(root: str) -> str:
    """The real path of a `.loop`; in a linked worktree, where it would lie in the main one."""
    real = os.path.realpath(root)
    tree, main = (find(real, dict(os.environ)) for find in (place.work_tree, place.main_tree))
    return (
        os.path.join(os.path.realpath(main), os.path.relpath(real, tree))
        if tree and main and tree != main
        else real
    )


def read_settings(root: str) -> bytes:
    """The bytes of the settings of a `.loop`, whosever. Raises OSError, also where something else
    than a file is there."""
    with inside.opened(os.path.join(root, CONFIG), LARGEST_SETTINGS, links=True) as file:
        return file.read()


class Origin:
    """Of one `.loop`: which of its files git tracks, and which contents of theirs are known.

    tracked: names of files below it, as `001-x/learnings/001-y.md`; None: it could not be found
    out, so it is all of them.
    """

    def __init__(self, root: str, tracked: frozenset[str] | None) -> None:
        self.root = root
        self._tracked = tracked

    def tracked(self, name: str) -> bool:
        """Whether a file may have come with the repository."""
        return self._tracked is None or name in self._tracked

    def whose(self, name: str, kind: str, raw: bytes) -> str | None:
        """trust.OWN, trust.TAKEN, or None for a stranger's. raw: the file's content, or of a
        learning its line."""
        if not self.tracked(name):
            return trust.OWN
        return self._known.get(digest(kind, raw, self.root))

    def settings(self) -> bytes:
        """The settings that count: nothing where there are none, or only a stranger's. Raises
        OSError for a file of one's own that cannot be read."""
        try:
            raw = read_settings(self.root)
        except FileNotFoundError:
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


# -- learnings and decisions


def decisions(root: str) -> list[str]:
    """The names of decisions' files below `.loop`, in their order; none through a link: that is no
    file of this project."""
    found: list[str] = []
    for loop in sorted(_listed(root)):
        folder = os.path.join(root, loop, "learnings")
        if loop[:1].isdigit() and not (
            os.path.islink(os.path.dirname(folder)) or os.path.islink(folder)
        ):
            names = sorted(name for name in _listed(folder) if name.endswith(".md"))
            found += [
                f"{loop}/learnings/{name}" for name in names[: max(0, MOST_DECISIONS - len(found))]
            ]
    return found


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def contents(whose: Origin, note: Callable[[str], None], user: str = "") -> Iterator[Content]:
    """The project's lines, its decisions, then the lines of the file `user`, whosever they are.
    `note` is told which file cannot be read, unless a stranger may have named it."""
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
    """The bytes of a file; none where there is no file or only a link, which `links` has followed.

    Raises OSError, also where something else than a file is in its place.
    """
    if not links and os.path.islink(path):
        return b""
    try:
        with inside.opened(path, LARGEST, links) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def lines(raw: bytes, where: str, whose: Origin | None) -> Iterator[Content]:
    """The lines of a file that are not blank. whose: of a project's file."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.removeprefix(journal.BOM).strip():
            yield Content(
                where, number, line, whose.whose(LEARNINGS, LEARNING, line) if whose else trust.OWN
            )


def row(line: bytes) -> Any:
    """What a line holds as JSON; None where it is none, never an error."""
    try:
        return json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def learning(one: Content) -> Learning | None:
    """What it says; None where it is no learning and no live decision."""
    if one.number:
        found = learned.entry(row(one.raw), one.where)
    else:
        found = learned.decision(one.raw.decode("utf-8-sig", "replace"), one.where)
    return found._replace(taken=one.how == trust.TAKEN) if found else None


# -- what came along and counts for nothing yet


def along(whose: Origin) -> list[Item]:
    """All of it, settings first. What is no learning and no live decision does nothing, so it is
    left out."""
    found = _settings(whose)
    for one in contents(whose, lambda _: None):
        if one.how is None and learning(one):
            name = f"{LEARNINGS}:{one.number}" if one.number else one.where
            found.append(_item(whose, LEARNING if one.number else DECISION, name, one.raw))
    return found


def _settings(whose: Origin) -> list[Item]:
    if not whose.tracked(CONFIG):
        return []
    try:
        if os.path.islink(
            os.path.join(whose.root, CONFIG)
        ):  # nobody knows what it will lead to tomorrow
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
    """What is said of them where a loop begins, without a word of theirs; "" where there are
    none."""
    if not items:
        return ""
    said = f"came with the repository, not used: {counted(items)}; tell the person"
    return (
        f"{said}, who looks at it in a terminal of their own and takes it over or not: "
        f"{program()} trust"
    )


def program() -> str:
    """How `loopkit` is called where it is not on the PATH."""
    return shlex.quote(os.path.join(place.plugin_root(), "bin", "loopkit"))


def counted(items: list[Item]) -> str:
    """`settings (.loop/config.toml), 3 learnings, 1 decision`."""
    kinds = [one.kind for one in items]
    said = [f"settings (.loop/{CONFIG})"] if SETTINGS in kinds else []
    said += [prose.count(kinds.count(kind), kind) for kind in (LEARNING, DECISION) if kind in kinds]
    return ", ".join(said)
