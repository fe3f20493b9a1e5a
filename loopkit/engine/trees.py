"""Git tree objects: commit, diff, three-way merge; the tree of a project that is a part of its
repository."""

from __future__ import annotations

import os
import re
from collections import namedtuple

from .git import LONG_SECONDS, GitFault, Repository, Unavailable, git, repository
from .workshop import workshop

#: tree: what two trees come to · conflicts: paths that contradict each other; then the tree is of
#: no use.
Merged = namedtuple("Merged", "tree conflicts")
#: The first git that merges trees by themselves.
MERGES = (2, 38)
#: One path of two trees: status A, M, T or D, modes and object ids before and after.
Difference = namedtuple("Difference", "status old_mode old mode new path")

#: Modes of git: a symbolic link, a repository, a file that may be run.
LINK, MODULE, RUN = "120000", "160000", "100755"


def commit(
    project: str, tree: str, parent: str | None, message: str, environment: dict[str, str]
) -> str:
    """A commit of a tree, by nobody in particular, unsigned; gives its id. A parent that is no
    longer in the repository, which was made anew meanwhile, is left out. Raises Unavailable,
    GitFault, Late."""
    words = ["-p", parent] if parent and _there(project, parent, environment) else []
    text = message.replace("\0", " ").encode("utf-8", "replace")
    return (
        git(project, "commit-tree", tree, *words, "-F", "-", environment=environment, given=text)
        .decode()
        .strip()
    )


def changed(
    project: str, before: str, after: str, environment: dict[str, str]
) -> list[tuple[str, str]]:
    """What differs between two trees, submodules apart: (A, M, T or D, path), in the order of
    paths."""
    return [(one.status, one.path) for one in differences(project, before, after, environment)]


def tree_of(project: str, commit: str, environment: dict[str, str]) -> str:
    """What a commit of the repository holds of the project: its tree. Raises Unavailable, GitFault,
    Late."""
    place = repository(project, environment)
    name = f"{commit}:{place.part}"
    said = git(
        project, "rev-parse", "--verify", "-q", name, environment=environment, answers=(0, 1, 128)
    )
    if place.part and not said:  # the part is younger than the commit
        said = git(project, "hash-object", "-t", "tree", "-w", "--stdin", environment=environment)
    return said.decode("ascii", "replace").strip()


def placed(place: Repository, tree: str, environment: dict[str, str]) -> str:
    """The tree of a repository that holds nothing but the project, at its place: git's own commands
    find its files."""
    for name in reversed(place.part.split("/") if place.part else []):
        row = b"040000 tree %s\t%s\0" % (tree.encode(), os.fsencode(name))
        tree = (
            git(place.top, "mktree", "-z", environment=environment, given=row)
            .decode("ascii")
            .strip()
        )
    return tree


def whole(place: Repository, tree: str, environment: dict[str, str]) -> str:
    """The tree of the whole repository in which the project is as in `tree`, and all else as HEAD
    has it."""
    if not place.part:
        return tree
    with workshop(place, environment) as run:
        run("read-tree", place.head) if place.head else run("read-tree", "--empty")
        run("rm", "-r", "-f", "-q", "--cached", "--ignore-unmatch", *place.paths)
        run("read-tree", f"--prefix={place.prefix}", tree)
        return run("write-tree", "--missing-ok").decode().strip()


def committed(
    project: str, before: str | None, after: str, environment: dict[str, str]
) -> set[str]:
    """Paths of the project that differ between two commits; all of `after` where `before` is None
    or no longer there."""
    after = tree_of(project, after, environment)
    if before is not None:
        before = (
            tree_of(project, before, environment) if _there(project, before, environment) else None
        )
    if before is None:
        said = git(
            project,
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "--full-tree",
            after,
            environment=environment,
        )
        return {os.fsdecode(one) for one in said.split(b"\0") if one}
    return {path for _, path in changed(project, before, after, environment)}


def check_there(project: str, tree: str, number: int, environment: dict[str, str]) -> None:
    """Raises GitFault where a checkpoint's tree is no longer in the repository."""
    if not _there(project, tree, environment):
        raise GitFault(
            f"the tree of checkpoint {number} is no longer in the repository",
            "choose another checkpoint",
        )


def _there(project: str, name: str, environment: dict[str, str]) -> bool:
    said = git(
        project,
        "cat-file",
        "--batch-check=%(objecttype)",
        environment=environment,
        given=name.encode() + b"\n",
    )
    return said.strip() in (b"commit", b"tree")


def differences(
    project: str, before: str, after: str, environment: dict[str, str]
) -> list[Difference]:
    if before == after:
        return []
    said = git(
        project,
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        before,
        after,
        environment=environment,
        seconds=LONG_SECONDS,
    ).split(b"\0")
    found = []
    for row, path in zip(said[::2], said[1::2], strict=False):
        old_mode, mode, old, new, status = row.decode("ascii").lstrip(":").split(" ")
        if MODULE not in (old_mode, mode):
            found.append(Difference(status[:1], old_mode, old, mode, new, os.fsdecode(path)))
    return found


def merged(project: str, base: str, ours: str, theirs: str, environment: dict[str, str]) -> Merged:
    """What two trees come to that both began as `base`: file by file, line by line; no file of the
    person is read or written, and no merge driver runs. Raises Unavailable, also where git is too
    old, GitFault, Late."""
    place = repository(project, environment)
    check_version(project, environment)
    root = commit(project, base, None, "base", environment)
    sides = [commit(project, tree, root, "side", environment) for tree in (ours, theirs)]
    with workshop(place, environment) as run:
        said = run(
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            *sides,
            seconds=LONG_SECONDS,
            answers=(0, 1),
        ).split(b"\0")
    return Merged(
        said[0].decode("ascii", "replace"), sorted({os.fsdecode(one) for one in said[1:] if one})
    )


def check_version(project: str, environment: dict[str, str]) -> None:
    """Raises Unavailable where git cannot merge trees."""
    said = git(project, "version", environment=environment).decode("ascii", "replace").strip()
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < MERGES:
        wanted = ".".join(map(str, MERGES))
        raise Unavailable(
            f"worktrees need git {wanted} or newer, this is {said[:40]}",
            "without them: loopkit wave next",
        )
