"""PreToolUse on Bash: safe lines of loopkit run unasked, `loopkit allow` asks the person."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from loopkit.hooks import own_lines
from loopkit.store import leave
from tests.core.attacks import ATTACKS

from .conftest import ROOT, S1, S2, Answer, Project

pytestmark = pytest.mark.usefixtures("in_process")

PROGRAM = shlex.quote(str(ROOT / "bin" / "loopkit"))
if PROGRAM[0] != "'":
    PROGRAM = f"'{PROGRAM}'"


def call(project: Project, line: object, **more: Any) -> Answer:
    options = {name: more.pop(name) for name in list(more) if name.isupper() or name == "cwd"}
    given = {"tool_name": "Bash", "tool_use_id": "toolu_1", "permission_mode": "default"}
    tool_input = {"command": line, "description": "d"}
    return project.hook("pre_tool_use", {**given, "tool_input": tool_input, **more}, **options)


def decision(answer: Answer) -> dict:
    special = answer.json["hookSpecificOutput"]
    assert special["hookEventName"] == "PreToolUse"
    return special


@pytest.mark.parametrize("more", [{}, {"agent_id": "a1", "agent_type": "loop:coder"}])
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto"])
def test_a_safe_line_runs_the_plugins_own_program(project: Project, mode: str, more: dict) -> None:
    project.start()
    said = decision(call(project, "loopkit task show T-001", permission_mode=mode, **more))
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"] == {
        "command": f"{PROGRAM} task show T-001",
        "description": "d",
    }


def test_a_line_that_takes_long_gets_time_and_stays_in_the_foreground(project: Project) -> None:
    project.start()
    given = {"command": "loopkit next", "timeout": 5000, "run_in_background": True}
    said = decision(call(project, "", tool_input=given))["updatedInput"]
    assert said == {"command": f"{PROGRAM} next", "timeout": own_lines.LONGEST}


def test_a_here_document_is_handed_on_as_it_is(project: Project) -> None:
    project.start()
    line = "loopkit submit --file - <<'EOF'\n" + "a: \"it's\" {'b'}\n" * 2000 + "EOF"
    said = decision(call(project, line))["updatedInput"]["command"]
    assert said == PROGRAM + line[len("loopkit") :]


@pytest.mark.parametrize("text", ATTACKS, ids=repr)
def test_no_attack_is_answered(project: Project, text: str) -> None:
    project.start()
    assert call(project, text).silent
    assert not (project.data / "prompts").exists()


@pytest.mark.parametrize("line", ["loopkit next", "loopkit allow"])
def test_in_plan_mode_the_client_decides(project: Project, line: str) -> None:
    project.start()
    assert call(project, line, permission_mode="plan").silent


@pytest.mark.parametrize("line", ["loopkit next", "loopkit allow", "loopkit submit --file x"])
def test_another_session_gets_no_leave(project: Project, line: str) -> None:
    project.start()
    assert call(project, line, session_id=S2).silent
    assert decision(call(project, "loopkit status", session_id=S2))


def test_without_a_loop_the_client_decides(project: Project, tmp_path: Path) -> None:
    assert call(project, "loopkit status").silent
    project.start()
    env = {"XDG_STATE_HOME": str(tmp_path / "this machine")}  # a loop that came with a clone
    assert call(project, "loopkit next", **env).silent
    assert call(project, "loopkit allow", **env).silent


@pytest.mark.parametrize("tool", ["Read", None, [], "Bash2"])
def test_other_tools_and_inputs_are_nobodys(project: Project, tool: object) -> None:
    project.start()
    assert call(project, "loopkit next", tool_name=tool).silent
    assert call(project, "x", tool_input="loopkit next").silent


# -- loopkit allow


def asked(project: Project, **more: Any) -> dict:
    said = decision(call(project, "loopkit allow", **more))
    assert said["permissionDecision"] == "ask"
    return said


def shown(said: dict) -> list[str]:
    """The checks in the command that the person sees."""
    first, *rows, last = said["updatedInput"]["command"].split("\n")
    assert first.endswith(" <<'CHECKS'") and last == "CHECKS"
    assert all(row[:2] == "  " for row in rows)
    return [row[2:] for row in rows]


def test_allow_shows_all_checks_one_a_line(project: Project) -> None:
    project.start("one", "two")
    said = asked(project)
    text = said["permissionDecisionReason"]
    assert text.startswith("runs the project's own code: before the work, after it, and on a copy")
    assert str(project.folder.resolve()) in text
    assert shown(said) == ["test -f 1.txt", "test -f 2.txt"]
    program, *words = shlex.split(said["updatedInput"]["command"].split(" <<")[0])
    assert program == str(ROOT / "bin" / "loopkit")
    assert words[:2] == ["allow", "--asked"] and len(words[2]) == 32
    assert said["updatedInput"]["timeout"] == own_lines.LONGEST
    kept = next((project.data / "prompts").iterdir()).read_text()
    assert words[2] not in kept  # whoever reads what is kept cannot say yes
    assert not Path(leave.path()).exists()


@pytest.mark.parametrize("check", ["CHECKS", "touch 'a\nCHECKS\ntouch pwned'", "a\u202eb\u200b"])
def test_no_check_leaves_the_document_or_hides_in_it(project: Project, check: str) -> None:
    project.start()
    project.record("task_added", task={"id": "T-002", "subject": "x", "verify": check})
    rows = shown(asked(project))
    assert len(rows) == 2 and rows[1] == (check if check == "CHECKS" else json.dumps(check))


def test_where_nobody_can_be_asked_it_says_what_to_do(project: Project) -> None:
    project.start()
    said = asked(project, CLAUDE_CODE_SESSION_ATTENDED="0")
    assert "verify_allow" in said["permissionDecisionReason"]


def test_another_proof_is_asked_for_in_the_words_that_will_run(project: Project) -> None:
    project.start("one")
    said = decision(call(project, "loopkit proof C1 --why 'a slip' -- grep -q 'a b' x.txt"))
    assert said["permissionDecision"] == "ask"
    assert "grep -q 'a b' x.txt" in said["permissionDecisionReason"]
    program, *words = shlex.split(said["updatedInput"]["command"])
    assert program == str(ROOT / "bin" / "loopkit") and len(words.pop(2)) == 32
    assert words == [
        "proof",
        "--asked",
        "C1",
        "--why",
        "a slip",
        "--",
        "grep",
        "-q",
        "a b",
        "x.txt",
    ]
    turned = decision(call(project, "loopkit proof C1 -- grep '\u202ea' x.txt"))
    assert "\\u202ea" in turned["permissionDecisionReason"]
    assert "\u202e" not in turned["permissionDecisionReason"]
    for line in (
        "loopkit proof C1 -- ls; ls",
        "loopkit proof C1",
        "loopkit proof --asked x C1 -- ls",
    ):
        assert call(project, line).silent


def test_an_agent_asks_nobody(project: Project) -> None:
    project.start()
    line = "loopkit proof C1 --why x -- ls"
    assert call(project, line, agent_id="a1", agent_type="loop:coder").silent
    assert call(project, "loopkit allow", agent_id="a1", agent_type="loop:coder").silent


def test_what_is_allowed_already_is_not_asked_for(project: Project) -> None:
    project.start()
    project.record("task_added", task={"id": "T-002", "subject": "x", "verify": "make check"})
    leave.grant(str(project.folder.resolve()), ["test -f 1.txt"])
    assert shown(asked(project)) == ["make check"]


def test_where_all_is_allowed_nobody_is_asked(project: Project) -> None:
    project.start()
    leave.grant(str(project.folder.resolve()), ["test -f 1.txt"])
    said = decision(call(project, "loopkit allow"))
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"]["command"] == f"{PROGRAM} allow"


def test_leave_in_another_folder_counts_for_nothing(project: Project, tmp_path: Path) -> None:
    project.start()
    leave.grant(str(tmp_path / "elsewhere"), ["test -f 1.txt"])
    assert asked(project)


def test_leave_that_came_with_the_project_counts_for_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.start()
    loops = Path(leave.path()).parent
    inner = project.folder / "state"
    inner.mkdir()
    loops.rename(inner / "loopkit")
    state = {"LOOPKIT_STATE": str(inner)}
    monkeypatch.setenv("LOOPKIT_STATE", str(inner))
    leave.grant(str(project.folder.resolve()), ["test -f 1.txt"])
    assert (inner / "loopkit" / "leave").exists()
    settings = project.folder / "config.toml"
    settings.write_text('verify_allow = ["*"]\n')
    assert asked(project, LOOPKIT_CONFIG_DIR=str(project.folder), **state)


def test_patterns_of_the_persons_own_settings_count(project: Project, tmp_path: Path) -> None:
    project.start()
    folder = tmp_path / ".config" / "loopkit"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('verify_allow = ["test -f *"]\n')
    assert decision(call(project, "loopkit allow"))["permissionDecision"] == "allow"


def test_a_broken_file_of_settings_grants_nothing(project: Project, tmp_path: Path) -> None:
    project.start()
    folder = tmp_path / ".config" / "loopkit"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("verify_allow = 1\n")
    assert call(project, "loopkit allow").silent
    assert "verify_allow must be a list" in project.log()


# -- /loop:allow


def test_a_typed_allow_grants_what_would_be_asked(project: Project) -> None:
    project.start("one", "two")
    task = {"id": "T-009", "subject": "x", "verify": "sh check.sh"}  # not written yet
    project.record("task_added", task=task)
    given = {"command_name": "loop:allow", "command_args": ""}
    assert project.hook("user_prompt_expansion", {**given, "session_id": S2}).silent
    assert not Path(leave.path()).exists()
    assert project.hook("user_prompt_expansion", given).silent
    rows = Path(leave.path()).read_text().splitlines()
    assert [json.loads(row.partition(" ")[2]) for row in rows] == ["test -f 1.txt", "test -f 2.txt"]
    assert project.hook("user_prompt_expansion", {**given, "session_id": S1}).silent
    assert len(Path(leave.path()).read_text().splitlines()) == 2
