"""Which files of a `.loop` any git repository tracks: they are untrusted at first."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable

from ..core.journal.errors import LoopError
from ..store import digest, place
from ..store.origin import CONFIG, LEARNINGS, Origin, decisions, definitions
from . import git

#: Seconds that git may take; after that all files are untrusted.
SECONDS = 10.0


def of(root: str, env: dict, note: Callable[[str], None]) -> Origin:
    """Whose the files of a `.loop` are. Where git cannot say: untrusted; `note` is told."""
    names = [name for name in (CONFIG, LEARNINGS) if os.path.lexists(os.path.join(root, name))]
    names += [*decisions(root), *definitions(root)]
    try:
        return Origin(root, _tracked(root, names, env) if names else frozenset())
    except LoopError as error:
        kinds = f"settings, learnings, decisions and stages in {root}"
        note(f"{error.what}; {kinds} are not used unless they are known")
        return Origin(root, None)


def _tracked(root: str, names: list[str], env: dict) -> frozenset[str]:
    """Those that a repository tracks: themselves, by a link on the way, or where a link leads."""
    real = os.path.realpath(root)
    if _held(_links(root), env):
        return frozenset(names)
    paths: dict[str, str] = {}
    for name in names:
        path = os.path.join(real, name)
        paths[path] = name
        if os.path.islink(path):
            paths[os.path.realpath(path)] = name
    return frozenset(paths[path] for path in _held(paths, env))


def _links(path: str) -> list[str]:
    """The links among a path and the folders above it, each where it really lies."""
    links = [os.path.split(folder) for folder in place.upwards(path) if os.path.islink(folder)]
    return [os.path.join(os.path.realpath(above), name) for above, name in links]


def _held(paths: Iterable[str], env: dict) -> set[str]:
    """Those of some real paths that git tracks in any repository around them. Raises git.GitFault,
    git.Unavailable. A path is free only where git itself, which knows how the file system compares
    names, lists it as untracked in the innermost repository, and no repository holds one that
    differs from it by case alone."""
    asked: dict[str, list[str]] = {}
    inner: dict[str, str] = {}
    for path in paths:
        for top in place.upwards(os.path.dirname(path)):
            if os.path.lexists(os.path.join(top, ".git")):
                inner.setdefault(path, top)
                asked.setdefault(top, []).append(path)
    held: set[str] = set()
    for top, wanted in asked.items():
        tracked, free = _listed(top, wanted, env)
        for path in wanted:
            name = _folded(os.path.relpath(path, top))
            if name in tracked or inner[path] == top and name not in free:
                held.add(path)
    return held


def _listed(top: str, paths: list[str], env: dict) -> tuple[set[str], set[str]]:
    """(tracked, untracked) names below a working tree's root, as far as these paths need. What the
    last commit holds counts as tracked, whatever became of the index. Raises git.GitFault,
    git.Unavailable: where there is a `.git` and git cannot say, it is nobody's word that nothing
    came with it."""
    # decisions by their folders, since there may be very many
    folders = (os.path.dirname(path) if path.endswith(".md") else path for path in paths)
    names = sorted({os.path.relpath(folder, top) for folder in folders})
    specs = [":(icase,literal)" + name for name in names]
    command = "ls-files -z -t --cached --others --"
    tracked: set[str] = set()
    free: set[str] = set()
    for row in git.paths(git.git(top, env, command, *specs, seconds=SECONDS)):
        (free if row.startswith("?") else tracked).add(_folded(row[2:]))
    own, command = os.path.join(top, ".git"), "rev-parse --verify -q HEAD^{commit}"
    commit = digest.commit_of(own, own) if os.path.isdir(own) else None
    if commit is None:
        commit = git.word(git.git(top, env, command, seconds=SECONDS, answers=(0, 1, 128)))
    if commit:
        command = "ls-tree -r -z --name-only --full-tree"
        output = git.git(top, env, command, commit, "--", *names, seconds=SECONDS)
        tracked.update(map(_folded, git.paths(output)))
    return tracked, free


def _folded(name: str) -> str:
    """A name as file systems compare it that know no case and one form of each letter."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
