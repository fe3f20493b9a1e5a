"""What the person allowed, and their own settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loopkit.core.journal.errors import Damaged, UsageFault
from loopkit.store import leave, personal

TOKEN = "0" * 32


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def of(project: Path, token: str = TOKEN, folder: str = "", **env: str) -> leave.Leave:
    session = SimpleNamespace(project="", token=token)
    state: Any = SimpleNamespace(session=session, folder=folder)
    return leave.of(str(project / ".loop"), state, {"HOME": "/nowhere", **env})


def test_leave_is_bound_to_words_and_folder(project: Path) -> None:
    leave.grant(str(project), ["pytest -q", "test -f 'a b'"])
    leave.grant(str(project), ["pytest -q"])
    assert of(project).lines == ["pytest -q", "test -f 'a b'"]
    assert of(project, folder="part").lines == []
    assert len(Path(leave.path()).read_text().splitlines()) == 2
    assert leave.digest("pytest  '-q'", "/x") == leave.digest("pytest -q", "/x")
    assert leave.digest("pytest -q", "/x") != leave.digest("pytest -q", "/y")


def test_a_changed_line_counts_for_nothing(project: Path) -> None:
    leave.grant(str(project), ["pytest -q"])
    file = Path(leave.path())
    file.write_text(file.read_text().replace("-q", "-x") + 'torn "li')
    assert of(project).lines == []


def test_a_typed_pattern_holds_for_its_loop(project: Path) -> None:
    leave.grant_patterns(TOKEN, ["make *", "pytest *"])
    assert of(project).patterns == ["make *", "pytest *"]
    assert of(project, "1" * 32).patterns == []


def test_no_leave_through_a_link(project: Path, tmp_path: Path) -> None:
    leave.grant(str(project), ["pytest -q"])
    file = Path(leave.path())
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        of(project)


def test_a_word_grants_once_and_in_its_session_and_loop_only(project: Path, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    word = leave.request(data, "s1", TOKEN, of(project), ["make check"])
    for wrong in (("s2", TOKEN, word), ("s1", "1" * 32, word), ("s1", TOKEN, "0" * 32)):
        assert leave.grant_requested(data, *wrong) == []
    assert leave.grant_requested(data, "s1", TOKEN, "") == [] and of(project).lines == []
    assert leave.grant_requested(data, "s1", TOKEN, word) == ["make check"]
    assert of(project).lines == ["make check"]
    assert leave.grant_requested(data, "s1", TOKEN, word) == []


def test_a_yes_outlives_a_call_that_dies(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(tmp_path / "data")
    word = leave.request(data, "s1", TOKEN, of(project), ["make check"])
    monkeypatch.setattr(leave.typed, "forget", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        leave.grant_requested(data, "s1", TOKEN, word)
    assert of(project).lines == ["make check"]


def test_a_later_question_takes_the_place_of_an_earlier(project: Path, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    first = leave.request(data, "s1", TOKEN, of(project), ["make evil"])
    leave.request(data, "s1", TOKEN, of(project), ["make check"])
    assert leave.grant_requested(data, "s1", TOKEN, first) == []


def test_a_program_that_is_still_to_be_written(project: Path) -> None:
    known = of(project)
    assert leave.unwritten(known, "./check.sh -v") == "./check.sh"
    assert leave.unwritten(known, "/nowhere/check.sh") == ""
    (project / "check.sh").touch()
    assert leave.unwritten(known, "./check.sh -v") == ""
    assert leave.unwritten(known, "pytest tests/test_new.py") == ""


# -- the person's own settings


def settings(folder: Path, text: str) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return {"LOOPKIT_CONFIG_DIR": str(folder)}


def test_where_they_lie() -> None:
    for env, path in (
        ({"LOOPKIT_CONFIG_DIR": "/c", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/c/config.toml"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/loopkit/config.toml"),
        ({"LOOPKIT_CONFIG_DIR": "c", "XDG_CONFIG_HOME": "x", "HOME": "/h"},
         "/h/.config/loopkit/config.toml"),
    ):  # fmt: skip
        assert personal.path(env) == path


def test_patterns_are_read(project: Path, tmp_path: Path) -> None:
    env = settings(tmp_path / "own", 'verify_allow = ["pytest *", "*"]')
    assert of(project, **env).patterns == ["pytest *", "*"]
    assert of(project).patterns == []


def test_a_file_in_the_project_is_nobodys(project: Path, tmp_path: Path) -> None:
    env = settings(project / "own", 'verify_allow = ["*"]')
    assert of(project, **env).patterns == []
    os.symlink(project / "own", tmp_path / "link")
    assert of(project, LOOPKIT_CONFIG_DIR=str(tmp_path / "link")).patterns == []


@pytest.mark.parametrize(
    ("text", "fault", "says"),
    [
        ("verify_allow = 1", UsageFault, "must be a list of patterns"),
        ('verify_allow = [""]', UsageFault, "must be a list of patterns"),
        ("verify_alow = []", UsageFault, "no setting 'verify_alow'"),
        ("verify_allow = [", Damaged, "config.toml"),
    ],
)
def test_a_fault_is_named(
    project: Path, tmp_path: Path, text: str, fault: type[Exception], says: str
) -> None:
    with pytest.raises(fault, match=says):
        of(project, **settings(tmp_path / "own", text))


def test_rows_are_json(project: Path) -> None:
    leave.grant(str(project), ["test -f 'a\nb'"])
    assert json.loads(Path(leave.path()).read_text().partition(" ")[2]) == "test -f 'a\nb'"
