"""A run whose process dies between any two steps, whose agent dies, or that somebody stops."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from loopkit.engine.agents.script import Script
from loopkit.store import atomic
from tests.cli.kit import Project
from tests.cli.test_run import PLATEAU, Bench
from tests.waiting import gone, wait_for

#: What changes something on the disk; a death comes before one of their calls.
CHANGES = ("write", "append", "create", "remove")


@pytest.fixture
def bench(project: Project) -> Bench:
    return Bench(project)


def dies(bench: Bench, number: int, *words: str) -> bool:
    """Run in a process that is killed before the `number`-th change; whether it came that far."""
    child = os.fork()
    if not child:
        count = 0

        def counted(real: Any) -> Any:
            def call(*given: Any, **more: Any) -> Any:
                nonlocal count
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*given, **more)

            return call

        try:
            for name in CHANGES:
                setattr(atomic, name, counted(getattr(atomic, name)))
            bench.run(*words)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def noted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that gets a line for each run of an agent."""
    path, real = bench.project.folder / "calls", Script.run

    def run(self: Script, prompt: Any, *more: Any) -> Any:
        with open(path, "a") as file:
            file.write(f"{prompt.kind} {prompt.subject}\n")
        return real(self, prompt, *more)

    monkeypatch.setattr(Script, "run", run)
    return path


