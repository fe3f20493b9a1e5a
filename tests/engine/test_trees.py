"""How much differs between two trees."""

from __future__ import annotations

import pytest

from loopkit.engine import git, trees
from tests.engine.test_checkpoints import Repo, repo

__all__ = ["repo"]


def size(repo: Repo, before: str, after: str) -> tuple[int, int]:
    return trees.size(str(repo.folder), before, after, repo.environment)


def test_files_and_lines_are_counted(repo: Repo) -> None:
    repo.write("kept.txt", "1\n2\n3\n")
    repo.write("gone.txt", "1\n2\n")
    before = repo.take().tree
    assert size(repo, before, before) == (0, 0)
    repo.write("kept.txt", "1\ntwo\n3\n")  # one line away, one line there
    (repo.folder / "gone.txt").unlink()
    repo.write("deep/er/new näme.txt", "1\n2\n3")
    after = repo.take().tree
    assert size(repo, before, after) == size(repo, after, before) == (3, 2 + 2 + 3)


def test_a_binary_file_counts_as_one_line_and_a_move_as_two_files(repo: Repo) -> None:
    repo.write("moved.txt", "1\n2\n")
    before = repo.take().tree
    (repo.folder / "blob").write_bytes(b"\0\1\n" * 500)
    (repo.folder / "moved.txt").rename(repo.folder / "here.txt")
    assert size(repo, before, repo.take().tree) == (3, 1 + 2 + 2)


def test_commits_are_trees_too(repo: Repo) -> None:
    first = repo.take().tree
    repo.write("a.txt", "1\n")
    last = repo.take().tree
    commits = [
        trees.commit(str(repo.folder), one, None, "x", repo.environment) for one in (first, last)
    ]
    assert size(repo, *commits) == (1, 1)


def test_a_tree_that_is_gone_is_a_fault(repo: Repo) -> None:
    with pytest.raises(git.GitFault):
        size(repo, "0" * 39 + "1", repo.take().tree)
