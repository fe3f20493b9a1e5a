"""What most tests of hooks call within their own process says and writes what the launcher does."""

from __future__ import annotations

import shutil

import pytest

from .conftest import S2, Project

EVENTS = {
    "a stop": ("stop", {"stop_hook_active": False, "last_assistant_message": "working"}),
    "a stop of another session": ("stop", {"session_id": S2}),
    "a start": ("session_start", {"source": "startup"}),
    "a start of another session": ("session_start", {"source": "startup", "session_id": S2}),
    "a prompt": (
        "user_prompt_expansion",
        {"command_name": "loop:start", "command_args": 'it\'s "ü" & $more'},
    ),
    "a subagent's end": (
        "subagent_stop",
        {"agent_id": "a", "agent_type": "loop:coder", "agent_transcript_path": "x"},
    ),
    "an agent's start": (
        "pre_tool_use",
        {"tool_name": "Agent", "tool_input": {"prompt": "loop:plan-1"}},
    ),
    "a report": ("user_prompt_submit", {"prompt": "<task-notification>"}),
    "a failed turn": ("stop_failure", {"error": "rate_limit"}),
    "a task made": ("task_created", {"task_id": "1", "task_subject": "Claude's own"}),
    "a task completed": ("task_completed", {"task_id": "T-001", "task_subject": "the limiter"}),
    "an end": ("session_end", {"reason": "clear"}),
}


def wrote(project: Project) -> tuple[list, set]:
    """The journal's lines without their times, and which files there are but marks and caches."""
    lines = [(line["type"], line["by"], sorted(line["data"])) for line in project.lines]
    tops = (project.root, project.config, project.data / "prompts")
    return lines, {str(path) for top in tops for path in top.rglob("*")}


@pytest.mark.parametrize("name", EVENTS)
def test_the_launcher_gives_the_same(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.start("write the limiter", "test it")
    project.native("1")
    frozen = project.folder.parent / "frozen"
    tops = {top: frozen / top.name for top in (project.root, project.data, project.config)}
    for top, copy in tops.items():
        shutil.copytree(top, copy)
    event, given = EVENTS[name]
    launched = project.hook(event, given)
    left = wrote(project)
    for top, copy in tops.items():
        shutil.rmtree(top)
        shutil.copytree(copy, top)
    monkeypatch.setattr(Project, "in_process", True)
    assert project.hook(event, given) == launched
    assert wrote(project) == left
