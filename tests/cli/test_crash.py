"""A program that dies at any moment: what it had acknowledged is there, everything else is put
right by the next one."""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable

import pytest

from tests.cli.kit import Project, task

#: Every call of these on the way of `task add` is a moment at which the program may die.
DOORS = ("open", "write", "fsync", "replace", "close", "fstat", "ftruncate")


def die_at(moment: int, project: Project, words: tuple, partial: bool) -> tuple[int, bytes]:
    """Run the program in a child that ends at its `moment`-th call of the operating system, as
    `kill -9` would end it.

    partial: the call that it dies in, if it is a write, has written half. Gives (exit code, what it
    printed).
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            out = file.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out
    code = 99
    try:
        os.close(reader)
        _arm(moment, partial)
        answer = project.lk(*words)
        code = answer.exit
        os.write(writer, (answer.out + answer.err).encode())
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def _arm(moment: int, partial: bool) -> None:
    left = [moment]

    def wrap(name: str) -> Callable:
        real, write = getattr(os, name), os.write

        def call(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                if name == "write" and partial:
                    write(given[0], bytes(given[1])[: len(given[1]) // 2])  # type: ignore[arg-type, call-overload, index]
                os._exit(137)
            return real(*given, **named)

        return call

    for name in DOORS:
        setattr(os, name, wrap(name))


@pytest.mark.parametrize("partial", [False, True], ids=["between calls", "within a write"])
def test_killed_anywhere_within_task_add(project: Project, partial: bool) -> None:
    project.planned(task("first", "ls"))
    words = ("task", "add", "second", "--verify", "ls")
    before = project.files()
    seen = set()
    for moment in range(1, 200):
        for name, text in before.items():
            (project.root / name).write_bytes(text)
        code, out = die_at(moment, project, words, partial)
        assert code in (0, 137), out
        status = json.loads(project.lk("status", "--json").out)
        total = status["tasks"]["total"]
        seen.add((code, total))
        if code == 0:
            assert b"T-002 added" in out and total == 2
            break
        assert total in (1, 2), "the old state or the new one, nothing between"
        assert b"T-002 added" not in out or total == 2, "what was acknowledged is there"
        after = project.lk("task", "add", "third", "--verify", "ls")
        assert after.exit == 0, after
        subjects = [row["subject"] for row in project.tasks.values()]
        assert subjects == ["first", *["second"] * (total - 1), "third"]
        assert project.snapshot["tasks"]["total"] == total + 1
    assert {(137, 1), (137, 2), (0, 2)} <= seen, "the test died before, after, and not at all"


def test_killed_anywhere_within_start(project: Project) -> None:
    project.write("task.md", "add limits")
    words = ("start", "--task-file", "task.md")
    for moment in range(1, 200):
        code, out = die_at(moment, project, words, partial=True)
        assert code in (0, 137), out
        if code == 0:
            break
        again = project.lk(*words)
        assert again.exit == 0 or "is not finished" in again.err, (moment, again)
        assert project.status["task"] == "add limits"
        project.ok("cancel")
        shutil.rmtree(project.root)
    assert code == 0 and moment > 10


def test_killed_between_a_check_and_its_completion_the_evidence_counts(project: Project) -> None:
    project.planned(task("a", "ls"))
    project.ok("wave", "next")
    lines = project.ledger.read_bytes()
    assert project.verify("T-001").exit == 0
    after = project.ledger.read_bytes()[len(lines) :].splitlines(keepends=True)
    assert [json.loads(line)["type"] for line in after] == ["task_verified", "task_completed"]
    project.ledger.write_bytes(lines + after[0] + after[1][:30])
    assert project.tasks["T-001"]["status"] == "in_progress"
    assert "1 completed, 0 failed" in project.lk("wave", "close").out
    assert project.tasks["T-001"]["status"] == "completed"


def test_a_check_that_was_killed_leaves_no_evidence_and_the_next_has_a_log_of_its_own(
    project: Project,
) -> None:
    project.planned(task("a", "ls"))
    project.ok("wave", "next")
    logs = project.root / project.name / "evidence"
    (logs / "T-001-1.log").write_text("$ ls\nhalf a")
    assert project.tasks["T-001"]["evidence"] is None
    assert project.verify("T-001").exit == 0
    assert project.tasks["T-001"]["evidence"]["log"] == "evidence/T-001-2.log"
    assert (logs / "T-001-1.log").read_text() == "$ ls\nhalf a"
