"""Stop: what holds, what is let go, what is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit.hooks import dispatch
from loopkit.store import journal, loops

from .conftest import S1, S2, Project

pytestmark = pytest.mark.usefixtures("in_process")

RUNNING = {"id": "x", "type": "shell", "status": "running", "description": "poll"}


def assistant(name: str, block: dict, at: str = "2099-01-01T00:00:00.000Z") -> str:
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30}
    message = {"id": name, "model": "claude-sonnet-5", "content": [block], "usage": usage}
    return json.dumps({"type": "assistant", "timestamp": at, "message": message}) + "\n"


TOOL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
TEXT = {"type": "text", "text": "I leave it as it is"}


def test_a_hold_names_task_next_step_and_way_out(project: Project) -> None:
    project.start('⚠️ é ñ "write" it\nnow', "two", "three", "four")
    text = project.stop().held
    assert (
        'T-001 “⚠️ é ñ "write" it now”' in text
        and "next: loopkit" in text
        and text.endswith("The person leaves it by /loop:pause, /loop:resume, /loop:cancel.")
    )
    assert len(text) <= 500
    last = project.lines[-1]
    assert (last["type"], last["by"], last["data"]["decision"]) == (
        "iteration_ended",
        "hook",
        "hold",
    )
    assert project.session.iteration == 1


def test_a_forced_stop_after_words_only_is_let_go_and_after_a_tool_is_held(
    project: Project,
) -> None:
    project.start()
    project.stop()
    before = project.ledger.read_bytes()
    assert project.stop(forced=True).silent
    assert project.ledger.read_bytes() == before
    with project.transcript.open("a") as file:
        file.write(assistant("m1", TEXT))
    assert project.stop(forced=True).silent
    with project.transcript.open("a") as file:
        file.write(assistant("m2", TOOL))
    assert project.stop(forced=True).held


def test_a_transcript_that_the_client_writes_late_is_looked_at_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopkit.hooks import stop

    project.start()
    project.stop()
    given = {"session_id": S1, "cwd": str(project.folder), "stop_hook_active": True}
    raw = json.dumps({**given, "transcript_path": str(project.transcript)}).encode()

    class Time:
        @staticmethod
        def sleep(seconds: float) -> None:
            with project.transcript.open("a") as file:
                file.write(assistant("m1", TOOL))

    monkeypatch.setattr(stop, "time", Time)
    said = dispatch.answer("stop", raw, project.env, str(project.data), time.time())
    assert b"additionalContext" in said


def test_idle_turns_end_stalled_before_the_client_s_own_cap(project: Project) -> None:
    project.start()
    held = 0
    while True:
        answer = project.stop()
        if b"hookSpecificOutput" not in answer.out:
            break
        held += 1
    assert held == 3
    assert (
        "stalled" in answer.json["systemMessage"]
        and "/counsel:panel" in answer.json["systemMessage"]
    )
    assert (project.session.status, project.session.verdict) == ("paused", "stalled")
    assert project.stop().silent


def test_what_ends_a_turn_outlives_a_power_cut_and_a_hold_waits_for_no_disk(
    project: Project, in_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    project.start()
    monkeypatch.setattr(os, "fsync", waited.append)
    for _ in range(3):
        assert project.stop().held
    assert waited == []
    assert project.stop().json["systemMessage"] and len(waited) == 1


def test_an_agent_at_work_lets_stops_pass_and_the_loop_stays_armed(project: Project) -> None:
    project.start()
    before, agent = project.ledger.read_bytes(), {**RUNNING, "type": "subagent"}
    for _ in range(3):
        assert project.stop(background=[agent]).silent
    assert project.ledger.read_bytes() == before
    assert project.stop(background=[{**agent, "status": "completed"}]).held


def test_a_server_lets_stops_pass_once_a_hold_has_said_what_is_open(project: Project) -> None:
    project.start()
    assert project.stop(background=[RUNNING]).held
    told = project.stop(background=[RUNNING], forced=True).json["systemMessage"]
    assert "poll" in told and "nobody works on it" in told and "/loop:resume" in told
    assert project.stop(background=[RUNNING]).silent and project.stop(background=[RUNNING]).silent
    assert project.stop().held  # it has ended
    assert "poll" in project.stop(background=[RUNNING]).json["systemMessage"]


#: How the client notes an agent that has handed its report back, by a message of its own.
HANDED = "<task-notification>…delivered_as_a_message_(its_SubagentHandback_call)"


@pytest.mark.parametrize(
    ("operations", "held"),
    [
        ("enqueue", False),
        ("enqueue dequeue", True),
        ("enqueue enqueue dequeue", False),
        ("enqueue remove", True),
        ("enqueue enqueue popAll", True),
        ("dequeue enqueue", False),  # the file's end begins in between
        (f"enqueue:{HANDED}", True),  # only its message begins a turn
        (f"enqueue:<agent-message_from= enqueue:{HANDED}", False),
        ("enqueue:/compact", True),  # no turn follows from it
        ("enqueue:", True),  # the client does not say what
        ("enqueue:/loop:pause", False),
        ("enqueue:/loop:status", False),
        ("enqueue:blue", False),
        ("enqueue:/loop:pause remove", True),
        ("enqueue:old", True),  # the client was killed, and the session resumed
    ],
)
def test_while_a_report_or_the_person_waits_in_the_queue_nobody_is_held(
    project: Project, operations: str, held: bool
) -> None:
    project.start()
    with project.transcript.open("a") as file:
        for operation in operations.split():
            operation, given, content = operation.replace("_", " ").partition(":")
            old = content == "old"
            row = {
                "type": "queue-operation",
                "operation": operation,
                "timestamp": "2020-01-01T00:00:00.000Z" if old else "2999-01-01T00:00:00.000Z",
                "content": content if given and not old else "<task-notification>\n…",
            }
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    assert project.stop().silent is not held
    assert any(row["type"] == "iteration_ended" for row in project.lines) is held


def test_another_session_is_never_held_and_leaves_no_trace(project: Project) -> None:
    project.start()
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    assert project.stop(S2).silent and project.stop("").silent
    assert {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()} == before
    assert project.stop().held


@pytest.mark.parametrize(
    "kind", ["paused", "loop_cancelled", "loop_completed", "loop_failed", "question_asked"]
)
def test_what_is_paused_over_or_waiting_is_silent(project: Project, kind: str) -> None:
    project.start()
    project.record(kind, **({"text": "which one?"} if kind == "question_asked" else {}))
    for _ in range(2):
        assert project.stop().silent
        project.save()


def test_stage_intent_is_a_conversation(project: Project) -> None:
    project.start(stage="intent")
    assert project.stop().silent
    project.record("attended_changed", unattended=True)
    assert "next: loopkit next" in project.stop().held, "nobody is there to talk to"


def test_the_iteration_limit(project: Project) -> None:
    project.start()
    project.record("limits_set", iterations=2)
    assert project.stop().held
    told = project.stop().json["systemMessage"]
    assert "limit_iterations" in told and "--iterations" in told
    assert (project.session.status, project.session.verdict) == ("paused", "limit_iterations")


def test_usage_is_counted_once_and_only_since_the_loop_is_ours(
    project: Project, tmp_path: Path
) -> None:
    project.start()
    project.transcript.write_text(
        assistant("m0", TEXT, at="2020-01-01T00:00:00Z")
        + assistant("m1", TEXT)
        + assistant("m1", TOOL)
    )
    agents = tmp_path / "transcript" / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a.jsonl").write_text(assistant("m2", TOOL))
    assert project.stop().held
    assert project.session.usage == {"claude-sonnet-5": [20, 40, 0, 60]}
    assert project.session.offsets == {
        "transcript.jsonl": project.transcript.stat().st_size,
        "agent-a.jsonl": len(assistant("m2", TOOL)),
    }
    assert project.session.last_hold_offset == project.transcript.stat().st_size
    project.stop()
    assert project.session.usage == {"claude-sonnet-5": [20, 40, 0, 60]}


def test_the_transcript_of_a_noted_subagent_counts(project: Project, tmp_path: Path) -> None:
    project.start()
    elsewhere = tmp_path / "agent-z.jsonl"
    elsewhere.write_text(assistant("m5", TOOL))
    given = {"agent_id": "z", "agent_type": "loop:coder", "agent_transcript_path": str(elsewhere)}
    assert project.hook("subagent_stop", given).silent
    project.stop()
    assert project.session.usage == {"claude-sonnet-5": [10, 20, 0, 30]}


@pytest.mark.parametrize("raw", [b"\x8f", b"\x8f" * 10_000 + b"\n", b"", b"{}\n" * 5])
def test_any_transcript(project: Project, raw: bytes) -> None:
    project.start()
    project.transcript.write_bytes(raw)
    assert project.stop().held


@pytest.mark.parametrize(
    "path", ["", "/nowhere/x.jsonl", "/", "a\0b", 7, None, "/dev/zero", "\ud800"]
)
def test_any_transcript_path(project: Project, path: object) -> None:
    project.start()
    raw = json.dumps(
        {
            "session_id": S1,
            "cwd": str(project.folder),
            "stop_hook_active": False,
            "transcript_path": path,
        }
    )
    assert "T-001" in project.call("stop", raw.encode()).held


def test_the_ledger_needs_no_lock_to_be_appended(project: Project) -> None:
    import fcntl

    project.start()
    (project.root / "lock").touch()
    opened = [path.open("r+b") for path in project.root.rglob("*") if path.is_file()]
    for file in opened:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        project.native("1")
        assert project.stop().held
        assert "LOOP RESUME" in project.session_start("startup").json["systemMessage"]
    finally:
        for file in opened:
            file.close()


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"version":1}'])
def test_a_snapshot_that_is_gone_or_damaged(project: Project, text: str | None) -> None:
    project.start()
    snapshot = project.root / "workflow-state.json"
    if text is None:
        snapshot.unlink()
    else:
        snapshot.write_text(text)
    assert "T-001" in project.stop().held
    found = loops.read_snapshot(str(project.root))
    assert found is not None and found["iteration"] == 1, "the snapshot was not made anew"


def test_a_verdict_stands_in_the_snapshot_at_once(project: Project) -> None:
    project.start()
    while b"additionalContext" in project.stop().out:
        pass
    snapshot = json.loads((project.root / "workflow-state.json").read_text())
    assert (snapshot["status"], snapshot["verdict"], snapshot["next"]) == (
        "paused",
        "stalled",
        "loopkit resume",
    )


def test_a_turn_that_went_through_ends_the_failure_of_the_one_before(project: Project) -> None:
    project.start()
    project.record("stop_failed", error="rate_limit", text="resets 1pm")
    assert project.session.failure["text"] == "resets 1pm"
    project.stop()
    assert project.session.failure is None


def test_a_torn_last_line(project: Project) -> None:
    project.start()
    with project.ledger.open("a") as file:
        file.write('{"v":1,"at":"2026')
    assert project.stop().held
    assert project.session.iteration == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_ledger_that_cannot_be_written_lets_the_session_go(project: Project) -> None:
    project.start()
    project.ledger.chmod(0o400)
    assert project.stop().silent
    assert "PermissionError" in project.log()


def test_a_hold_that_cannot_be_recorded_is_not_given(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing would ever count, and only the client's own cap would end it."""

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    project.start()
    monkeypatch.setattr(journal, "append", full)
    given = {"session_id": S1, "cwd": str(project.folder), "stop_hook_active": False}
    assert (
        dispatch.answer(
            "stop", json.dumps(given).encode(), dict(project.env), str(project.data), 0.0
        )
        == b""
    )
    assert "No space left" in project.log() and len(project.log().splitlines()) == 1


