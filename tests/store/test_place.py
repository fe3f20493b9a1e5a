"""Where things are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.store import place


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "proj & co"
    (folder / "deep" / "er").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    return folder


def test_found_from_any_sub_directory(repository: Path) -> None:
    root = repository / ".loop"
    assert place.find(str(repository), {}) is None
    root.mkdir()
    for folder in (repository, repository / "deep", repository / "deep" / "er"):
        assert place.find(str(folder), {}) == str(root)


def test_found_from_a_linked_worktree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    (repository / ".loop").mkdir()
    assert place.find(str(tmp_path / "w"), {}) == str(repository / ".loop")
    assert place.main_tree(str(tmp_path / "w")) == str(repository)
    assert place.work_tree(str(tmp_path / "w")) == str(tmp_path / "w")


def test_a_worktree_s_checked_out_shapes_hide_no_loop(repository: Path, tmp_path: Path) -> None:
    kept = repository / ".loop" / "001-x" / "SHAPE.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("# Shape: x\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "shape")
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    assert (tmp_path / "w" / ".loop").is_dir()
    assert place.find(str(tmp_path / "w"), {}) == str(tmp_path / "w" / ".loop")
    (kept.parent / "ledger.jsonl").write_text("")
    assert place.find(str(tmp_path / "w"), {}) == str(repository / ".loop")
    (tmp_path / "w" / ".loop" / "workflow-state.json").write_text("{}")
    assert place.find(str(tmp_path / "w"), {}) == str(tmp_path / "w" / ".loop")


def test_a_new_one_stands_at_the_main_trees_root(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    assert place.future(str(tmp_path / "w"), {}) == str(repository / ".loop")
    assert place.future(str(repository / "deep"), {}) == str(repository / ".loop")
    assert place.future(str(tmp_path), {}) == str(tmp_path / ".loop")


def test_the_variable_comes_first(repository: Path, tmp_path: Path) -> None:
    (repository / ".loop").mkdir()
    given = {"LOOPKIT_DIR": str(tmp_path / "other")}
    assert place.find(str(repository), given) is None
    (tmp_path / "other").mkdir()
    assert place.find(str(repository), given) == place.future(str(repository), given) == str(tmp_path / "other")


def test_a_loop_of_the_home_folder_does_not_serve_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / ".loop").mkdir()
    (tmp_path / "project").mkdir()
    given = {"HOME": str(tmp_path)}
    assert place.find(str(tmp_path / "project"), given) is None
    assert place.find(str(tmp_path), given) == str(tmp_path / ".loop")


def test_a_file_of_that_name_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / ".loop").write_text("")
    assert place.find(str(tmp_path), {}) is None


def test_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.data_dir({"LOOPKIT_DATA": "/a", "CLAUDE_PLUGIN_DATA": "/b"}) == "/a"
    assert place.data_dir({"CLAUDE_PLUGIN_DATA": "/b"}) == "/b"
    assert place.data_dir({"HOME": "/h"}) == "/h/.claude/plugins/data/loop-inline"
    assert place.data_dir({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == "/c/plugins/data/loop-inline"
    monkeypatch.setattr(place, "plugin_root", lambda: "/c/plugins/cache/market/loop/1.0.0")
    assert place.data_dir({"CLAUDE_CONFIG_DIR": "/c"}) == "/c/plugins/data/loop-market"


@pytest.mark.parametrize(
    ("text", "pid"), [("12", 12), ("", None), ("x", None), ("-1", None), ("²", None), ("1 2", None)]
)
def test_client_pid(text: str, pid: int | None) -> None:
    assert place.client_pid({"CLAUDE_PID": text}) == pid


def test_session_id() -> None:
    assert place.session_id({}) == ""
    assert place.session_id({"CLAUDE_CODE_SESSION_ID": "s"}) == "s"


def test_who_is_alive() -> None:
    assert place.alive(os.getpid()) and not place.alive(None) and not place.alive(0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert place.alive(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not place.alive(child.pid), "a zombie is gone"
    assert not place.alive(child.pid)
