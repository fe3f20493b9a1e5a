"""The mark that each hook call leaves, by which one that is never called, or killed, can be
told."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from loopkit.hooks import dispatch, reply
from loopkit.store import beats

from .conftest import S1, S2, Project


@pytest.fixture
def marks(project: Project) -> Path:
    """The folder of marks, as SessionStart makes it."""
    assert project.call("session_start", b"{}").silent
    return project.data / "beats"


def result(project: Project, event: str) -> str:
    found = beats.read(str(project.data), event)
    return found.result if found else "never"


def test_session_start_makes_the_folder_and_no_other_event_does(project: Project) -> None:
    assert project.call("stop", b"{}").silent
    assert not (project.data / "beats").exists() and result(project, "stop") == "never"
    assert project.call("session_start", b"{}").silent
    assert result(project, "session_start") == "no-loop"


@pytest.mark.parametrize("event", dispatch.EVENTS)
def test_every_event_is_marked_where_no_loop_is(project: Project, marks: Path, event: str) -> None:
    began = time.time()
    project.call(event, json.dumps({"session_id": S1, "command_name": "other"}).encode())
    found = beats.read(str(project.data), event)
    assert (
        found is not None
        and found.result in ("no-loop", "silent")
        and began - 1 < found.at < time.time() + 1
    )
    assert list(project.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("env", "word"),
    [
        ({"LOOPKIT_DISABLED": "1"}, "disabled"),
        ({"LOOPKIT_CHILD": "1"}, "child"),
        ({"LOOPKIT_DISABLED": "0"}, "held"),
    ],
)
def test_what_kept_a_hook_from_its_work(
    project: Project, marks: Path, env: dict, word: str
) -> None:
    project.start()
    project.stop(**env)
    assert result(project, "stop") == word
    project.session_start("startup", **env)
    assert result(project, "session_start") == {"held": "told"}.get(word, word)


def test_what_came_of_it(project: Project, marks: Path) -> None:
    project.start()
    assert project.stop().held and result(project, "stop") == "held"
    assert project.stop(S2).silent and result(project, "stop") == "silent"
    project.session_start("resume")
    assert result(project, "session_start") == "told"
    project.hook("task_completed", {"task_id": "T-001"})
    assert result(project, "task_completed") == "refused"
    project.hook("user_prompt_expansion", {"command_name": "loop:start", "command_args": ""})
    assert result(project, "user_prompt_expansion") == "refused"


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (None, "silent"),
        (reply.hold("x"), "held"),
        (reply.tell("x"), "told"),
        (reply.tell(""), "silent"),
        (reply.announce("x", "y"), "told"),
        (reply.refuse("x"), "refused"),
    ],
)
def test_every_form_of_an_answer_has_a_word(answer: dict | None, word: str) -> None:
    assert reply.kind(answer) == word


def test_a_fault_is_marked_as_one(
    project: Project, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_call: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("loopkit.hooks.stop.handle", broken)
    (marks / "stop").write_text("begun 1\n")
    assert dispatch.answer("stop", b"{}", {}, str(project.data), 0.0) == b""
    assert result(project, "stop") == "fault"


def test_no_python_is_marked(project: Project, marks: Path) -> None:
    project.start()
    (project.data / "python").unlink()
    assert project.stop(PATH="/nowhere", shell="/bin/sh").silent
    assert result(project, "stop") == "no-python"


def test_a_call_that_is_killed_stays_begun_and_the_next_one_notes_it(
    project: Project, marks: Path
) -> None:
    project.start()
    argv = ["sh", str(project.launcher), "stop"]
    env = {name: value for name, value in project.env.items() if value is not None}
    hook = subprocess.Popen(
        argv, stdin=subprocess.PIPE, env=env, cwd=project.folder, start_new_session=True
    )
    while result(project, "stop") != "begun":  # and then Python waits for its input
        assert hook.poll() is None
        time.sleep(0.01)
    found = beats.read(str(project.data), "stop")
    assert found is not None and found.pid == hook.pid
    assert project.stop().held, "another session's hook meanwhile"
    assert "did not end" not in project.log()
    (marks / "stop").write_text(f"begun {hook.pid}\n")
    os.killpg(hook.pid, signal.SIGKILL)
    hook.communicate()
    assert project.stop(S2).silent
    assert project.log() == "stop: the call before this one was begun and did not end\n"
    assert result(project, "stop") == "silent"


def test_a_result_that_came_too_late_shows_how_late(project: Project, marks: Path) -> None:
    (marks / "stop").write_text("begun 1\n")
    then = time.time() - 14
    os.utime(marks / "stop", (then, then))
    beats.end(str(project.data), "stop", "held")
    found = beats.read(str(project.data), "stop")
    assert (
        found is not None
        and found.took is not None
        and 13.9 < found.took < 60
        and abs(found.at - then) < 0.2
    )


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "place", ["file", "link", "dead link", "pipe", "folder", "beats link", "beats file", "log pipe"]
)
def test_a_data_folder_that_is_not_what_it_should_be(
    project: Project, marks: Path, tmp_path: Path, place: str, loop: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stop").write_text("mine\n")
    mark = marks / "stop"
    if place == "file":
        mark.write_bytes(b"\xff\0 begun -1 $(touch pwned)\n" * 100)
    elif place == "link":
        mark.symlink_to(outside / "stop")
    elif place == "dead link":
        mark.symlink_to(outside / "new")
    elif place == "pipe":
        os.mkfifo(mark)
    elif place == "folder":
        mark.mkdir()
    elif place == "log pipe":
        os.mkfifo(project.data / "hooks.log")
        mark.write_text("begun 1999999999\n")
    else:
        for file in marks.iterdir():
            file.unlink()
        marks.rmdir()
        marks.symlink_to(outside) if place == "beats link" else marks.write_text("x")
    if loop:
        project.start()
    answer = project.stop()
    assert answer.held if loop else answer.silent
    assert (outside / "stop").read_text() == "mine\n" and sorted(outside.iterdir()) == [
        outside / "stop"
    ]
    assert project.session_start("startup").exit == 0
    if place in ("link", "dead link", "pipe", "folder"):
        assert beats.read(str(project.data), "stop") is None or place == "folder"
        assert not stat.S_ISREG(mark.lstat().st_mode)


def test_marks_are_written_nowhere_without_their_folder(project: Project) -> None:
    beats.end(str(project.data), "stop", "held")
    beats.end("/dev/null", "stop", "held")
    beats.end("a\0b", "stop", "held")
    assert not (project.data / "beats").exists()


@pytest.mark.parametrize("event", ["", "../stop", "stop/x", "Stop", "which which", "-n"])
def test_a_name_that_is_no_event_s(project: Project, marks: Path, event: str) -> None:
    before = sorted(project.data.rglob("*"))
    assert project.call(event, b"{}").silent
    assert sorted(project.data.rglob("*")) == before


def test_asking_which_python_marks_nothing(project: Project, marks: Path) -> None:
    (marks / "session_start").unlink()
    said = project.call("which", b"")
    assert said.exit == 0 and said.out.endswith(
        f"42\t{(project.data / 'python').read_text().strip()}\0".encode()
    )
    assert list(marks.iterdir()) == [] and project.log() == ""