# -- a named list without a loop of this session


def test_the_named_list_holds_the_first_stop(project: Project) -> None:
    for number in ("1", "2", "3", "4"):
        project.native(number, name="cyc", blockedBy=["99"])
    env = {"CLAUDE_CODE_TASK_LIST_ID": "cyc"}
    assert project.stop(**env).held == "pending tasks: task 1; task 2; task 3"
    assert project.stop(forced=True, **env).silent
    assert project.stop(LOOPKIT_CHILD="1", **env).silent
    assert project.stop().silent
    for number in ("1", "2", "3", "4"):
        project.native(number, "completed", name="cyc")
    assert project.stop(**env).silent
    assert not project.root.exists()


def test_a_named_list_that_is_absent_or_unreadable(project: Project) -> None:
    assert project.stop(CLAUDE_CODE_TASK_LIST_ID="none").silent
    folder = project.list_folder("cyc")
    folder.mkdir(parents=True)
    (folder / "1.json").write_text("{")
    (folder / "2.json").mkdir()
    (folder / "3.json").symlink_to("nowhere")
    assert project.stop(CLAUDE_CODE_TASK_LIST_ID="cyc").silent
    assert len(project.log().splitlines()) == 1 and "1.json, 2.json, 3.json" in project.log()


def test_our_own_mirror_in_a_named_list_holds_nobody(project: Project) -> None:
    project.start()
    project.list_folder("cyc").mkdir(parents=True)
    env = {"CLAUDE_CODE_TASK_LIST_ID": "cyc"}
    assert project.stop(**env).held
    assert (project.list_folder("cyc") / "T-001.json").exists()
    project.record("loop_cancelled")
    assert project.stop(**env).silent
    assert project.stop(S2, **env).silent


