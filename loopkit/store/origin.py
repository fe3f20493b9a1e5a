"""Whose words a `.loop/` holds. What git tracks may have come with the repository: it counts for nothing until its content
is known, because loopkit wrote it on this machine (`trust.OWN`) or because the person took it over (`trust.TAKEN`)."""

from __future__ import annotations

import functools
import hashlib
import os

from . import inside, journal, place, trust

SETTINGS, LEARNING, DECISION = "settings", "learning", "decision"
#: The file of the project's settings, and its bytes at the most.
CONFIG, LARGEST = "config.toml", 1_000_000


def digest(kind: str, raw: bytes, root: str = "") -> str:
    """The digest of settings, of the line of a learning or of a decision's file, however their lines end.

    Settings count for one project and its linked worktrees: theirs holds the path of its `.loop`. The others go with the
    person to another clone.
    """
    text = raw.removeprefix(journal.BOM).replace(b"\r\n", b"\n").strip()
    where = os.fsencode(_project(root)) if kind == SETTINGS else b""
    return hashlib.sha256(b"\0".join((kind.encode(), where, text))).hexdigest()


def _project(root: str) -> str:
    """The real path of a `.loop`; in a linked worktree, where it would lie in the main one."""
    real = os.path.realpath(root)
    tree, main = (find(real, dict(os.environ)) for find in (place.work_tree, place.main_tree))
    return os.path.join(os.path.realpath(main), os.path.relpath(real, tree)) if tree and main and tree != main else real


def read_settings(root: str) -> bytes:
    """The bytes of the settings of a `.loop`, whosever. Raises OSError, also where something else than a file is there."""
    with inside.opened(os.path.join(root, CONFIG), LARGEST, links=True) as file:
        return file.read()


class Origin:
    """Of one `.loop`: which of its files git tracks, and which contents of theirs are known.

    tracked: names of files below it, as `001-x/learnings/001-y.md`; None: it could not be found out, so it is all of them.
    """

    def __init__(self, root: str, tracked: frozenset[str] | None) -> None:
        self.root = root
        self._tracked = tracked

    def tracked(self, name: str) -> bool:
        """Whether a file may have come with the repository."""
        return self._tracked is None or name in self._tracked

    def whose(self, name: str, kind: str, raw: bytes) -> str | None:
        """trust.OWN, trust.TAKEN, or None for a stranger's. raw: the file's content, or of a learning its line."""
        if not self.tracked(name):
            return trust.OWN
        return self._known.get(digest(kind, raw, self.root))

    def settings(self) -> bytes:
        """The settings that count: nothing where there are none, or only a stranger's. Raises OSError for a file of one's
        own that cannot be read."""
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
