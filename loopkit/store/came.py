"""What came with the repository and counts for nothing: settings, learnings and decisions that nobody took over yet."""

from __future__ import annotations

import errno
import os
import shlex
from collections import namedtuple

from ..core import learned, prose
from . import learnings, origin, place
from .origin import CONFIG, DECISION, LEARNING, SETTINGS, Origin

#: One of them. kind: settings, learning or decision; name: of the file below `.loop`, of a learning with its line; digest:
#: of the content; text: the content, or None where it cannot be read.
Item = namedtuple("Item", "kind name digest text")
#: The word for all of a kind, in the order in which they are told.
WORDS = {SETTINGS: "settings", LEARNING: "learnings", DECISION: "decisions"}


def along(whose: Origin) -> list[Item]:
    """All of them, settings first. What is no learning and no live decision does nothing, so it is none of them."""
    return [*_settings(whose), *_lines(whose), *_decisions(whose)]


def _settings(whose: Origin) -> list[Item]:
    if not whose.tracked(CONFIG):
        return []
    try:
        if os.path.islink(os.path.join(whose.root, CONFIG)):  # nobody knows what it will lead to tomorrow
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        raw = origin.read_settings(whose.root)
    except FileNotFoundError:
        return []
    except OSError:
        return [Item(SETTINGS, CONFIG, "", None)]
    new = raw.strip() and whose.whose(CONFIG, SETTINGS, raw) is None
    return [_item(whose, SETTINGS, CONFIG, raw)] if new else []


def _lines(whose: Origin) -> list[Item]:
    found = []
    for number, line, how in learnings.lines(_read(whose, learnings.NAME), whose):
        if how is None and learned.entry(learnings.row(line), ""):
            found.append(_item(whose, LEARNING, f"{learnings.NAME}:{number}", line))
    return found


def _decisions(whose: Origin) -> list[Item]:
    found = []
    for name in learnings.decisions(whose.root):
        raw = _read(whose, name)
        if whose.whose(name, DECISION, raw) is None and learned.decision(raw.decode("utf-8-sig", "replace"), name):
            found.append(_item(whose, DECISION, name, raw))
    return found


def _read(whose: Origin, name: str) -> bytes:
    """A file that may have come along; nothing where it has not, or cannot be read: then nobody reads it."""
    try:
        return learnings.read(os.path.join(whose.root, name)) or b"" if whose.tracked(name) else b""
    except OSError:
        return b""


def _item(whose: Origin, kind: str, name: str, raw: bytes) -> Item:
    return Item(kind, name, origin.digest(kind, raw, whose.root), raw.decode("utf-8-sig", "replace"))


def line(items: list[Item]) -> str:
    """What is said of them where a loop begins, without a word of theirs; "" where there are none."""
    if not items:
        return ""
    said = f"came with the repository, not used: {counted(items)}; tell the person"
    return f"{said}, who looks at it in a terminal of their own and takes it over or not: {program()} trust"


def program() -> str:
    """How `loopkit` is called where it is not on the PATH."""
    return shlex.quote(os.path.join(place.plugin_root(), "bin", "loopkit"))


def counted(items: list[Item]) -> str:
    """`settings (.loop/config.toml), 3 learnings, 1 decision`."""
    kinds = [one.kind for one in items]
    said = [f"settings (.loop/{CONFIG})"] if SETTINGS in kinds else []
    said += [prose.count(kinds.count(kind), kind) for kind in (LEARNING, DECISION) if kind in kinds]
    return ", ".join(said)
