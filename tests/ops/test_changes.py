"""What changed is measured, and what must not have changed is watched, in whole loops."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal import clock
from loopkit.store import prompts
from tests.cli.kit import GATE, S1, SHAPE, Project, task

#: M1 by paths; M2 in words.
WATCHED = SHAPE.replace("M2: A runtime dependency is added", "M2: lock.txt changes").replace(
    "| M2 | execution output | test ! -f forbidden.txt |", "| M1 | paths | contract/**, route.txt |"
)
ROWS = (
    task("first", "test -f one.txt", files=["one.txt"]),
    task("second", "test -f two.txt", files=["two.txt"], blocked_by=["#1"]),
)


@pytest.fixture
def watched(project: Project) -> Project:
    """A loop of two waves, its first one open; what must not change is there."""
    project.write("limiter.txt", "there\n")
    project.write("route.txt", "GET /\nGET /a\n")
    project.write("lock.txt", "1\n")
    (project.folder / "contract").mkdir()
    project.write("contract/api.txt", "1\n2\n3\n")
    project.shaped(text=WATCHED)
    project.ok("task", "add", "--file", "-", given=list(ROWS))
    project.ok("wave", "next")
    return project


def close(project: Project, name: str = "one", number: int = 1) -> str:
    project.write(f"{name}.txt", "1\n2\n")
    project.verify(f"T-00{number}")
    return project.ok("wave", "close").out


def agent(project: Project, *calls: tuple[str, dict], ours: bool = True) -> None:
    """The transcript of an agent, of the loop's or another one, with these tool calls."""
    prompts_folder = project.root / project.name / prompts.FOLDER
    prompts_folder.mkdir(exist_ok=True)
    (prompts_folder / "implementation-T-001-1.md").write_text("loop:implementation-T-001-1\n\nDo\n")
    folder = Path(project.environment["HOME"], ".claude", "projects", "p")
    (folder / S1 / "subagents").mkdir(parents=True, exist_ok=True)
    (folder / f"{S1}.jsonl").touch()
    line = "loop:implementation-T-001-1" if ours else "look around"
    rows: list[dict] = [{"type": "user", "message": {"role": "user", "content": line}}]
    for tool, given in calls:
        block = {"type": "tool_use", "id": "t", "name": tool, "input": given}
        rows.append({"type": "assistant", "message": {"content": [block]}})
    for row in rows:
        row["timestamp"] = clock.stamp(clock.epoch(project.lines[-1]["at"]) + 1)
    path = folder / S1 / "subagents" / f"agent-{'a' if ours else 'b'}1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def state(project: Project) -> tuple[str, str]:
    session = project.snapshot
    return session["status"], session["verdict"] or ""


def rows(project: Project, wave: int | None) -> dict[str, dict]:
    """{path: row} of the newest measure of a wave, of all (None)."""
    found = [row for row in project.of("changes_measured") if row["wave"] == wave][-1]
    return {row["path"]: row for row in found["files"]}


# -- measured


def test_waves_and_the_whole_are_measured_whatever_tasks_declare(watched: Project) -> None:
    watched.write(".gitignore", "*.log\n")
    watched.write("noise.log")
    watched.write("limiter.txt", "there\nfor good\n")
    said = close(watched)
    assert "changed beside what the tasks name: .gitignore (new) +1, limiter.txt +1" in said
    assert set(rows(watched, 1)) == {".gitignore", "limiter.txt", "one.txt"}
    assert rows(watched, 1)["one.txt"] == {"path": "one.txt", "status": "A", "added": 2, "removed": 0}  # fmt: skip
    brief = watched.ok("review", "--wave", "1", "--prompt", "simplifier").out
    assert "Files: .gitignore (new) +1, limiter.txt +1, one.txt (new) +2" in brief
    assert "Of these no task named: .gitignore (new) +1, limiter.txt +1" in brief
    watched.ok("wave", "next")
    watched.write("limiter.txt", "there\n")
    close(watched, "two", 2)
    assert set(rows(watched, 2)) == {"two.txt", "limiter.txt"}
    assert set(rows(watched, None)) == {".gitignore", "one.txt", "two.txt"}
    watched.ok("review", "--thorough")
    brief = watched.ok("review", "--thorough", "--prompt", "simplifier").out
    assert "since git ignores it: noise.log" in brief


