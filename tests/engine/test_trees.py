"""What differs between two trees, and a tree with some paths as another one has them."""

from __future__ import annotations

import os

import pytest

from loopkit.core.journal.parts import Changed
from loopkit.engine import git, trees
from tests.engine.test_checkpoints import Repo, repo

__all__ = ["repo"]


def measured(repo: Repo, before: str, after: str) -> list[Changed]:
    rows = trees.measured(str(repo.folder), before, after, repo.environment)
    assert all(bool(row.mark) is (row.row.status != "D") for row in rows)
    return [row.row for row in rows]


def test_files_and_lines_of_every_kind_of_change(repo: Repo) -> None:
    repo.write("kept.txt", "1\n2\n3\n")
    repo.write("gone.txt", "bye\nbye\n")
    repo.write("mode.sh", "1\n", 0o644)
    repo.write("link.txt", "1\n2\n")
    repo.write("emptied.txt", "1\n2\n")
    repo.write("old, näme.txt", "1\n2\n3\n4\n5\n6\n")
    before = repo.take().tree
    assert measured(repo, before, before) == []
    repo.write("kept.txt", "1\ntwo\n3\n")
    repo.write("emptied.txt", "")
    (repo.folder / "gone.txt").unlink()
    (repo.folder / "mode.sh").chmod(0o755)
    (repo.folder / "link.txt").unlink()
    os.symlink("kept.txt", repo.folder / "link.txt")
    (repo.folder / "deep").mkdir()
    (repo.folder / "old, näme.txt").rename(repo.folder / "deep/new.txt")
    repo.write("deep/new.txt", "1\n2\n3\n4\n5\n6\n7\n")
    (repo.folder / "blob").write_bytes(b"\0\1\n" * 500)
    repo.write("line\nbreak\ttab.txt", "1\n")
    assert measured(repo, before, repo.take().tree) == [
        Changed("blob", "A", None, None),
        Changed("deep/new.txt", "R", 1, 0, "old, näme.txt"),
        Changed("emptied.txt", "M", 0, 2),
        Changed("gone.txt", "D", 0, 2),
        Changed("kept.txt", "M", 1, 1),
        Changed("line\nbreak\ttab.txt", "A", 1, 0),
        Changed("link.txt", "T", 1, 2),
        Changed("mode.sh", "M", 0, 0),
    ]


def test_what_a_file_holds_is_told_by_its_mark(repo: Repo) -> None:
    repo.write("a.txt", "1\n")
    first = repo.take().tree
    marks = []
    for text, mode in (("2\n", 0o644), ("2\n", 0o755), ("2\n", 0o644)):
        repo.write("a.txt", text, mode)
        found = trees.measured(str(repo.folder), first, repo.take().tree, repo.environment)
        marks.append(found[0].mark)
    assert marks[0] == marks[2] != marks[1]


def test_a_tree_that_is_gone_is_a_fault(repo: Repo) -> None:
    with pytest.raises(git.GitFault):
        measured(repo, "0" * 39 + "1", repo.take().tree)


def test_some_paths_as_another_tree_has_them(repo: Repo) -> None:
    repo.write("a.txt", "1\n")
    repo.write("d/b.txt", "1\n")
    start = repo.take().tree
    repo.write("a.txt", "2\n")
    (repo.folder / "d/b.txt").unlink()
    repo.write("new.txt", "1\n")
    repo.write("kept.txt", "1\n")
    now = repo.take().tree
    names = ["a.txt", "d/b.txt", "new.txt"]
    goal = trees.with_paths(str(repo.folder), now, start, names, repo.environment)
    assert measured(repo, start, goal) == [Changed("kept.txt", "A", 1, 0)]
