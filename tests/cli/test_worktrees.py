"""Waves in git worktrees: one for each task, brought together one after the other, cleaned up
without force."""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.engine import worktrees
from loopkit.engine.git import GitFault
from loopkit.store import place
from tests.cli.kit import ROOT, S1, S2, Project, at_once, task


def git(project: Project, *words: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=cwd or project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def committed(project: Project, **files: str) -> None:
    for name, text in files.items():
        project.write(name.replace("_", "."), text)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "files")


def tree(project: Project, name: str = "T-001") -> Path:
    return project.root / project.name / "worktrees" / name


def apart(project: Project, *rows: dict) -> Project:
    """A wave in worktrees."""
    project.planned(*rows or (task("a", "test -f a.txt"), task("b", "test -f b.txt")))
    project.answer = project.ok("wave", "next", "--worktrees")  # type: ignore[attr-defined]
    return project


def done(project: Project, name: str, **files: str) -> None:
    """What a worker does: files in its worktree, its check."""
    for path, text in files.items():
        (tree(project, name) / path.replace("_", ".")).write_text(text)
    assert project.verify(name).exit == 0


def tree_of(project: Project) -> dict[str, bytes]:
    """The files at the top of the project's own tree."""
    return {one.name: one.read_bytes() for one in project.folder.iterdir() if one.is_file()}


def merged(project: Project, name: str) -> None:
    project.ok("wave", "merge", name)
    assert "completed" in project.verify(name).out


# -- opening


def test_where_state_is_kept_elsewhere_the_agent_line_names_the_whole_path(
    project: Project, tmp_path: Path
) -> None:
    committed(project, one_txt="1\n")
    project.root = tmp_path / "elsewhere"
    project.root.mkdir()
    project.environment["LOOPKIT_DIR"] = str(project.root)
    line = apart(project).answer.steps[0]  # type: ignore[attr-defined]
    assert f" in `{tree(project)}`, a worktree of its own." in line and tree(project).is_dir()


def test_each_task_has_a_worktree_of_its_own_that_the_agent_line_names(project: Project) -> None:
    committed(project, one_txt="1\n")
    head = git(project, "rev-parse", "HEAD")
    apart(project)
    answer = project.answer  # type: ignore[attr-defined]
    name = project.name
    assert answer.steps == [
        f"agent loop:coder: Do T-001 (a) in `.loop/{name}/worktrees/T-001`, a worktree of its own. "
        "Run `loopkit task show T-001` first.",
        f"agent loop:coder: Do T-002 (b) in `.loop/{name}/worktrees/T-002`, a worktree of its own. "
        "Run `loopkit task show T-002` first.",
        "loopkit wave merge",
    ]
    assert f"worktrees begin at {head[:12]}\n" in answer.out
    for one in ("T-001", "T-002"):
        assert (tree(project, one) / "one.txt").read_text() == "1\n"
        assert git(project, "rev-parse", "HEAD", cwd=tree(project, one)) == head
        assert (
            git(project, "branch", "--show-current", cwd=tree(project, one))
            == f"loopkit/{name}/{one}"
        )
    rows = project.of("worktree_made")
    assert [(row["task"], row["path"], row["base"]) for row in rows] == [
        ("T-001", "worktrees/T-001", head),
        ("T-002", "worktrees/T-002", head),
    ]
    assert project.of("wave_opened")[0]["worktrees"] is True
    assert (
        f"work in {tree(project)}, a git worktree of its own"
        in project.ok("task", "show", "T-001").out
    )


def test_a_worktree_confuses_neither_git_nor_what_looks_for_the_loop(project: Project) -> None:
    committed(project, one_txt="1\n")
    apart(project)
    assert "worktrees" not in git(project, "status", "--porcelain", "--untracked-files=all")
    inside = str(tree(project))
    assert place.candidates(inside, {})[0] == str(project.root)
    assert project.ok("status", "--json", cwd=tree(project)).json["loop"] == project.name


def test_a_working_tree_with_changes_is_where_they_begin(project: Project) -> None:
    """Else a wave would not see what the wave before did, since nobody commits in between."""
    committed(project, one_txt="1\n", two_txt="2\n")
    head = git(project, "rev-parse", "HEAD")
    project.write("one.txt", "changed\n")
    project.write("new.txt", "new\n")
    os.unlink(project.folder / "two.txt")
    before = git(project, "diff", "--name-status", "HEAD")
    apart(project)
    there = tree(project)
    assert (there / "one.txt").read_text() == "changed\n" and (there / "new.txt").exists()
    assert not (there / "two.txt").exists()
    assert git(project, "rev-parse", "HEAD^", cwd=there) == head
    assert (
        git(project, "rev-parse", "HEAD") == head
        and git(project, "diff", "--name-status", "HEAD") == before
    )
    assert ", the working files as they are now" in project.answer.out  # type: ignore[attr-defined]


def test_a_repository_without_a_commit_will_do(project: Project) -> None:
    shutil.rmtree(project.folder / ".git")
    git(project, "init", "-q")
    project.write("one.txt", "1\n")
    apart(project)
    assert (tree(project) / "one.txt").read_text() == "1\n"
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    assert (project.folder / "a.txt").exists()


def test_without_git_nothing_is_opened(project: Project) -> None:
    shutil.rmtree(project.folder / ".git")
    project.planned()
    project.refused(1, "wave", "next", "--worktrees", says="is in no git repository")
    assert project.ok("wave", "next").out.startswith("wave 1 opened: T-001\n")


