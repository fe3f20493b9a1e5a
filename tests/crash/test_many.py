"""Many at once: nothing is lost, no id stands twice, nobody waits for ever, and a cancel is the
last word."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.journal import clock
from loopkit.core.journal.events import Event
from loopkit.core.steps.events import LOOP
from loopkit.store import journal
from loopkit.store import loop as store
from loopkit.store.loop import Loop
from tests.cli.kit import S1, S2, Project, at_once, task
from tests.crash import kit
from tests.crash.test_kill import hook, native, stop

#: Writers at once, and what each of them records; every writer reads what all of them wrote.
WRITERS, UPDATES = (20, 200) if kit.LONG else (10, 50)


def test_thousands_of_updates_of_one_ledger(project: Project, tally: Counter) -> None:
    project.planned(task("first", "ls"))
    root, name = str(project.root), project.name

    def write(writer: int) -> None:
        os.fsync = lambda descriptor: None  # it is for a loss of power, and half of the time
        loop = Loop(root, name)
        for number in range(UPDATES):
            with loop.writing() as state:
                row = {
                    "id": f"T-{state.highest + 1:03d}",
                    "subject": f"{writer} {number}",
                    "verify": "ls",
                }
                loop.record([("task_added", {"task": row})], "person")

    def hooks() -> None:
        """Lines of hooks, which take no lock, fall in between."""
        for number in range(UPDATES):
            line = Event("stop_failed", {"error": str(number)}, clock.stamp(time.time()), "hook")
            journal.append(str(project.ledger), LOOP, [line], sync=False)

    at_once(*[lambda writer=writer: write(writer) for writer in range(WRITERS)], hooks)  # type: ignore[misc]
    tail = journal.read(str(project.ledger), LOOP)
    assert tail is not None and (tail.damaged, tail.cut, tail.torn) == ([], [], False)
    rows = [event.data["task"] for event in tail.events if event.type == "task_added"][1:]
    assert sorted(row["subject"] for row in rows) == sorted(
        f"{w} {n}" for w in range(WRITERS) for n in range(UPDATES)
    )
    assert [row["id"] for row in rows] == [
        f"T-{number:03d}" for number in range(2, WRITERS * UPDATES + 2)
    ]
    assert len([event for event in tail.events if event.type == "stop_failed"]) == UPDATES
    tally.update({"concurrent updates": WRITERS * UPDATES + UPDATES, "lost": 0})


def test_twenty_commands_at_once(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    listed.ok("task", "list")

    def add(number: int) -> None:
        answer = listed.lk("task", "add", f"number {number}", "--verify", "ls")
        assert (answer.exit, answer.err) == (0, ""), answer

    at_once(*[lambda number=number: add(number) for number in range(20)])  # type: ignore[misc]
    subjects = [row["subject"] for row in listed.tasks.values()]
    assert sorted(subjects) == sorted(["first", *[f"number {number}" for number in range(20)]])
    listed.ok("task", "add", "the last one", "--verify", "ls")
    kit.whole(listed)
    assert kit.mirrored(listed) == dict.fromkeys(listed.tasks, "pending")
    tally.update({"concurrent updates": 20, "lost": 0})


def test_eight_hooks_at_once_while_commands_write(listed: Project, tally: Counter) -> None:
    listed.planned(*[task(f"task {number}", "ls") for number in range(6)])
    listed.ok("wave", "next")
    native(listed, "1")
    hooks: list[Callable[[], object]] = [
        lambda: stop(listed),
        lambda: stop(listed),
        lambda: hook(listed, "task_created", task_id="1", task_subject="Claude's 1"),
        lambda: hook(listed, "task_completed", task_id="T-001", task_subject="x"),
        lambda: hook(
            listed, "subagent_stop", agent_id="a", agent_type="coder", agent_transcript_path="/x"
        ),
        lambda: hook(listed, "stop_failure", error="rate_limit"),
        lambda: hook(listed, "session_start", source="compact"),
        lambda: hook(listed, "session_end", reason="other"),
    ]
    commands = [lambda n=n: listed.lk("verify", f"T-00{n}", "--", "ls") for n in (1, 2, 3, 4)]  # type: ignore[misc]
    at_once(*hooks, *commands)
    listed.ok("task", "list")
    assert [listed.tasks[f"T-00{n}"]["status"] for n in (1, 2, 3, 4)] == ["completed"] * 4
    assert len(listed.of("iteration_ended")) == 2 and len(listed.of("stop_failed")) == 1
    assert [row["task"]["subject"] for row in listed.of("task_added")].count("Claude's 1") == 1
    listed.ok("resume")
    kit.whole(listed)
    tally.update({"concurrent updates": 12, "lost": 0})


# -- the lock

HOLDER = (
    "import fcntl, sys\nfile = open(sys.argv[1], 'a')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


@pytest.fixture
def holder(project: Project) -> subprocess.Popen:
    """A process that holds the writing lock and stands still."""
    project.planned(task("first", "ls"))
    words = [sys.executable, "-c", HOLDER, str(project.root / "lock")]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    process.send_signal(signal.SIGSTOP)
    yield process  # type: ignore[misc]
    process.kill()
    process.communicate()


def test_a_lock_whose_holder_stands_still(
    project: Project, holder: subprocess.Popen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.05)
    says = "another command has been writing for 0.05 s; wait for it, or end it"
    project.refused(1, "task", "add", "b", "--verify", "ls", says=says)
    project.refused(1, "cancel", says=says)
    assert project.lk("status").exit == 0, "looking needs no lock"
    assert "additionalContext" in stop(project).out, "nor does a hook"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    project.ok("task", "add", "b", "--verify", "ls")


def test_a_system_that_knows_no_locks_is_no_other_command(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    project.planned(task("first", "ls"))

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    project.refused(3, "task", "add", "b", "--verify", "ls", says="No locks available")


# -- cancel is the last word


def test_a_cancel_among_twenty_stop_hooks(project: Project, tally: Counter) -> None:
    project.planned(*[task(f"task {number}", "ls") for number in range(3)])
    project.ok("wave", "next")
    answers = project.folder.parent / "answers"
    answers.mkdir()

    def held(number: int) -> None:
        for turn in range(3):
            begun = time.monotonic()
            said = stop(project).out
            (answers / f"{number}-{turn}").write_text(json.dumps([begun, time.monotonic(), said]))

    def cancel() -> None:
        assert project.lk("cancel", session=S2).exit == 0
        (answers / "cancel").write_text(str(time.monotonic()))

    at_once(*[lambda n=n: held(n) for n in range(20)], cancel)  # type: ignore[misc]
    acknowledged = float((answers / "cancel").read_text())
    rows = [json.loads(path.read_text()) for path in answers.iterdir() if path.name != "cancel"]
    late = [said for begun, _, said in rows if begun > acknowledged]
    assert len(rows) == 60 and not any(late), late
    assert project.status["status"] == "aborted" and len(project.of("loop_cancelled")) == 1
    kinds = [line["type"] for line in project.lines]
    assert kinds[-1] == "loop_cancelled" or set(kinds[kinds.index("loop_cancelled") + 1 :]) == {
        "iteration_ended"
    }
    assert stop(project).out == ""
    tally.update({"hooks against a cancel": 60, "held after it": 0})


@pytest.mark.parametrize("words", [("cancel",), ("pause",), ("resume", "--take-over")])
def test_a_command_between_the_decision_and_its_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, words: tuple
) -> None:
    """The hook has decided to hold; before it says so, the loop is ended, paused, taken over."""
    from loopkit.hooks import project as place

    project.planned(task("first", "ls"))
    real = place.record

    def record(*given: object, **more: object) -> None:
        assert project.lk(*words, session=S1 if words == ("pause",) else S2).exit == 0
        real(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(place, "record", record)
    assert stop(project).out == ""
    monkeypatch.undo()
    assert (
        project.status["status"]
        == {"cancel": "aborted", "pause": "paused", "resume": "running"}[words[0]]
    )


def test_a_command_that_changes_nothing_of_the_kind_leaves_the_hold(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopkit.hooks import project as place

    project.planned(task("first", "ls"))
    real = place.record

    def record(*given: object, **more: object) -> None:
        project.ok("task", "add", "b", "--verify", "ls")
        real(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(place, "record", record)
    assert "additionalContext" in stop(project).out


def test_the_purge_of_a_dead_command_is_finished_and_a_strangers_notes_are_kept(
    project: Project,
) -> None:
    project.planned(task("first", "ls"))
    old = project.name
    project.ok("cancel")
    (project.root / "archive").mkdir()
    (project.root / "archive" / f"{old}.purged").touch()
    (project.root / "002-half").mkdir()
    (project.root / "002-half" / "evidence").mkdir()
    (project.root / "003-notes").mkdir()
    Path(project.root, "003-notes", "mine.md").write_text("x")
    project.start("another")
    there = sorted(one.name for one in project.root.iterdir() if one.name[:1].isdigit())
    assert there == ["003-notes", "004-another"]
