"""Every system call that touches a file fails, in a way that it can: one line, exit 3, and
nothing damaged."""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.kit import S1, SHAPE, Answer, Project, task
from tests.crash import kit
from tests.crash.test_kill import LEARNT, stop

#: Calls that Python repeats by itself when a signal interrupts them.
REPEATED = ("openat", "read", "write", "fsync", "ftruncate", "pread64", "flock")


def errors(call: kit.Call) -> list[str]:
    if call.name in kit.LOOKS:  # their failure only hides a file: a rule may then say no
        return []
    return [kit.fail_at(call, name) for name in names_of_errors(call)]


def names_of_errors(call: kit.Call) -> list[str]:
    """By what the call does: what a full, broken or read-only disk and a crowded process answer.
    LOOPKIT_TEST_LONG=1 gives it all that it could be answered."""
    written = "ENOSPC" if call.name.startswith(("write", "pwrite", "f")) else "EROFS"
    if kit.LONG:
        return [
            "EIO",
            *(["ENOSPC", "EROFS"] if call.changing else []),
            *(["EMFILE"] if call.opening else []),
        ]
    return [written if call.changing else "EMFILE" if call.opening else "EIO"]


def interrupts(call: kit.Call) -> list[str]:
    return [kit.fail_at(call, "EINTR")] if call.name in REPEATED else []


def scene(name: str, project: Project) -> tuple[Callable[[], Answer], Callable[[], object]]:
    """(what is done, what must be either as before or as it is without a fault)."""
    if name == "start":
        return (lambda: project.lk("start", "--task-file", "-", given="add limits")), lambda: len(
            list(project.root.glob("*/ledger.jsonl"))
        )
    if name == "shape":
        project.start()
        project.score(2, 2, 2, 2, 2)
        return (lambda: project.lk("shape", "--accept", "-", given=SHAPE)), lambda: len(
            project.of("shape_saved")
        )
    project.planned(task("first", "ls"), task("second", "ls"))
    if name == "learn":
        path = project.root / "learnings.jsonl"
        return (
            lambda: project.lk("learn", "--file", "-", given=LEARNT)
        ), lambda: len(path.read_text().splitlines()) // 2 if path.exists() else 0
    if name == "fresh":
        return (
            lambda: project.lk("start", "--fresh", "--task-file", "-", given="new")
        ), lambda: len(list(project.root.glob("002-*/ledger.jsonl")))
    if name == "cancel":
        return (lambda: project.lk("cancel")), lambda: len(project.of("loop_cancelled"))
    assert name == "add"
    return (
        lambda: project.lk("task", "add", "third", "--verify", "ls")
    ), lambda: len(project.of("task_added")) - 2


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("name", ["add", "start", "fresh", "shape", "learn", "cancel"])
def test_a_failing_call(listed: Project, tally: Counter, name: str) -> None:
    act, done = scene(name, listed)
    before, count = done(), 0

    def wanted(call: kit.Call) -> list[str]:
        """Files that are made anew from the journal are written alike by every command."""
        return [] if call.derived and name != "add" and not kit.LONG else errors(call)

    for call, fault, outcome in kit.each(listed, act, wanted):
        count += 1
        where = f"{fault} at {call.line[:200]}\n{outcome.code}: {outcome.said}"
        assert outcome.code in (0, 3), where
        after = done()
        assert after in (before, 1), where
        if outcome.code == 0:
            assert after == 1, where
        else:
            assert outcome.said.count("\n") == 1 and "please report" not in outcome.said, where
            assert after == before or "nothing was changed" not in outcome.said, where
        if after == before:
            assert act().exit == 0 and done() == 1, where
        if name != "fresh":
            kit.age(listed)
            listed.lk("task", "list")
    assert count > 20
    tally.update({"faults": count, "survived": count})


@pytest.mark.usefixtures("strace")
def test_an_interrupted_call_is_repeated(listed: Project, tally: Counter) -> None:
    act, done = scene("add", listed)
    count = 0
    for call, fault, outcome in kit.each(listed, act, interrupts):
        count += 1
        assert outcome.code == 0 and done() == 1, (fault, call.line, outcome)
        kit.whole(listed)
    assert count > 10
    tally.update({"faults": count, "survived": count})


