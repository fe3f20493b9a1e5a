"""Which files of a `.loop` git tracks, asked in every repository that holds them: what is tracked may be a stranger's."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable

from ..core.errors import LoopError
from ..store import learnings
from ..store.origin import CONFIG, Origin
from . import git

#: Seconds that git may take; whoever waits longer treats all files as a stranger's.
SECONDS = 10.0
#: What git says in a folder that holds a `.git` and is no repository for it.
_NONE = "not a git repository (or any"


def of(root: str, environment: dict[str, str], note: Callable[[str], None]) -> Origin:
    """Whose the files of a `.loop` are. `note` is told where git cannot say; all of them count as a stranger's then."""
    names = [name for name in (CONFIG, learnings.NAME) if os.path.lexists(os.path.join(root, name))]
    names += learnings.decisions(root)
    try:
        return Origin(root, _tracked(root, names, environment) if names else frozenset())
    except git.Unavailable:  # without git nothing came with a repository
        return Origin(root, frozenset())
    except LoopError as error:
        note(f"{error.what}; settings, learnings and decisions in {root} are not used unless they are known")
        return Origin(root, None)


def _tracked(root: str, names: list[str], environment: dict[str, str]) -> frozenset[str]:
    """The names of those that a repository holds, themselves, by a link on the way to them, or where a link leads."""
    real = os.path.realpath(root)
    if _held(_links(root), environment):
        return frozenset(names)
    paths: dict[str, str] = {}
    for name in names:
        path = os.path.join(real, name)
        paths[path] = name
        if os.path.islink(path):
            paths[os.path.realpath(path)] = name
    return frozenset(paths[path] for path in _held(paths, environment))


def _links(path: str) -> list[str]:
    """The links among a path and the folders above it, each where it really lies."""
    found, path = [], os.path.abspath(path)
    while path != os.path.dirname(path):
        above, name = os.path.split(path)
        if os.path.islink(path):
            found.append(os.path.join(os.path.realpath(above), name))
        path = above
    return found


def _held(paths: Iterable[str], environment: dict[str, str]) -> set[str]:
    """Those of some real paths that git tracks in any repository around them. Raises git.GitFault, git.Unavailable.

    A path is free only where git itself, which knows how the file system compares names, lists it as untracked in the
    innermost repository, and no repository holds one that differs from it by case alone.
    """
    asked: dict[str, list[str]] = {}
    inner: dict[str, str] = {}
    for path in paths:
        for top in _repositories(os.path.dirname(path)):
            inner.setdefault(path, top)
            asked.setdefault(top, []).append(path)
    held: set[str] = set()
    for top, wanted in asked.items():
        found = _listed(top, wanted, environment)
        if found is None:
            continue
        tracked, free = found
        for path in wanted:
            name = _folded(os.path.relpath(path, top))
            if name in tracked or inner[path] == top and name not in free:
                held.add(path)
    return held


def _repositories(folder: str) -> list[str]:
    """The folders with a `.git`, from this one upwards."""
    found = []
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            found.append(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return found
        folder = above


def _listed(top: str, paths: list[str], environment: dict[str, str]) -> tuple[set[str], set[str]] | None:
    """(tracked, untracked) names below a working tree's root, as far as these paths need; None where it is none."""
    # decisions by their folders, since there may be very many
    places = {os.path.dirname(path) if path.endswith(".md") else path for path in paths}
    specs = sorted(":(icase,literal)" + os.path.relpath(place, top) for place in places)
    call = ("ls-files", "-z", "-t", "--cached", "--others", "--", *specs)
    try:
        rows = git.git(top, *call, environment=environment, seconds=SECONDS).split(b"\0")
    except git.Late:
        raise
    except git.GitFault as error:
        if _NONE in error.what:
            return None
        raise
    tracked: set[str] = set()
    free: set[str] = set()
    for row in filter(None, rows):
        (free if row[:1] == b"?" else tracked).add(_folded(os.fsdecode(row[2:])))
    return tracked, free


def _folded(name: str) -> str:
    """A name as file systems compare it that know no case and one form of each letter."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
