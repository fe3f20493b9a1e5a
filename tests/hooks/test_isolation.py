"""A loop is its session's own: no other window, sub-folder, nested client or late event gets into
it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from loopkit.store import native

from .conftest import NAME, S1, S2, Project

S3 = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"


def files(root: Path) -> dict[str, bytes]:
    """All that lies below `root`."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def second(project: Project, name: str = "other") -> Project:
    """Another project of the same person, in a folder beside this one."""
    made = Project(project.folder.parent / name)
    made.env = {**project.env, "CLAUDE_PROJECT_DIR": str(made.folder)}
    return made


def hand_over(project: Project, to: str = S2, pid: int | None = None) -> None:
    """Session `to` takes the loop over, as `loopkit resume` records it."""
    project.record("owner_changed", session_id=to, client_pid=pid or os.getpid(), why="resume")
    project.record("resumed")
    project.save()


EVENTS = {
    "a stop": ("stop", {"stop_hook_active": False}),
    "a forced stop": ("stop", {"stop_hook_active": True}),
    "a subagent's end": (
        "subagent_stop",
        {"agent_id": "a", "agent_type": "loop:coder", "agent_transcript_path": "x"},
    ),
    "an agent's start": (
        "pre_tool_use",
        {"tool_name": "Agent", "tool_input": {"prompt": "loop:plan-1"}},
    ),
    "an agent's answer": (
        "pre_tool_use",
        {"tool_name": "SubagentHandback", "tool_input": {"message": "x"}, "agent_id": "a"},
    ),
    "a report": ("user_prompt_submit", {"prompt": "<task-notification>"}),
    "a failed turn": ("stop_failure", {"error": "rate_limit"}),
    "a task made": ("task_created", {"task_id": "1", "task_subject": "theirs"}),
    "our task completed": (
        "task_completed",
        {"task_id": "T-001", "task_subject": "write the limiter"},
    ),
    "a compaction": ("session_start", {"source": "compact"}),
    "its end": ("session_end", {"reason": "other"}),
    "its end by /clear": ("session_end", {"reason": "clear"}),
}


@pytest.mark.parametrize("event", EVENTS)
def test_no_event_of_another_session_says_or_writes_anything(project: Project, event: str) -> None:
    project.start()
    project.native("1", name=S2)
    before, lists = files(project.root), files(project.config)
    name, given = EVENTS[event]
    assert project.hook(name, {"session_id": S2, **given}, CLAUDE_CODE_ENABLE_TODO_TOOLS="1").silent
    assert files(project.root) == before and files(project.config) == lists


@pytest.mark.parametrize("event", EVENTS)
def test_late_events_of_a_session_that_was_let_go(project: Project, event: str) -> None:
    project.start()
    hand_over(project)
    before = files(project.root)
    name, given = EVENTS[event]
    assert project.hook(name, given).silent
    assert files(project.root) == before and project.session.owner_pid == os.getpid()


@pytest.mark.parametrize(
    "session",
    [S1[:-1], S1 + "0", S1.upper() + "X", f" {S1}", f"{S1}\n", "", "*", None, 0, [S1], {}],
)
def test_only_the_very_id_owns(project: Project, session: object) -> None:
    project.start()
    before = files(project.root)
    assert project.hook("stop", {"session_id": session, "stop_hook_active": False}).silent
    assert files(project.root) == before


@pytest.mark.parametrize("session", ["", None, S1, S2])
def test_a_loop_without_an_owner_is_nobody_s(project: Project, session: object) -> None:
    project.start()
    project.record("owner_changed", session_id="", client_pid=None)
    project.save()
    assert project.hook("stop", {"session_id": session, "stop_hook_active": False}).silent
    assert project.session.owner == "" and project.session.iteration == 0


