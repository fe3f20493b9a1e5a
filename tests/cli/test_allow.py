"""loopkit allow: what may run, and the word of the call that the person said yes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.ops import consent
from loopkit.ops.workspace import Workspace
from loopkit.store import leave
from tests.cli.kit import S1, S2, Project, surroundings, task

CHECKS = ["test -f limiter.txt", "test ! -f forbidden.txt"]


@pytest.fixture(autouse=True)
def settings(project: Project, tmp_path: Path) -> Path:
    """The folder of the person's own settings and state, beside HOME."""
    project.environment["LOOPKIT_CONFIG_DIR"] = str(tmp_path / "config")
    project.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    (tmp_path / "config").mkdir()
    return tmp_path / "config"


def loop_of(project: Project) -> tuple:
    workspace = Workspace(print)
    return workspace, workspace.own_loop()


def asked(project: Project, session: str = S1) -> str:
    """What the hook does when it asks the person."""
    with surroundings(project.folder, project.env(session)):
        workspace = Workspace(print)
        loop = workspace.our_loop()
        known = consent.leave_of(workspace, loop)
        token = loop.state.session.token
        data = project.environment["LOOPKIT_DATA"]
        return leave.request(data, session, token, known, leave.askable(loop.state, known))


def test_alone_it_grants_nothing_and_says_what_would(project: Project) -> None:
    project.planned()
    said = project.ok("allow", "--json").json
    assert said["missing"] == CHECKS and said["allowed"] == [] and said["next"] == []
    assert said["code"] == "unconfirmed"
    text = project.ok("allow").out
    assert "not allowed  T-001, C1: test -f limiter.txt" in text and "/loop:allow" in text
    assert "next:" not in text
    assert not (Path(project.environment["XDG_STATE_HOME"]) / "loopkit" / "leave").exists()


def test_where_nobody_can_be_asked_it_names_the_settings(project: Project) -> None:
    project.planned()
    assert "verify_allow" in project.ok("allow", CLAUDE_CODE_SESSION_ATTENDED="0").out


def test_the_asked_call_grants_what_was_shown(project: Project) -> None:
    project.planned()
    word = asked(project)
    project.ok("task", "add", "later", "--verify", "make check")  # not what the person saw
    said = project.ok("allow", "--asked", word, "--json").json
    assert said["granted"] == CHECKS and said["missing"] == ["make check"]
    assert project.ok("allow", "--asked", word, "--json").json["granted"] == []


@pytest.mark.parametrize("word", ["0" * 32, "x", "--soft"])
def test_no_other_call_grants(project: Project, word: str) -> None:
    project.planned()
    asked(project)
    words = [word] if word.startswith("-") else ["--asked", word]
    assert project.ok("allow", *words, "--json").json["granted"] == []


def test_another_session_grants_nothing(project: Project) -> None:
    project.planned()
    word = asked(project)
    refused = project.ok("allow", "--asked", word, session=S2).out
    assert refused.startswith("loopkit says no: ") and "belongs to session" in refused
    assert project.ok("allow", "--json").json["missing"] == CHECKS


def test_when_all_is_allowed_the_loop_goes_on(project: Project, settings: Path) -> None:
    project.planned()
    (settings / "config.toml").write_text('verify_allow = ["test *"]\n')
    answer = project.ok("allow")
    assert answer.steps == ["agent loop:coder: loop:implementation-T-001-1", "loopkit next"]


def test_a_fault_in_the_persons_settings_is_named(project: Project, settings: Path) -> None:
    project.planned()
    (settings / "config.toml").write_text("verify_alow = []\n")
    assert "there is no setting 'verify_alow'" in project.ok("allow").out


def test_a_program_that_is_still_to_be_written_is_not_asked_for(project: Project) -> None:
    project.planned(task(), task("Two", "sh check.sh"))
    asked_for = asked(project)
    said = project.ok("allow", "--asked", asked_for, "--json").json
    assert said["missing"] == ["sh check.sh"]
    assert "check.sh does not exist yet" in project.ok("allow").out
    project.write("check.sh")
    assert project.ok("allow", "--asked", asked(project), "--json").json["missing"] == []


def test_what_next_asks(project: Project) -> None:
    project.planned()
    with surroundings(project.folder, project.env()):
        workspace, loop = loop_of(project)
        assert not consent.allowed(workspace, loop, CHECKS[0])
        assert [line for _, line in consent.missing(workspace, loop)] == CHECKS
        consent.typed_patterns(loop, ["test -f *"])
        assert consent.allowed(workspace, loop, CHECKS[0])
        assert not consent.allowed(workspace, loop, CHECKS[1])


@pytest.mark.parametrize("target", ["T-001", "t-001", "C1", "M2", "1.1"])
def test_a_check_that_is_allowed_runs_by_its_name(
    project: Project, settings: Path, target: str
) -> None:
    project.write("limiter.txt")
    project.planned()
    project.ok("wave", "next")
    line = project.refused(1, "verify", target, says="nobody has allowed the check of")
    assert "/loop:allow" in line and "-- test " in line
    (settings / "config.toml").write_text('verify_allow = ["test *"]\n')
    project.ok("verify", target)


def test_what_has_no_check_is_named_as_ever(project: Project) -> None:
    project.planned()
    project.refused(1, "verify", "M1", says="M1 has no command")
    project.refused(1, "verify", "T-009", says="T-009")
    project.refused(2, "verify", "x", says="neither a task nor a criterion")
