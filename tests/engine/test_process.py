"""Programs that are run: their end, their limit, their whole group."""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from loopkit.engine import process
from tests.engine.kit import Watch
from tests.waiting import wait_for

ENV = {"PATH": os.environ["PATH"]}


def run(tmp_path: Path, *words: str, seconds: float = 60, **env: str) -> process.Outcome:
    return process.run(list(words), str(tmp_path), str(tmp_path / "log"), seconds, {**ENV, **env})


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("true",), 0),
        (("false",), 1),
        (("sh", "-c", "exit 7"), 7),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "kill -KILL $$"), 137),
        (("no-such-program",), 127),
        (("/",), 126),
        (("bad\0word",), 126),
    ],
)
def test_how_it_ended(tmp_path: Path, words: tuple, code: int) -> None:
    outcome = run(tmp_path, *words)
    assert outcome.exit == code
    assert bool(outcome.note) is (code in (126, 127))
    assert outcome.seconds >= 0


def test_both_streams_are_appended_and_standard_input_is_empty(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    run(tmp_path, "sh", "-c", "echo out; echo err >&2; cat; pwd")
    assert (tmp_path / "log").read_text() == f"before\nout\nerr\n{tmp_path}\n"


def test_words_are_passed_as_they_are(tmp_path: Path) -> None:
    words = ["a b", "$HOME", "*", "", "'", "--"]
    run(tmp_path, sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert (tmp_path / "log").read_text().strip() == repr(words)


def test_the_sessions_own_list_is_not_handed_on(tmp_path: Path) -> None:
    run(tmp_path, "env", CLAUDE_CODE_TASK_LIST_ID="x", OTHER="y")
    assert (
        "OTHER=y" in (tmp_path / "log").read_text()
        and "TASK_LIST" not in (tmp_path / "log").read_text()
    )


def test_a_log_that_cannot_be_opened_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with pytest.raises(OSError):
        run(tmp_path, "touch", "ran")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("command", ["gc", "fetch"])
def test_git_that_tidies_up_is_left_alone(tmp_path: Path, command: str) -> None:
    (tmp_path / command).write_text("import sys; sys.stdin.read()")  # until the test lets it go
    leave = (
        "import os, subprocess, sys\n"
        "ours = os.open('/proc/%s/fd/%s' % (sys.argv[2], sys.argv[3]), os.O_RDONLY)\n"
        "subprocess.Popen(['git', sys.argv[1]], executable=sys.executable, stdin=ours,\n"
        "    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)\n"
    )
    reading, writing = os.pipe()
    words = (command, str(os.getpid()), str(reading))
    outcome = run(tmp_path, sys.executable, "-c", leave, *words)
    os.close(reading)
    try:
        if command == "gc":
            assert outcome.left == ()
            os.write(writing, b"x")  # somebody still reads
        else:
            assert len(outcome.left) == 1
            with pytest.raises(BrokenPipeError):
                wait_for("its end", lambda: os.write(writing, b"x") == 0)
    finally:
        os.close(writing)


@pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")
@pytest.mark.parametrize("stubborn", [False, True], ids=["ends on TERM", "ignores TERM"])
def test_at_the_limit_the_whole_group_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool
) -> None:
    watch = Watch(tmp_path / "fifo")
    monkeypatch.setattr(process.end_group, "__defaults__", (0.05,))

    def time_is_up(*_: object) -> str:
        watch.wait_for_a_word()
        return "total"

    monkeypatch.setattr(process._Watch, "_late", time_is_up)
    trap = "trap '' TERM; " if stubborn else ""
    line = (
        f"{trap}exec 3>fifo; sleep 1000 & sleep 1000 & echo begun; echo begun >&3; wait; wait; "
        "wait; sleep 1000"
    )
    outcome = run(tmp_path, "sh", "-c", line, seconds=7.5)
    assert (outcome.exit, outcome.note) == (124, "out of time after 7.5 s, setting verify_seconds")
    assert watch.all_gone()
    assert (tmp_path / "log").read_text() == "begun\n", "what it had printed is kept"


@pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")
def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "fifo")
    assert run(tmp_path, "sh", "-c", "exec 3>fifo; echo begun >&3; sleep 1000 & exit 0").exit == 0
    assert watch.all_gone()


def test_the_one_who_runs_it_is_not_hit(tmp_path: Path) -> None:
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        run(tmp_path, "sh", "-c", "true")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == []
