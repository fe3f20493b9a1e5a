"""Checkpoints: the working files of a project as a tree, kept as a commit on a ref of ours.

Nothing of the person's repository is touched but its objects and `refs/loopkit/`. Here is all that
others need of it; the calls of git are in git.py, the folder in which a tree is taken in
workshop.py, trees that differ in trees.py, the way back in restoring.py.
"""

from __future__ import annotations

import os
import re
import stat
from collections import namedtuple
from collections.abc import Iterable

from .git import (
    LONG_SECONDS,
    GitFault,
    Late,
    Repository,
    Unavailable,
    git,
    head,
    place_of,
    repository,
    under_way,
)
from .restoring import IGNORED, Plan, Restored, planned, restore, within
from .trees import (
    MODULE,
    Merged,
    changed,
    check_there,
    check_version,
    commit,
    committed,
    merged,
    placed,
    tree_of,
    whole,
)
from .workshop import Workshop, settings_of, workshop

__all__ = [
    "IGNORED",
    "LARGEST",
    "LONG_SECONDS",
    "REFS",
    "GitFault",
    "Late",
    "Merged",
    "Plan",
    "Repository",
    "Restored",
    "Snapshot",
    "Unavailable",
    "changed",
    "check_there",
    "check_version",
    "commit",
    "committed",
    "git",
    "head",
    "highest",
    "keep",
    "merged",
    "placed",
    "place_of",
    "planned",
    "repository",
    "restore",
    "snapshot",
    "tree_of",
    "under_way",
    "whole",
]

#: tree: its object id · left_out: what is not in it, `path (why)` · place: where it was taken ·
#: plain: the checksum of the person's index if every entry of it holds a file's own bytes and
#: belongs to the tree, else None.
Snapshot = namedtuple("Snapshot", "tree left_out place plain")

#: Bytes of an untracked file at most.
LARGEST = 100_000_000
#: Where checkpoints are kept: `refs/loopkit/<loop>/<number>`.
REFS = "refs/loopkit/"

_MODULE = MODULE.encode()
#: A row of `ls-files -v -s --debug -z`.
_ROW = re.compile(rb"(\S) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]+)\0(?:.*\n){4}  size: (\d+)\t.*\n")


# -- taking a tree


def snapshot(
    project: str, environment: dict[str, str], apart: Iterable[str] = (), plain: str | None = None
) -> Snapshot:
    """The project's working files as a tree: tracked and untracked ones, without ignored files and
    whatever is named `.loop`, or is Claude Code's settings. Where the project is a part of a
    repository, nothing beside it is looked at.

    apart: absolute paths that are left out too · plain: what an earlier snapshot gave, which saves
    looking through the same index once more. Untracked files over LARGEST, repositories in the
    repository and files that cannot be read are left out and named. Raises Unavailable, GitFault,
    Late.
    """
    place = repository(project, environment)
    apart = [os.path.relpath(os.path.realpath(one), place.top) for one in apart]
    try:
        return _taken(place, environment, apart, plain)
    except Late:
        raise
    except GitFault:  # a file may have changed while it was read
        return _taken(place, environment, apart, plain)
    except OSError as error:
        raise GitFault(
            f"cannot make a checkpoint: {error.filename or place.folder}: {error.strerror}"
        ) from None