# -- the mirror


def test_the_list_is_brought_in_step_and_contradictions_are_noted(project: Project) -> None:
    project.start("one", "two")
    project.record("task_completed", id="T-001")
    project.save()
    project.native("T-001", "in_progress", metadata={"loopId": "001-limiter"})
    assert "T-002" in project.stop().held
    folder = project.list_folder()
    assert json.loads((folder / "T-001.json").read_text())["status"] == "completed"
    assert json.loads((folder / "T-002.json").read_text())["status"] == "pending"
    assert project.state().tasks["T-001"].status == "completed"
    assert "T-001 is in_progress there but completed by its evidence" in project.log()


def test_an_emptied_list_is_filled_again(project: Project) -> None:
    project.start("one", "two", "three")
    folder = project.list_folder()
    folder.mkdir(parents=True)
    (folder / ".highwatermark").write_text("3")
    assert project.stop().held
    assert sorted(os.listdir(folder)) == [
        ".highwatermark",
        "T-001.json",
        "T-002.json",
        "T-003.json",
    ]


def test_no_list_is_made(project: Project) -> None:
    project.start()
    project.stop()
    assert not (project.config / "tasks").exists()


# -- any input


FIELDS = (
    "session_id cwd source task_id background_tasks status stop_hook_active transcript_path "
    "command_name command_args "
    "agent_id agent_type agent_transcript_path error error_details last_assistant_message reason "
    "tool_name tool_input prompt message"
).split()
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["T-001", "1", "clear", "running", "Agent", "SubagentHandback", "loop:a-1"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


def answer_any(project: Project, event: str, raw: bytes) -> None:
    if not project.root.exists():
        project.start("one", "two")
        project.native("1")
    said = dispatch.answer(event, raw, dict(project.env), str(project.data), 1.8e9)
    assert said == b"" or isinstance(json.loads(said.decode("ascii")), dict)
    assert project.log() == "", "an odd input is no fault of ours"


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.sampled_from(dispatch.EVENTS),
    st.binary() | VALUES.map(lambda value: json.dumps(value).encode()),
)
def test_any_input_gives_nothing_or_one_object(project: Project, event: str, raw: bytes) -> None:
    answer_any(project, event, raw)


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.sampled_from(dispatch.EVENTS), st.dictionaries(st.sampled_from(FIELDS[2:]), VALUES))
def test_any_fields_of_the_owner_give_nothing_or_one_object(
    project: Project, event: str, fields: dict
) -> None:
    answer_any(
        project,
        event,
        json.dumps({"session_id": S1, "cwd": str(project.folder), **fields}).encode(),
    )


