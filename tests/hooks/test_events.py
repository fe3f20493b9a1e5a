"""Session starts and ends, prompts, subagents, failures, the task tools."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from loopkit.store import typed

from .conftest import S1, S2, Project

pytestmark = pytest.mark.usefixtures("in_process")

SOURCES = ("startup", "resume", "clear", "compact", "fork")


def dead_pid() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


# -- SessionStart


@pytest.mark.parametrize("source", SOURCES)
def test_the_owner_hears_the_five_lines(project: Project, source: str) -> None:
    project.start("one", "two")
    project.record("scored", values={}, spec=7, fit=45, shape="tool")
    project.record("task_completed", id="T-001")
    project.record("wave_opened", wave=1, tasks=["T-001"])
    project.record("review_light", wave=1, score=8, issues=2, blockers=0)
    project.save()
    told = project.session_start(source).json
    lines = told["systemMessage"].split("\n")
    assert lines[:4] == [
        "[LOOP RESUME] Active loop detected",
        "Stage: executing | Spec: 7/10 | Fit: 45",
        "Progress: 1/2 tasks | Wave: 1",
        "Reviews: wave_1 8/10 (2 issues, 0 blockers)",
    ]
    assert len(lines) == 6 and lines[4].startswith("Next: loopkit ")
    assert lines[5] == "Loop 001 “add rate limiting”: /loop:pause, /loop:resume, /loop:cancel"
    special = told["hookSpecificOutput"]
    assert special["hookEventName"] == "SessionStart" and special["additionalContext"].startswith(
        told["systemMessage"]
    )
    assert len(told["systemMessage"]) + len(special["additionalContext"]) < 1200


@pytest.mark.parametrize("source", SOURCES)
def test_another_session_hears_it_at_its_start_only(project: Project, source: str) -> None:
    project.start()
    before = project.ledger.read_bytes()
    answer = project.session_start(source, S2, CLAUDE_PID="1")
    if source == "compact":
        assert answer.silent
    else:
        assert "Next: type /loop:resume" in answer.json["systemMessage"]
        assert "live session" in answer.json["systemMessage"]
        assert "live session" in answer.json["hookSpecificOutput"]["additionalContext"]
    assert project.ledger.read_bytes() == before and project.session.owner == S1


@pytest.mark.parametrize("kind", ["loop_completed", "loop_failed", "loop_cancelled"])
@pytest.mark.parametrize("saved", [True, False])
def test_a_loop_that_is_over_is_not_announced(project: Project, kind: str, saved: bool) -> None:
    project.start()
    project.record(kind)
    if saved:
        project.save()
    for session in (S1, S2):
        assert project.session_start("startup", session).silent


def test_a_paused_loop_is_announced(project: Project) -> None:
    project.start()
    project.record("paused", reason="lunch")
    assert (
        "Next: waits for the person (paused: by hand)"
        in project.session_start("resume").json["systemMessage"]
    )


@pytest.mark.parametrize("raw", [None, b"", b"\xff" * 50, b'{"v":1}\n'])
def test_an_unreadable_ledger_is_no_loop(project: Project, raw: bytes | None) -> None:
    project.start()
    if raw is None:
        project.ledger.unlink()
    else:
        project.ledger.write_bytes(raw)
    assert project.session_start("startup").silent


def test_the_same_session_in_a_new_client_keeps_its_loop(project: Project) -> None:
    project.start()
    before = project.ledger.read_bytes()
    project.session_start("resume")
    assert project.ledger.read_bytes() == before, "nothing new, nothing written"
    project.session_start("compact")
    assert project.lines[-1]["data"] == {"name": "compacted"}, "guidance has to be shown anew"
    project.session_start("resume", CLAUDE_PID="1")
    assert (project.session.owner, project.session.owner_pid) == (S1, 1)
    assert project.stop().held


def test_a_client_that_is_gone_was_at_work_up_to_its_last_line(project: Project) -> None:
    project.start()
    main = project.config / "projects" / "x" / f"{S1}.jsonl"
    main.parent.mkdir(parents=True)
    call = {"content": [{"type": "tool_use", "name": "Bash"}], "stop_reason": "tool_use"}
    for second, role, message in ((0, "user", {"content": "do it"}), (4, "assistant", call)):
        row = {"type": role, "timestamp": f"2199-01-01T00:00:0{second}.000Z", "message": message}
        with main.open("a") as file:
            file.write(json.dumps(row) + "\n")
    project.session_start("resume", CLAUDE_PID="1")
    assert project.session.spent_seconds == 4 and project.session.clock["to"]
    assert not project.session.clock["busy"], "else ten minutes more, whenever it is resumed"


def test_after_clear_the_new_id_inherits_within_one_client(project: Project) -> None:
    project.start()
    assert project.hook("session_end", {"reason": "clear"}).silent
    told = project.session_start("clear", S2).json
    assert "belongs to this session" in told["hookSpecificOutput"]["additionalContext"]
    assert project.session.owner == S2
    assert project.stop(S1).silent and project.stop(S2).held


@pytest.mark.parametrize(
    ("source", "pid"),
    [("clear", "1"), ("clear", None), ("startup", None), ("fork", None), ("resume", None)],
)
def test_nothing_else_inherits(project: Project, source: str, pid: str | None) -> None:
    project.start()
    more = {"CLAUDE_PID": pid} if source == "clear" else {}
    project.session_start(source, S2, **more)
    assert project.session.owner == S1


def test_a_loop_whose_owner_is_gone_is_said_to_be_free(project: Project) -> None:
    project.start(client_pid=dead_pid())
    told = project.session_start("startup", S2).json
    assert "a session that is gone" in told["hookSpecificOutput"]["additionalContext"]


def test_whether_somebody_can_be_asked_is_the_client_s_both_ways(project: Project) -> None:
    project.start()
    project.session_start("resume", CLAUDE_PID="1", CLAUDE_CODE_SESSION_ATTENDED="1")
    assert not project.session.unattended
    project.session_start("resume", CLAUDE_PID="2", CLAUDE_CODE_SESSION_ATTENDED="0")
    assert project.session.unattended
    project.session_start("resume", CLAUDE_PID="3", CLAUDE_CODE_SESSION_ATTENDED="1")
    assert not project.session.unattended
    project.session_start("resume", CLAUDE_PID="4", CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    assert project.session.unattended, "an older client says only how it was started"
    told = [row["data"] for row in project.lines if row["type"] == "attended_changed"]
    assert told == [{"unattended": True}, {"unattended": False}, {"unattended": True}]


def test_the_list_is_made_and_filled_where_the_session_has_task_tools(project: Project) -> None:
    project.start()
    project.session_start("resume", S2, CLAUDE_CODE_ENABLE_TODO_TOOLS="1")
    assert not project.list_folder(S2).exists(), "not the owner's"
    project.session_start("resume")
    assert not project.list_folder().exists(), "no task tools known of"
    project.session_start("resume", CLAUDE_CODE_ENABLE_TODO_TOOLS="1")
    assert os.listdir(project.list_folder()) == ["T-001.json"]
    project.session_start("clear", S2, CLAUDE_CODE_ENABLE_TODO_TOOLS="1")
    assert os.listdir(project.list_folder(S2)) == ["T-001.json"]


# -- SessionEnd


def test_the_end_of_a_session_frees_its_owner_and_nothing_else(project: Project) -> None:
    project.start()
    assert project.hook("session_end", {"reason": "other", "session_id": S2}).silent
    assert project.session.owner_pid == os.getpid()
    assert project.hook("session_end", {"reason": "prompt_input_exit"}).silent
    assert (project.session.owner, project.session.owner_pid, project.session.status) == (
        S1,
        None,
        "running",
    )
    before = project.ledger.read_bytes()
    project.hook("session_end", {"reason": "other"})
    assert project.ledger.read_bytes() == before


# -- UserPromptExpansion

WORDS = (
    "fix the user's bug",
    '$(touch pwned) `id` \\d "x"',
    "two\nlines\r\n\n🚀",
    " padded ",
    "x" * 20_000,
)


@pytest.mark.parametrize("words", WORDS)
def test_the_words_are_kept_as_they_were_typed(project: Project, words: str) -> None:
    given = {"command_name": "loop:start", "command_args": words, "prompt": f"/loop:start {words}"}
    assert project.hook("user_prompt_expansion", given).silent
    assert typed.load(str(project.data), S1) == words
    file = Path(typed.path(str(project.data), S1))
    assert file.parent.stat().st_mode & 0o077 == 0, "nobody else can read them"
    assert not project.root.exists() and os.listdir(project.folder) == []


@pytest.mark.parametrize("words", ["", " \n\t", None, 7])
def test_no_words_end_the_prompt_with_the_usage(project: Project, words: object) -> None:
    answer = project.hook(
        "user_prompt_expansion", {"command_name": "loop:start", "command_args": words}
    ).json
    assert answer["decision"] == "block" and answer["reason"].startswith("usage: /loop:start ")
    assert typed.load(str(project.data), S1) is None


@pytest.mark.parametrize("words", WORDS)
def test_the_words_of_a_resume_are_kept_apart(project: Project, words: str) -> None:
    typed.save(str(project.data), S1, "a request")
    assert project.hook(
        "user_prompt_expansion", {"command_name": "loop:resume", "command_args": words}
    ).silent
    assert typed.load(str(project.data), S1, typed.RESUME) == words
    assert typed.load(str(project.data), S1) == "a request"


@pytest.mark.parametrize("words", ["", " \n\t", None, 7])
def test_a_resume_without_words_goes_through_and_forgets_older_ones(
    project: Project, words: object
) -> None:
    typed.save(str(project.data), S1, "the other loop", typed.RESUME)
    assert project.hook(
        "user_prompt_expansion", {"command_name": "loop:resume", "command_args": words}
    ).silent
    assert typed.load(str(project.data), S1, typed.RESUME) is None


def test_other_commands_are_none_of_ours(project: Project) -> None:
    for name in ("loop:started", "start", None):
        assert project.hook(
            "user_prompt_expansion", {"command_name": name, "command_args": "x"}
        ).silent
    assert typed.load(str(project.data), S1) is None


def test_a_session_id_that_is_a_path_stays_in_its_folder(project: Project) -> None:
    given = {"command_name": "loop:start", "command_args": "x", "session_id": "../../up"}
    assert project.hook("user_prompt_expansion", given).silent
    assert sorted(os.listdir(project.data / "prompts")) == [
        f"------up{end}.json" for end in ("", ".opened", ".state")
    ]


def test_words_that_no_command_took_are_thrown_away(project: Project) -> None:
    typed.save(str(project.data), S2, "old")
    week = time.time() - 8 * 86400
    os.utime(typed.path(str(project.data), S2), (week, week))
    project.hook("user_prompt_expansion", {"command_name": "loop:start", "command_args": "new"})
    assert sorted(os.listdir(project.data / "prompts")) == [
        f"{S1}{end}.json" for end in ("", ".opened", ".state")
    ]


@pytest.mark.parametrize(("name", "words"), [("loop:start", "x"), ("loop:resume", "")])
def test_a_typed_command_notes_what_no_start_of_ours_has_exported(
    project: Project, name: str, words: str
) -> None:
    project.hook("user_prompt_expansion", {"command_name": name, "command_args": words})
    assert typed.load(str(project.data), S1, typed.STATE) == project.env["XDG_STATE_HOME"]
    assert typed.load(str(project.data), S1, typed.OPENED) == str(project.folder)


# -- SubagentStop, StopFailure


def test_a_subagent_s_transcript_is_noted_once(project: Project) -> None:
    project.start()
    given = {
        "agent_id": "a1",
        "agent_type": "loop:coder",
        "agent_transcript_path": "/t/agent-a1.jsonl",
    }
    for _ in range(2):
        assert project.hook("subagent_stop", given).silent
    assert project.session.subagents == {"a1": "/t/agent-a1.jsonl"}
    assert [line["type"] for line in project.lines].count("subagent_stopped") == 1
    before = project.ledger.read_bytes()
    assert project.hook("subagent_stop", {**given, "agent_id": "a2", "agent_type": ""}).silent, (
        "the client's own agent"
    )
    assert project.hook("subagent_stop", {**given, "agent_id": "a2", "session_id": S2}).silent
    assert project.ledger.read_bytes() == before


def test_a_failed_turn_is_noted_and_changes_no_answer(project: Project) -> None:
    project.start()
    project.stop()
    words = "You've hit your limit · resets 1pm"
    for _ in range(10):
        assert project.hook(
            "stop_failure", {"error": "rate_limit", "last_assistant_message": words}
        ).silent
    assert (project.session.failure["error"], project.session.failure["text"]) == (
        "rate_limit",
        words,
    )
    assert (project.session.iteration, project.session.hold_count, project.session.status) == (
        1,
        1,
        "running",
    )
    assert project.stop(forced=True).silent, "a failure is no activity"
    assert project.stop().held


def test_a_failure_without_words(project: Project) -> None:
    project.start()
    assert project.hook("stop_failure", {}).silent
    assert project.session.failure["error"] == "unknown"
    before = project.ledger.read_bytes()
    assert project.hook("stop_failure", {"error": "rate_limit", "session_id": S2}).silent
    assert project.ledger.read_bytes() == before


# -- TaskCreated, TaskCompleted


def test_a_task_that_claude_made_is_taken_in_without_a_verification(project: Project) -> None:
    project.start()
    project.native("1", blockedBy=["T-001"])
    assert project.hook("task_created", {"task_id": "1", "task_subject": "task 1"}).silent
    task = project.state().tasks["T-002"]
    assert (task.native, task.subject, task.verify, task.status, task.blocked_by) == (
        "1",
        "task 1",
        "",
        "pending",
        ("T-001",),
    )
    assert project.session.native_seen
    project.hook("task_created", {"task_id": "1", "task_subject": "task 1"})
    assert list(project.state().tasks) == ["T-001", "T-002"]
    snapshot = json.loads((project.root / "workflow-state.json").read_text())
    assert snapshot["tasks"]["total"] == 2, "the snapshot follows"


@pytest.mark.parametrize("stage", ["intent", "shape"])
def test_before_the_shape_claude_s_list_is_its_own_business(project: Project, stage: str) -> None:
    project.start(stage=stage)
    project.native("1")
    assert project.hook("task_created", {"task_id": "1"}).silent
    assert list(project.state().tasks) == ["T-001"] and project.session.native_seen
    assert project.hook("task_completed", {"task_id": "1"}).silent


def test_while_a_command_writes_the_task_is_left_to_the_next_one(project: Project) -> None:
    import fcntl

    project.start()
    project.native("1")
    with (project.root / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert project.hook("task_created", {"task_id": "1"}).silent
        refused = project.hook("task_completed", {"task_id": "1"}).json
        assert refused["decision"] == "block" and "loopkit task list" in refused["reason"]
    assert list(project.state().tasks) == ["T-001"]
    assert project.stop().held
    assert list(project.state().tasks) == ["T-001", "T-002"], "the next look takes it in"


def test_tasks_of_other_sessions_are_none_of_ours(project: Project) -> None:
    project.start()
    before = project.ledger.read_bytes()
    project.native("1", name=S2)
    assert project.hook("task_created", {"task_id": "1", "session_id": S2}).silent
    assert project.hook("task_completed", {"task_id": "T-001", "session_id": S2}).silent
    assert project.ledger.read_bytes() == before


def test_completion_without_evidence_is_refused(project: Project) -> None:
    project.start()
    answer = project.hook("task_completed", {"task_id": "T-001"})
    assert answer.json == {
        "decision": "block",
        "reason": "T-001 has no passing evidence, so it stays open; run loopkit next",
    }
    project.record("task_verified", id="T-001", passed=False, exit=1, log="x")
    assert project.hook("task_completed", {"task_id": "T-001"}).json["decision"] == "block"
    project.record("task_verified", id="T-001", passed=True, exit=0, log="x")
    assert project.hook("task_completed", {"task_id": "T-001"}).silent
    project.record("task_completed", id="T-001")
    assert project.hook("task_completed", {"task_id": "T-001"}).silent


@pytest.mark.parametrize("approval", ["review", "supervisor"])
def test_evidence_completes_nothing_where_somebody_has_to_approve(
    project: Project, approval: str
) -> None:
    project.start(approval=approval)
    project.record("task_verified", id="T-001", passed=True, exit=0, log="x")
    reason = project.hook("task_completed", {"task_id": "T-001"}).json["reason"]
    assert (
        reason == "T-001 has passed its check and stays open until it is approved; run loopkit next"
    )
    project.record("task_completed", id="T-001")
    assert project.hook("task_completed", {"task_id": "T-001"}).silent


def test_a_task_that_was_taken_in_needs_evidence_too(project: Project) -> None:
    project.start()
    project.native("1")
    project.hook("task_created", {"task_id": "1"})
    reason = project.hook("task_completed", {"task_id": "1"}).json["reason"]
    assert "T-002 has no passing evidence" in reason and "loopkit next" in reason


def test_tasks_of_no_loop_may_be_completed(project: Project) -> None:
    project.start()
    assert project.hook("task_completed", {"task_id": "77"}).silent
    assert project.hook("task_completed", {"task_id": "T-099"}).silent
    project.native("5", metadata={"loopId": "009-other"})
    assert project.hook("task_completed", {"task_id": "5"}).silent
    project.record("loop_cancelled")
    assert project.hook("task_completed", {"task_id": "T-001"}).silent


# -- hooks.json


#: By event the matcher and the condition of each of its hooks, where there are any.
MATCHERS = {
    "UserPromptExpansion": [("loop:start|loop:resume|loop:allow", None)],
    "PreToolUse": [("Agent|Task|SubagentHandback", None), ("Bash", "Bash(loopkit *)")],
}


def test_every_entry_goes_through_the_launcher() -> None:
    from loopkit.hooks import dispatch

    from .conftest import ROOT

    declared = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
    events = []
    for name, groups in declared.items():
        entries = [one for group in groups for one in group["hooks"]]
        event = entries[0]["command"].rpartition(" ")[2]
        found = [
            (group.get("matcher"), one.pop("if", None))
            for group, one in zip(groups, entries, strict=True)
        ]
        assert found == MATCHERS.get(name, [(None, None)])
        for entry in entries:
            assert entry == {
                "type": "command",
                "command": f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/run" {event}',
                "timeout": 10,
            }
        assert event.replace("_", "") == name.lower()
        events.append(event)
    assert sorted(events) == sorted(dispatch.EVENTS)
