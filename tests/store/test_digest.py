"""Digests of what evidence vouches for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loopkit.store import digest


def of(folder: Path, path: str) -> str:
    return digest.of(str(folder), path)


def test_a_file_changes_with_its_content_only(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    first = of(tmp_path, "a")
    os.utime(tmp_path / "a", (0, 0))
    assert of(tmp_path, "a") == first != ""
    (tmp_path / "a").write_text("two")
    assert of(tmp_path, "a") != first


@pytest.mark.parametrize("path", ["no", "no/such", "bad\0name", "a/b"])
def test_what_is_absent_has_none(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("x")
    assert of(tmp_path, path) == ""


def test_a_folder_changes_with_everything_below_it(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_text("x")
    seen = {of(tmp_path, "d")}
    (tmp_path / "d" / "e" / "f").write_text("y")
    seen.add(of(tmp_path, "d"))
    (tmp_path / "d" / "e" / "f").rename(tmp_path / "d" / "e" / "g")
    seen.add(of(tmp_path, "d"))
    (tmp_path / "d" / "new").write_text("")
    seen.add(of(tmp_path, "d"))
    assert len(seen) == 4


@pytest.mark.parametrize("name", [".git", ".loop", "__pycache__", "node_modules"])
def test_what_tools_write_does_not_count(tmp_path: Path, name: str) -> None:
    (tmp_path / "d" / name).mkdir(parents=True)
    first = of(tmp_path, "d")
    (tmp_path / "d" / name / "x").write_text("x")
    assert of(tmp_path, "d") == first


def test_a_link_is_where_it_points_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "l").symlink_to("a")
    first = of(tmp_path, "l")
    (tmp_path / "a").write_text("y")
    assert of(tmp_path, "l") != first
    (tmp_path / "a").write_text("x")
    assert of(tmp_path, "l") == first
    (tmp_path / "b").write_text("x")
    (tmp_path / "l").unlink()
    (tmp_path / "l").symlink_to("b")
    assert of(tmp_path, "l") != first


def test_a_link_to_a_folder_sees_the_folder_s_files(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("1")
    (tmp_path / "l").symlink_to("d")
    first = of(tmp_path, "l")
    (tmp_path / "d" / "x").write_text("2")
    assert of(tmp_path, "l") != first


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert of(tmp_path, "pipe").startswith("special:")


def test_the_right_to_be_run_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    first = of(tmp_path, "a")
    (tmp_path / "a").chmod(0o755)
    assert of(tmp_path, "a") != first


def test_a_very_large_file_is_known_by_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "LARGEST", 3)
    (tmp_path / "a").write_text("1234")
    first = of(tmp_path, "a")
    assert first.startswith("large:4:")
    os.utime(tmp_path / "a", (1, 1))
    assert of(tmp_path, "a") != first


def test_head_with_and_without_a_commit(tmp_path: Path) -> None:
    assert digest.head(str(tmp_path), {}) is None
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert digest.head(str(tmp_path), {}) is None
    subprocess.run(["git", "-C", tmp_path, "commit", "-qm", "x", "--allow-empty"], check=True)
    found = digest.head(str(tmp_path), {})
    assert found is not None and len(found) == 40


def test_of_a_branch_that_is_packed_git_is_not_asked(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    own = str(tmp_path / ".git")
    for words in ("commit -qm x --allow-empty", "branch aside", "pack-refs --all"):
        subprocess.run(["git", "-C", tmp_path, *words.split()], check=True)
    first = digest.commit_of(own, own)
    assert first is not None and first == digest.head(str(tmp_path), {})
    subprocess.run(["git", "-C", tmp_path, "commit", "-qm", "y", "--allow-empty"], check=True)
    assert digest.commit_of(own, own) not in (first, None)
    subprocess.run(["git", "-C", tmp_path, "checkout", "-q", "--orphan", "none"], check=True)
    assert digest.commit_of(own, own) is None


def test_size_of_shape_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "SHAPE.md").write_bytes(b"x" * 10)
    (tmp_path / "a.py").write_bytes(b"x" * 5)
    (tmp_path / "src" / "node_modules").mkdir(parents=True)
    (tmp_path / "src" / "b.py").write_bytes(b"x" * 7)
    (tmp_path / "src" / "node_modules" / "c.js").write_bytes(b"x" * 100)
    os.mkfifo(tmp_path / "pipe")
    shape = str(tmp_path / "SHAPE.md")
    assert (
        digest.size(str(tmp_path), shape, ["a.py", "a.py", "src", "gone.py", "pipe", "a\0b"]) == 22
    )
    assert digest.size(str(tmp_path), str(tmp_path / "none"), []) == 0