@pytest.mark.parametrize("event", dispatch.EVENTS)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe\x00",
        b"null",
        b"[" * 200_000,
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_any_bytes_through_the_launcher(project: Project, event: str, raw: bytes) -> None:
    project.start()
    answer = project.call(event, raw, shell="sh")
    assert answer.exit == 0 and answer.err == b""
    assert answer.out == b"" or answer.json
    assert project.log() == ""


def test_a_byte_order_mark_before_the_input(project: Project) -> None:
    project.start()
    given = {
        "session_id": S1,
        "cwd": str(project.folder),
        "stop_hook_active": False,
        "last_assistant_message": 'ぁ"x',
    }
    raw = b"\xef\xbb\xbf" + json.dumps(given, ensure_ascii=False).encode()
    assert project.call("stop", raw, PYTHONIOENCODING="cp932:surrogateescape", LC_ALL="C").held


def test_a_fault_of_ours_costs_one_line_in_the_log(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopkit.hooks import stop

    def broken(_: object) -> None:
        raise RuntimeError("line one\nline two" + "x" * 5000)

    monkeypatch.setattr(stop, "handle", broken)
    for _ in range(200):
        assert dispatch.answer("stop", b"{}", {}, str(project.data), 0.0) == b""
    lines = project.log().splitlines()
    assert "RuntimeError in test_stop.py" in lines[0] and max(map(len, lines)) < 540
    assert sum(file.stat().st_size for file in project.data.glob("hooks.log*")) < 140_000


def test_no_stdin_and_no_stdout_are_no_trouble(project: Project) -> None:
    project.start()
    for close in ("<&-", ">&-", "<&- >&- 2>&-"):
        line = f'exec sh "{project.launcher}" session_start {close}'
        done = subprocess.run(
            ["sh", "-c", line],
            env=project.env,
            cwd=project.folder,
            capture_output=True,
            timeout=300,
        )
        assert done.returncode == 0 and done.stdout == b""


def test_what_a_hook_imports_is_light(project: Project) -> None:
    """Start-up is the cost of a hook: these would each add a quarter of an interpreter's start, or
    more."""
    project.start()
    given = json.dumps(
        {"session_id": S1, "cwd": str(project.folder), "transcript_path": str(project.transcript)}
    )
    main = project.launcher.parents[1] / "loopkit" / "hooks" / "__main__.py"
    argv = [sys.executable, "-I", "-S", "-X", "importtime", str(main), "stop", str(project.data)]
    done = subprocess.run(
        argv, input=given.encode(), env=project.env, cwd=project.folder, capture_output=True
    )
    assert b"additionalContext" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "loopkit.core.steps.stop" in loaded
    heavy = {
        "json",
        "re",
        "typing",
        "dataclasses",
        "pathlib",
        "datetime",
        "hashlib",
        "subprocess",
        "inspect",
        "loopkit.core.journal.state",
    }
    assert not loaded & heavy


def test_an_unknown_model_is_told_once_and_tokens_stand_for_money(project: Project) -> None:
    project.start()
    project.transcript.write_text(assistant("m1", TOOL).replace("claude-sonnet-5", "mystery-1"))
    first = project.stop().json
    assert "mystery-1" in first["systemMessage"] and "$25" in first["systemMessage"]
    assert "60 tokens" in first["hookSpecificOutput"]["additionalContext"]
    with project.transcript.open("a") as file:
        file.write(assistant("m2", TOOL).replace("claude-sonnet-5", "mystery-2"))
    project.record("task_verified", id="T-001", passed=False)
    second = project.stop().json
    assert (
        "systemMessage" not in second
        and "120 tokens" in second["hookSpecificOutput"]["additionalContext"]
    )
    assert [row["data"] for row in project.lines if row["type"] == "notice_given"] == [
        {"name": "no_price"}
    ]


def test_without_a_limit_on_money_an_unknown_model_is_no_matter(project: Project) -> None:
    project.start()
    project.record("limits_set", usd=None)
    project.transcript.write_text(assistant("m1", TOOL).replace("claude-sonnet-5", "mystery-1"))
    assert "systemMessage" not in project.stop().json
