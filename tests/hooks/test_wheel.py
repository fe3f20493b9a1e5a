"""The person keeps the wheel: what Esc and words of theirs do to a session that a loop holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopkit.store import loops

from .conftest import S2, Answer, Project
from .test_agents import GOOD, ONE, REPORT, Loop, prompt_of

pytestmark = pytest.mark.usefixtures("in_process")

ESC = "[Request interrupted by user for tool use]"
WAYS = "/loop:pause, /loop:resume, /loop:cancel"


def typed(project: Project, words: str = "what is this?", **more: Any) -> Answer:
    env = {key: more.pop(key) for key in list(more) if key.isupper()}
    return project.hook("user_prompt_submit", {"prompt": words, "prompt_id": "p2", **more}, **env)


def line(project: Project, kind: str, content: object, **fields: Any) -> None:
    row = {"type": kind, "message": {"role": kind, "content": content}, **fields}
    with project.transcript.open("a") as file:
        file.write(json.dumps(row) + "\n")


def esc(project: Project) -> None:
    line(project, "user", [{"type": "text", "text": ESC}], promptId="p1")


def test_words_let_the_session_go_until_a_command_of_the_loop(project: Project) -> None:
    project.start("write it")
    assert project.stop().held
    told = typed(project).json["hookSpecificOutput"]["additionalContext"]
    assert "run `loopkit next` only if they want the work to go on" in told
    before = project.session.iteration
    said = project.stop().json["systemMessage"]
    assert "“add rate limiting” waits, since you spoke: /loop:resume goes on" in said
    assert said.index("/loop:pause") < said.index("/loop:resume,") < said.index("/loop:cancel")
    for _ in range(5):  # said once, and nothing is counted
        typed(project, "and that?")
        assert project.stop(forced=True).silent
    session = project.session
    assert (session.iteration, session.hold_count, session.status) == (before, 1, "running")
    project.record("went_on")
    assert project.stop().held
    typed(project)
    assert "since you spoke" in project.stop().json["systemMessage"]


@pytest.mark.parametrize(
    ("words", "free"),
    [
        ("/loop:start x", False), ("/loop:resume", False), ("/loop:allow", False),
        ("/loop:pause", False), ("/loop:cancel", False),
        ("/loop:status", True), ("/loop:resumed", True), ("/counsel:panel x", True), ("", True),
        (" \n", True), ("look at <task-notification>", True),
    ],
)  # fmt: skip
def test_what_is_a_command_of_the_loop_s(project: Project, words: str, free: bool) -> None:
    project.start()
    typed(project, words)
    assert project.session.free is free


def test_a_status_starts_nothing_and_is_told_nothing(project: Project) -> None:
    project.start()
    assert typed(project, "/loop:status").silent
    assert "since you spoke" in project.stop().json["systemMessage"]
    assert project.session.iteration == 0


def test_a_status_that_waited_for_the_turn_s_end_leaves_the_work_going(project: Project) -> None:
    project.start()
    row = {"type": "queue-operation", "operation": "enqueue", "content": "/loop:status"}
    row["timestamp"] = "2999-01-01T00:00:00.000Z"
    with project.transcript.open("a") as file:
        file.write(json.dumps(row) + "\n")
    assert project.stop().silent
    assert typed(project, "/loop:status").silent
    with project.transcript.open("a") as file:
        file.write(json.dumps({**row, "operation": "dequeue"}) + "\n")
    assert project.stop().held and project.session.iteration == 1
    typed(project, "/loop:status")  # this one was typed while nothing went on
    assert "since you spoke" in project.stop().json["systemMessage"]


@pytest.mark.parametrize("case", ["nobody", "sdk", "S2", "paused", "question", "intent", "over"])
def test_whom_words_do_not_let_go(project: Project, case: str) -> None:
    project.start(stage="intent" if case == "intent" else "executing")
    more: dict = {"nobody": {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "S2": {"session_id": S2}}.get(
        case, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"} if case == "sdk" else {}
    )
    kinds = {"paused": "paused", "question": "question_asked", "over": "loop_cancelled"}
    if case in kinds:
        project.record(kinds[case])
    assert typed(project, **more).silent
    assert not project.session.free


def test_esc_is_seen_by_the_next_prompt(project: Project) -> None:
    project.start()
    esc(project)
    line(project, "user", "<command-name>/cost</command-name>")
    line(project, "user", "the question itself", promptId="p2")
    told = typed(project).json["hookSpecificOutput"]["additionalContext"]
    assert "pressed Esc" in told
    assert [row["data"] for row in project.lines if row["type"] == "person_spoke"] == [
        {"how": "esc"}
    ]


@pytest.mark.parametrize("later", ["assistant", "user"])
def test_an_older_esc_is_none(project: Project, later: str) -> None:
    project.start()
    esc(project)
    line(project, later, [{"type": "text", "text": "go on"}])
    assert "The person spoke" in typed(project).json["hookSpecificOutput"]["additionalContext"]


def test_a_line_in_the_client_s_shell_mode_drives_nothing_on(project: Project) -> None:
    project.start()
    line(project, "user", "<bash-input>! git status</bash-input>")
    line(project, "user", "<bash-stdout>clean</bash-stdout>")
    line(project, "assistant", [{"type": "text", "text": "clean"}])
    assert "since you spoke" in project.stop().json["systemMessage"]
    assert project.stop().silent and project.session.iteration == 0


def test_what_agents_bring_after_esc_is_kept_and_begins_no_turn(project: Project) -> None:
    loop = Loop(project)
    loop.agent("a1", prompt_of())
    loop.starts(f"loop:{ONE}")
    esc(project)
    loop.stops("a1", GOOD)
    said = typed(project, REPORT + GOOD).json
    assert said["decision"] == "block" and "its answer is kept" in said["reason"]
    assert "/loop:resume" in said["reason"] and project.session.free
    assert loop.answer()["text"] == GOOD
    lost = typed(project, REPORT.replace("completed", "killed")).json
    assert "without an answer" in lost["reason"]


def test_an_agent_of_the_loop_s_that_is_started_goes_on_with_it(project: Project) -> None:
    loop = Loop(project)
    typed(project, "Please go on.")
    loop.starts(f"loop:{ONE}", agent_id="a9")
    loop.starts("look around")
    assert project.session.free, "neither an agent's agent nor another's"
    loop.starts(f"loop:{ONE}")
    loop.agent("a1", prompt_of())
    loop.stops("a1", GOOD)
    said = typed(project, REPORT + GOOD).json
    assert not project.session.free and "decision" not in said
    assert [row["type"] for row in project.lines].count("went_on") == 1


def test_another_s_report_begins_its_turn(project: Project) -> None:
    project.start()
    typed(project)
    words = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>"
    assert typed(project, words).silent
    assert "since you spoke" in project.stop().json["systemMessage"]


def test_agents_at_work_are_named_once(project: Project) -> None:
    project.start()
    typed(project)
    agent = {"id": "a", "type": "subagent", "agent_type": "loop:coder", "status": "running"}
    said = project.stop(background=[agent]).json["systemMessage"]
    assert "1 agent is still at work; what it brings is taken then" in said
    assert project.stop(background=[agent]).silent


@pytest.mark.parametrize("source", ["compact", "resume", "clear"])
@pytest.mark.parametrize(
    ("event", "data", "save"),
    [
        ("paused", {"reason": "by hand"}, False),
        ("paused", {"verdict": "must_not_breached", "reason": "M1 is broken"}, True),
        ("iteration_ended", {"decision": "allow", "verdict": "limit_time", "reason": "x"}, True),
        ("iteration_ended", {"decision": "allow", "verdict": "stalled", "reason": "x"}, False),
        ("question_asked", {"text": "which one?"}, True),
        ("question_asked", {"text": "which one?"}, False),
        ("confirm", {}, True),
    ],
)
def test_nothing_of_the_person_s_is_handed_on(
    project: Project, source: str, event: str, data: dict, save: bool
) -> None:
    project.start()
    if event == "confirm":
        project.record("scored", values={}, spec=5, fit=25, shape="colleague")
    else:
        project.record(event, **data)
    if save:
        project.save()
    answer = project.session_start(source, **({"session": S2} if source == "clear" else {})).json
    told = answer["hookSpecificOutput"]["additionalContext"]
    assert "waits for the person" in told
    assert "is what to run now" not in told and "loopkit " not in told
    assert WAYS in told and "“add rate limiting”" in answer["systemMessage"]


def test_compaction_after_words_does_not_drive_on(project: Project) -> None:
    project.start()
    typed(project)
    told = project.session_start("compact").json["hookSpecificOutput"]["additionalContext"]
    assert "is what to run now" not in told and "only if they want the work to go on" in told


def test_findings_that_the_person_decides_on_hold_nobody(project: Project) -> None:
    project.start(stage="review")
    project.record("task_completed", id="T-001")
    row = {"id": "F-001", "severity": "WARNING", "issue": "x", "source": "thorough"}
    project.record("review_thorough", round=1, experts=["a"], size=1, findings=[row])
    project.save()
    said = project.stop().json["systemMessage"]
    assert "waits for you: to be decided: F-001" in said and WAYS in said
    assert project.stop().silent and project.session.hold_count == 0
    project.record("attended_changed", unattended=True)
    assert project.stop().held  # nobody can be asked: it is for `loopkit next`
    view = loops.view(str(project.root))
    assert view is not None and view.snapshot["next"] == "loopkit next"


def test_the_plan_is_shown_once_in_three_lines(project: Project) -> None:
    loop = Loop(project)
    rows = [{"id": "C1", "text": "429 from the 101st on", "type": "execution output"}]
    project.record("shape_saved", title="t", criteria=rows)
    project.save()
    assert "systemMessage" not in loop.starts(f"loop:{ONE}").json, "it is no plan yet"
    project.record("wave_opened", wave=1, tasks=["T-001"])
    project.save()
    told = loop.starts(f"loop:{ONE}").json
    assert told["hookSpecificOutput"]["permissionDecision"] == "allow"
    first, tasks, done = told["systemMessage"].split("\n")
    assert first == f"Loop 001 “add rate limiting” begins. ({WAYS})"
    assert tasks.startswith("2 tasks: ") and done == "Done when: 429 from the 101st on"
    assert "systemMessage" not in loop.starts(f"loop:{ONE}").json


@pytest.mark.parametrize("answered", [False, True])
def test_after_clear_agents_at_work_are_not_sent_again(project: Project, answered: bool) -> None:
    loop = Loop(project)
    loop.agent("a1", prompt_of())
    loop.starts(f"loop:{ONE}")
    if answered:
        loop.stops("a1", GOOD)
    assert ONE in loops.view(str(project.root)).snapshot["out"]  # type: ignore[union-attr]
    project.session_start("clear", S2)
    changed = [row["data"] for row in project.lines if row["type"] == "owner_changed"]
    assert changed[-1].get("same_client") is not answered
