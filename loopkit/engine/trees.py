"""Git tree objects: commit, diff, three-way merge."""

from __future__ import annotations

import os
import re
from collections import namedtuple

from ..core.journal.parts import Changed
from .git import LONG_SECONDS, GitFault, Late, Repository, Unavailable, git, paths, repository, word
from .scratch import scratch

#: tree: the merge, of no use with conflicts · conflicts: paths that contradict each other.
Merged = namedtuple("Merged", "tree conflicts")
#: The first git that merges trees by themselves.
MERGES = (2, 38)
#: One path of two trees: status A, M, T or D, modes and object ids before and after.
Difference = namedtuple("Difference", "status old_mode old mode new path")
#: row: a Changed · mark: what the file holds now, "" where it is gone.
Measured = namedtuple("Measured", "row mark")
#: Files that came and went, above which none is taken for a renamed one.
MOST_RENAMES = 400

#: How a diff tells what `differences_of` and `rows_of` read.
RAW = ("-z", "--raw", "--no-renames", "--no-abbrev")
ROWS = ("-z", "--raw", "--numstat", "-M", f"-l{MOST_RENAMES}", "--no-abbrev", "--no-textconv")

#: Modes of git: a symbolic link, a repository, a file that may be run.
LINK, MODULE, RUN = "120000", "160000", "100755"


def commit(project: str, tree: str, parent: str | None, message: str, env: dict) -> str:
    """Commit a tree as loopkit, unsigned; gives the commit's id. A parent that is no longer in the
    repository is left out."""
    text = message.replace("\0", " ").encode("utf-8", "replace")
    if parent:
        try:
            return word(git(project, env, "commit-tree", tree, "-p", parent, "-F", "-", given=text))
        except Late:
            raise
        except GitFault:  # the parent, as a rule; else it fails without one too
            pass
    return word(git(project, env, "commit-tree", tree, "-F", "-", given=text))


def changed(project: str, before: str, after: str, env: dict) -> list[tuple[str, str]]:
    """What differs between two trees, submodules apart: (A, M, T or D, path), ordered by path."""
    return [(row.status, row.path) for row in differences(project, before, after, env)]


def measured(project: str, before: str, after: str, env: dict) -> list[Measured]:
    """What differs between two trees, submodules apart, ordered by path. Raises Unavailable,
    GitFault, Late."""
    if before == after:
        return []
    return rows_of(git(project, env, "diff-tree -r", *ROWS, before, after, seconds=LONG_SECONDS))


def rows_of(output: bytes, prefix: str = "") -> list[Measured]:
    """What a diff with ROWS printed, ordered by path. prefix: of all paths, left out."""
    tokens = iter(output.split(b"\0"))
    rows: dict[bytes, list] = {}
    for token in tokens:
        if token.startswith(b":"):
            old_mode, mode, _, new, status = token.decode("ascii").lstrip(":").split(" ")
            was = next(tokens) if status[0] == "R" else b""
            path = next(tokens)
            if MODULE not in (old_mode, mode):
                mark = "" if status == "D" else f"{mode[-3:]}:{new}"
                names = [os.fsdecode(name)[len(prefix) :] for name in (path, was)]
                rows[path] = [names[0], status[0], None, None, names[1], mark]
        elif token:
            added, removed, path = token.split(b"\t", 2)
            if not path:  # of a renamed file both names follow
                next(tokens)
                path = next(tokens)
            if path in rows and added.isdigit():
                rows[path][2:4] = int(added), int(removed)
    return [Measured(Changed(*row[:5]), row[5]) for _, row in sorted(rows.items())]


def tree_of(project: str, commit: str, env: dict) -> str:
    """The project's tree in a commit."""
    part = repository(project, env).part
    tree = word(git(project, env, "rev-parse --verify -q", f"{commit}:{part}", answers=(0, 1, 128)))
    if part and not tree:  # the part is younger than the commit
        tree = word(git(project, env, "hash-object -t tree -w --stdin"))
    return tree


def placed(repo: Repository, tree: str, env: dict) -> str:
    """A tree of the repository with nothing but the project, for git's own commands."""
    for name in reversed(repo.part.split("/") if repo.part else []):
        row = b"040000 tree %s\t%s\0" % (tree.encode(), os.fsencode(name))
        tree = word(git(repo.top, env, "mktree -z", given=row))
    return tree