def test_evidence_of_a_criterion_goes_stale_by_what_no_task_named(project: Project) -> None:
    project.write("limiter.txt", "there\n")
    project.write("module.txt", "1\n")
    project.planned(task("first", "test -f limiter.txt", files=["limiter.txt"]))
    project.ok("wave", "next")
    project.write("module.txt", "2\n")
    project.verify("T-001")
    project.ok("wave", "close")
    project.review([])
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    assert set(project.of("criterion_verified")[0]["files"]) == {"limiter.txt", "module.txt"}
    assert "submit as block YAML" in project.ok("gate").out
    project.write("module.txt", "3\n")
    assert "C1 was verified before a task's files changed" in project.lk("gate").out


def test_a_check_does_not_make_its_own_evidence_stale(project: Project) -> None:
    counting = "sh -c 'echo x >> runs.txt; test -f limiter.txt'"
    project.write("limiter.txt", "there\n")
    project.shaped(text=SHAPE.replace("test -f limiter.txt", counting))
    project.ok("task", "add", "--file", "-", given=[task("one", counting)])
    project.ok("wave", "next")
    project.verify("T-001")
    project.ok("wave", "close")
    project.review([])
    for name in ("C1", "M2"):
        assert project.verify(name).exit == 0
    assert "runs.txt" in rows(project, 1)
    assert "submit as block YAML" in project.ok("gate").out


def test_without_git_by_digests(watched: Project, project: Project) -> None:
    """The same project, whose repository is gone before the next loop."""
    import shutil

    watched.ok("cancel")
    shutil.rmtree(watched.folder / ".git")
    project.start("once more")
    project.score()
    project.ok("shape", "--accept", "-", given=WATCHED)
    project.ok("task", "add", "--file", "-", given=list(ROWS))
    project.ok("wave", "next")
    project.write("route.txt", "POST /\n")
    said = close(project)
    assert "route.txt" in rows(project, 1) and "one.txt" in rows(project, None)
    assert "M1 (The signature" in said and state(project)[0] != "paused"
    answered = project.ok("answer", "undo").out
    assert "put route.txt back by hand" in answered


# -- watched


def _edit(project: Project) -> None:
    project.write("route.txt", "POST /\n")


def _rename(project: Project) -> None:
    (project.folder / "contract/api.txt").rename(project.folder / "free.txt")


def _delete(project: Project) -> None:
    (project.folder / "contract/api.txt").unlink()


def _empty(project: Project) -> None:
    project.write("route.txt", "")


def _mode(project: Project) -> None:
    (project.folder / "route.txt").chmod(0o755)


def _link(project: Project) -> None:
    (project.folder / "route.txt").unlink()
    os.symlink("lock.txt", project.folder / "route.txt")


def _add(project: Project) -> None:
    project.write("contract/new.txt")


@pytest.mark.parametrize("act", [_edit, _rename, _delete, _empty, _mode, _link, _add])
def test_every_kind_of_change_is_one(watched: Project, act: Callable[[Project], None]) -> None:
    act(watched)
    said = close(watched)
    name = watched.of("watched_changed")[0]["files"][0]["path"]
    assert name in ("route.txt", "contract/api.txt", "contract/new.txt")
    assert f"{name} was changed, and no agent's tool call explains it" in said
    assert "1. mine" in said and "2. undo" in said
    assert state(watched) == ("awaiting_approval", "")
    assert "a question is open" in watched.lk("wave", "next").err


def test_the_session_itself_changed_it(watched: Project) -> None:
    """The person is told, and asked: they may have wished it."""
    home = Path(watched.environment["HOME"], ".claude", "projects", "p")
    home.mkdir(parents=True)
    given = {"file_path": str(watched.folder / "route.txt")}
    block = {"type": "tool_use", "id": "t", "name": "Write", "input": given}
    line = json.dumps({"type": "assistant", "message": {"content": [block]}})
    (home / f"{S1}.jsonl").write_text(f"{line}\n")
    _edit(watched)
    assert "route.txt was changed by the session itself\noptions:" in close(watched)
    assert state(watched) == ("awaiting_approval", "")


CALLS: dict[str, tuple[str, dict]] = {
    "edit": ("Edit", {"file_path": "{folder}/route.txt"}),
    "write": ("Write", {"file_path": "{folder}/./route.txt"}),
    "notebook": ("NotebookEdit", {"notebook_path": "{folder}/route.txt"}),
    "command": ("Bash", {"command": "cd {folder} && sed -i s/GET/POST/ route.txt"}),
    "redirection": ("Bash", {"command": "cat other > route.txt"}),
    "worktree": ("Edit", {"file_path": "{folder}/.loop/001-x/worktrees/T-001/route.txt"}),
}