def test_an_old_git_is_told_in_one_line(project: Project, tmp_path: Path) -> None:
    real = subprocess.run(
        ["which", "git"], capture_output=True, text=True, check=True
    ).stdout.strip()
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\nfor one; do [ "$one" != version ] || {{ echo git version 2.30.2; exit 0; }}; '
        f'done\nexec {real} "$@"\n'
    )
    fake.chmod(0o755)
    project.planned()
    path = f"{fake.parent}:{project.environment['PATH']}"
    project.refused(
        1,
        "wave",
        "next",
        "--worktrees",
        PATH=path,
        says="need git 2.38 or newer, this is git version 2.30.2",
    )


def test_no_hook_of_the_repository_runs(project: Project) -> None:
    committed(project, one_txt="1\n")
    hook = project.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {project.folder}/../ran\n")
    hook.chmod(0o755)
    apart(project)
    assert not (project.folder.parent / "ran").exists()


def test_a_supervised_loop_works_in_one_tree(project: Project) -> None:
    project.start("x", "--approval", "supervisor")
    for line in (
        {"type": "stage_moved", "data": {"to": "executing"}},
        {"type": "task_added", "data": {"task": {"id": "T-001", "subject": "a", "verify": "ls"}}},
    ):
        with open(project.ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps({**project.lines[0], **line}) + "\n")
    answer = project.lk("wave", "next", "--worktrees")
    assert answer.exit == 1 and "worktrees are for loops in which the check decides" in answer.err


def test_tasks_of_the_same_file_are_kept_apart_in_any_case(project: Project) -> None:
    apart(project, task("a", files=["x"]), task("b", files=["x"]))
    assert [row["task"] for row in project.of("worktree_made")] == ["T-001"]


# -- working and merging


