"""Commits of a piece of work on the person's branch: what is in them, and what stays as it was."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from loopkit.engine import commits
from tests.engine.test_checkpoints import Repo

LINES = "".join(f"line {number}\n" for number in range(1, 21))


class Work(Repo):
    """A repository with a commit, in which something is begun."""

    def __init__(self, folder: Path, *words: str) -> None:
        super().__init__(folder, *words)
        self.write("a.py", LINES)
        self.write("b.py", "b\n")
        self.commit()

    def begin(self) -> None:
        self.began = commits.before(str(self.folder), self.environment)

    def end(self, message: str = "Do it") -> commits.Committed:
        return commits.commit(str(self.folder), self.environment, self.began, message)

    def at(self, path: str, commit: str = "HEAD") -> str:
        return self.git("show", f"{commit}:{path}")

    def edit(self, path: str, old: str, new: str) -> None:
        self.write(path, (self.folder / path).read_text().replace(f"{old}\n", f"{new}\n", 1))

    def status(self) -> list[str]:
        return self.git("status", "--porcelain").splitlines()


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "project")


def test_new_changed_and_deleted_files_are_committed_and_the_index_follows(work: Work) -> None:
    work.begin()
    work.write("new/c.py", mode=0o755)
    work.edit("a.py", "line 3", "line three")
    (work.folder / "b.py").unlink()
    done = work.end("Do it\n\nTask: T-001")
    assert done.paths == ("a.py", "b.py", "new/c.py") and not done.left
    assert work.git("log", "-1", "--format=%H %an").split()[0] == done.sha
    assert work.git("log", "-1", "--format=%B").strip() == "Do it\n\nTask: T-001"
    assert work.status() == []
    assert "100755" in work.git("ls-tree", "HEAD", "new/c.py")
    assert commits.find(str(work.folder), work.environment, "Task: T-001") == done.sha
    assert commits.find(str(work.folder), work.environment, "Task: T-00") == ""


def test_what_the_person_has_not_committed_stays_theirs(work: Work) -> None:
    """Unstaged, staged and untracked, in files of their own."""
    work.write("staged.py", "staged\n")
    work.git("add", "staged.py")
    work.edit("b.py", "b", "mine")
    work.write("notes.txt", "mine\n")
    before = work.status()
    work.begin()
    assert sorted(work.began.dirty) == ["b.py", "notes.txt", "staged.py"]
    work.edit("a.py", "line 3", "line three")
    assert work.end().paths == ("a.py",)
    assert work.status() == before
    assert work.git("show", "--name-only", "--format=").split() == ["a.py"]


def test_a_file_of_theirs_is_committed_with_the_works_lines_alone(work: Work) -> None:
    work.edit("a.py", "line 2", "mine")
    work.begin()
    work.edit("a.py", "line 18", "work")
    assert work.end().paths == ("a.py",)
    assert work.at("a.py") == LINES.replace("line 18\n", "work\n")
    assert work.status() == [" M a.py"]
    assert "+mine" in work.git("diff") and "work" not in work.git("diff").replace(" work", "")


def test_what_is_staged_in_that_file_stays_staged(work: Work) -> None:
    work.edit("a.py", "line 2", "mine")
    work.git("add", "a.py")
    work.begin()
    work.edit("a.py", "line 18", "work")
    assert work.end().paths == ("a.py",)
    assert work.status() == ["M  a.py"]
    staged = work.git("diff", "--cached")
    assert "+mine" in staged and "-work" not in staged


@pytest.mark.parametrize("new", [False, True], ids=["same line", "new file"])
def test_what_stands_among_their_changes_is_left_and_named(work: Work, new: bool) -> None:
    path = "notes.txt" if new else "a.py"
    work.write(path, "mine\n" + LINES.removeprefix("line 1\n"))
    work.begin()
    work.edit(path, "mine", "mine and work")
    work.write("c.py")
    done = work.end()
    assert done.paths == ("c.py",) and list(done.left) == [path]
    assert work.status() == ["?? notes.txt" if new else " M a.py"]


def test_nothing_changed_or_a_merge_under_way_commits_nothing(work: Work) -> None:
    head = work.git("rev-parse", "HEAD")
    work.begin()
    assert work.end() == commits.Committed("")
    (work.folder / ".git" / "MERGE_HEAD").write_text(head)
    work.write("c.py")
    done = work.end()
    assert done.sha == "" and done.left == {"c.py": "a merge is under way"}
    assert work.git("rev-parse", "HEAD") == head


def test_a_branch_that_the_person_moves_meanwhile_is_kept(work: Work) -> None:
    work.begin()
    work.write("c.py")
    work.write("theirs.py")
    theirs = work.commit("theirs.py")
    done = work.end()
    assert "c.py" in done.paths
    assert work.git("rev-parse", "HEAD~1").strip() == theirs
    assert work.status() == []


def test_a_death_before_the_branch_moves_leaves_the_work_staged(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = work.git("rev-parse", "HEAD")
    work.begin()
    work.edit("a.py", "line 3", "line three")

    def dies(*given: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commits._Work, "_moved", dies)
        with pytest.raises(KeyboardInterrupt):
            work.end()
    assert work.status() == ["M  a.py"] and work.git("rev-parse", "HEAD") == head
    assert work.end().paths == ("a.py",)
    assert work.status() == []


def test_no_hook_runs_and_nothing_is_signed(work: Work) -> None:
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        work.write(f".git/hooks/{name}", "#!/bin/sh\ntouch ran\nexit 1\n", 0o755)
    work.git("config", "commit.gpgsign", "true")
    work.begin()
    work.write("c.py")
    assert work.end().paths == ("c.py",)
    assert not (work.folder / "ran").exists()


def test_a_repository_without_commits_and_without_a_name(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "project")
    repo.environment = {"PATH": repo.environment["PATH"], "HOME": str(tmp_path)}
    repo.write("mine.txt")
    folder = str(repo.folder)
    began = commits.before(folder, repo.environment)
    repo.write("c.py")
    done = commits.commit(folder, repo.environment, began, "Do it")
    assert done.paths == ("c.py",)
    shown = subprocess.run(
        ["git", "log", "--format=%an %cn", "--name-only"],
        cwd=folder, env=repo.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.split() == ["loopkit", "loopkit", "c.py"]


def test_line_ends_and_filters_are_the_repositorys(work: Work) -> None:
    work.write(".gitattributes", "*.txt text eol=crlf\n*.big filter=upper\n")
    work.git("config", "filter.upper.clean", "tr a-z A-Z")
    work.commit()
    work.begin()
    work.write("c.txt", b"one\r\ntwo\r\n")
    work.write("d.big", "large\n")
    assert work.end().paths == ("c.txt", "d.big")
    assert (work.at("c.txt"), work.at("d.big")) == ("one\ntwo\n", "LARGE\n")
    assert work.status() == []


def test_a_part_of_a_repository_commits_its_own(work: Work) -> None:
    part = work.folder / "part"
    work.write("part/x.py")
    work.commit()
    began = commits.before(str(part), work.environment)
    work.write("part/y.py")
    work.write("outside.py")
    done = commits.commit(str(part), work.environment, began, "Do it")
    assert done.paths == ("y.py",)
    assert work.status() == ["?? outside.py"]