@pytest.mark.usefixtures("strace")
def test_a_hook_answers_whatever_fails(listed: Project, tally: Counter) -> None:
    listed.planned(task("first", "ls"))
    count = 0
    for call, fault, outcome in kit.each(listed, lambda: stop(listed), errors):
        count += 1
        assert outcome.code == 0 and (outcome.said == "" or "additionalContext" in outcome.said), (
            fault,
            call,
            outcome,
        )
        kit.age(listed)
        assert "additionalContext" in stop(listed).out
        assert listed.lk("task", "add", "next", "--verify", "ls").exit == 0
        kit.whole(listed)
    tally.update({"faults": count, "survived": count})


# -- writes that end in the middle, by the system's own limit on a file's size


#: Bytes between two places at which a line is cut; it has no common measure with the line's parts.
STEP = 7 if kit.LONG else 31


def cut_at(size: int, action: Callable[[], Answer], dies: bool) -> kit.Outcome:
    """Do it in a child none of whose files may grow beyond `size` bytes: the write is short, then
    it dies or is told."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 99
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            answer = action()
            code = answer.exit
            os.write(writer, (answer.out + answer.err).encode())
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read().decode()
    return kit.Outcome(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said, "")


@pytest.mark.parametrize(
    "dies", [True, False], ids=["killed within the write", "disk full within the write"]
)
def test_a_journal_line_cut_at_every_byte(project: Project, tally: Counter, dies: bool) -> None:
    project.planned(task("first", "ls"))
    for note in range(40):  # the ledger is the largest file, so it is what the limit meets
        project.ok("pause", f"note {note}")
        project.ok("resume")
    act = lambda: project.lk("task", "add", "cut", "--verify", "ls")  # noqa: E731
    act()
    whole = project.ledger.read_bytes()
    line = whole.splitlines(keepends=True)[-1]
    before = whole[: -len(line)]
    project.ledger.write_bytes(before)
    frozen = kit.Frozen(project)
    kept = 0
    first, last = len(before), len(whole)
    sizes = sorted({*range(first, last, STEP), first + 1, last - 1, last})
    for size in sizes:
        frozen.thaw()
        outcome = cut_at(size, act, dies)
        there = project.lk("task", "list", "--json").json
        if outcome.code == 0:
            kept += 1
        elif not dies:
            assert outcome.code == 3 and "nothing was changed" in outcome.said, outcome
            assert project.ledger.read_bytes() == before
        else:
            assert outcome.code == -signal.SIGXFSZ, outcome
            there_is = project.ledger.read_bytes()
            assert len(there_is) == size and there_is.startswith(before)
        assert len(there) == (2 if outcome.code == 0 else 1)
        added = project.lk("task", "add", "next", "--verify", "ls")
        assert added.exit == 0
        assert [row["subject"] for row in project.tasks.values()] == [
            *["first", "cut"][: len(there)],
            "next",
        ]
        kit.age(project)
        project.ok("pause")
        kit.whole(project)
    tally.update({"cut writes": len(sizes), "survived": len(sizes)})


def test_a_list_of_a_dead_process_is_taken_over(listed: Project) -> None:
    """A lock older than its ten seconds is no reason to wait; nor is one of a clock that has gone
    back since."""
    folder = Path(listed.environment["HOME"], ".claude", "tasks", S1)
    listed.planned(task("first", "ls"))
    for age in (-11, 3600):
        (folder / ".lock.lock").mkdir()
        (folder / "T-001.json.lock").mkdir()
        now = os.stat(folder / ".lock.lock").st_mtime
        for name in (".lock.lock", "T-001.json.lock"):
            os.utime(folder / name, (now + age, now + age))
        listed.ok("task", "add", f"aged {age}", "--verify", "ls")
        listed.ok("task", "set", "T-001", "--verify", f"ls {age}")
    assert kit.mirrored(listed) == dict.fromkeys(("T-001", "T-002", "T-003"), "pending")
    assert not list(folder.glob("*.lock")) and not (folder / ".lock.lock").exists()