def whole(repo: Repository, tree: str, env: dict) -> str:
    """The tree of the whole repository: the project from `tree`, all else from HEAD."""
    if not repo.part:
        return tree
    with scratch(repo, env) as run:
        run("read-tree", repo.head or "--empty")
        run("rm -r -f -q --cached --ignore-unmatch", *repo.paths)
        run("read-tree", f"--prefix={repo.prefix}", tree)
        return word(run("write-tree --missing-ok"))


def committed(project: str, before: str | None, after: str, env: dict) -> set[str]:
    """Paths of the project that differ between two commits; without `before` all of `after`."""
    tree = tree_of(project, after, env)
    if before is None or not _exists(project, before, env):
        return set(paths(git(project, env, "ls-tree -r -z --name-only --full-tree", tree)))
    return {path for _, path in changed(project, tree_of(project, before, env), tree, env)}


def with_paths(project: str, tree: str, source: str, names: list[str], env: dict) -> str:
    """The tree `tree` with these paths as `source` has them, or without them."""
    repo = repository(project, env)
    with scratch(repo, env) as run:
        run("read-tree", tree)
        index = b"".join(b"0 %s\t%s\0" % (b"0" * len(tree), os.fsencode(name)) for name in names)
        for row in git(project, env, "ls-tree -r -z --full-tree", source).split(b"\0")[:-1]:
            head, _, name = row.partition(b"\t")
            if os.fsdecode(name) in names:
                mode, _, object_id = head.split(b" ")
                index += b"%s %s 0\t%s\0" % (mode, object_id, name)
        run("update-index -z --index-info", given=index)
        return word(run("write-tree --missing-ok"))


def check_there(project: str, tree: str, number: int, env: dict) -> None:
    """Raise GitFault where a checkpoint's tree is no longer in the repository."""
    if not _exists(project, tree, env):
        what = f"the tree of checkpoint {number} is no longer in the repository"
        raise GitFault(what, "choose another checkpoint")


def _exists(project: str, name: str, env: dict) -> bool:
    given = name.encode() + b"\n"
    kind = git(project, env, "cat-file --batch-check=%(objecttype)", given=given).strip()
    return kind in (b"commit", b"tree")


def differences(project: str, before: str, after: str, env: dict) -> list[Difference]:
    """What differs between two trees, submodules apart, ordered by path."""
    if before == after:
        return []
    output = git(project, env, "diff-tree -r", *RAW, before, after, seconds=LONG_SECONDS)
    return [row for row in differences_of(output) if MODULE not in (row.old_mode, row.mode)]


def differences_of(output: bytes) -> list[Difference]:
    """What a diff with RAW printed."""
    tokens = output.split(b"\0")
    rows = []
    for row, path in zip(tokens[::2], tokens[1::2], strict=False):
        old_mode, mode, old, new, status = row.decode("ascii").lstrip(":").split(" ")
        rows.append(Difference(status[:1], old_mode, old, mode, new, os.fsdecode(path)))
    return rows


def merged(project: str, base: str, ours: str, theirs: str, env: dict) -> Merged:
    """Merge two trees that both began as `base`, line by line, without the person's files or merge
    drivers. Raises Unavailable, also where git is too old, GitFault, Late."""
    repo = repository(project, env)
    check_version(project, env)
    root = commit(project, base, None, "base", env)
    sides = [commit(project, tree, root, "side", env) for tree in (ours, theirs)]
    with scratch(repo, env) as run:
        command = "merge-tree --write-tree -z --name-only --no-messages"
        output = run(command, *sides, seconds=LONG_SECONDS, answers=(0, 1))
    tree, _, conflicts = output.partition(b"\0")
    return Merged(word(tree), sorted(set(paths(conflicts))))


def check_version(project: str, env: dict) -> None:
    """Raise Unavailable where git cannot merge trees."""
    version = word(git(project, env, "version"))
    number = re.search(r"(\d+)\.(\d+)", version)
    if number is None or (int(number[1]), int(number[2])) < MERGES:
        what = f"worktrees need git {'.'.join(map(str, MERGES))} or newer, this is {version[:40]}"
        raise Unavailable(what, "without them: loopkit wave next")