def _taken(
    place: Repository, environment: dict[str, str], apart: list[str], plain: str | None
) -> Snapshot:
    def ours(path: bytes) -> bool:
        if not apart and b".loop" not in path and b".claude" not in path:
            return False
        name = os.fsdecode(path)
        folders = name.split("/")
        # who may run what is the person's word, and no rollback brings another one back
        rules = folders[-2:-1] == [".claude"] and folders[-1].startswith("settings")
        return rules or ".loop" in folders or within(name, apart)

    def named(path: bytes) -> str:
        return os.fsdecode(path)[len(place.prefix) :]

    left = []
    settings = settings_of(place, environment)
    with workshop(place, environment, settings) as run:
        filters = any(name.startswith("filter.") for name in settings)
        known = _checksum(os.path.join(run.folder, "index"))
        if filters or known is None or known != plain:
            rows = _ROW.findall(run("ls-files", "-v", "-s", "--debug", "-z", *place.paths))
            again = _to_read_again(place, run, rows)
            if filters or _has_attributes(place, rows):
                unlike = _converted(place, environment, [row[4] for row in rows])
                filters = filters or bool(unlike)
                again |= unlike
            entries = []
            for tag, mode, name, stage, path, _ in rows:
                if ours(path):
                    entries.append(b"0 %s\t%s" % (b"0" * len(name), path))
                elif mode == _MODULE:
                    left.append(f"{named(path)} (a submodule)")
                elif stage == b"0" and path in again:
                    entries.append(
                        b"%s %s 0\t%s" % (mode, name, path)
                    )  # such an entry has no times: it is read again
                if tag != b"H":
                    known = None
            if entries:
                run("update-index", "-z", "--index-info", given=b"\0".join(entries) + b"\0")
            if entries or left or filters:
                known = None
        gone, wanted = [], []
        # both only look, so side by side
        with (
            run.begun(
                "diff-files", "-z", "--name-status", "--ignore-submodules=all", *place.paths
            ) as one,
            run.begun(
                "ls-files", "-o", "-z", "--exclude-standard", "--exclude=.loop", *place.paths
            ) as other,
        ):
            changes, untracked = one.end().split(b"\0"), other.end().split(b"\0")
        for status, path in zip(changes[::2], changes[1::2], strict=False):
            if status == b"D":
                gone.append(path)
            elif why := _no_file(place.top, path):
                gone.append(path)
                left.append(f"{named(path)} ({why})")
            elif os.path.lexists(os.path.join(os.fsencode(place.top), path)) and not _readable(
                place.top, path
            ):
                left.append(f"{named(path)} (unreadable)")
            else:
                wanted.append(path)
        fresh = []
        for path in untracked:
            if not path or ours(path.rstrip(b"/")):
                continue
            why = _unfit(place.top, path)
            if why:
                left.append(f"{named(path.rstrip(b'/'))} ({why})")
            else:
                fresh.append(path)
        if gone:
            run("update-index", "-z", "--force-remove", "--stdin", given=b"\0".join(gone) + b"\0")
        if fresh or wanted:  # what is new first: it may take the place of what was
            feed = b"\0".join([*fresh, *wanted]) + b"\0"
            run(
                "update-index",
                "-z",
                "--add",
                "--remove",
                "--replace",
                "--stdin",
                given=feed,
                seconds=LONG_SECONDS,
            )
        tree = _written(place, run)
    return Snapshot(tree, tuple(sorted(left)), place, known)


