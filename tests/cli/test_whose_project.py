"""Whose files a loop works on: those of the project the session was opened in, and no others."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from loopkit.store import typed
from tests.cli.kit import S1, S2, SHAPE, Project, task


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
    done = subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def kept(folder: Path) -> set[str]:
    """Every path in every checkpoint of a repository."""
    refs = git(folder, "for-each-ref", "--format=%(refname)", "refs/loopkit").split()
    return {
        path
        for ref in refs
        for path in git(folder, "ls-tree", "-r", "--name-only", ref).splitlines()
    }


@pytest.fixture
def mono(project: Project) -> Project:
    """A part of a repository, seen from a session that was opened there."""
    for name in ("web", "api"):
        folder = project.folder / "packages" / name
        (folder / "src").mkdir(parents=True)
        (folder / "package.json").write_text("{}\n")
        (folder / "src" / "main.js").write_text(f"{name}\n")
    git(project.folder, "add", "-A")
    git(project.folder, "commit", "-qm", "packages")
    part = project.folder / "packages" / "web"
    return Project(part, {**project.environment, "LOOPKIT_OPENED": str(part)})


def top(mono: Project) -> Path:
    return mono.folder.parents[1]


# -- the home folder


@pytest.fixture
def dotfiles(project: Project, home: Path) -> Project:
    """HOME is a repository; a project below it has none."""
    git(home, "init", "-q")
    for name in (".ssh/id", "Documents/letter.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("private\n")
    git(home, "commit", "-qm", "x", "--allow-empty")
    folder = home / "code" / "foo"
    folder.mkdir(parents=True)
    return Project(folder, project.environment)


def test_below_a_home_folder_under_git_nothing_beyond_the_project_is_kept_or_taken_back(
    dotfiles: Project, home: Path
) -> None:
    dotfiles.planned(task())
    assert (dotfiles.folder / ".loop").is_dir() and not (home / ".loop").exists()
    opened = dotfiles.ok("wave", "next").out
    assert "no checkpoints, and no rollback: the only repository above" in opened
    assert "git init here makes checkpoints possible" in opened
    (home / "Documents" / "second.txt").write_text("dear\n")
    dotfiles.refused(1, "checkpoint", says="git init here")
    dotfiles.refused(1, "rollback", "1", says="NO_CHECKPOINTS")
    assert kept(home) == set() and (home / "Documents" / "second.txt").exists()
    dotfiles.write("limiter.txt")
    assert dotfiles.verify("T-001").exit == 0
    assert "no checkpoints" not in dotfiles.ok("wave", "close").out  # said once
    assert dotfiles.of("task_verified")[0]["head"] is None


def test_worktrees_need_a_repository_of_the_project_s_own(dotfiles: Project, home: Path) -> None:
    dotfiles.planned(task())
    dotfiles.refused(1, "wave", "next", "--worktrees", says="git init here")
    assert git(home, "worktree", "list").count("\n") == 1


def test_git_init_is_the_way_out(dotfiles: Project) -> None:
    dotfiles.planned(task())
    git(dotfiles.folder, "init", "-q")
    assert "checkpoint 1 (start)" in dotfiles.ok("wave", "next").out


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_no_loop_in_the_home_folder_or_above_it(project: Project, home: Path, place: str) -> None:
    folder = Path(os.path.normpath(home / place))
    before = sorted(os.listdir(folder))
    for more in ({}, {"LOOPKIT_OPENED": str(folder)}):
        answer = project.lk("start", "--task-file", "-", given="tidy up", cwd=folder, **more)
        assert answer.exit == 1 and "in the project's own folder" in answer.err
    assert sorted(os.listdir(folder)) == before


def test_a_loop_that_an_earlier_version_began_there_goes_on_without_reaching_further(
    dotfiles: Project, home: Path
) -> None:
    dotfiles.planned(task(verify="test -f code/foo/limiter.txt"))
    (dotfiles.folder / ".loop").rename(home / ".loop")  # where the version before put it
    old = Project(dotfiles.folder, dotfiles.environment)
    old.root = home / ".loop"
    assert old.status["status"] == "running"
    assert "no checkpoints" in old.ok("wave", "next").out
    old.write("limiter.txt")
    assert old.verify("T-001").exit == 0
    assert kept(home) == set()
    # another project below the home folder has nothing to do with it
    other = home / "code" / "bar"
    other.mkdir()
    assert (
        Project(other, dotfiles.environment)
        .lk("start", "--task-file", "-", given="x", session=S2)
        .exit
        == 0
    )
    assert (other / ".loop").is_dir()
    assert "is not finished" in old.lk("start", "--task-file", "-", given="x").err


# -- a part of a repository


def test_checks_run_where_the_session_was_opened(mono: Project) -> None:
    mono.planned(task(verify="test -f package.json"))
    assert mono.root.is_dir() and not (top(mono) / ".loop").exists()
    mono.ok("wave", "next")
    assert mono.verify("T-001", cwd=top(mono)).exit == 0  # wherever the shell has wandered to


def test_where_it_was_opened_is_known_in_the_session_that_installed_the_plugin(
    mono: Project,
) -> None:
    typed.save(mono.environment["LOOPKIT_DATA"], S1, str(mono.folder), typed.OPENED)
    mono.ok("start", "--task-file", "-", given="x", cwd=top(mono), LOOPKIT_OPENED=None)
    assert mono.status["loop"] == mono.name and not (top(mono) / ".loop").exists()


def test_a_rollback_leaves_the_other_packages_alone(mono: Project) -> None:
    mono.planned(task())
    mono.ok("checkpoint")
    other = top(mono) / "packages" / "api" / "src" / "main.js"
    other.write_text("a colleague at work\n")
    mono.write("src/main.js", "broken\n")
    mono.write("src/more.js", "more\n")
    told = mono.ok("rollback", "1").out
    assert "gone: src/more.js" in told and "changed: src/main.js" in told
    assert other.read_text() == "a colleague at work\n"
    assert (mono.folder / "src" / "main.js").read_text() == "web\n"
    assert all(path.startswith("packages/web/") for path in kept(top(mono))), (
        "where git's own commands find them"
    )
    mono.ok("rollback", "--undo")
    assert (mono.folder / "src" / "more.js").read_text() == "more\n"
    assert other.read_text() == "a colleague at work\n"


def test_what_was_committed_since_is_told_in_the_part_s_own_names(mono: Project) -> None:
    mono.planned(task())
    mono.ok("checkpoint")
    mono.write("src/main.js", "committed\n")
    (top(mono) / "packages" / "api" / "x.js").write_text("x\n")
    git(top(mono), "add", "-A")
    git(top(mono), "commit", "-qm", "both")
    answer = mono.lk("rollback", "1")
    assert (
        answer.exit == 1
        and "CONFLICT" in answer.err
        and "src/main.js" in answer.err
        and "api" not in answer.err
    )


def test_worktrees_bring_back_the_part_and_name_the_rest(mono: Project) -> None:
    mono.write("src/new.js", "not committed\n")
    mono.planned(task(verify="grep -q done src/main.js"))
    mono.ok("wave", "next", "--worktrees")
    tree = mono.root / mono.name / "worktrees" / "T-001"
    inner = tree / "packages" / "web"
    assert (inner / "src" / "new.js").read_text() == "not committed\n"
    assert (tree / "packages" / "api" / "src" / "main.js").read_text() == "api\n"
    (inner / "src" / "main.js").write_text("done\n")
    (tree / "packages" / "api" / "src" / "main.js").write_text("reached too far\n")
    assert mono.verify("T-001", cwd=inner).exit == 0
    merged = mono.ok("wave", "merge").out
    assert "T-001 merged: 1 file (src/main.js)" in merged
    assert "packages/api/src/main.js (outside the project)" in merged
    assert (mono.folder / "src" / "main.js").read_text() == "done\n"
    assert (top(mono) / "packages" / "api" / "src" / "main.js").read_text() == "api\n"
    assert mono.verify("T-001").exit == 0
    mono.ok("wave", "close")
    kept_back = mono.lk("worktree", "remove", "--clean")
    assert kept_back.exit == 1 and "packages/api/src/main.js" in kept_back.out and tree.is_dir()


def test_in_a_linked_worktree_the_same_part_is_meant(mono: Project, tmp_path: Path) -> None:
    mono.planned(task(verify="test -f package.json"))
    git(top(mono), "worktree", "add", "-q", str(tmp_path / "w"))
    inside = tmp_path / "w" / "packages" / "web"
    assert mono.lk("status", "--json", cwd=inside, LOOPKIT_OPENED=None).json["loop"] == mono.name
    mono.ok("wave", "next")
    (inside / "package.json").unlink()
    assert mono.verify("T-001", cwd=inside, LOOPKIT_OPENED=str(inside)).exit == 1


def test_a_loop_of_the_whole_goes_on_in_a_part(mono: Project) -> None:
    whole = Project(top(mono), {**mono.environment, "LOOPKIT_OPENED": str(top(mono))})
    whole.planned(task())
    assert mono.status["loop"] == whole.name
    for session in ("session-one", S2):
        refusal = mono.lk("start", "--task-file", "-", given="another", session=session)
        assert refusal.exit == 1 and "is not finished" in refusal.err
    assert not mono.root.exists() or not (mono.root / "workflow-state.json").exists()
    whole.ok("cancel")
    mono.start("another")
    assert mono.status["loop"] == mono.name and (mono.root / mono.name).is_dir()
    assert whole.status["status"] == "aborted"


def test_a_sub_folder_without_a_manifest_belongs_to_the_whole_but_checks_run_there(
    project: Project,
) -> None:
    source = project.folder / "src"
    source.mkdir()
    inner = Project(project.folder, {**project.environment, "LOOPKIT_OPENED": str(source)})
    told = inner.start("add rate limiting to the API", cwd=source).out
    assert (
        "checks run in src, where this session was opened" in told and str(project.folder) in told
    )
    assert inner.of("loop_started")[0]["folder"] == "src"
    inner.score()
    inner.ok("shape", "--accept", "-", given=SHAPE)
    inner.ok(
        "task",
        "add",
        "--file",
        "-",
        given=[task(verify="test -f here.txt", files=["src/here.txt"])],
    )
    (source / "here.txt").write_text("x\n")
    inner.ok("wave", "next")
    done = inner.verify("T-001")
    assert done.exit == 0 and "(run in src)" in done.out
    assert inner.of("task_verified")[0]["files"]["src/here.txt"]
    assert "checkpoint" in inner.ok("checkpoint").out and "src/here.txt" in kept(project.folder)


def test_a_folder_of_a_loop_that_leads_out_of_the_project_is_not_followed(project: Project) -> None:
    project.planned(task(verify="test -f limiter.txt"))
    lines = project.ledger.read_text().splitlines()
    first = json.loads(lines[0])
    first["data"]["folder"] = "../.."
    project.ledger.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    (project.root / "workflow-state.json").unlink()
    project.write("limiter.txt")
    project.ok("wave", "next")
    assert project.verify("T-001").exit == 0


# -- where the state is kept elsewhere, and where we stand


def test_with_its_state_elsewhere_a_loop_keeps_to_the_project_it_was_begun_in(
    project: Project, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(project.folder), "other")
    (tmp_path / "state").mkdir()
    there = Project(project.folder, {**project.environment, "LOOPKIT_DIR": str(tmp_path / "state")})
    there.root = tmp_path / "state"
    there.planned(task())
    there.write("x.txt", "first\n")
    there.ok("checkpoint")
    there.write("x.txt", "second\n")
    (other / "x.txt").write_text("precious\n")
    there.ok("rollback", "1", cwd=other)
    assert (other / "x.txt").read_text() == "precious\n" and (
        there.folder / "x.txt"
    ).read_text() == "first\n"
    there.write("limiter.txt")
    there.ok("wave", "next", cwd=other)
    assert there.verify("T-001", cwd=other).exit == 0
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    assert "hunter2" not in there.refused(
        2, "learn", "--file", "secret.txt", cwd=tmp_path, says="outside the project"
    )


def test_state_in_the_home_folder_makes_it_no_project(project: Project, home: Path) -> None:
    folder = home / "proj"
    folder.mkdir()
    git(folder, "init", "-q")
    (home / ".loop").mkdir()
    (home / "key").write_text("hunter2")
    there = Project(folder, {**project.environment, "LOOPKIT_DIR": str(home / ".loop")})
    there.root = home / ".loop"
    there.planned(task())
    assert "hunter2" not in there.refused(
        2, "report", "x", "--file", "../key", says="outside the project"
    )
    there.write("limiter.txt")
    assert "checkpoint 1 (start)" in there.ok("wave", "next").out
    assert there.verify("T-001").exit == 0


@pytest.mark.parametrize("place", ["home", "/", "elsewhere"])
def test_where_a_session_has_wandered_to_is_no_input(
    project: Project, home: Path, tmp_path: Path, place: str
) -> None:
    folder = {"home": home, "/": Path("/"), "elsewhere": tmp_path / "elsewhere"}[place]
    folder.mkdir(exist_ok=True)
    secret = tmp_path / "elsewhere.txt" if place == "/" else folder / "credentials"
    secret.write_text("{hunter2: 1, hunter2: 2}\n")
    for words in (("start", "--task-file"), ("learn", "--file"), ("recall", "--about")):
        answer = project.lk(*words, str(secret), cwd=folder, LOOPKIT_OPENED=str(project.folder))
        assert (
            answer.exit == 2
            and "outside the project" in answer.err
            and "hunter2" not in answer.out + answer.err
        )
    assert not (folder / ".loop").exists()


def test_a_check_s_folder_that_became_a_link_out_is_not_followed(
    project: Project, home: Path
) -> None:
    source = project.folder / "src"
    source.mkdir()
    there = Project(project.folder, {**project.environment, "LOOPKIT_OPENED": str(source)})
    there.planned(task(verify="test -f limiter.txt"))
    source.rmdir()
    source.symlink_to(home)
    (home / "limiter.txt").write_text("x")
    there.ok("wave", "next")
    assert there.verify("T-001").exit == 1


def test_a_part_that_is_renamed_keeps_its_checkpoints(mono: Project) -> None:
    mono.planned(task())
    mono.ok("checkpoint")
    moved = mono.folder.with_name("site")
    mono.folder.rename(moved)
    there = Project(moved, {**mono.environment, "LOOPKIT_OPENED": str(moved)})
    there.write("src/main.js", "broken\n")
    there.ok("rollback", "1")
    assert (moved / "src" / "main.js").read_text() == "web\n"


def test_where_the_repository_was_made_anew_checkpoints_go_on(project: Project) -> None:
    project.planned(task())
    project.ok("checkpoint")
    subprocess.run(["rm", "-rf", str(project.folder / ".git")], check=True)
    git(project.folder, "init", "-q")
    assert "checkpoint 2" in project.ok("checkpoint").out


def test_permission_rules_are_in_no_checkpoint(project: Project) -> None:
    rules = project.folder / ".claude" / "settings.local.json"
    rules.parent.mkdir()
    rules.write_text("{}")
    project.write(".claude/notes.md", "kept\n")
    project.planned(task())
    project.ok("checkpoint")
    rules.write_text('{"permissions": {}}')
    (project.folder / ".claude" / "notes.md").unlink()
    assert "settings" not in project.ok("rollback", "1").out
    assert (
        rules.read_text() == '{"permissions": {}}'
        and (project.folder / ".claude" / "notes.md").exists()
    )
    rules.unlink()
    project.ok("rollback", "--undo")
    assert not rules.exists()


def test_a_refused_start_leaves_no_folder(mono: Project) -> None:
    whole = Project(top(mono), {**mono.environment, "LOOPKIT_OPENED": str(top(mono))})
    whole.planned(task())
    assert mono.lk("start", "--task-file", "-", given="another").exit == 1
    assert not mono.root.exists()