def completed(bench: Bench) -> list[str]:
    """The iterations that the journal says are completed."""
    path = bench.folder() / "ledger.jsonl"
    rows = [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []
    ended = [row["data"] for row in rows if row["type"] == "iteration_ended"]
    return [f"{'ab'[row['stage']]} {row['iteration']}" for row in ended]


def test_killed_before_every_change_each_iteration_counts_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    bench.stage("s", PLATEAU)
    bench.stage("t")
    bench.pipeline("p", "name: a, stage: s, runs: 3", "name: b, stage: t, runs: 1")
    bench.script(a={"text": "PLATEAU: yes"}, b={"text": "x"})
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the processes die, not the machine
    assert bench.run("p", "warm").exit == 0  # so that no child imports anything
    calls, wanted = noted(bench, monkeypatch), ["a 1", "a 2", "b 1"]
    number = 1
    while dies(bench, number, "p", "a"):
        before, done = (
            calls.read_text().split("\n")[:-1] if calls.exists() else [],
            completed(bench),
        )
        there = (bench.folder() / "ledger.jsonl").exists()
        answer = bench.run("p", "a", *(["--resume"] if there else []))
        assert answer.exit == 0, (number, answer)
        after = calls.read_text().split("\n")[:-1][len(before) :]
        assert after == wanted[len(done) :], number  # nothing that was finished ran again
        assert completed(bench) == wanted, number
        state = bench.state()
        assert [row["iteration"] for row in state["history"]] == [1, 2, 1]
        assert state["status"] == "completed" and not (bench.folder() / "lock").exists()
        calls.unlink()
        assert bench.lk("runs", "clean", "a").exit == 0
        number += 1
    assert number > 20
    record_property("tally", {"runs killed": number - 1})


def test_an_agent_that_is_killed_fails_its_iteration_which_is_run_again(bench: Bench) -> None:
    bench.stage("s")
    code = (
        "import os, pathlib; p = pathlib.Path('killed'); here = p.exists(); p.touch(); "
        "here or os.kill(os.getpid(), 9); print('done')"
    )
    words = ("--", sys.executable, "-c", code)
    assert bench.run("s", "a", "2", *words).exit == 1
    assert bench.state()["iteration_completed"] == 0 and "137" in bench.state()["error"]
    assert bench.run("s", "a", "2", "--resume", *words).exit == 0
    assert bench.state()["iteration_completed"] == 2


# -- real processes

SLEEP = (
    "import os, subprocess, sys, time; c = subprocess.Popen([sys.executable, '-c', "
    "'import time; time.sleep(600)']); open('pids', 'w').write(f'{os.getpid()} {c.pid}'); "
    "time.sleep(600)"
)


class Sleeping:
    """A run whose agent, and what that has started, sleep."""

    def __init__(self, bench: Bench, data: Path, stage: str) -> None:
        if stage == "work":
            tasks = bench.project.folder / "docs" / "plans" / "a.tasks.yaml"
            tasks.parent.mkdir(parents=True)
            tasks.write_text("- subject: Write it\n  verify: test -f it\n")
        else:
            bench.stage(stage)
        words = ("run", stage, "a", "3", "--checks", "test -f *", "--", sys.executable, "-c", SLEEP)
        self.process = bench.project.program(*words, data=data, session=None)
        pids = bench.project.folder / "pids"
        wait_for("the agent", lambda: pids.exists() and pids.read_text().count(" "))
        self.pids = [int(word) for word in pids.read_text().split()]

    def agents_gone(self) -> bool:
        return all(map(gone, self.pids))

    def end(self, *numbers: int) -> int:
        for number in numbers:
            self.process.send_signal(number)
        return self.process.wait(300)


@pytest.fixture
def sleeping(bench: Bench, data: Path) -> Any:
    started = []

    def make(stage: str = "s") -> Sleeping:
        started.append(Sleeping(bench, data, stage))
        return started[-1]

    yield make
    for one in started:
        one.process.kill()
        for pid in one.pids:
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_pauses_and_leaves_nothing_behind(
    bench: Bench, sleeping: Any, number: int, code: int
) -> None:
    one = sleeping()
    assert one.end(number) == code and one.agents_gone()
    state = bench.state()
    assert (state["status"], state["completion_reason"]) == ("paused", "interrupted")
    assert state["iteration_completed"] == 0 and not (bench.folder() / "lock").exists()
    assert bench.run("s", "a", "--resume", "--", "true").exit == 0
    assert bench.state()["iteration_completed"] == 3


def test_stopped_from_another_terminal(bench: Bench, sleeping: Any) -> None:
    one = sleeping()
    assert " active" in bench.lk("runs").out
    answer = bench.lk("runs", "stop", "a")
    assert answer.exit == 0 and "--resume" in answer.out, answer
    assert one.process.wait(300) == 143 and one.agents_gone()
    assert bench.lk("runs", "stop", "a").exit == 1


def test_forced_while_another_one_works(bench: Bench, sleeping: Any) -> None:
    one = sleeping()
    assert bench.run("s", "a", "1", "--force", "--", "true").exit == 0
    assert one.process.wait(300) == 143 and one.agents_gone()
    assert bench.state()["iteration_completed"] == 1


def test_a_loop_that_a_run_works_on_is_that_runs(bench: Bench, sleeping: Any) -> None:
    one = sleeping("work")
    for how in ((), ("--resume",)):
        answer = bench.run("work", "a", *how, "--", "true")
        assert answer.exit == 1 and "run a is active" in answer.err, answer
        assert "loopkit runs stop a" in answer.err
    answer = bench.run("work", "b", "--loop", "001-a", "--", "true")
    assert answer.exit == 1 and "worked on by run a; wait for it, or stop it:" in answer.err
    answer = bench.run("work", "b", "--tasks", "docs/plans/a.tasks.yaml", "--", "true")
    assert answer.exit == 1 and "one loop of a project is worked on at a time" in answer.err
    assert not bench.folder("b").exists()
    answer = bench.run("work", "a", "1", "--force", "--", "touch", "it")
    assert answer.exit == 0, answer
    assert one.process.wait(300) == 143 and one.agents_gone()


def test_what_a_killed_run_has_left_at_work_is_ended_before_it_goes_on(
    bench: Bench, sleeping: Any
) -> None:
    one = sleeping()
    assert one.end(signal.SIGKILL) == -signal.SIGKILL
    assert not one.agents_gone()
    assert "failed (crashed)" in bench.lk("runs").out
    assert bench.run("s", "a", "--resume", "--", "true").exit == 0
    wait_for("the agents' end", one.agents_gone)
    assert [row["iteration"] for row in bench.state()["history"]] == [1, 2, 3]
