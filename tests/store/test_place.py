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


def find(folder: str, environment: dict) -> str | None:
    """The nearest `.loop` of those that may serve a folder."""
    return next(iter(place.candidates(folder, environment)), None)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "proj & co"
    (folder / "deep" / "er").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    return folder


def test_found_from_any_sub_directory(repository: Path) -> None:
    root = repository / ".loop"
    assert find(str(repository), {}) is None
    root.mkdir()
    for folder in (repository, repository / "deep", repository / "deep" / "er"):
        assert find(str(folder), {}) == str(root)


def test_found_from_a_linked_worktree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    (repository / ".loop").mkdir()
    assert find(str(tmp_path / "w"), {}) == str(repository / ".loop")
    assert place.main_tree(str(tmp_path / "w"), {}) == str(repository)
    assert place.work_tree(str(tmp_path / "w"), {}) == str(tmp_path / "w")


def test_a_worktree_s_checked_out_shapes_hide_no_loop(repository: Path, tmp_path: Path) -> None:
    kept = repository / ".loop" / "001-x" / "SHAPE.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("# Shape: x\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "shape")
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    assert (tmp_path / "w" / ".loop").is_dir()
    assert find(str(tmp_path / "w"), {}) == str(tmp_path / "w" / ".loop")
    (kept.parent / "ledger.jsonl").write_text("")
    assert find(str(tmp_path / "w"), {}) == str(repository / ".loop")
    (tmp_path / "w" / ".loop" / "workflow-state.json").write_text("{}")
    assert find(str(tmp_path / "w"), {}) == str(tmp_path / "w" / ".loop")


def test_a_new_one_stands_at_the_main_trees_root(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    assert place.future(str(tmp_path / "w"), {}) == str(repository / ".loop")
    assert place.future(str(repository / "deep"), {}) == str(repository / ".loop")
    assert place.future(str(tmp_path), {}) == str(tmp_path / ".loop")


def test_the_variable_comes_first(repository: Path, tmp_path: Path) -> None:
    (repository / ".loop").mkdir()
    given = {"LOOPKIT_DIR": str(tmp_path / "other")}
    assert find(str(repository), given) is None
    (tmp_path / "other").mkdir()
    assert (
        find(str(repository), given)
        == place.future(str(repository), given)
        == str(tmp_path / "other")
    )


def test_a_loop_of_the_home_folder_does_not_serve_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / ".loop").mkdir()
    (tmp_path / "project").mkdir()
    given = {"HOME": str(tmp_path)}
    assert find(str(tmp_path / "project"), given) is None
    assert find(str(tmp_path), given) == str(tmp_path / ".loop")


@pytest.mark.parametrize(
    ("folder", "answer"),
    [("home", True), ("", True), ("home/code", False), ("homework", False), ("elsewhere", False)],
)
def test_what_is_out_of_reach(tmp_path: Path, folder: str, answer: bool) -> None:
    for name in ("home/code", "homework", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("home")
    for home in ("home", "link"):
        assert place.out_of_reach(str(tmp_path / folder), {"HOME": str(tmp_path / home)}) is answer
    assert place.out_of_reach("/", {"HOME": str(tmp_path / "home")}) is True


def test_a_repository_that_is_the_home_folder_is_no_project_s(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    project = tmp_path / "code" / "foo"
    project.mkdir(parents=True)
    for home in (tmp_path, tmp_path / "me"):
        given = {"HOME": str(home)}
        assert place.main_tree(str(project), given) is place.work_tree(str(project), given) is None
        assert place.project(str(project), given) == str(project)
        assert place.future(str(project), given) == str(project / ".loop")
    git(project, "init", "-q")
    assert place.project(str(project), {"HOME": str(tmp_path)}) == str(project)
    # what an earlier version put there is found as long as the project has no repository of its own
    (tmp_path / ".loop").mkdir()
    assert place.candidates(str(tmp_path / "code"), {"HOME": str(tmp_path)}) == [
        str(tmp_path / ".loop")
    ]
    assert place.candidates(str(project), {"HOME": str(tmp_path)}) == []


def test_a_part_of_a_repository_is_a_project(repository: Path, tmp_path: Path) -> None:
    web, deep = repository / "packages" / "web", repository / "packages" / "web" / "src" / "x"
    deep.mkdir(parents=True)
    assert place.project(str(deep), {}) == str(repository)
    (web / "package.json").write_text("{}")
    assert place.project(str(deep), {}) == place.project(str(web), {}) == str(web)
    assert place.project(str(repository / "packages"), {}) == str(repository)
    (repository / "package.json").write_text("{}")
    assert place.project(str(repository), {}) == str(repository)
    (deep / "App.csproj").write_text("")
    assert place.project(str(deep), {}) == str(deep)
    (repository / "deep" / ".loop").mkdir()
    assert place.project(str(repository / "deep" / "er"), {}) == str(repository / "deep")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "x")
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    assert place.project(str(tmp_path / "w" / "packages" / "web"), {}) == str(web)


def test_where_the_session_was_opened_counts(repository: Path, tmp_path: Path) -> None:
    web = repository / "packages" / "web"
    web.mkdir(parents=True)
    (web / "package.json").write_text("{}")
    given = {"LOOPKIT_OPENED": str(web), "CLAUDE_CODE_SESSION_ID": "s"}
    assert place.project(str(repository), given) == str(web)  # it has wandered upwards
    assert place.project(str(repository), {"LOOPKIT_OPENED": str(web)}) == str(
        repository
    )  # a person in a terminal
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    assert place.project(str(other), given) == str(other)
    plain = tmp_path / "plain" / "sub"
    plain.mkdir(parents=True)
    given["LOOPKIT_OPENED"] = str(plain.parent)
    assert place.project(str(plain), given) == str(plain.parent)
    for nonsense in ("relative", str(tmp_path / "gone"), ""):
        assert place.project(str(plain), {**given, "LOOPKIT_OPENED": nonsense}) == str(plain)


def test_all_that_may_serve_nearest_first(repository: Path, tmp_path: Path) -> None:
    web = repository / "packages" / "web"
    (web / ".loop").mkdir(parents=True)
    (repository / ".loop").mkdir()
    (tmp_path / ".loop").mkdir()
    near, whole, above = (str(folder / ".loop") for folder in (web, repository, tmp_path))
    given = {"HOME": str(tmp_path / "me")}
    assert place.candidates(str(web), {"HOME": "/nowhere"}) == [near, whole, above]
    assert place.candidates(str(web), given) == [near, whole]
    (repository / ".loop" / "workflow-state.json").write_text("{}")
    assert place.candidates(str(web), given) == [whole, near]  # one that holds loops
    (repository / ".loop" / "workflow-state.json").unlink()
    git(repository, "commit", "-qm", "y", "--allow-empty")
    git(repository, "worktree", "add", "-q", str(tmp_path / "w"))
    (tmp_path / "w" / "packages" / "web").mkdir(parents=True)
    assert place.candidates(str(tmp_path / "w" / "packages" / "web"), given) == [near, whole]


def test_a_file_of_that_name_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / ".loop").write_text("")
    assert find(str(tmp_path), {}) is None


def test_data_folder() -> None:
    assert place.data_dir({"LOOPKIT_DATA": "/a", "CLAUDE_PLUGIN_DATA": "/b"}) == "/a"
    assert (
        place.data_dir({"HOME": "/h", "CLAUDE_PLUGIN_DATA": "/b"})
        == "/h/.claude/plugins/data/loop-loopkit"
    )
    assert (
        place.data_dir({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == "/c/plugins/data/loop-loopkit"
    )


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
