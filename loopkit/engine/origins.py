"""Which files of a `.loop` git tracks, asked in every repository that holds them: what is tracked
may be a stranger's."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable

from ..core.journal.errors import LoopError
from ..store.origin import CONFIG, LEARNINGS, Origin, decisions
from . import git

#: Seconds that git may take; whoever waits longer treats all files as a stranger's.
SECONDS = 10.0


def of(root: str, environment: dict[str, str], note: Callable[[str], None]) -> Origin:
    """Whose the files of a `.loop` are. `note` is told where git cannot say; all of them count as a
    stranger's then."""
    names = [name for name in (CONFIG, LEARNINGS) if os.path.lexists(os.path.join(root, name))]
    names += decisions(root)
    try:
        return Origin(root, _tracked(root, names, environment) if names else frozenset())
    except LoopError as error:
        note(
            f"{error.what}; settings, learnings and decisions in {root} are not used unless they "
            "are known"
        )
        return Origin(root, None)


def _tracked(root: str, names: list[str], environment: dict[str, str]) -> frozenset[str]:
    """The names of those that a repository holds, themselves, by a link on the way to them, or
    where a link leads."""
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
    """Those of some real paths that git tracks in any repository around them. Raises git.GitFault,
    git.Unavailable.

    A path is free only where git itself, which knows how the file system compares names, lists it
    as untracked in the innermost repository, and no repository holds one that differs from it by
    case alone.
    """
    asked: dict[str, list[str]] = {}
    inner: dict[str, str] = {}
    for path in paths:
        for top in _repositories(os.path.dirname(path)):
            inner.setdefault(path, top)
            asked.setdefault(top, []).append(path)
    held: set[str] = set()
    for top, wanted in asked.items():
        tracked, free = _listed(top, wanted, environment)
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


def _listed(top: str, paths: list[str], environment: dict[str, str]) -> tuple[set[str], set[str]]:
    """(tracked, untracked) names below a working tree's root, as far as these paths need. What the
    last commit holds counts as tracked, whatever became of the index. Raises git.GitFault,
    git.Unavailable: where there is a `.git` and git cannot say, it is nobody's word that nothing
    came with it."""
    # decisions by their folders, since there may be very many
    places = sorted(
        {
            os.path.relpath(os.path.dirname(path) if path.endswith(".md") else path, top)
            for path in paths
        }
    )
    specs = [":(icase,literal)" + name for name in places]
    call = ("ls-files", "-z", "-t", "--cached", "--others", "--", *specs)
    tracked: set[str] = set()
    free: set[str] = set()
    for row in filter(
        None, git.git(top, *call, environment=environment, seconds=SECONDS).split(b"\0")
    ):
        (free if row[:1] == b"?" else tracked).add(_folded(os.fsdecode(row[2:])))
    head = ("rev-parse", "--verify", "-q", "HEAD^{commit}")
    commit = (
        git.git(top, *head, environment=environment, seconds=SECONDS, answers=(0, 1, 128))
        .decode()
        .strip()
    )
    if commit:
        call = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *places)
        said = git.git(top, *call, environment=environment, seconds=SECONDS)
        tracked |= {_folded(os.fsdecode(name)) for name in said.split(b"\0") if name}
    return tracked, free


def _folded(name: str) -> str:
    """A name as file systems compare it that know no case and one form of each letter."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