@pytest.mark.parametrize("how", CALLS)
def test_an_agents_own_change_stops_the_loop(watched: Project, how: str) -> None:
    tool, given = CALLS[how]
    folder = str(watched.folder)
    agent(watched, (tool, {key: value.replace("{folder}", folder) for key, value in given.items()}))
    _edit(watched)
    said = close(watched)
    assert state(watched) == ("paused", "must_not_breached")
    assert f"route.txt was changed by implementation-T-001-1 ({tool})" in said
    assert "route.txt" in watched.status["reason"]


@pytest.mark.parametrize(
    ("calls", "ours"),
    [
        ([("Read", {"file_path": "{folder}/route.txt"})], True),
        ([("Bash", {"command": "cat route.txt | grep GET"})], True),
        ([("Bash", {"command": "git diff route.txt; pytest route.txt 2>&1 | tail"})], True),
        ([("Bash", {"command": "sed -i s/a/b/ myroute.txt"})], True),
        ([("Edit", {"file_path": "{folder}/sub/route.txt"})], True),
        ([("Edit", {"file_path": "{folder}/route.txt"})], False),
        ([], True),
    ],
)
def test_a_person_who_edits_meanwhile_is_asked(
    watched: Project, calls: list[tuple[str, dict]], ours: bool
) -> None:
    folder = str(watched.folder)
    told = [
        (tool, {key: value.replace("{folder}", folder) for key, value in given.items()})
        for tool, given in calls
    ]
    agent(watched, *told, ours=ours)
    _edit(watched)
    close(watched)
    assert state(watched) == ("awaiting_approval", "") and len(watched.of("question_asked")) == 1


def test_what_is_the_persons_own_is_not_asked_again(watched: Project) -> None:
    _edit(watched)
    close(watched)
    assert "neither mine nor undo" in watched.refused(2, "answer", "maybe")
    assert watched.ok("answer", "mine, go on").steps == ["loopkit next"]
    watched.ok("wave", "next")
    close(watched, "two", 2)
    end(watched)
    assert len(watched.of("question_asked")) == 1
    assert watched.snapshot["verdict"] == "achieved"
    report = (watched.root / watched.name / "report.md").read_text()
    assert "changed: route.txt (by the person)" in report


def end(project: Project) -> None:
    """From the last wave to the end."""
    project.review([])
    assert project.verify("C1").exit == 0
    assert project.lk("gate", "--file", "-", given=GATE).exit == 0
    project.ok("complete")


def test_what_is_to_be_undone_is_put_back_and_kept(watched: Project) -> None:
    _edit(watched)
    _rename(watched)
    close(watched)
    said = watched.ok("answer", "undo it").out
    assert "put back: contract/api.txt, route.txt" in said
    assert (watched.folder / "route.txt").read_text() == "GET /\nGET /a\n"
    assert (watched.folder / "contract/api.txt").read_text() == "1\n2\n3\n"
    assert (watched.folder / "one.txt").exists()
    assert watched.of("checkpoint_made")[-1]["label"] == "before putting back"
    watched.ok("wave", "next")
    close(watched, "two", 2)
    assert len(watched.of("question_asked")) == 1
    assert set(rows(watched, None)) == {"one.txt", "two.txt", "free.txt"}


def test_what_is_put_back_in_a_later_wave_was_seen(watched: Project) -> None:
    old = (watched.folder / "route.txt").read_text()
    _edit(watched)
    close(watched)
    watched.ok("answer", "mine")
    watched.ok("wave", "next")
    watched.write("route.txt", old)
    close(watched, "two", 2)
    touched = [row["path"] for data in watched.of("watched_changed") for row in data["files"]]
    assert touched == ["route.txt"] and "route.txt" not in rows(watched, None)


def test_a_breach_that_stays_is_asked_of_the_person_at_the_end(watched: Project) -> None:
    agent(watched, ("Edit", {"file_path": str(watched.folder / "route.txt")}))
    _edit(watched)
    close(watched)
    watched.ok("resume")
    watched.ok("wave", "next")
    close(watched, "two", 2)
    assert watched.lk("review", "--thorough").exit == 1
    assert len(watched.of("question_asked")) == 1
    watched.ok("answer", "mine")
    end(watched)
    assert watched.snapshot["verdict"] == "achieved"


