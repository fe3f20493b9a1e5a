"""loopkit checkpoint and rollback in real repositories: what is printed, recorded, put back, and
left alone."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from loopkit.core.steps import due
from loopkit.engine import checkpoints, restoring
from loopkit.engine.git import Late
from loopkit.store.loop import Loop
from tests.cli.kit import Project, task

ROWS = (
    task("first", "test -f one.txt", files=["one.txt"]),
    task("second", "test -f two.txt", files=["two.txt"], blocked_by=["#1"]),
    task("third", "test -f three.txt", files=["three.txt"], blocked_by=["#2"]),
)


def git(project: Project, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        ["git", "--no-optional-locks", *words],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def tree(project: Project) -> str:
    return checkpoints.snapshot(str(project.folder), project.environment).tree


def names(project: Project) -> list[str]:
    return sorted(one for one in os.listdir(project.folder) if not one.startswith("."))


def work(project: Project) -> dict[str, tuple[int, bytes]]:
    """The project's own files with their modes: nothing of git's, nothing of the loop's."""
    found = [
        one
        for one in project.folder.rglob("*")
        if one.is_file() and not {".git", ".loop"} & set(one.parts)
    ]
    return {
        str(one.relative_to(project.folder)): (one.stat().st_mode, one.read_bytes())
        for one in found
    }


def batch(project: Project, *files: str) -> str:
    """One wave whose agents write these files; gives what closing it printed."""
    project.ok("wave", "next")
    for name in files:
        project.write(name, f"made by {name}\n")
    for name, row in project.tasks.items():
        if row["status"] == "in_progress":
            project.verify(name)
    return project.ok("wave", "close").out


@pytest.fixture
def two(project: Project) -> Project:
    """start (1), batch-1 (2), batch-2 (3); one.txt and two.txt; T-003 is open."""
    project.planned(*ROWS)
    batch(project, "one.txt")
    batch(project, "two.txt")
    return project


# -- checkpoints


def test_made_by_themselves_at_the_start_after_the_scaffold_and_after_every_batch(
    project: Project,
) -> None:
    project.planned(task("frame", "test -f one.txt", scaffold=True), *ROWS[1:])
    opened = project.ok("wave", "next")
    assert "\ncheckpoint 1 (start) " in opened.out
    project.write("one.txt")
    project.verify("T-001")
    assert "\ncheckpoint 2 (scaffold) " in project.ok("wave", "close").out
    assert "checkpoint" not in project.ok("wave", "next").out
    project.write("two.txt")
    project.verify("T-002")
    assert "\ncheckpoint 3 (batch-2) " in project.ok("wave", "close").out
    rows = project.of("checkpoint_made")
    refs = git(
        project,
        "for-each-ref",
        "--format=%(refname) %(objectname) %(contents:subject)",
        "refs/loopkit",
    )
    assert refs.splitlines() == [
        f"refs/loopkit/{project.name}/1 {rows[0]['sha']} checkpoint: start - none",
        f"refs/loopkit/{project.name}/2 {rows[1]['sha']} checkpoint: scaffold - T-001",
        f"refs/loopkit/{project.name}/3 {rows[2]['sha']} checkpoint: batch-2 - T-002",
    ]
    assert git(project, "log", "--format=%H", rows[2]["sha"]).split()[:3] == [
        one["sha"] for one in rows[::-1]
    ]
    assert git(project, "ls-tree", "-r", "--name-only", rows[2]["sha"]).split() == [
        "one.txt",
        "two.txt",
    ]


def test_by_hand_with_a_label_and_listed(two: Project) -> None:
    said = two.ok("checkpoint", "--label", "before the rewrite")
    sha = two.of("checkpoint_made")[-1]["sha"]
    assert said.out.startswith(f"checkpoint 4 (before the rewrite) {sha[:12]}\n")
    assert two.ok("checkpoint", "--json").json["ref"] == f"refs/loopkit/{two.name}/5"
    rows = two.ok("checkpoint", "--list").out.splitlines()
    assert [row.split()[-1] for row in rows[:3]] == ["start", "T-001", "T-002"]
    assert rows[4].startswith("*   5 ") and rows[4].endswith("manual")
    listed = two.ok("checkpoint", "--list", "--json").json["checkpoints"]
    assert [one["good"] for one in listed] == [True, True, True, False, False]
    assert "batch-1" in two.refused(2, "checkpoint", "--label", "batch-1")


