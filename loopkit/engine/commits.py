"""Commit on the person's branch what a piece of work changed, and nothing else that is in the tree.

What the person has not committed stays as it is, in the files and in the index: a file of theirs
that was changed too is committed with the work's own lines alone, or left and named. No hook runs,
nobody is asked, nothing is signed. Raises git's Unavailable, GitFault and Late.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import NamedTuple

from . import checkpoints, git, trees
from .git import Repository, word

#: Commits that are looked through for one that was made before a crash.
_SOUGHT = 500
#: How often a commit is tried while somebody else moves the branch.
_TRIES = 3
#: The mode of an index entry that is taken out.
_GONE = "000000"


class Before(NamedTuple):
    """How things stood before the work. tree: the project's files · dirty: paths of the project
    with changes of the person's that no commit holds · yours, again: paths that the person has
    changed in a break of the work, and the tree with which it went on."""

    tree: str
    dirty: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    again: str = ""


class Stand(NamedTuple):
    """Where HEAD stands. branch: "" for none · sha: "" before the first commit."""

    branch: str
    sha: str


class Committed(NamedTuple):
    """sha: the commit, "" where nothing was committed · paths: in it, from the project · left:
    {path: why it is not in it}."""

    sha: str
    paths: tuple[str, ...] = ()
    left: dict[str, str] = {}


def before(project: str, env: dict, excluded: Iterable[str] = ()) -> Before:
    """Look at the project before the work. excluded: absolute paths that are none of it."""
    snapshot = checkpoints.snapshot(project, env, excluded)
    return Before(snapshot.tree, tuple(dirty(project, env)))


def stand(project: str, env: dict) -> Stand:
    """Where HEAD stands now."""
    repo = git.repository(project, env)
    name = git.git(repo.top, env, "symbolic-ref --quiet --short HEAD", answers=(0, 1))
    return Stand(word_of(name), git.head(repo.top, env) or "")


def changed(project: str, env: dict, left: str, excluded: Iterable[str] = ()) -> list[str]:
    """Paths of the project that are not as in this tree."""
    now = checkpoints.snapshot(project, env, excluded).tree
    return [row.path for row in trees.differences(project, left, now, env)]


def dirty(project: str, env: dict) -> list[str]:
    """Paths of the project that differ from HEAD, staged, unstaged or untracked, `.loop` apart."""
    repo = git.repository(project, env)
    command = "status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=all"
    rows = git.paths(git.git(repo.top, env, command, *repo.paths, seconds=git.LONG_SECONDS))
    found = [row[3:][len(repo.prefix) :] for row in rows]
    return [path for path in found if ".loop" not in path.split("/")]


def find(project: str, env: dict, mark: str) -> str:
    """The newest commit of the branch whose message has this line; "" where there is none."""
    repo = git.repository(project, env)
    if repo.head is None:
        return ""
    command = f"log -n {_SOUGHT} -z --format=%H%n%B"
    for row in git.paths(git.git(repo.top, env, command, repo.head)):
        sha, _, message = row.partition("\n")
        if mark in message.splitlines():
            return sha
    return ""


def commit(
    project: str, env: dict, began: Before, message: str, excluded: Iterable[str] = ()
) -> Committed:
    """Commit what changed in the project since `began`. Where a merge or the like is under way, and
    where nothing has changed, nothing is committed."""
    repo = git.repository(project, env)
    now = checkpoints.snapshot(project, env, excluded).tree
    rows = trees.differences(project, began.tree, now, env)
    if began.yours:
        rows = [row for row in rows if row.path not in began.yours]
        after = trees.differences(project, began.again, now, env)
        rows += [row for row in after if row.path in began.yours]
    if not rows:
        return Committed("")
    busy = git.under_way(repo)
    if busy:
        return Committed("", left=dict.fromkeys((row.path for row in rows), f"{busy} is under way"))
    for _ in range(_TRIES):
        work = _Work(git.repository(project, env), env, {*began.dirty, *began.yours})
        done = work.commit(rows, message)
        if done is not None:
            return done
    raise git.GitFault("the branch was moved again and again", "commit by hand, or try once more")


class _Work:
    """One try at a commit on HEAD as it is now."""

    def __init__(self, repo: Repository, env: dict, dirty_paths: set[str]) -> None:
        self.repo, self.env, self.dirty = repo, env, dirty_paths
        self.left: dict[str, str] = {}

    def commit(self, rows: list[trees.Difference], message: str) -> Committed | None:
        """None where the branch was moved meanwhile."""
        with tempfile.TemporaryDirectory(prefix="loopkit-", dir=self.repo.folder) as folder:
            own = {**git.isolated(self.env), "GIT_INDEX_FILE": os.path.join(folder, "index")}
            own |= self._identity()
            self._call(own, "read-tree", self.repo.head or "--empty")
            names = [row.path for row in rows if row.path not in self.dirty]
            if names:  # as `git add` would: conversions that the person has set up take place
                feed = "\0".join(self.repo.prefix + name for name in names) + "\0"
                command = "update-index -z --add --remove --replace --stdin"
                self._call(own, command, given=os.fsencode(feed), seconds=git.LONG_SECONDS)
            merged = [entry for row in rows if row.path in self.dirty for entry in self._own(row)]
            if merged:
                self._call(own, "update-index -z --index-info", given=b"".join(merged))
            changed, staged = self._agreed(own)
            if not changed:
                return Committed("", left=self.left)
            tree = word(self._call(own, "write-tree"))
            parents = ("-p", self.repo.head) if self.repo.head else ()
            text = message.encode("utf-8", "replace")
            sha = word(self._call(own, "commit-tree", tree, *parents, "-F", "-", given=text))
            # first their index: a death in between leaves the work staged, and no index that would
            # take it back
            if staged:
                index = git.isolated(self.env)
                self._call(index, "update-index -z --index-info", given=b"".join(staged))
            if not self._moved(own, sha, message):
                return None
        paths = tuple(row.path[len(self.repo.prefix) :] for row in changed)
        return Committed(sha, paths, self.left)

    def _call(self, env: dict, command: str, *arguments: str, **options: object) -> bytes:
        return git.call(self.repo.top, (*command.split(), *arguments), env, **options)  # type: ignore[arg-type]

    def _identity(self) -> dict[str, str]:
        """The person's name, as their own commits have it, where git knows one."""
        known = {}
        for role in ("AUTHOR", "COMMITTER"):
            for part in ("NAME", "EMAIL"):
                key = f"GIT_{role}_{part}"
                name = f"user.{part.lower()}"
                given = self.env.get(key) or word_of(
                    git.git(self.repo.top, self.env, "config --get", name, answers=(0, 1))
                )
                if not given:
                    return {}
                known[key] = given
        return known

    # -- a file in which the person has changes of their own

    def _own(self, row: trees.Difference) -> list[bytes]:
        """The index entry of HEAD's file with the work's lines; none where that cannot be."""
        path = self.repo.prefix + row.path
        held = self._held(path) if self.repo.head else None
        mode, blob = held or ("", "")
        if held is None or row.status == "D" or trees.LINK in (row.old_mode, row.mode, mode):
            self.left[row.path] = "it held changes of yours that are not committed"
            return []
        merged = self._merged(blob, row.old, row.new)
        if merged is None:
            self.left[row.path] = "the work's lines stand among changes of yours"
            return []
        return [_entry(mode, merged, path)]

    def _merged(self, ours: str, base: str, theirs: str) -> str | None:
        """The object of a three-way merge of files; None where they contradict each other, and for
        files that are no text."""
        with tempfile.TemporaryDirectory(prefix="loopkit-", dir=self.repo.folder) as folder:
            names = []
            for name, blob in (("ours", ours), ("base", base), ("theirs", theirs)):
                names.append(os.path.join(folder, name))
                with open(names[-1], "wb") as file:
                    file.write(git.git(self.repo.top, self.env, "cat-file blob", blob))
            with git.Call(
                self.repo.top, ("merge-file", "-p", "-q", *names), git.isolated(self.env)
            ) as call:
                try:
                    text = call.end()
                except git.Late:
                    raise
                except git.GitFault:  # the number of conflicts, or no text
                    return None
        return word(git.git(self.repo.top, self.env, "hash-object -w --stdin", given=text))

    def _held(self, path: str) -> tuple[str, str] | None:
        """(mode, object) of a path in HEAD."""
        output = git.git(self.repo.top, self.env, "ls-tree -z --full-tree", "HEAD", "--", path)
        fields = output.partition(b"\t")[0].decode("ascii").split()
        return (fields[0], fields[2]) if fields else None

    # -- the person's index

    def _agreed(self, own: dict) -> tuple[list[trees.Difference], list[bytes]]:
        """What the commit will change, and the rows by which the person's index follows it. What
        they have staged in a file stays staged over the work's lines; where the two contradict each
        other the file is not committed."""
        held, rows, back, staged = self._index(), self._changed(own), [], []
        for row in rows:
            old = _entry(row.old_mode, row.old, row.path)
            new = _entry(row.mode, row.new, row.path)
            now = held.get(row.path, _entry(_GONE, "0" * len(row.new), row.path))
            if now == old:
                staged.append(new)
            elif now != new:
                merged = self._restaged(row, now)
                staged += [merged] if merged else []
                back += [] if merged else [old]
        if back:
            self._call(own, "update-index -z --index-info", given=b"".join(back))
            rows = self._changed(own)
        return rows, staged

    def _restaged(self, row: trees.Difference, now: bytes) -> bytes:
        """What is staged in a file with the work's lines; b"" where that cannot be."""
        mode, blob, _ = now.partition(b"\t")[0].decode("ascii").split()
        merged = None
        if _GONE not in (mode, row.old_mode, row.mode):
            merged = self._merged(blob, row.old, row.new)
        if merged is None:
            self.left[row.path[len(self.repo.prefix) :]] = "it holds staged changes of yours"
            return b""
        return _entry(mode, merged, row.path)

    def _index(self) -> dict[str, bytes]:
        """{path: its row in the person's index}."""
        found = {}
        output = git.git(self.repo.top, self.env, "ls-files -s -z", *self.repo.paths)
        for row in output.split(b"\0")[:-1]:
            head, _, path = row.partition(b"\t")
            mode, blob, number = head.decode("ascii").split()
            if number == "0":
                found[os.fsdecode(path)] = _entry(mode, blob, os.fsdecode(path))
        return found

    def _changed(self, own: dict) -> list[trees.Difference]:
        tree = word(self._call(own, "write-tree"))
        base = self.repo.head or word(git.git(self.repo.top, self.env, "mktree"))
        return trees.differences(self.repo.top, base, tree, self.env)

    def _moved(self, own: dict, sha: str, message: str) -> bool:
        """Move the branch from where it was to the commit; whether it was still there."""
        old = self.repo.head or "0" * len(sha)
        subject = message.partition("\n")[0]
        try:
            self._call(own, "update-ref -m", f"loopkit: {subject}", "HEAD", sha, old)
        except git.GitFault:
            if git.head(self.repo.top, self.env) == self.repo.head:
                raise
            return False
        return True


def word_of(output: bytes) -> str:
    """One line of text that git printed."""
    return output.decode("utf-8", "replace").strip()


def _entry(mode: str, blob: str, path: str) -> bytes:
    return b"%s %s 0\t%s\0" % (mode.encode(), blob.encode(), os.fsencode(path))
