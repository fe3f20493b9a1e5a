"""What no checkpoint holds, listed: ignored files, and all files where there is no git."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal.parts import Changed
from loopkit.engine import checkpoints, listing
from tests.engine.test_checkpoints import Repo, repo

__all__ = ["repo"]


def ignored(repo: Repo) -> dict:
    return listing.ignored(str(repo.folder), repo.environment)


def test_ignored_files_that_came_went_or_changed(repo: Repo) -> None:
    repo.write(".gitignore", "*.log\nbuild/\n__pycache__/\n.loop/\n")
    for name in ("own.log", "gone.log", "build/out.o", "build/deep/x", "src/a.log"):
        repo.write(name)
    for name in ("__pycache__/a.pyc", "src/__pycache__/a.pyc", ".loop/x"):
        repo.write(name)
    before = ignored(repo)
    assert listing.compared(before, ignored(repo)) == []
    repo.write("src/__pycache__/b.pyc")
    repo.write("own.log", "longer\n")
    (repo.folder / "gone.log").unlink()
    repo.write("build/stub")
    (repo.folder / "build/out.o").chmod(0o755)
    (repo.folder / "build/deep/x").unlink()
    repo.write("src/plain.txt")
    names = ["build/deep/x", "build/out.o", "build/stub", "gone.log", "own.log"]
    assert sorted(listing.compared(before, ignored(repo))) == names


def test_a_folder_is_listed_whole_or_not_at_all(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".gitignore", "build/\n*.log\n")
    for number in range(4):
        repo.write(f"build/many/{number}")
    repo.write("a.log")
    monkeypatch.setattr(listing, "MOST_IGNORED", 5)
    before = ignored(repo)
    assert set(before) == {"", "build/"}
    repo.write("build/many/new")
    repo.write("b.log")
    (repo.folder / "build/few").mkdir()
    assert sorted(listing.compared(before, ignored(repo))) == ["b.log", "build/few/"]


def test_after_some_folders_that_are_too_large_no_more_are_looked_into(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".gitignore", "a/\nb/\nc/\n")
    for name in ("a/1", "a/2", "b/1", "b/2", "c/1"):
        repo.write(name)
    monkeypatch.setattr(listing, "MOST_IGNORED", 4)
    assert set(ignored(repo)) == {"", "c/"}
    monkeypatch.setattr(listing, "MOST_MISSED", 2)
    assert set(ignored(repo)) == {""}


def test_names_that_were_ignored_before_change_no_listing(repo: Repo) -> None:
    repo.write(".gitignore", "build/\n*.log\n")
    for name in ("build/x", "own.log", "plain.txt"):
        repo.write(name)
    start = repo.take().tree
    given = str(repo.folder), repo.environment, [start], (), None
    for known in ((), ("build/", "own.log"), ("own.log", "gone.log")):
        assert checkpoints.measured(*given, known) == ({start: []}, ignored(repo))


def test_contents_and_links_are_left_alone(repo: Repo, tmp_path: Path) -> None:
    repo.write(".gitignore", "links/\nsecret\n")
    repo.write("secret", "x")
    (repo.folder / "secret").chmod(0)
    (repo.folder / "links").mkdir()
    os.symlink(tmp_path, repo.folder / "links/out")
    found = ignored(repo)
    assert "out" in found["links/"] and set(found) == {"", "links/"}


def test_without_git_by_digest(tmp_path: Path) -> None:
    for name, text in (("a.txt", "1\n2\n"), ("b.txt", "1"), ("gone.txt", "1\n"), ("m.sh", "")):
        (tmp_path / name).write_text(text)
    os.symlink("/", tmp_path / "root")
    (tmp_path / "m.sh").chmod(0o644)
    before = listing.files(str(tmp_path), {})
    assert sorted(before) == ["a.txt", "b.txt", "gone.txt", "m.sh", "root"]
    (tmp_path / "a.txt").write_text("1\n3\n")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "m.sh").chmod(0o755)
    (tmp_path / "new").mkdir()
    (tmp_path / "new/x.bin").write_bytes(b"\0")
    (tmp_path / "root").unlink()
    os.symlink("/etc", tmp_path / "root")
    now = listing.files(str(tmp_path), before)
    assert now["b.txt"] is before["b.txt"], "it was not read again"
    assert [row.row for row in listing.measured(before, now)] == [
        Changed("a.txt", "M", None, None),
        Changed("gone.txt", "D", 0, 1),
        Changed("m.sh", "M", None, None),
        Changed("new/x.bin", "A", None, 0),
        Changed("root", "M", None, None),
    ]


def test_a_listing_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert listing.read(folder, listing.START) == {}
    listing.write(folder, listing.START, {"files": {}})
    assert listing.read(folder, listing.START) == {"files": {}}
    (tmp_path / listing.MEASURED / "start.json").write_text("[]")
    assert listing.read(folder, listing.START) == {}


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        (lambda project: None, False),
        (lambda project: (project / "a" / "b.txt").write_text("x"), True),
        (lambda project: (project / "new.txt").write_text("x"), True),
        (lambda project: (project / "a" / "b.txt").unlink(), True),
        (lambda project: (project / "c.txt").unlink(), True),
        (lambda project: (project / ".loop" / "notes.md").write_text("x"), False),
        (lambda project: (project / "a" / "link").symlink_to("nowhere"), True),
    ],
)
def test_whether_a_file_was_changed_since(
    tmp_path: Path, action: Callable[[Path], object], changed: bool
) -> None:
    for name in ("a/b.txt", ".loop/notes.md", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    since = time.time() + 3600
    for path in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(path, (since - 7200, since - 7200))
    since -= 5400
    action(tmp_path)
    assert listing.changed_since(str(tmp_path), since) == changed