def _written(place: Repository, run: Workshop) -> str:
    """The tree of the project, from the index."""
    if not place.part:
        return run("write-tree", "--missing-ok").decode().strip()
    # what is not merged yet beside the project is none of its business, but git would write no tree
    beside = {row.partition(b"\t")[2] for row in run("ls-files", "-u", "-z").split(b"\0")[:-1]}
    if beside:
        run("update-index", "-z", "--force-remove", "--stdin", given=b"\0".join(beside) + b"\0")
    if not run("ls-files", "-z", *place.paths):
        return run("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()
    return run("write-tree", "--missing-ok", f"--prefix={place.prefix}").decode().strip()


def _checksum(index: str) -> str | None:
    """The checksum that an index ends with; None where it has none."""
    try:
        with open(index, "rb") as file:
            file.seek(-20, os.SEEK_END)  # of a longer one this much is as good
            found = file.read(20)
    except OSError:
        return None
    return found.hex() if any(found) else None


def _to_read_again(place: Repository, run: Workshop, rows: list[tuple]) -> set[bytes]:
    """Paths whose index entry may hold other bytes than the file though their times agree: line
    ends or an encoding were converted, which shows in the size, or the person asked git not to
    look."""
    top = os.fsencode(place.top)
    names = list(dict.fromkeys([row[2] for row in rows if row[1] != _MODULE]))
    sizes: dict[bytes, bytes] = {}
    if names:
        said = run("cat-file", "--batch-check=%(objectsize)", given=b"\n".join(names) + b"\n")
        sizes = dict(zip(names, said.split(b"\n"), strict=False))
    again = set()
    for tag, mode, name, _, path, size in rows:
        if mode == _MODULE:
            continue
        there = sizes.get(name, b"")
        if tag != b"H" and (
            tag.islower() or tag == b"S" and os.path.lexists(os.path.join(top, path))
        ):
            again.add(path)
        elif there != size and (
            not there.isdigit() or int(there) & 0xFFFFFFFF != int(size)
        ):  # as the index has it
            again.add(path)
    return again


def _has_attributes(place: Repository, rows: list[tuple]) -> bool:
    """Whether the repository says what its files are."""
    name = ".gitattributes"
    if any(row[4].endswith(name.encode()) for row in rows):
        return True
    folder = place.part
    while folder:  # those above a part hold in it too
        folder = os.path.dirname(folder)
        if os.path.exists(os.path.join(place.top, folder, name)):
            return True
    return os.path.exists(os.path.join(place.common, "info", "attributes"))


def _converted(place: Repository, environment: dict[str, str], paths: list[bytes]) -> set[bytes]:
    """Paths that a filter or an encoding of the repository's applies to; either may keep a file's
    size."""
    if not paths:
        return set()
    said = git(
        place.top, "check-attr", "-z", "--stdin", "filter", "working-tree-encoding",
        environment=environment, given=b"\0".join(paths) + b"\0",
    ).split(b"\0")  # fmt: skip
    plain = (b"unspecified", b"unset", b"set", b"")
    return {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in plain}


def _readable(top: str, path: bytes) -> bool:
    full = os.path.join(os.fsencode(top), path)
    return os.path.islink(full) or os.access(full, os.R_OK)


def _no_file(top: str, path: bytes) -> str:
    """What is where a tracked file was, if that is neither a file nor a link; else ""."""
    try:
        mode = os.lstat(os.path.join(os.fsencode(top), path)).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):  # of another folder git says that the file is gone
        return "a repository of its own"
    return "" if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else "neither file nor link"


def _unfit(top: str, path: bytes) -> str:
    """Why an untracked path is left out; "" if it is not."""
    if path.endswith(b"/"):
        return "a repository of its own"
    try:
        state = os.lstat(os.path.join(os.fsencode(top), path))
    except OSError:
        return ""  # gone meanwhile: update-index passes over it
    if stat.S_ISREG(state.st_mode) and state.st_size > LARGEST:
        return f"{state.st_size / 1e6:,.0f} MB"
    return "" if _readable(top, path) else "unreadable"


# -- keeping a tree


def keep(project: str, loop: str, number: int, sha: str, environment: dict[str, str]) -> bool:
    """Put a commit on `refs/loopkit/<loop>/<number>`; False where that is taken. Raises
    Unavailable, GitFault, Late."""
    name = f"{REFS}{loop}/{number}"
    try:
        git(project, "update-ref", "--no-deref", name, sha, "0" * len(sha), environment=environment)
    except Late:
        raise
    except GitFault:
        if not git(
            project,
            "rev-parse",
            "--verify",
            "-q",
            name,
            environment=environment,
            answers=(0, 1, 128),
        ):
            raise
        return False
    return True


def forget(project: str, loop: str, kept: list[str], environment: dict[str, str]) -> None:
    """Delete the refs of a loop's checkpoints, the commits `kept`; git drops what they held in its
    own time. Another loop of that name (in another worktree, in another part of the repository)
    keeps its own. Raises Unavailable, GitFault, Late.
    """
    said = git(
        project,
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        f"{REFS}{loop}/",
        environment=environment,
    )
    rows = [row.decode("utf-8", "surrogateescape").partition(" ") for row in said.splitlines()]
    lines = [f"delete {name} {sha}" for sha, _, name in rows if sha in kept]
    if lines:
        given = "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")
        git(project, "update-ref", "--no-deref", "--stdin", environment=environment, given=given)


def highest(project: str, loop: str, environment: dict[str, str]) -> int:
    """The highest number that a ref of a loop has; 0 without one. Raises Unavailable, GitFault,
    Late."""
    said = git(
        project, "for-each-ref", "--format=%(refname)", f"{REFS}{loop}/", environment=environment
    )
    numbers = [row.rpartition(b"/")[2] for row in said.splitlines()]
    return max((int(one) for one in numbers if one.isdigit()), default=0)