@pytest.mark.parametrize("source", ["startup", "resume", "fork", "compact", None])
def test_a_nested_client_with_inherited_variables_is_not_adopted(
    project: Project, source: str | None
) -> None:
    """`claude -p` in a Bash call of the owner: the same CLAUDE_PID, a list id, an id of its own."""
    project.start()
    project.native("T-001", name=S1, metadata={"loopId": NAME})
    before = project.ledger.read_bytes()
    more = {"CLAUDE_CODE_TASK_LIST_ID": S1, "CLAUDE_CODE_SESSION_ATTENDED": "0"}
    told = project.hook("session_start", {"session_id": S2, "source": source}, **more)
    assert (
        told.silent
        or "It belongs to a live session" in told.json["hookSpecificOutput"]["additionalContext"]
    )
    assert project.stop(S2, **more).silent
    assert project.ledger.read_bytes() == before and project.stop(S1).held


def test_the_owner_s_mirrored_tasks_in_a_shared_list_hold_nobody_else(project: Project) -> None:
    project.start("one", "two")
    shared = {"CLAUDE_CODE_TASK_LIST_ID": "team"}
    project.list_folder("team").mkdir(parents=True)
    assert "Open: T-001" in project.stop(S1, **shared).held
    assert sorted(os.listdir(project.list_folder("team"))) == ["T-001.json", "T-002.json"]
    assert project.stop(S2, **shared).silent
    project.native("1", name="team", subject="somebody's own")
    assert project.stop(S2, **shared).held == "pending tasks: somebody's own"


def test_two_projects_with_a_loop_each(project: Project) -> None:
    other = second(project)
    project.start("mine")
    other.start("theirs")
    hand_over(other)
    before = files(other.root)
    assert "T-001 “mine”" in project.stop(S1, cwd=other.folder).held, "it has only wandered there"
    assert files(other.root) == before
    assert "T-001 “theirs”" in other.stop(S2, cwd=project.folder).held
    assert other.stop(S1).silent, "nothing leads from here to its loop"


def test_a_worktree_with_a_loop_of_its_own(project: Project) -> None:
    """Main tree: the loop of S1. Linked worktree: the loop of S2. Wherever they stand, each has its
    own."""
    git = ["git", "-C", str(project.folder)]
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", "../tree"],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    tree = second(project, "tree-top")
    tree.folder = project.folder.parent / "tree"
    tree.root = tree.folder / ".loop"
    project.start("mine")
    tree.start("theirs")
    hand_over(tree)
    for cwd in (project.folder, tree.folder):
        assert "T-001 “mine”" in project.stop(S1, cwd=cwd).held
        assert (
            "T-001 “theirs”" in project.stop(S2, cwd=cwd, CLAUDE_PROJECT_DIR=str(tree.folder)).held
        )
        assert project.stop(S3, cwd=cwd).silent


@pytest.mark.parametrize(
    "where", ["a sub-folder", "a repository inside", "a link to the project", "a link inside"]
)
def test_the_owner_is_held_and_others_are_not_wherever_they_stand(
    project: Project, where: str
) -> None:
    project.start()
    inner = project.folder / "vendor" / "lib"
    inner.mkdir(parents=True)
    if where == "a repository inside":
        (inner / ".git").mkdir()
    elsewhere = project.folder.parent / "elsewhere"
    elsewhere.mkdir()
    (project.folder.parent / "link").symlink_to(project.folder)
    (project.folder / "out").symlink_to(elsewhere)
    cwd = {
        "a link to the project": project.folder.parent / "link",
        "a link inside": project.folder / "out",
    }.get(where)
    before = files(project.root)
    assert project.stop(S2, cwd=cwd or inner).silent
    assert files(project.root) == before
    assert project.stop(S1, cwd=cwd or inner).held


def test_a_loop_folder_given_by_variable_is_no_leave_to_hold(project: Project) -> None:
    project.start()
    other = second(project)
    env = {"LOOPKIT_DIR": str(project.root)}
    assert other.stop(S2, **env).silent
    assert other.stop(S1, **env).held


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("switch", [{"LOOPKIT_CHILD": "1"}, {"LOOPKIT_DISABLED": "1"}])
def test_a_child_and_a_switched_off_session_are_left_alone_even_with_the_owner_s_id(
    project: Project, event: str, switch: dict
) -> None:
    project.start()
    before = files(project.root)
    name, given = EVENTS[event]
    assert project.hook(name, given, **switch).silent
    assert files(project.root) == before