def test_a_change_after_the_last_wave_is_seen_at_the_gate(watched: Project) -> None:
    close(watched)
    watched.ok("wave", "next")
    close(watched, "two", 2)
    watched.review([])
    watched.verify("C1")
    _edit(watched)
    said = watched.lk("gate")
    assert said.exit == 1 and "route.txt was changed" in said.out
    assert "a question is open" in watched.lk("gate", "--file", "-", given=GATE).err


def test_a_file_that_is_named_in_words_and_was_not_planned(watched: Project) -> None:
    watched.write("lock.txt", "2\n")
    watched.ok("checkpoint")  # nothing hides in one that is made by hand
    assert "M2 (lock.txt changes): lock.txt was changed" in close(watched)
    assert state(watched) == ("awaiting_approval", "")


def test_where_nobody_can_be_asked_the_loop_waits(project: Project) -> None:
    project.environment["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    project.write("route.txt", "1\n")
    project.start("add rate limiting to the API")
    project.score()
    project.ok("shape", "--accept", "-", given=WATCHED)
    project.ok("task", "add", "--file", "-", given=[ROWS[0]])
    project.ok("wave", "next")
    _edit(project)
    close(project)
    assert state(project) == ("paused", "waiting")
    project.ok("resume")
    said = project.verify("C1")
    assert said.exit == 1 and "the loop is paused: M1" in said.out, "told, not refused"
    assert said.waits == ["loopkit resume"] and state(project) == ("paused", "waiting")
    project.ok("resume", CLAUDE_CODE_SESSION_ATTENDED="1")
    said = project.lk(
        "verify", "C1", "--", "test", "-f", "limiter.txt", CLAUDE_CODE_SESSION_ATTENDED="1"
    )
    assert said.exit == 1 and "1. mine" in said.out, "the question, whole"
    assert state(project) == ("awaiting_approval", "")


def test_what_is_written_outside_the_project_is_said(
    watched: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what is thrown away, nor the client's own."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    home = watched.environment["HOME"]
    names = ["one.txt", f"{home}/.bashrc", *["../other/x.py"] * 2, f"{home}/.claude/a.md"]
    names.append(f"{tmp_path}/scratch/try.py")
    agent(watched, *(("Write", {"file_path": name}) for name in names))
    close(watched)
    watched.ok("wave", "next")
    close(watched, "two", 2)
    wanted = sorted([f"{home}/.bashrc", os.path.realpath(watched.folder / "../other/x.py")])
    assert watched.of("changes_measured")[-1]["outside"] == wanted


def git(project: Project, *words: str, at: str = "1000000000 +0000") -> None:
    env = {**os.environ, "GIT_COMMITTER_DATE": at}
    subprocess.run(["git", *words], cwd=project.folder, check=True, env=env)


def test_what_runs_leave_behind_is_no_change(watched: Project) -> None:
    names = ("__pycache__/one.pyc", "tests/__pycache__/one.pyc", ".pytest_cache/v/nodeids")
    for name in names:
        (watched.folder / name).parent.mkdir(parents=True, exist_ok=True)
        watched.write(name)
    watched.write(".pytest_cache/.gitignore", "*\n")
    close(watched)
    assert list(rows(watched, None)) == ["one.txt"]
    assert watched.of("changes_measured")[-1].get("ignored", []) == []


def test_what_changed_before_the_first_wave_is_said(project: Project) -> None:
    """Since the request, whether it was committed or is gone; what was so before it is not."""
    for name in ("old.txt", "kept.txt", "gone.txt", "earlier.txt", "__pycache__/a.pyc"):
        (project.folder / name).parent.mkdir(exist_ok=True)
        project.write(name)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "begin")
    project.write("earlier.txt", "by the person\n")
    os.utime(project.folder / "earlier.txt", (1e9, 1e9))
    project.shaped(text=WATCHED)
    for name in ("old.txt", "new.txt", "__pycache__/a.pyc"):
        project.write(name, "changed\n")
        os.utime(project.folder / name, (2e9, 2e9))
    git(project, "commit", "-qm", "by the session", "old.txt", at="2000000000 +0000")
    (project.folder / "gone.txt").unlink()
    os.utime(project.folder, (2e9, 2e9))
    project.ok("task", "add", "--file", "-", given=list(ROWS))
    project.ok("wave", "next")
    close(project)
    assert project.of("changes_measured")[-1]["early"] == ["gone.txt", "new.txt", "old.txt"]
