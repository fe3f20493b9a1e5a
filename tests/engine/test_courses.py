"""Whole loops that go wrong and are brought back: the script agent follows the `next:` lines, in a
real repository."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from loopkit.core.journal.errors import Refused
from loopkit.engine import drive, script
from tests.cli.kit import GATE, PANEL, SHAPE, Project, raw, task

GOOD, BAD = "good\n", "bad\n"

ANSWERS: list[tuple[str, list | None, object]] = [
    (
        r"^loopkit score",
        ["score", *[f"--{one}=2" for one in "outcome scope constraints success done".split()]],
        "",
    ),
    (r"^loopkit shape --accept -", None, SHAPE),
    (
        r"^loopkit review --wave (\d+)",
        [*r"review --wave \1 --score 8 --issues 0 --blockers 0 --experts a,b".split()],
        "",
    ),
    (r"^loopkit review --thorough --file -", None, {"experts": ["a", "b", "c"], "findings": []}),
    (r"^loopkit gate --file -", None, GATE),
]


def checked(name: str) -> str:
    """The check of a part: its file is good."""
    return f"grep -qx good {name}.txt"


def part(name: str, **fields: Any) -> dict:
    return task(f"write {name}", checked(name), files=[f"{name}.txt"], **fields)


def says(name: str, *texts: str, **more: str) -> list:
    """Attempts, one a text: the file is written, then checked."""
    return [[{f"{name}.txt": text, **more}] for text in texts]


class Run:
    """A loop in a project with one commit, driven by recorded answers; `told` is what happened."""

    def __init__(
        self, folder: Path, home: Path, tasks: list[dict], agents: dict[str, list]
    ) -> None:
        (folder / "p").mkdir()
        environment = {name: os.environ[name] for name in os.environ if name.startswith("GIT_")}
        environment |= {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LOOPKIT_DATA": str(folder / "data"),
        }
        environment |= {"CLAUDE_PID": str(os.getpid()), "CLAUDE_CODE_SESSION_ATTENDED": "0"}
        self.project = Project(folder / "p", environment)
        self.project.write("limiter.txt", "there from the start\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
            subprocess.run(["git", *words], cwd=self.project.folder, check=True, env=environment)
        self.told: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        rules = [("^loopkit task add --file -", None, tasks), *ANSWERS]
        self.script = script.Script(
            "add rate limiting to the API", [self.rule(*one) for one in rules], agents
        )
        advice = (
            self.rule(r"^loopkit panel (T-\d+) --file -", None, {**PANEL, "consensus": f"way {n}"})
            for n in range(9)
        )
        for one in advice:
            one.times = 1
            self.script.rules.append(one)

    def rule(self, step: str, arguments: list | None, given: object) -> script.Rule:
        return script.Rule(re.compile(step), arguments, raw(given).decode(), float("inf"))

    def call(self, arguments: list, given: str) -> tuple[int, str]:
        with self.lock:  # the calls of a wave's agents, in one process
            answer = self.project.lk(*arguments, given=given)
        return answer.exit, answer.out + answer.err

    def go(self, first: str | None = None) -> str:
        if first is None:
            first = self.call(["start", "--task-file", "-"], self.script.task)[1]
        return drive.drive(
            self.script,
            str(self.project.folder),
            self.call,
            first,
            lambda *one: self.told.append(one),
        )

    def steps(self, word: str) -> list[str]:
        """The steps taken that begin with a word, in order."""
        return [
            text
            for kind, text in self.told
            if kind == "step" and text.startswith(f"loopkit {word}")
        ]

    def course(self) -> list[str]:
        return [row["status"] for row in self.project.of("wave_closed")]

    def rates(self) -> list[float]:
        found = []
        for row in self.project.of("wave_closed"):
            results = [one["result"] for one in row["outcomes"].values()]
            found.append(round(results.count("passed") / len(results), 2))
        return found


def test_a_loop_that_regresses_goes_back_to_the_last_good_checkpoint_and_completes(
    tmp_path: Path, home: Path
) -> None:
    tasks = [
        part("a"),
        part("b"),
        part("c", blocked_by=[1]),
        part("d", blocked_by=[1]),
        part("e", blocked_by=[1]),
        part("f", blocked_by=[3]),
    ]
    agents = {
        "T-001": says("a", GOOD),
        "T-002": says("b", GOOD),
        "T-003": says("c", GOOD),
        "T-004": says("d", GOOD),
        "T-005": says("e", BAD, GOOD),
        "T-006": says("f", BAD, GOOD),
    }
    run = Run(tmp_path, home, tasks, agents)
    output = run.go()
    assert "<loop-complete>" in output
    assert run.rates()[:3] == [1.0, 0.67, 0.5]
    assert run.course()[:3] == ["PROGRESSING", "PROGRESSING", "REGRESSING"]
    assert set(run.course()[3:]) == {"PROGRESSING"}
    assert run.steps("rollback") == ["loopkit rollback last-good"]
    (back,) = run.project.of("rolled_back")
    good = next(row for row in run.project.of("checkpoint_made") if row["number"] == back["number"])
    assert good["label"] == "batch-1"
    assert sorted(back["reopened"]) == ["T-003", "T-004", "T-005"]
    # the very next step after the batch was the rollback, and the first thing after it another
    # approach
    at = [text for kind, text in run.told if kind == "step"]
    place = at.index("loopkit rollback last-good")
    assert at[place - 1] == "loopkit wave close" and at[place + 1].startswith("loopkit panel T-006")
    assert run.project.of("question_asked") == []
    assert run.project.snapshot["verdict"] == "achieved"
    assert {row["status"] for row in run.project.tasks.values()} == {"completed"}
    assert run.project.status["course"]["recoveries"] == [
        {"status": "REGRESSING", "play": "rollback", "wave": 3, "counted": True}
    ]


def flip_flop(tmp_path: Path, home: Path) -> Run:
    tasks = [part("a"), part("b"), part("c", blocked_by=[2]), part("d", blocked_by=[3])]
    again = f"loopkit verify T-001 -- {checked('a')}"
    agents = {
        "T-001": says("a", BAD, GOOD),
        "T-002": says("b", GOOD),
        "T-003": says("c", GOOD),
        # the first attempt undoes what T-001 meant, and its own check passes
        "T-004": [[{"a.txt": "undone\n", "d.txt": GOOD, again: ""}], [{"d.txt": GOOD}]],
    }
    return Run(tmp_path, home, tasks, agents)


def test_a_loop_that_flip_flops_rolls_back_two_and_asks(tmp_path: Path, home: Path) -> None:
    run = flip_flop(tmp_path, home)
    with pytest.raises(Refused, match="the script has no answer to: loopkit answer"):
        run.go()
    assert run.course() == ["PROGRESSING", "PROGRESSING", "FLIP-FLOPPING"]
    outcomes = [
        row["outcomes"].get("T-001", {}).get("result") for row in run.project.of("wave_closed")
    ]
    assert outcomes == ["failed", "passed", "failed"]
    assert run.steps("rollback") == ["loopkit rollback ~2"]
    (back,) = run.project.of("rolled_back")
    labels = {row["number"]: row["label"] for row in run.project.of("checkpoint_made")}
    assert labels[back["number"]] == "batch-1"
    (asked,) = run.project.of("question_asked")
    assert asked["text"].startswith("FLIP-FLOPPING: ")
    assert "rollback after batch 3 (FLIP-FLOPPING)" in asked["text"]
    assert len(asked["text"].splitlines()) <= 40
    assert run.project.status["status"] == "awaiting_approval"
    assert (run.project.folder / "a.txt").read_text() == BAD, "as it was after the first batch"
    assert not (run.project.folder / "d.txt").exists()
    # nobody can be asked here: the command that asked said so by its exit code, and it stays so
    assert run.project.lk("wave", "next").exit == 1
    assert len(run.project.of("question_asked")) == 1


def test_the_answer_lets_it_end_complete(tmp_path: Path, home: Path) -> None:
    run = flip_flop(tmp_path, home)
    words = "T-001 is right, d leaves a.txt alone"
    run.script.rules.insert(0, run.rule("^loopkit answer", ["answer", words], ""))
    assert "<loop-complete>" in run.go()
    assert run.course()[:3] == ["PROGRESSING", "PROGRESSING", "FLIP-FLOPPING"]
    assert {row["status"] for row in run.project.tasks.values()} == {"completed"}
    assert run.project.status["course"]["used"] == {}
    assert words in run.project.ok("task", "show", "T-004").out
