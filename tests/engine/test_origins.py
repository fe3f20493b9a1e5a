"""What git tracks may be a stranger's: asked in every repository, under every name and by every way
to the files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from loopkit.engine import git, origins
from loopkit.store.origin import Origin

CONFIG, LINES, DECISION = "config.toml", "learnings.jsonl", "001-theirs/learnings/001-x.md"
ALL = (CONFIG, LINES, DECISION)


def run(folder: Path, *words: object) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def fill(root: Path) -> Path:
    for name in ALL:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    return root


def commit(folder: Path, *paths: str) -> None:
    run(folder, "add", "-f", "--", *paths)
    run(folder, "commit", "-qm", "x")


def tracked(root: Path, **environment: str) -> list[str]:
    found = origins.of(str(root), {**os.environ, **environment}, pytest.fail)
    return [name for name in ALL if found.tracked(name)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "proj *[x]")


def test_what_is_committed_or_only_added(project: Path) -> None:
    root = fill(project / ".loop")
    assert tracked(root) == []
    run(project, "add", "-f", ".loop/" + CONFIG)
    assert tracked(root) == [CONFIG], "in the index"
    commit(project, ".loop/" + DECISION)
    assert tracked(root) == [CONFIG, DECISION]
    (root / DECISION).write_text("changed since")
    assert tracked(root) == [CONFIG, DECISION]


def test_without_a_repository_all_is_ones_own(tmp_path: Path) -> None:
    assert tracked(fill(tmp_path / "plain" / ".loop")) == []
    assert tracked(tmp_path / "nowhere") == []


@pytest.mark.parametrize("fault", ["no repository for git", "no git", "no HEAD"])
def test_where_there_is_one_and_git_cannot_say_nothing_is(
    tmp_path: Path, project: Path, fault: str
) -> None:
    root = fill(project / ".loop")
    commit(project, ".loop")
    more = {}
    if fault == "no git":
        more["PATH"] = str(tmp_path)
    elif fault == "no HEAD":
        (project / ".git" / "HEAD").write_text("garbage")
    else:
        shutil.rmtree(project / ".git")
        (project / ".git").mkdir()
    found, notes = said(root, **more)
    assert all(found.tracked(name) for name in ALL) and len(notes) == 1


@pytest.mark.parametrize("how", ["no index", "taken out of the index"])
def test_what_the_last_commit_holds_counts(project: Path, how: str) -> None:
    root = fill(project / ".loop")
    commit(project, ".loop")
    if how == "no index":
        (project / ".git" / "index").unlink()
    else:
        run(project, "rm", "-r", "-q", "--cached", ".loop")
    assert tracked(root) == list(ALL)


def test_in_a_folder_below_and_whatever_the_names_are(project: Path) -> None:
    root = fill(project / "säub 'q' \n\tx" / ".loop")
    commit(project, ".")
    assert tracked(root) == list(ALL)


def test_whatever_is_ignored_hidden_or_set_for_git(project: Path) -> None:
    root = fill(project / ".loop")
    commit(project, ".")
    (project / ".gitignore").write_text(".loop\n")
    for flag in ("--assume-unchanged", "--skip-worktree"):
        run(project, "update-index", flag, ".loop/" + CONFIG)
    run(project, "config", "core.quotePath", "true")
    odd = {
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_DIR": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_WORK_TREE": "/",
    }
    assert tracked(root, **odd) == list(ALL)


def test_names_that_differ_by_case_alone(project: Path) -> None:
    """As on a system that knows no case: what git tracks as .LOOP/Config.toml is what is read as
    .loop/config.toml."""
    fill(project / ".LOOP")
    (project / ".LOOP" / CONFIG).rename(project / ".LOOP" / "Config.TOML")
    (project / ".LOOP" / LINES).rename(project / ".LOOP" / "learning\u017f.jsonl")
    commit(project, ".LOOP")
    root = fill(project / ".loop")
    assert tracked(root) == [CONFIG, DECISION]
    assert origins._folded(".loop/learning\u017f.jsonl") == ".loop/learnings.jsonl"


def test_a_linked_folder_that_is_tracked(project: Path, tmp_path: Path) -> None:
    fill(project / "data")
    (project / ".loop").symlink_to("data")
    commit(project, "data")
    assert tracked(project / ".loop") == list(ALL), "by where it leads"
    fill(tmp_path / "elsewhere")
    (project / ".loop").unlink()
    (project / ".loop").symlink_to(tmp_path / "elsewhere")
    assert tracked(project / ".loop") == [], "a link of the person's own"
    commit(project, ".loop")
    assert tracked(project / ".loop") == list(ALL), "by the link"


def test_a_link_above_it(project: Path) -> None:
    fill(project / "real" / ".loop")
    (project / "sub").symlink_to("real")
    assert tracked(project / "sub" / ".loop") == []
    commit(project, "sub")
    assert tracked(project / "sub" / ".loop") == list(ALL)


def test_settings_that_are_a_link(project: Path, tmp_path: Path) -> None:
    root = fill(project / ".loop")
    (root / CONFIG).unlink()
    (tmp_path / "mine.toml").write_text("")
    (project / "theirs.toml").write_text("")
    commit(project, "theirs.toml")
    (root / CONFIG).symlink_to(tmp_path / "mine.toml")
    assert tracked(root) == []
    (root / CONFIG).unlink()
    (root / CONFIG).symlink_to("../theirs.toml")
    assert tracked(root) == [CONFIG], "by where it leads"
    (root / CONFIG).unlink()
    (root / CONFIG).symlink_to(tmp_path / "mine.toml")
    commit(project, ".loop/" + CONFIG)
    assert tracked(root) == [CONFIG], "by the link"


def test_a_submodule(project: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    fill(other)
    commit(other, ".")
    run(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, ".loop")
    assert tracked(project / ".loop") == list(ALL)
    (project / ".loop" / "002-mine" / "learnings").mkdir(parents=True)
    (project / ".loop" / "002-mine" / "learnings" / "001-y.md").write_text("x")
    found = origins.of(str(project / ".loop"), dict(os.environ), pytest.fail)
    assert not found.tracked("002-mine/learnings/001-y.md")


def test_a_repository_planted_inside_hides_nothing_of_the_one_around_it(project: Path) -> None:
    root = fill(project / ".loop")
    commit(project, ".")
    repository(root)
    assert tracked(root) == list(ALL)
    repository(root / "001-theirs" / "learnings")
    assert tracked(root) == list(ALL)


def test_a_linked_worktree_and_one_of_a_bare_repository(project: Path, tmp_path: Path) -> None:
    fill(project / ".loop")
    commit(project, ".loop/" + CONFIG)
    run(project, "worktree", "add", "-q", tmp_path / "tree")
    assert tracked(fill(tmp_path / "tree" / ".loop")) == [CONFIG]
    run(tmp_path, "clone", "-q", "--bare", project, tmp_path / "bare.git")
    run(tmp_path / "bare.git", "worktree", "add", "-q", tmp_path / "second")
    assert tracked(fill(tmp_path / "second" / ".loop")) == [CONFIG]


def test_a_folder_elsewhere(project: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    root = fill(other / "state")
    assert tracked(root) == []
    commit(other, "state/" + LINES)
    assert tracked(root) == [LINES]


def said(root: Path, **environment: str) -> tuple[Origin, list[str]]:
    notes: list[str] = []
    return origins.of(str(root), {**os.environ, **environment}, notes.append), notes


def test_where_git_cannot_say_all_of_it_is_a_strangers(project: Path) -> None:
    root = fill(project / ".loop")
    (project / ".git" / "index").write_bytes(b"no index")
    found, notes = said(root)
    assert all(found.tracked(name) for name in ALL) and len(notes) == 1 and "ls-files" in notes[0]
    (root / ".git").write_text("gitdir: ../nowhere\n")
    found, notes = said(root)
    assert all(found.tracked(name) for name in ALL) and len(notes) == 1


def test_where_git_does_not_end(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = fill(project / ".loop")

    def late(*_: object, **__: object) -> bytes:
        raise git.Late("git ls-files did not end within 10 s and was stopped")

    monkeypatch.setattr(git, "git", late)
    found, notes = said(root)
    assert found.tracked(CONFIG) and "did not end" in notes[0]


def test_git_is_not_asked_where_there_is_nothing_to_ask(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".loop").mkdir()
    monkeypatch.setattr(git, "git", pytest.fail)
    assert tracked(project / ".loop") == []