def test_what_checkpoints_keep_is_told_where_it_is_much(
    two: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case L10: once when it is made, then in the list and by doctor."""
    says = f"the checkpoints of {two.name} keep 0 MB in git: what need not come back"
    assert says not in two.ok("checkpoint").out + two.ok("checkpoint", "--list").out
    monkeypatch.setattr(checkpoints, "MUCH", 400_000)
    two.write("data.bin", random.Random(1).randbytes(400_000).hex())
    git(two, "add", "data.bin")
    git(two, "commit", "-qm", "data")
    assert says not in two.ok("checkpoint").out  # the person's own commit holds it
    two.write("data.bin", random.Random(2).randbytes(400_000).hex())
    assert says in two.ok("checkpoint").out
    assert says not in two.ok("checkpoint").out
    assert says in two.ok("checkpoint", "--list").out
    assert says in " ".join(two.lk("doctor").out.split())


def test_a_long_list_keeps_within_a_screen(two: Project) -> None:
    loop = Loop(str(two.root), two.name)
    row = two.of("checkpoint_made")[-1]
    with loop.writing():
        loop.record(
            [("checkpoint_made", {**row, "number": number}) for number in range(4, 50)], "person"
        )
    assert len(two.ok("checkpoint", "--list").out.splitlines()) <= 40


def test_what_is_left_out_is_named_once(project: Project) -> None:
    project.planned(*ROWS)
    (project.folder / "huge.bin").touch()
    os.truncate(project.folder / "huge.bin", checkpoints.LARGEST + 1)
    assert "; left out: huge.bin (100 MB)\n" in project.ok("wave", "next").out
    assert "huge.bin" not in batch(project, "one.txt")
    assert "; left out: huge.bin (100 MB)\n" in project.ok("checkpoint").out


def test_without_git_it_is_said_once_and_everything_goes_on(project: Project) -> None:
    (project.folder / ".git").rename(project.folder.parent / "away")
    project.planned(*ROWS)
    opened = project.ok("wave", "next")
    assert (
        "no checkpoints, and no rollback: " in opened.out
        and "is in no git repository" in opened.out
    )
    project.write("one.txt")
    project.verify("T-001")
    assert "no checkpoints" not in project.ok("wave", "close").out
    assert project.of("checkpoint_made") == []
    project.refused(1, "checkpoint", says="is in no git repository")
    project.refused(1, "rollback", "last-good", says="NO_CHECKPOINTS")


def test_a_checkpoint_that_fails_is_one_line_and_comes_later(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.planned(*ROWS)

    def late(*given: object) -> None:
        raise Late("git update-index did not end within 300 s and was stopped", "try it")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "snapshot", late)
        opened = project.ok("wave", "next")
        assert (
            "\nno checkpoint was made: git update-index did not end within 300 s and was stopped"
            in opened.out
        )
        assert opened.steps
        project.refused(3, "checkpoint", says="did not end within 300 s")
    project.write("one.txt")
    project.verify("T-001")
    assert "\ncheckpoint 1 (batch-1) " in project.ok("wave", "close").out


def test_numbers_of_an_older_loop_of_this_name_are_passed_over(project: Project) -> None:
    project.planned(*ROWS)
    git(project, "update-ref", f"refs/loopkit/{project.name}/1", "HEAD")
    assert "checkpoint 2 (start)" in project.ok("wave", "next").out
    assert git(project, "rev-parse", f"refs/loopkit/{project.name}/1") == git(
        project, "rev-parse", "HEAD"
    )


# -- rollback


def test_rollback_puts_files_back_opens_tasks_and_leaves_the_lesson(two: Project) -> None:
    two.write("one.txt", "spoilt\n")
    two.write(".gitignore", "*.log\n")
    two.write("own.log", "ignored\n")
    git(two, "add", "one.txt")
    before = (
        (two.folder / ".git/index").read_bytes(),
        git(two, "rev-parse", "HEAD"),
        git(two, "branch", "-a"),
    )
    done = two.ok("rollback", "2", "--why", "it was slower")
    assert done.out.splitlines()[:5] == [
        "rolled back to checkpoint 2 (batch-1): 3 files restored",
        "  gone: .gitignore",
        "  changed: one.txt",
        "  gone: two.txt",
        "open again: T-002",
    ]
    assert done.steps == ["loopkit next"]
    assert names(two) == ["one.txt", "own.log"]
    assert (two.folder / "one.txt").read_text() == "made by one.txt\n"
    assert before == (
        (two.folder / ".git/index").read_bytes(),
        git(two, "rev-parse", "HEAD"),
        git(two, "branch", "-a"),
    )
    rows = two.tasks
    assert [one["status"] for one in rows.values()] == ["completed", "pending", "pending"]
    assert rows["T-002"]["evidence"] is None and "[ ] T-002" in two.lk("task", "list").out
    [lesson] = two.of("anti_pattern_recorded")
    assert lesson["source"] == "rollback" and lesson["why"].startswith("it was slower")
    [written] = (two.root / two.name / "learnings").glob("*.md")
    assert "ANTI-PATTERN" in written.read_text() and "T-002 second" in written.read_text()
    two.ok("wave", "next")
    assert (
        "rolled back to checkpoint 2: T-002 second"
        in (two.root / two.name / "context.md").read_text()
    )
    [recorded] = two.of("rolled_back")
    assert (
        recorded["number"] == 2 and recorded["reopened"] == ["T-002"] and recorded["undo"] is False
    )
    assert recorded["saved"] == 4 and two.of("checkpoint_made")[3]["label"] == "before-rollback"


def test_undo_brings_back_the_identical_tree(two: Project) -> None:
    two.write("größe und\nmehr.txt", "x\n")
    two.write(os.fsdecode(b"latin-\xe9.txt"), "no name in UTF-8\n")
    os.symlink("one.txt", two.folder / "link")
    (two.folder / "two.txt").chmod(0o755)
    before, held = tree(two), two.files()
    two.ok("rollback", "1")
    assert names(two) == []
    done = two.ok("rollback", "--undo")
    assert "rolled back to checkpoint 4 (before-rollback)" in done.out and "stay open" in done.out
    assert "good: nothing of its wave failed" in two.ok("checkpoint", "--list").out
    assert tree(two) == before and os.access(two.folder / "two.txt", os.X_OK)
    assert len(two.of("anti_pattern_recorded")) == 1
    assert {name for name in held if "/learnings/" in name or "/evidence/" in name} <= set(
        two.files()
    )
    two.ok("rollback", "--undo")  # there and back again
    assert names(two) == []


def test_permissions_that_git_does_not_keep_come_back(project: Project) -> None:
    for name, mode in (("key.txt", 0o600), ("read.txt", 0o444), ("plain.txt", 0o644)):
        project.write(name, "a\n")
        (project.folder / name).chmod(mode)
    before = work(project)
    project.planned(*ROWS)
    batch(project, "one.txt")
    for name in ("one.txt", "key.txt", "read.txt", "plain.txt"):
        (project.folder / name).unlink()
    project.ok("rollback", "start")
    assert work(project) == before


def test_execution_that_task_start_begins_has_a_start_too(project: Project) -> None:
    project.planned(task("one", "test -f one.txt"))
    assert "checkpoint 1 (start)" in project.ok("task", "start", "T-001").out
    assert [row["label"] for row in project.of("checkpoint_made")] == ["start"]


def test_what_an_undo_brings_back_is_completed_by_its_check_alone(two: Project) -> None:
    two.ok("rollback", "1")
    assert [row["status"] for row in two.tasks.values()] == ["pending"] * 3
    assert two.lk("task", "list").out.index("T-001") < two.lk("task", "list").out.index("T-003")
    done = two.ok("rollback", "--undo")
    state = Loop(str(two.root), two.name).state
    assert list(state.open) == ["T-001", "T-002", "T-003"], "in the order of the plan"
    assert [step.subject for step in due.due(state)] == ["T-001", "T-002"], done
    assert two.verify("T-001").exit == 0
    (two.folder / "two.txt").unlink()
    assert two.verify("T-002").exit == 1
    assert [row["status"] for row in two.tasks.values()] == ["completed", "pending", "pending"]
    assert not two.of("task_failed") and len(two.of("wave_opened")) == 2
    after = due.due(Loop(str(two.root), two.name).state)
    assert [step.kind for step in after] == ["open_wave"], "this one is built anew"


def test_the_same_rollback_once_more_leaves_the_undo_what_it_was(two: Project) -> None:
    before = tree(two)
    two.ok("rollback", "1")
    assert "the files before are checkpoint 4" in two.ok("rollback", "1").out
    two.ok("rollback", "--undo")
    assert tree(two) == before


def test_what_git_ignores_is_told_once_and_never_touched(two: Project) -> None:
    """It is in a checkpoint, then it is ignored: left alone there and back, and in no list of what
    changes."""
    two.write(".env", "KEY=1\n")
    two.write("build.log", "old\n")
    two.ok("checkpoint")
    two.write(".gitignore", ".env\n*.log\n")
    two.write("build.log", "new\n")
    two.write("one.txt", "spoilt\n")
    held = work(two)
    words = [
        "  gone: .gitignore",
        "  changed: one.txt",
        "left as they are, since git ignores them: .env, build.log",
    ]
    planned = two.ok("rollback", "4", "--dry-run")
    assert planned.out.splitlines() == [
        "a rollback to checkpoint 4 (manual) would change 2 files",
        *words,
    ]
    row = two.ok("rollback", "4", "--dry-run", "--json").json
    files = [{"status": "D", "path": ".gitignore"}, {"status": "M", "path": "one.txt"}]
    assert (row["files"], row["left"]) == (files, [".env (ignored)", "build.log (ignored)"])
    done = two.ok("rollback", "4")
    assert done.out.splitlines()[:4] == [
        "rolled back to checkpoint 4 (manual): 2 files restored",
        *words,
    ]
    assert (two.folder / ".env").read_text() == "KEY=1\n" and (
        two.folder / "build.log"
    ).read_text() == "new\n"
    row = two.ok("rollback", "--undo", "--json").json
    files = [{"status": "A", "path": ".gitignore"}, {"status": "M", "path": "one.txt"}]
    assert (row["files"], row["left"]) == (files, [".env (ignored)", "build.log (ignored)"])
    assert work(two) == held


def test_a_dry_run_lists_and_changes_nothing(two: Project) -> None:
    two.write("one.txt", "spoilt\n")
    before, files, refs = tree(two), two.files(), git(two, "for-each-ref")
    done = two.ok("rollback", "~1", "--dry-run")
    assert done.out.splitlines() == [
        "a rollback to checkpoint 2 (batch-1) would change 2 files and reopen T-002",
        "  changed: one.txt",
        "  gone: two.txt",
    ]
    row = two.ok("rollback", "~1", "--dry-run", "--json").json
    assert row["files"] == [{"status": "M", "path": "one.txt"}, {"status": "D", "path": "two.txt"}]
    assert (tree(two), two.files(), git(two, "for-each-ref")) == (before, files, refs)


def test_many_files_keep_within_a_screen(two: Project) -> None:
    for number in range(100):
        two.write(f"f{number}.txt")
    assert len(two.ok("rollback", "3", "--dry-run").out.splitlines()) <= 40
    done = two.ok("rollback", "3")
    assert len(done.out.splitlines()) <= 40 and "  and 75 more\n" in done.out
    assert names(two) == ["one.txt", "two.txt"]


def test_no_checkpoints(project: Project) -> None:
    project.planned(*ROWS)
    for words in (("last-good",), ("~2",), ("1",), ("--undo",)):
        project.refused(1, "rollback", *words, says="NO_CHECKPOINTS")
    for wrong in ((), ("1", "--undo"), ("HEAD",)):
        project.refused(2, "rollback", *wrong)


def test_conflict_in_the_middle_of_something(two: Project) -> None:
    git(two, "add", ".")
    git(two, "commit", "-qm", "base")
    git(two, "checkout", "-qb", "side")
    two.write("one.txt", "side\n")
    git(two, "commit", "-qam", "side")
    git(two, "checkout", "-q", "-")
    two.write("one.txt", "main\n")
    git(two, "commit", "-qam", "main")
    for begin, end in (("merge", "merge"), ("rebase", "rebase"), ("cherry-pick", "cherry-pick")):
        git(two, begin, "side", check=False)
        before = tree(two), git(two, "status", "--porcelain=v2"), git(two, "for-each-ref")
        word = f"CONFLICT: a {begin} is in progress"
        two.refused(1, "rollback", "2", "--force", says=word)
        assert before == (tree(two), git(two, "status", "--porcelain=v2"), git(two, "for-each-ref"))
        assert two.ok("checkpoint").exit == 0  # that touches nothing
        assert git(two, "status", "--porcelain=v2") == before[1]
        git(two, end, "--abort")
    git(two, "bisect", "start")
    two.refused(1, "rollback", "2", says="CONFLICT: a bisection is in progress")


def test_conflict_with_what_the_person_committed(two: Project) -> None:
    two.write("two.txt", "the person's own\n")
    two.write("beside.txt", "not affected by going back to 3\n")
    git(two, "add", "two.txt")
    git(two, "commit", "-qm", "by hand")
    before = tree(two), git(two, "for-each-ref")
    two.refused(1, "rollback", "3", says="CONFLICT: committed after the checkpoint: two.txt")
    two.refused(1, "rollback", "3", "--dry-run", says="CONFLICT")
    assert before == (tree(two), git(two, "for-each-ref"))
    head = git(two, "rev-parse", "HEAD")
    two.ok("rollback", "3", "--force")
    assert (two.folder / "two.txt").read_text() == "made by two.txt\n"
    assert git(two, "rev-parse", "HEAD") == head


def test_committing_what_a_checkpoint_holds_is_no_conflict(two: Project) -> None:
    git(two, "add", "two.txt")
    git(two, "commit", "-qm", "as the batch left it")
    two.write("two.txt", "spoilt by the next batch\n")
    two.ok("rollback", "3")
    assert (two.folder / "two.txt").read_text() == "made by two.txt\n"


def test_agents_at_work_keep_from_going_back(two: Project) -> None:
    two.ok("wave", "next")
    two.refused(1, "rollback", "last-good", says="wave 3 is open, T-003 in progress")


def test_only_the_owner_goes_back(two: Project) -> None:
    two.refused(1, "rollback", "1", session="session-two", says="belongs to session")
    assert two.ok("rollback", "1", session=None).exit == 0  # a person at a terminal


def test_a_sha_names_it_too(two: Project) -> None:
    sha = two.of("checkpoint_made")[0]["sha"]
    assert "rolled back to checkpoint 1 (start)" in two.ok("rollback", sha[:10].upper()).out


def test_last_good_after_a_batch_that_failed(project: Project) -> None:
    project.planned(
        task("first", "test -f one.txt"), task("second", "test -f two.txt"), task("third", "ls")
    )
    project.ok("wave", "next")
    project.write("one.txt")
    project.write("bad.txt")
    project.verify("T-001")
    project.verify("T-003")
    project.ok("wave", "close")
    assert project.ok("rollback", "last-good").out.startswith(
        "rolled back to checkpoint 1 (start): 2 files restored"
    )


def test_a_tree_that_is_gone_from_the_repository_is_named(two: Project) -> None:
    git(two, "update-ref", "-d", f"refs/loopkit/{two.name}/3")
    git(two, "update-ref", "-d", f"refs/loopkit/{two.name}/2")
    git(two, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    two.refused(3, "rollback", "3", says="the tree of checkpoint 3 is no longer in the repository")


# -- what broke off


class Killed(BaseException):
    """The process is gone."""


def killed_half_way(project: Project, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """`rollback words…`, killed after its save when the first file has been written."""
    real = restoring._Restoring._put
    gone = restoring._Restoring._delete
    done: list[str] = []

    def once(which: object) -> object:
        def act(self: object, *given: object) -> object:
            if done:
                raise Killed
            done.append("one")
            return which(self, *given)  # type: ignore[operator]

        return act

    with monkeypatch.context() as patch:
        patch.setattr(restoring._Restoring, "_put", once(real))
        patch.setattr(restoring._Restoring, "_delete", once(gone))
        with pytest.raises(Killed):
            project.lk("rollback", *words)
    assert done


@pytest.fixture
def half(two: Project, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, str, str]:
    """A rollback to the start that was killed half way; the trees of the start and before it."""
    start, before = two.of("checkpoint_made")[0]["tree"], tree(two)
    killed_half_way(two, monkeypatch, "1")
    assert tree(two) not in (start, before)
    return two, start, before


def test_killed_half_way_undo_brings_everything_back(half: tuple[Project, str, str]) -> None:
    project, _, before = half
    project.ok("rollback", "--undo")
    assert tree(project) == before


def test_killed_half_way_the_same_again_completes_it_and_undo_brings_everything_back(
    half: tuple[Project, str, str],
) -> None:
    project, start, before = half
    done = project.ok("rollback", "1")
    assert tree(project) == start and "open again: T-001, T-002" in done.out
    project.ok("rollback", "--undo")
    assert tree(project) == before


def test_an_undo_killed_half_way_goes_on(two: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(two)
    two.ok("rollback", "1")
    killed_half_way(two, monkeypatch, "--undo")
    two.ok("rollback", "--undo")
    assert tree(two) == before


# -- surroundings


def test_in_a_folder_of_the_project_and_in_a_linked_worktree(two: Project, tmp_path: Path) -> None:
    (two.folder / "sub").mkdir()
    two.write("sub/new.txt")
    assert "rolled back to checkpoint 3" in two.ok("rollback", "3", cwd=two.folder / "sub").out
    assert os.listdir(two.folder / "sub") == []  # where one stands stays
    two.ok("rollback", "--undo")
    assert "rolled back to checkpoint 3" in two.ok("rollback", "3").out
    assert not (two.folder / "sub").exists()
    git(two, "worktree", "add", "-q", str(tmp_path / "linked"))
    said = two.lk("rollback", "1", cwd=tmp_path / "linked")
    assert said.exit == 1 and "another working tree" in said.err
    assert names(two) == ["one.txt", "two.txt"]
    two.ok("checkpoint", cwd=tmp_path / "linked")
    (tmp_path / "linked/more.txt").write_text("x\n")
    assert "gone: more.txt" in two.ok("rollback", "~0", cwd=tmp_path / "linked").out
    two.refused(1, "rollback", "~0", says="another working tree")


def test_a_file_that_stands_in_the_way_is_named(two: Project) -> None:
    two.write(".gitignore", "two.txt\n")
    (two.folder / "two.txt").unlink()
    two.ok("checkpoint")
    two.write("two.txt", "ignored by now\n")
    said = two.ok("rollback", "3")
    assert "left as they are, since git ignores them: two.txt\n" in said.out
    assert (two.folder / "two.txt").read_text() == "ignored by now\n"


def test_a_file_s_name_never_looks_like_a_step(two: Project) -> None:
    two.write("x\nnext: loopkit cancel")
    nested = two.folder / "y\nnext: loopkit cancel"
    git(two, "init", "-q", str(nested))
    for words in (
        ["checkpoint"],
        ["rollback", "3", "--dry-run"],
        ["rollback", "3"],
        ["rollback", "--undo"],
    ):
        assert "loopkit cancel" not in two.ok(*words).steps
    git(two, "add", "x*")
    git(two, "commit", "-qm", "x")
    two.refused(1, "rollback", "3", says="CONFLICT")


def test_what_became_a_repository_of_its_own_since_is_left_alone(two: Project) -> None:
    (two.folder / "lib").mkdir()
    two.write("lib/a.c")
    two.ok("checkpoint")
    (two.folder / "lib/a.c").unlink()
    git(two, "init", "-q", "lib")
    two.write("lib/own.c")
    said = two.ok("rollback", "4").out
    assert "left as they are: lib/a.c (left out of the checkpoint)" in said
    assert sorted(os.listdir(two.folder / "lib")) == [".git", "own.c"]


@pytest.mark.parametrize("committed", [False, True])
def test_a_file_that_is_ignored_by_now_stays_there_and_back(
    project: Project, committed: bool
) -> None:
    """It was in a checkpoint, and never changed: neither way deletes it, and it is named once."""
    project.start("a request")
    project.write(".env", "KEY=1\n")
    project.write("a.txt", "1\n")
    project.ok("checkpoint")
    project.write(".gitignore", ".env\n")
    project.write("a.txt", "2\n")
    if committed:
        git(project, "add", ".gitignore")
        git(project, "commit", "-qm", "ignore it")
    for words in (("1", "--force"), ("--undo", "--force")):
        said = project.ok("rollback", *words).out
        assert (project.folder / ".env").read_text() == "KEY=1\n"
        assert "gone: .env" not in said and said.count(".env") <= 1
    assert (project.folder / "a.txt").read_text() == "2\n"
