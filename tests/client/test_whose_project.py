"""The real client in a project below a home folder under git, in a part of a repository, with a
loop of an earlier version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.client.harness import APPROVED, Sandbox
from tests.client.scenarios import REQUEST, greeting, greetings, halfway
from tests.client.test_whole_loop import assert_complete
from tests.data import earlier


def move(here: Sandbox, folder: Path) -> None:
    """Let the project of a sandbox be another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    here.project = here.model.project = folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
    return subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
    ).stdout


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_below_a_home_folder_under_git_nothing_else_of_it_is_touched(place) -> None:
    here = place(greeting())
    private = here.home / ".ssh" / "id"
    private.parent.mkdir()
    private.write_text("key\n")
    git(here.home, "init", "-q")
    git(here.home, "add", ".ssh")
    git(here.home, "commit", "-qm", "dotfiles")
    move(here, here.home / "code" / "foo")
    halfway(here)
    (here.project / "README.md").write_text("# A project\n")
    before = files(here.home / ".git")
    run = here.run(f"/loop:start {REQUEST}", allowed=APPROVED)
    assert len(here.events("wave_closed")) == 1, here.model.story()
    assert (here.project / "hello.txt").read_text() == "hello\n"
    assert files(here.home / ".git") == before, "neither checkpoints nor objects"
    assert not (here.home / ".loop").exists() and (here.project / ".loop").is_dir()
    assert here.model.heard("git init here makes checkpoints possible") == 1
    done = here.loopkit("rollback", "1", session=run.session)
    assert done.returncode == 1 and private.read_text() == "key\n"


def test_in_a_part_of_a_repository_the_loop_keeps_to_it(place) -> None:
    here = place(greeting())
    top = here.project
    for name in ("web", "api"):
        (top / "packages" / name).mkdir(parents=True)
        (top / "packages" / name / "package.json").write_text("{}\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "packages")
    (top / "packages" / "api" / "draft.txt").write_text("a colleague's\n")
    move(here, top / "packages" / "web")
    halfway(here)
    (here.project / "README.md").write_text("# web\n")
    run = here.run(f"/loop:start {REQUEST}", allowed=APPROVED)
    assert len(here.events("wave_closed")) == 1, here.model.story()
    assert (here.project / "hello.txt").read_text() == "hello\n"
    assert not (top / ".loop").exists()
    refs = git(top, "for-each-ref", "--format=%(refname)", "refs/loopkit").split()
    kept = {
        path
        for ref in refs
        for path in git(top, "ls-tree", "-r", "--name-only", ref).split("\n")
        if path
    }
    assert "packages/web/hello.txt" in kept and all(
        path.startswith("packages/web/") for path in kept
    )
    back = here.loopkit("rollback", "1", session=run.session)
    assert back.returncode == 0, back.stderr
    assert not (here.project / "hello.txt").exists()
    assert (top / "packages" / "api" / "draft.txt").read_text() == "a colleague's\n"


def test_a_loop_of_an_earlier_version_goes_on(place, monkeypatch: pytest.MonkeyPatch) -> None:
    here = place(greetings())
    monkeypatch.setenv("LOOPKIT_STATE", str(here.home / ".local" / "state"))
    earlier.plant("executing", here.project)
    run = here.run("/loop:resume", allowed=APPROVED)
    assert_complete(here)
    assert run.result["permission_denials"] == []
    assert json.loads(here.loopkit("status", "--json").stdout)["status"] == "completed"
