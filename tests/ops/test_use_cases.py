"""Use cases need no terminal: a workspace and typed values are enough, and nothing is printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.core.journal.state import LoopState
from loopkit.ops import control, resume, start, status, verify
from loopkit.ops.workspace import Result, Workspace, data_of, reported
from tests.core.kit import Book


@pytest.fixture
def workspace(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-one")
    monkeypatch.setenv("LOOPKIT_DATA", str(tmp_path / "data"))
    return Workspace(pytest.fail)


def test_a_loop_is_started_paused_and_gone_on_with(
    workspace: Workspace, capfd: pytest.CaptureFixture
) -> None:
    options = start.Options(most={"iterations": "7"})
    started = start.start(workspace, "add rate limiting to the API", options)
    assert started.data == {"task": "add rate limiting to the API"} and started.code == 0
    assert "limits: 7 iterations" in started.text
    assert started.completed().data["next"]
    control.pause(workspace, "for lunch")
    assert status.status(workspace).data["reason"] == "for lunch"
    assert status.listing(workspace).data[0]["status"] == "paused"
    assert "goes on" in resume.resume(workspace, most={"iterations": "+1"}).text
    assert status.status(workspace).data["limits"]["iterations"] == 8
    with pytest.raises(Refused, match="no task"):
        verify.verify(workspace, "T-001", ["true"])
    assert capfd.readouterr() == ("", "")


def test_a_result_about_no_loop_is_whole_as_it_is() -> None:
    result = Result(None, "text", {"a": 1})
    assert result.completed() == result


def test_the_first_line_of_a_type_is_picked() -> None:
    changes = [("a", {"n": 1}), ("b", {"n": 2}), ("b", {"n": 3})]
    assert data_of(changes, "b") == {"n": 2} and data_of(changes, "c") is None


def test_there_is_a_report_from_the_thorough_review_on() -> None:
    book = Book().worked()
    assert not reported(book.state)
    book.review([])
    assert reported(book.state) and not reported(LoopState("001-x"))