def test_from_the_agents_to_the_end(project: Project) -> None:
    committed(project, shared_txt="1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    apart(project)
    done(project, "T-001", a_txt="a\n", shared_txt="one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    assert not (project.folder / "a.txt").exists(), "nothing is in the project's own tree yet"
    assert project.tasks["T-001"]["status"] == "in_progress"
    project.refused(
        1,
        "wave",
        "close",
        says="T-001 passed in a worktree and not merged; next: loopkit wave merge T-001",
    )
    done(project, "T-002", b_txt="b\n", shared_txt="1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
    answer = project.ok("wave", "merge")
    assert answer.out.startswith("T-001 merged: 2 files (a.txt, shared.txt)\n")
    assert answer.steps == ["loopkit verify T-001 -- test -f a.txt"]
    assert project.tasks["T-001"]["status"] == "in_progress", (
        "its check has to run in the project's own tree"
    )
    project.refused(
        1, "wave", "merge", "T-002", says="T-001 was merged and its check has not run since"
    )
    project.refused(1, "wave", "close", says="T-001 merged and not checked since")
    answer = project.verify("T-001")
    assert "T-001 completed" in answer.out and answer.steps == ["loopkit wave merge T-002"]
    project.ok("wave", "merge")
    answer = project.verify("T-002")
    assert answer.steps == ["loopkit wave close"]
    assert (project.folder / "shared.txt").read_text() == "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"
    answer = project.ok("wave", "close")
    assert (
        answer.out.startswith("wave 1 closed: 2 completed, 0 failed\n")
        and "worktrees that stay" not in answer.out
    )
    assert not tree(project).exists() and git(project, "branch", "--list", "loopkit/*") == ""
    assert project.status["stage"] == "review"


def test_index_head_and_branch_stay_as_they_were(project: Project) -> None:
    committed(project, one_txt="1\n", staged_txt="s\n")
    project.write("staged.txt", "staged\n")
    git(project, "add", "staged.txt")
    before = [
        git(project, *words)
        for words in (("rev-parse", "HEAD"), ("branch", "--show-current"), ("diff", "--cached"))
    ]
    apart(project)
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    after = [
        git(project, *words)
        for words in (("rev-parse", "HEAD"), ("branch", "--show-current"), ("diff", "--cached"))
    ]
    assert after == before and git(project, "status", "--porcelain", "a.txt") == "?? a.txt"


def test_the_check_runs_in_the_worktree_wherever_one_stands(project: Project) -> None:
    apart(project)
    project.write("a.txt")
    assert project.verify("T-001").exit == 1, "it is not there"
    (tree(project) / "a.txt").write_text("a")
    assert project.verify("T-001", cwd=tree(project, "T-002")).exit == 0
    row = project.of("task_verified")[-1]
    assert row["passed"] and row["worktree"] == "worktrees/T-001"


def test_what_breaks_only_together_is_seen_before_the_task_counts(project: Project) -> None:
    committed(project, limit_txt="5\n")
    apart(project, task("a", "grep -q 5 limit.txt"), task("b", "test -f b.txt"))
    done(project, "T-002", b_txt="b\n", limit_txt="6\n")
    done(project, "T-001")
    merged(project, "T-002")
    project.ok("wave", "merge", "T-001")
    answer = project.verify("T-001")
    assert answer.exit == 1 and project.tasks["T-001"]["status"] == "in_progress"
    assert project.ok("wave", "close").out.startswith("wave 1 closed: 1 completed, 1 failed")


def test_a_conflict_is_refused_with_its_paths_and_the_attempt_has_failed(project: Project) -> None:
    committed(project, one_txt="1\n")
    apart(project)
    done(project, "T-001", a_txt="a\n", one_txt="first\n")
    done(project, "T-002", b_txt="b\n", one_txt="second\n")
    merged(project, "T-001")
    answer = project.lk("wave", "merge", "T-002")
    assert answer.exit == 1 and answer.out.startswith(
        "T-002 is not merged: changed meanwhile by others as well: one.txt; "
    )
    assert "T-002 failed, attempt 1: retry; its work stays in .loop/" in answer.out
    assert (project.folder / "one.txt").read_text() == "first\n" and not (
        project.folder / "b.txt"
    ).exists()
    found = project.tasks["T-002"]
    assert (found["status"], found["attempts"]) == ("pending", 1) and "one.txt" in found["history"][
        0
    ]["error"]
    assert (tree(project, "T-002") / "one.txt").read_text() == "second\n", "nothing is lost"
    assert answer.steps == ["loopkit wave close"]
    shown = project.ok("task", "show", "T-002").out
    assert f"an earlier attempt lies in {tree(project, 'T-002')}: to be looked at" in shown


def test_what_was_deleted_made_executable_and_linked_is_merged_as_it_is(project: Project) -> None:
    committed(project, old_txt="old\n", run_sh="#!/bin/sh\n")
    apart(project)
    there = tree(project)
    os.unlink(there / "old.txt")
    (there / "run.sh").chmod(0o755)
    os.symlink("run.sh", there / "link")
    (there / "deep" / "er").mkdir(parents=True)
    (there / "deep" / "er" / "naïve name.bin").write_bytes(bytes(range(256)))
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    assert not (project.folder / "old.txt").exists() and os.access(
        project.folder / "run.sh", os.X_OK
    )
    assert os.readlink(project.folder / "link") == "run.sh"
    assert (project.folder / "deep" / "er" / "naïve name.bin").read_bytes() == bytes(range(256))


def test_committed_work_is_merged_just_the_same(project: Project) -> None:
    apart(project)
    done(project, "T-001", a_txt="a\n")
    git(project, "add", "-A", cwd=tree(project))
    git(project, "commit", "-qm", "mine", cwd=tree(project))
    merged(project, "T-001")
    assert (project.folder / "a.txt").exists()


def test_what_is_ignored_in_the_projects_own_tree_is_never_merged(project: Project) -> None:
    """One task has it ignored, the other one made it."""
    apart(project, task("a", "test -f .gitignore"), task("b", "test -f b.txt"))
    (tree(project) / ".gitignore").write_text("*.log\n")
    assert project.verify("T-001").exit == 0
    done(project, "T-002", b_txt="b\n", app_log="made\n")
    merged(project, "T-001")
    project.write("app.log", "the person's own\n")
    before = tree_of(project)
    says = (
        "T-002 cannot be merged now: app.log (ignored); nothing was changed; take what git "
        "ignores here out of .loop/"
    )
    project.refused(1, "wave", "merge", "T-002", says=says)
    assert tree_of(project) == before and not (project.folder / "b.txt").exists()
    (tree(project, "T-002") / "app.log").unlink()
    merged(project, "T-002")
    assert (project.folder / "app.log").read_text() == "the person's own\n"


def test_the_next_wave_sees_this_one(project: Project) -> None:
    apart(project, task("a", "test -f a.txt"), task("b", "test -f b.txt", blocked_by=["#1"]))
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    project.ok("wave", "close")
    project.lk(
        "review",
        "--wave",
        "1",
        "--score",
        "9",
    )
    project.ok("wave", "next", "--worktrees")
    assert (tree(project, "T-002") / "a.txt").exists()


def test_a_file_in_the_way_changes_nothing(project: Project) -> None:
    apart(project)
    (project.folder / ".git" / "info" / "exclude").write_text("a.txt\n")
    project.write("a.txt", "the person's own\n")
    (tree(project) / "a.txt").write_text("a\n")
    git(project, "add", "-f", "a.txt", cwd=tree(project))
    assert project.verify("T-001").exit == 0
    project.refused(1, "wave", "merge", "T-001", says="T-001 cannot be merged now: a.txt")
    assert (project.folder / "a.txt").read_text() == "the person's own\n"


def test_nothing_to_merge_is_said(project: Project) -> None:
    apart(project)
    project.refused(
        1, "wave", "merge", "T-001", says="the check of T-001 has not passed in its worktree"
    )
    answer = project.ok("wave", "merge")
    assert answer.out.startswith("nothing to merge\n") and answer.steps == ["loopkit wave close"]
    project.refused(1, "wave", "merge", "T-009", says="there is no task T-009")


def test_a_wave_without_worktrees_has_nothing_to_merge(project: Project) -> None:
    project.planned()
    project.ok("wave", "next")
    project.refused(1, "wave", "merge", "T-001", says="T-001 has no worktree")


def test_parallel_merges_come_one_after_the_other(project: Project) -> None:
    apart(project, *[task(str(number), "ls") for number in range(4)])
    for number in range(1, 5):
        done(project, f"T-00{number}", **{f"f{number}_txt": "x\n"})
    merge = functools.partial(project.lk, "wave", "merge")
    answers = at_once(*[functools.partial(merge, f"T-00{number}") for number in range(1, 5)])
    assert sorted(answer.exit for answer in answers) == [0, 1, 1, 1], answers
    assert all("its check has not run since" in answer.err for answer in answers if answer.exit)
    assert len(project.of("worktree_merged")) == 1


def test_a_lost_wave_goes_on_in_the_same_worktrees(project: Project) -> None:
    """Case G7, of a run that meets itself: no second worktree, no warning."""
    apart(project)
    (tree(project) / "half.txt").write_text("half\n")
    project.ok("pause")
    answer = project.ok("resume")
    assert (
        f"T-001 loopkit/{project.name}/T-001 changed (1 path) .loop/{project.name}/worktrees/T-001"
        in answer.out
    )
    answer = project.ok("wave", "next")
    assert (
        "worktrees begin" not in answer.out
        and f"in `.loop/{project.name}/worktrees/T-001`" in answer.steps[0]
    )
    assert len(project.of("worktree_made")) == 2 and (tree(project) / "half.txt").exists()


def test_a_run_that_meets_itself_is_let_through(project: Project) -> None:
    """Case G7: a check of the run that calls `wave next --worktrees` again."""
    words = [
        "env",
        f"PYTHONPATH={ROOT}",
        sys.executable,
        "-m",
        "loopkit",
        "wave",
        "next",
        "--worktrees",
    ]
    apart(project, task("a", shlex.join(words)))
    answer = project.lk("verify", "T-001", "--", *words)
    assert answer.exit == 0 and answer.err == ""
    log = (project.root / project.name / project.of("task_verified")[0]["log"]).read_text()
    assert "T-001 still to report" in log and "worktree" not in log.splitlines()[1]
    assert (
        len(project.of("worktree_made")) == 1 and len(list(tree(project).parent.glob("T-*"))) == 1
    )


# -- G1, G3


def test_a_branch_that_touches_the_loop_s_folder_is_refused(project: Project) -> None:
    """Case G1: two worker branches that both changed `.loop/PROGRESS.md`; both merged."""
    apart(project)
    for name, file in (("T-001", "a.txt"), ("T-002", "b.txt")):
        there = tree(project, name)
        (there / ".loop").mkdir(exist_ok=True)
        (there / ".loop" / "PROGRESS.md").write_text(f"written by {name}\n")
        (there / file).write_text("x\n")
        git(project, "add", "-A", "-f", cwd=there)
        git(project, "commit", "-qm", "work", cwd=there)
        assert project.verify(name).exit == 0
    progress = project.progress
    for name in ("T-001", "T-002"):
        project.refused(
            1,
            "wave",
            "merge",
            name,
            says=f"{name} touches .loop/, where only loopkit writes: .loop/PROGRESS.md",
        )
        assert (
            project.tasks[name]["status"] == "in_progress" and project.tasks[name]["attempts"] == 0
        )
    assert project.progress == progress
    git(project, "rm", "-q", "--cached", ".loop/PROGRESS.md", cwd=tree(project))
    os.unlink(tree(project) / ".loop" / "PROGRESS.md")
    project.ok("wave", "merge", "T-001")


def feature(project: Project) -> tuple[str, str]:
    """A feature branch two commits ahead of origin/main: (HEAD of origin/main, HEAD)."""
    committed(project, one_txt="1\n")
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
    origin = git(project, "rev-parse", "HEAD")
    git(project, "checkout", "-qb", "feature")
    committed(project, two_txt="2\n")
    committed(project, three_txt="3\n")
    return origin, git(project, "rev-parse", "HEAD")


def test_a_worker_that_reports_another_start_is_refused(project: Project) -> None:
    """Case G3."""
    origin, head = feature(project)
    apart(project)
    done(project, "T-001", a_txt="a\n")
    answer = project.lk("wave", "merge", "T-001", "--base", "origin/main")
    assert answer.exit == 1 and head in answer.out and origin in answer.out
    assert not (project.folder / "a.txt").exists() and project.of("worktree_merged") == []
    found = project.tasks["T-001"]
    assert (found["status"], found["attempts"]) == ("pending", 1)
    assert project.ok("wave", "close").out.startswith("wave 1 closed: 0 completed, 2 failed")


def test_a_worker_that_began_at_another_commit_is_found_out(project: Project) -> None:
    """Case G3, where nobody reports it."""
    origin, head = feature(project)
    apart(project)
    there = tree(project)
    git(project, "reset", "-q", "--hard", "origin/main", cwd=there)
    (there / "a.txt").write_text("a\n")
    git(project, "add", "-A", cwd=there)
    git(project, "commit", "-qm", "work", cwd=there)
    assert project.verify("T-001").exit == 0
    answer = project.lk("wave", "merge", "T-001")
    assert (
        answer.exit == 1
        and f"was given {head} to begin with, its work begins at {origin}" in answer.out
    )
    assert (project.folder / "two.txt").exists() and project.tasks["T-001"]["attempts"] == 1


def test_the_commit_it_was_given_may_be_reported(project: Project) -> None:
    _, head = feature(project)
    apart(project)
    done(project, "T-001", a_txt="a\n")
    project.refused(
        1, "wave", "merge", "T-001", "--base", "--force", says="there is no commit '--force'"
    )
    project.ok("wave", "merge", "T-001", "--base", head[:10])


# -- cleaning up: G4, G5, G14


def test_a_worktree_with_changes_that_are_not_merged_is_kept(project: Project, dead: str) -> None:
    """Case G4."""
    apart(project)
    (tree(project) / "report.md").write_text("all I found\n")
    project.ok("wave", "close")
    answer = project.lk("worktree", "remove", "T-001")
    path = f".loop/{project.name}/worktrees/T-001"
    assert answer.exit == 1 and answer.out == f"kept {path}: not merged: report.md\n"
    assert (tree(project) / "report.md").read_text() == "all I found\n"
    assert project.lk("worktree", "remove", "1.1").out == answer.out, (
        "by its outline number as well"
    )
    answer = project.lk("worktree", "remove", "--clean")
    assert (
        answer.exit == 1
        and path in answer.out
        and f"removed .loop/{project.name}/worktrees/T-002" in answer.out
    )
    assert tree(project).exists() and not tree(project, "T-002").exists()


def crash(project: Project, dead: str) -> None:
    """The session is killed: its client is gone, its last line in the journal old."""
    apart(project, *[task(str(number), f"test -f {number}.txt") for number in (1, 2, 3)])
    (tree(project, "T-002") / "2.txt").write_text("half\n")
    (tree(project, "T-003") / "3.txt").write_text("all\n")
    git(project, "add", "-A", cwd=tree(project, "T-003"))
    git(project, "commit", "-qm", "mine", cwd=tree(project, "T-003"))
    line = {
        **project.lines[-1],
        "type": "owner_changed",
        "by": "hook",
        "at": "2020-01-01T00:00:00Z",
    }
    line["data"] = {"session_id": S1, "client_pid": int(dead)}
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_leftovers_of_a_crash_are_listed_and_the_clean_ones_go_on_request(
    project: Project, dead: str
) -> None:
    """Case G5."""
    crash(project, dead)
    answer = project.ok("resume", session=S2)
    name = project.name
    expected = [
        f"T-001 loopkit/{name}/T-001 clean .loop/{name}/worktrees/T-001",
        f"T-002 loopkit/{name}/T-002 changed (1 path) .loop/{name}/worktrees/T-002",
        f"T-003 loopkit/{name}/T-003 changed (1 path) .loop/{name}/worktrees/T-003",
    ]
    assert [line.strip() for line in answer.out.splitlines() if "loopkit/" in line] == expected
    assert project.ok("worktree", "list", session=S2).out.splitlines() == expected
    project.ok("wave", "close", session=S2)
    answer = project.lk("worktree", "remove", "--clean", session=S2)
    assert answer.exit == 1
    assert answer.out.splitlines()[0] == f"removed .loop/{name}/worktrees/T-001"
    assert [line.split(":")[0] for line in answer.out.splitlines()[1:]] == [
        f"kept .loop/{name}/worktrees/T-002",
        f"kept .loop/{name}/worktrees/T-003",
    ]
    answer = project.ok("wave", "next", "--worktrees", session=S2)
    assert answer.out.startswith("wave 2 opened: T-001, T-002, T-003\n"), (
        "not stopped by their names"
    )
    assert f"in `.loop/{name}/worktrees/T-002-2`" in answer.steps[1]
    assert "left by earlier attempts:" in answer.out and expected[1] in answer.out


def test_what_a_kill_left_without_a_line_in_the_journal_is_listed_too(project: Project) -> None:
    """It died between making the worktrees and recording them."""
    committed(project, one_txt="1\n")
    project.planned(task("a", "test -f a.txt"))
    for name in ("T-001", "T-002"):
        git(
            project,
            "worktree",
            "add",
            "-q",
            "-b",
            f"loopkit/{project.name}/{name}",
            str(tree(project, name)),
        )
    (tree(project, "T-002") / "x.txt").write_text("x\n")
    assert [
        line.split(" .loop")[0] for line in project.ok("worktree", "list").out.splitlines()
    ] == [
        f"T-001 loopkit/{project.name}/T-001 clean",
        f"T-002 loopkit/{project.name}/T-002 changed (1 path)",
    ]
    project.ok("wave", "next", "--worktrees")
    assert tree(project, "T-001-2").is_dir()
    assert project.lk("worktree", "remove", "--clean").exit == 1
    assert not tree(project).exists() and tree(project, "T-002").exists()


def test_a_worktree_whose_session_lives_is_not_removed(project: Project, dead: str) -> None:
    """Case G14: a heartbeat 5 s old; then one 10 minutes old and the process gone."""
    apart(project)
    said = project.refused(
        1, "worktree", "remove", "T-001", session=S2, says=f"by session {S1}, last heard of "
    )
    assert "s ago" in said and tree(project).exists()
    line = {**project.lines[-1], "type": "owner_changed", "by": "hook"}
    line["data"] = {"session_id": S1, "client_pid": int(dead)}
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    project.refused(1, "worktree", "remove", "T-001", session=S2, says="last heard of")
    line["at"] = "2020-01-01T00:00:00Z"
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    answer = project.ok("worktree", "remove", "T-001", session=S2)
    assert (
        answer.out == f"removed .loop/{project.name}/worktrees/T-001\n"
        and not tree(project).exists()
    )


def test_a_silent_session_whose_client_runs_is_at_work(project: Project) -> None:
    """An agent may be busy for long without a line in the journal."""
    apart(project)
    line = {
        **project.lines[-1],
        "type": "notice_given",
        "data": {"name": "x"},
        "at": "2020-01-01T00:00:00Z",
    }
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    project.refused(
        1, "worktree", "remove", "T-001", session=S2, says=f"by session {S1}, last heard of "
    )
    project.refused(1, "worktree", "remove", "T-001", says="by this session")
    assert project.ok("worktree", "remove", "--clean").out.startswith("in use: ")


def test_a_worktree_of_somebody_else_is_none_of_ours(project: Project) -> None:
    project.planned()
    git(project, "worktree", "add", "-q", "../mine")
    project.refused(1, "worktree", "remove", "../mine", says="../mine is no worktree of a task")
    project.refused(2, "worktree", "remove", says="name worktrees, or --clean")
    assert project.ok("worktree", "list").out == "no worktrees\n"


def test_ignored_and_large_files_of_a_worker_are_told_apart(project: Project) -> None:
    """What git ignores goes with a clean worktree; what is in no tree keeps it."""
    apart(project)
    there = tree(project)
    git(project, "init", "-q", str(there / "nested"))
    (there / "nested" / "x.txt").write_text("x\n")
    done(project, "T-001", a_txt="a\n")
    assert (
        "not merged: nested (a repository of its own)" in project.ok("wave", "merge", "T-001").out
    )
    assert project.verify("T-001").exit == 0
    answer = project.ok("wave", "close")
    assert "worktrees that stay:" in answer.out and (there / "nested" / "x.txt").exists()


def test_json(project: Project) -> None:
    apart(project)
    (tree(project) / "x.txt").write_text("x\n")
    rows = project.ok("worktree", "list", "--json").json["worktrees"]
    assert [(row["task"], row["state"], row["changed"]) for row in rows] == [
        ("T-001", "changed", ["x.txt"]),
        ("T-002", "clean", []),
    ]


# -- the loop is archived


def test_an_archived_loop_takes_its_worktrees_along(project: Project) -> None:
    apart(project)
    (tree(project) / "x.txt").write_text("x\n")
    old = project.name
    project.start("another", "--fresh")
    moved = project.root / "archive" / old / "worktrees" / "T-001"
    assert git(project, "status", "--porcelain", cwd=moved) == "?? x.txt"
    assert f".loop/archive/{old}/worktrees/T-001" in project.ok("worktree", "list").out
    answer = project.lk("worktree", "remove", "--clean")
    assert answer.exit == 1 and moved.exists() and not moved.with_name("T-002").exists()


def test_a_purge_destroys_no_work(project: Project) -> None:
    apart(project)
    (tree(project) / "x.txt").write_text("x\n")
    answer = project.lk("start", "--fresh", "--purge", "--task-file", "-", given="another")
    assert answer.exit == 1 and "hold work that is not merged: worktrees/T-001" in answer.err
    assert project.status["status"] == "running" and (tree(project) / "x.txt").exists()
    os.unlink(tree(project) / "x.txt")
    project.start("another", "--fresh", "--purge")
    assert (
        "worktrees" not in git(project, "worktree", "list")
        and git(project, "branch", "--list", "loopkit/*") == ""
    )


# -- reports, and agents that never came back


def test_long_reports_stand_in_files_and_few_lines_come_back(project: Project) -> None:
    """Case G9: 8 workers that return 40 KB each."""
    apart(project, *[task(str(number), "ls") for number in range(6)])
    for number in range(8):
        text = f"worker {number}\n" + "line of findings\n" * 2400
        answer = project.ok("report", f"T-00{number}", "--file", "-", given=text)
        lines = answer.out.splitlines()
        path = project.folder / lines[0]
        assert len(lines) <= 10 and path.read_text() == text and len(text) > 40_000


def test_an_agent_that_never_came_back_is_listed_as_lost(project: Project) -> None:
    """Case G12: its start was recorded 40 minutes ago, its stop never; a turn was held since."""
    project.planned(task("a"), task("b"))
    project.ok("wave", "next")
    lines = project.ledger.read_text().splitlines()
    at = "2026-01-01T12:00:00Z"
    lines = [
        json.dumps({**json.loads(line), "at": at}) if '"task_started"' in line else line
        for line in lines
    ]
    project.ledger.write_text("".join(line + "\n" for line in lines))
    (project.root / "workflow-state.json").unlink()
    assert "Lost" not in project.ok("status").out
    held = {
        **project.lines[-1],
        "type": "iteration_ended",
        "by": "hook",
        "data": {"decision": "hold", "fingerprint": "f"},
    }
    with open(project.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps(held) + "\n")
    out = project.ok("status").out
    assert "Lost: T-001, given to an agent " in out and "Lost: T-002" in out
    assert project.status["lost"] == ["T-001", "T-002"]
    assert project.ok("wave", "next").out.startswith("wave 1 goes on: T-001, T-002\n")
    assert project.status["lost"] == []


# -- repositories of other kinds


def test_what_is_tracked_in_the_loop_s_folder_is_in_nobody_s_way(project: Project) -> None:
    kept = project.root / "000-old" / "learnings"
    kept.mkdir(parents=True)
    (kept / "001-x.md").write_text("kept\n")
    git(project, "add", "-f", ".loop")
    git(project, "commit", "-qm", "reasons")
    apart(project)
    assert (tree(project) / ".loop" / "000-old").is_dir()
    assert project.ok("status", "--json", cwd=tree(project)).json["loop"] == project.name
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    assert (kept / "001-x.md").read_text() == "kept\n"
    project.ok("wave", "close")
    assert not tree(project).exists()
    assert project.ok("worktree", "remove", "--clean").out.startswith("removed ")


def test_line_ends_are_merged_as_they_stand(project: Project) -> None:
    git(project, "config", "core.autocrlf", "true")
    (project.folder / "one.txt").write_bytes(b"1\r\n2\r\n3\r\n4\r\n5\r\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    apart(project)
    there = tree(project) / "one.txt"
    assert there.read_bytes() == b"1\r\n2\r\n3\r\n4\r\n5\r\n"
    there.write_bytes(b"1\r\n2\r\n3\r\n4\r\nfive\r\n")
    (project.folder / "one.txt").write_bytes(b"one\r\n2\r\n3\r\n4\r\n5\r\n")
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    assert (project.folder / "one.txt").read_bytes() == b"one\r\n2\r\n3\r\n4\r\nfive\r\n"


def test_a_project_in_a_part_of_the_repository(project: Project) -> None:
    part = project.folder / "part"
    (part / ".loop").mkdir(parents=True)
    (part / "one.txt").write_text("1\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    inner = Project(part, project.environment)
    apart(inner, task("a", "test -f a.txt"))
    (tree(inner) / "part" / "a.txt").write_text("a\n")
    assert inner.verify("T-001").exit == 0
    merged(inner, "T-001")
    assert (part / "a.txt").exists()


def test_a_resume_asks_nobody_again_for_what_waits_to_be_merged(project: Project) -> None:
    apart(project)
    done(project, "T-001", a_txt="a\n")
    project.ok("pause")
    project.ok("resume")
    assert {name: one["status"] for name, one in project.tasks.items()} == {
        "T-001": "in_progress",
        "T-002": "pending",
    }
    answer = project.ok("wave", "next")
    assert (
        answer.out.startswith("wave 1 goes on: T-002\n")
        and answer.steps[-1] == "loopkit wave merge"
    )
    merged(project, "T-001")


def test_in_the_middle_of_a_merge_of_the_person_s_nothing_is_touched(project: Project) -> None:
    committed(project, one_txt="1\n")
    apart(project)
    done(project, "T-001", a_txt="a\n")
    git(project, "checkout", "-qb", "other")
    committed(project, one_txt="other\n")
    git(project, "checkout", "-q", "-")
    committed(project, one_txt="mine\n")
    subprocess.run(
        ["git", "merge", "-q", "other"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
    )
    project.refused(1, "wave", "merge", "T-001", says="a merge is under way in ")
    git(project, "merge", "--abort")
    merged(project, "T-001")


def test_what_cannot_be_in_a_worktree_is_named(project: Project) -> None:
    committed(project, one_txt="1\n")
    git(project, "init", "-q", "nested")
    project.write("nested/x.txt")
    project.write("new.txt")
    apart(project)
    assert "\nnot in them: nested (a repository of its own)\n" in project.answer.out  # type: ignore[attr-defined]
    assert (tree(project) / "new.txt").exists() and not (tree(project) / "nested").exists()


def test_a_worker_in_the_middle_of_a_merge_is_not_merged(project: Project) -> None:
    committed(project, one_txt="1\n")
    apart(project)
    own = tree(project)
    for branch, text in (("other", "other\n"), ("own", "mine\n")):
        git(project, "checkout", "-qb", branch, project.of("worktree_made")[0]["base"], cwd=own)
        (own / "one.txt").write_text(text)
        git(project, "commit", "-qam", branch, cwd=own)
    subprocess.run(
        ["git", "merge", "-q", "other"], cwd=own, env=project.environment, capture_output=True
    )
    done(project, "T-001", a_txt="a\n")
    project.refused(1, "wave", "merge", "T-001", says="a merge is under way in ")
    git(project, "commit", "-qam", "both", cwd=own)
    merged(project, "T-001")


def test_a_locked_worktree_stays_and_the_others_go(project: Project) -> None:
    apart(project)
    done(project, "T-001", a_txt="a\n")
    git(project, "worktree", "lock", str(tree(project)))
    done(project, "T-002", b_txt="b\n")
    for name in ("T-001", "T-002"):
        merged(project, name)
    assert "worktrees that stay:\n  T-001 " in project.ok("wave", "close").out
    assert not tree(project, "T-002").exists()
    kept = project.lk("worktree", "remove", "--clean")
    assert kept.exit == 1 and "cannot remove a locked working tree" in kept.out


def test_nothing_is_merged_into_a_repository_of_its_own(project: Project) -> None:
    apart(project)
    git(project, "init", "-q", "lib")
    project.write("lib/own.c")
    (tree(project) / "lib").mkdir()
    done(project, "T-001", a_txt="a\n", **{"lib/a_c": "a\n"})
    project.refused(1, "wave", "merge", "T-001", says="T-001 cannot be merged now: lib/a.c")
    assert sorted(os.listdir(project.folder / "lib")) == [".git", "own.c"]


@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_worktree_that_lost_its_git_never_stands_for_the_project_s_own_tree(
    project: Project, how: str
) -> None:
    committed(project, _gitignore=".loop/\n", one_txt="1\n")
    project.write("one.txt", "not committed\n")
    apart(project)
    done(project, "T-001", a_txt="a\n")
    (tree(project) / ".git").unlink()
    if how == "empty":
        (tree(project) / ".git").mkdir()
    index, head = (project.folder / ".git/index").read_bytes(), git(project, "rev-parse", "HEAD")
    project.refused(1, "wave", "merge", "T-001", says="the worktree of T-001 is gone")
    project.ok("task", "fail", "T-001", "--error", "lost")
    kept = project.lk("worktree", "remove", "--clean")
    assert kept.exit == 1 and "/T-001: not merged: .gitignore, a.txt, one.txt" in kept.out
    shutil.rmtree(tree(project))
    tree(project).mkdir()
    assert "removed .loop/" in project.ok("worktree", "remove", "--clean").out
    assert (index, head) == (
        (project.folder / ".git/index").read_bytes(),
        git(project, "rev-parse", "HEAD"),
    )


def test_a_worktree_of_the_person_s_that_is_away_stays_known(
    project: Project, tmp_path: Path
) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "disk"))
    (tmp_path / "disk").rename(tmp_path / "away")
    apart(project)
    project.ok("task", "fail", "T-001", "--error", "lost")
    shutil.rmtree(tree(project))
    tree(project).mkdir()
    assert "removed .loop/" in project.ok("worktree", "remove", "--clean").out
    (tmp_path / "away").rename(tmp_path / "disk")
    assert git(project, "status", "--short", cwd=tmp_path / "disk") == ""


def test_a_branch_that_a_worker_switched_to_stays_where_it_is(project: Project) -> None:
    committed(project, one_txt="1\n")
    git(project, "branch", "topic")
    apart(project)
    git(project, "checkout", "-q", "topic", cwd=tree(project))
    done(project, "T-001", a_txt="a\n")
    merged(project, "T-001")
    project.ok("task", "fail", "T-002", "--error", "x")
    project.ok("wave", "close")
    assert not tree(project).exists()
    assert git(project, "rev-parse", "topic") == git(project, "rev-parse", "HEAD")
    assert ours(project) == [f"loopkit/{project.name}/T-002"]


def ours(project: Project) -> list[str]:
    return git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads/loopkit").split()


def test_our_branch_goes_with_the_worktree_of_a_worker_that_left_it(project: Project) -> None:
    """Case L9. What it has committed there first stays."""
    committed(project, one_txt="1\n")
    apart(project)
    began = git(project, "rev-parse", "HEAD")
    (tree(project) / "other.txt").write_text("given up\n")
    git(project, "add", "-A", cwd=tree(project))
    git(project, "commit", "-qm", "first", cwd=tree(project))
    for name, made in (("T-001", "a_txt"), ("T-002", "b_txt")):
        git(project, "checkout", "-qb", f"mine-{name}", began, cwd=tree(project, name))
        done(project, name, **{made: "x\n"})
        merged(project, name)
    stay = f"loopkit/{project.name}/T-001"
    closed = project.ok("wave", "close").out
    assert f"T-001 {stay} no worktree any more" in closed
    assert not tree(project, "T-002").exists() and ours(project) == [stay]
    left = project.lk("worktree", "remove", "--clean")
    assert left.exit == 1 and f"its branch {stay} has commits that nothing else has" in left.out
    git(project, "branch", "-qD", stay)
    assert project.ok("worktree", "list").out == "no worktrees\n"


def test_a_worktree_whose_folder_is_gone_is_listed_until_it_is_removed(project: Project) -> None:
    """Case L9: what git still knows of it."""
    committed(project, one_txt="1\n")
    apart(project)
    project.ok("task", "fail", "T-001", "--error", "lost")
    shutil.rmtree(tree(project))
    named = f"T-001 loopkit/{project.name}/T-001 no worktree any more"
    assert named in project.ok("worktree", "list").out
    project.ok("worktree", "remove", "T-001")
    assert named not in project.ok("worktree", "list").out
    assert len(git(project, "worktree", "list").splitlines()) == 2
    assert ours(project) == [f"loopkit/{project.name}/T-002"]


def test_where_it_began_is_known_after_git_cleaned_up(project: Project) -> None:
    git(project, "config", "core.autocrlf", "true")
    committed(project, one_txt="1\n2\n")  # with other line ends in the worktree
    apart(project)
    done(project, "T-001", a_txt="a\r\n")
    git(project, "gc", "-q", "--prune=now")
    merged(project, "T-001")
    assert (project.folder / "one.txt").read_bytes() == b"1\n2\n"
    done(project, "T-002", b_txt="b\r\n")
    merged(project, "T-002")
    project.ok("wave", "close")
    assert not any(tree(project, name).exists() for name in ("T-001", "T-002"))
    assert "worktrees" not in git(project, "for-each-ref", "--format=%(refname)")


def test_files_as_they_are_though_filters_convert_them(project: Project) -> None:
    for name in ("clean", "smudge"):
        git(project, "config", f"filter.rot.{name}", "tr a-z n-za-m")
    project.write(
        ".gitattributes",
        "*.rot filter=rot\n*.u16 text working-tree-encoding=UTF-16LE\n*.crlf eol=crlf\n",
    )
    (project.folder / "x.u16").write_bytes("word\n".encode("utf-16-le"))
    (project.folder / "x.crlf").write_bytes(b"1\r\n2\r\n")
    committed(project, x_rot="secret\n")
    project.write("one.txt", "not committed\n")
    apart(project)
    for name in ("x.rot", "x.u16", "x.crlf", "one.txt"):
        assert (tree(project) / name).read_bytes() == (project.folder / name).read_bytes()
    done(project, "T-001", a_txt="a\n", x_rot="another\n")
    merged(project, "T-001")
    assert (project.folder / "x.rot").read_text() == "another\n"
    project.ok("task", "fail", "T-002", "--error", "x")
    project.ok("wave", "close")
    assert not tree(project).exists()


@pytest.mark.parametrize("programs", [("clean", "smudge"), ("process",)])
def test_no_filter_of_the_repository_runs(project: Project, programs: tuple) -> None:
    """A clone's settings are a stranger's where it came as a folder, and a filter is a program."""
    ran = project.folder.parent / "ran"
    project.write(".gitattributes", "* filter=own\n")
    committed(project, one_txt="1\n", x_rot="as git keeps it\n")
    project.write("x.rot", "as it is\n")  # which git is not to look at
    git(project, "update-index", "--assume-unchanged", "x.rot")
    for name in programs:
        git(project, "config", f"filter.own.{name}", f"touch '{ran}'; cat")
    git(project, "config", "filter.own.required", "true")
    apart(project)
    assert (tree(project) / "x.rot").read_text() == "as it is\n"
    done(project, "T-001", a_txt="a\n", one_txt="2\n")
    merged(project, "T-001")
    done(project, "T-002", b_txt="b\n")
    merged(project, "T-002")
    project.ok("wave", "close")
    assert not tree(project).exists() and (project.folder / "one.txt").read_text() == "2\n"
    assert not ran.exists()


def test_of_a_worktree_that_cannot_be_made_nothing_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str, *_: object) -> None:
        raise GitFault(f"git worktree fails in {path}", "see git status there")

    monkeypatch.setattr(worktrees, "_check_out", fails)
    project.planned(task("a", "test -f a.txt"))
    project.write("one.txt", "not committed\n")
    answer = project.lk("wave", "next", "--worktrees")
    assert (
        answer.exit == 3
        and "git worktree fails" in answer.err
        and not project.status["wave"]["open"]
    )
    assert git(project, "branch", "--list", "loopkit/*") == "" and not tree(project).exists()