def test_the_end_of_a_second_client_of_the_session_does_not_free_the_first(
    project: Project, other_pid: str
) -> None:
    """One conversation opened in two windows: the one bound last works on, the other one is
    closed."""
    project.start(client_pid=1)
    project.session_start("resume", CLAUDE_PID=other_pid)
    assert project.session.owner_pid == int(other_pid)
    assert project.hook("session_end", {"reason": "prompt_input_exit"}, CLAUDE_PID="1").silent
    assert project.session.owner_pid == int(other_pid), "it is alive"
    assert project.hook("session_end", {"reason": "prompt_input_exit"}, CLAUDE_PID=other_pid).silent
    assert project.session.owner_pid is None


def test_a_clear_in_another_client_inherits_nothing(project: Project, other_pid: str) -> None:
    project.start()
    project.hook("session_end", {"session_id": S2, "reason": "clear"}, CLAUDE_PID=other_pid)
    told = project.session_start("clear", S3, CLAUDE_PID=other_pid).json
    assert "It belongs to a live session" in told["hookSpecificOutput"]["additionalContext"]
    assert project.stop(S3, CLAUDE_PID=other_pid).silent and project.session.owner == S1


def test_a_client_that_left_the_loop_s_session_inherits_nothing_by_clear(project: Project) -> None:
    """One client: the owner's session, then another one by /resume, then /clear of that."""
    project.start()
    project.hook("session_end", {"reason": "resume"})
    project.session_start("resume", S2)
    project.hook("session_end", {"session_id": S2, "reason": "clear"})
    told = project.session_start("clear", S3).json
    assert "a session that is gone" in told["hookSpecificOutput"]["additionalContext"]
    assert project.stop(S3).silent and project.session.owner == S1
    project.session_start("resume", S1)
    assert project.stop(S1).held and project.session.owner_pid == os.getpid()


def test_what_another_session_hears_names_no_task_and_no_step_of_the_loop(project: Project) -> None:
    """It is told of the loop, not drawn into it."""
    project.start("a subject of the owner")
    told = json.dumps(project.session_start("startup", S2).json)
    assert "a subject of the owner" not in told and "T-001" not in told
    assert "Next: type /loop:resume" in told and "wave next" not in told


def test_lists_of_other_sessions_are_neither_read_nor_written(project: Project) -> None:
    project.start()
    for number in range(60):
        project.native(str(number), name=f"foreign-{number}", subject=f"foreign {number}")
    before = files(project.config)
    assert "foreign" not in project.stop(S1).held
    assert "foreign" not in json.dumps(project.session_start("compact").json)
    assert files(project.config) == before
    assert native.foreign_open(str(project.list_folder("foreign-1")))[0] == ["foreign 1"]


def test_a_session_in_a_part_of_a_repository_is_held_by_the_loop_of_that_part(
    project: Project,
) -> None:
    top, part = project.folder, project.folder / "packages" / "web"
    (part / "src").mkdir(parents=True)
    (top / ".git").mkdir()
    project.root = part / ".loop"
    project.start()
    for folder in (part, part / "src", top):  # wherever the shell has wandered to
        assert "T-001" in project.stop(cwd=folder, CLAUDE_PROJECT_DIR=str(part)).held
    assert project.stop(session=S2, cwd=top, CLAUDE_PROJECT_DIR=str(top)).silent


def test_a_loop_of_a_part_is_found_from_a_linked_worktree(project: Project, tmp_path: Path) -> None:
    part = project.folder / "packages" / "web"
    part.mkdir(parents=True)
    project.root = part / ".loop"
    project.start()
    (project.folder / ".git" / "worktrees" / "w").mkdir(parents=True)
    linked = tmp_path / "w" / "packages" / "web"
    linked.mkdir(parents=True)
    (tmp_path / "w" / ".git").write_text(f"gitdir: {project.folder}/.git/worktrees/w\n")
    assert "T-001" in project.stop(cwd=linked, CLAUDE_PROJECT_DIR=str(linked)).held
