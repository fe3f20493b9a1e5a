"""Whole loops that go wrong and are brought back, run with recorded answers in a real repository."""

from __future__ import annotations

import pytest

from loopkit.core.steps import kinds
from loopkit.core.steps.kinds import Step
from loopkit.engine import run
from tests.cli.kit import Project
from tests.ops.kit import Case, asked, part, writes


def says(name: str, *texts: str) -> list[dict]:
    """Attempts, one a text."""
    return writes(name, *texts)


class Course(Case):
    """A loop whose person does each rollback that is asked for, and answers where a test says so;
    `done` is each step that was taken, in order."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, answer: str = "") -> None:
        super().__init__(project, monkeypatch)
        self.answer = answer
        self.done: list[Step] = []
        self.begin()

    def meanwhile(self, record: run.Record) -> None:
        """Something happens beside the loop."""

    def heed(self) -> None:
        """What agents do otherwise once the person has answered."""

    def go(self) -> run.Ended:
        end = run.Ended(run.FAILED)
        for record in self.records():
            self.meanwhile(record)
            if isinstance(record, run.Ended):
                end = record
            elif isinstance(record, run.Recorded):
                self.done.append(record.step)
        if end.why != run.AT_PERSON or end.step is None:
            return end
        if end.step.kind == kinds.ROLLBACK:
            self.done.append(end.step)
            self.project.lk("rollback", end.step.subject)
        elif end.step.kind == kinds.ANSWER and self.answer:
            self.project.ok("answer", self.answer)
            self.heed()
        else:
            return end
        return self.go()

    def history(self) -> list[str]:
        return [row["status"] for row in self.project.of("wave_closed")]

    def rates(self) -> list[float]:
        rates = []
        for row in self.project.of("wave_closed"):
            results = [outcome["result"] for outcome in row["outcomes"].values()]
            rates.append(round(results.count("passed") / len(results), 2))
        return rates

    def rollbacks(self) -> list[str]:
        return [str(step.subject) for step in self.done if step.kind == kinds.ROLLBACK]


def test_a_loop_that_regresses_goes_back_to_the_last_good_checkpoint_and_completes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Course(project, monkeypatch)
    loop.steps["score"] = asked(
        part("a"),
        part("b"),
        part("c", blocked_by=[1]),
        part("d", blocked_by=[1]),
        part("e", blocked_by=[1]),
        part("f", blocked_by=[3]),
    )
    loop.steps |= {
        "implementation T-001": says("a", "good"),
        "implementation T-002": says("b", "good"),
        "implementation T-003": says("c", "good"),
        "implementation T-004": says("d", "good"),
        "implementation T-005": says("e", "bad", "good"),
        "implementation T-006": says("f", "bad", "good"),
    }
    assert loop.go().why == "over" and loop.completed
    assert loop.rates()[:3] == [1.0, 0.67, 0.5]
    assert loop.history()[:3] == ["PROGRESSING", "PROGRESSING", "REGRESSING"]
    assert set(loop.history()[3:]) == {"PROGRESSING"}
    assert loop.rollbacks() == ["last-good"]
    (back,) = loop.project.of("rolled_back")
    good = next(
        row for row in loop.project.of("checkpoint_made") if row["number"] == back["number"]
    )
    assert good["label"] == "batch-1"
    assert sorted(back["reopened"]) == ["T-003", "T-004", "T-005"]
    # the very next step after the batch was the rollback, and the first thing after it another
    # approach
    at = loop.done.index(kinds.step(kinds.ROLLBACK, "last-good"))
    assert loop.done[at - 1].kind == kinds.CLOSE_WAVE
    after = [one for one in loop.done[at + 1 :] if one.kind != kinds.WAVE_REVIEW]
    assert after[0] == kinds.step(kinds.PANEL, "T-006")
    assert loop.project.of("question_asked") == []
    assert loop.project.snapshot["verdict"] == "achieved"
    assert {row["status"] for row in loop.project.tasks.values()} == {"completed"}
    assert loop.project.status["course"]["recoveries"] == [
        {"status": "REGRESSING", "play": "rollback", "wave": 3, "counted": True}
    ]


class FlipFlop(Course):
    """The first attempt at T-004 undoes what T-001 meant, which is seen, and its own check
    passes."""

    seen = False

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, answer: str = "") -> None:
        super().__init__(project, monkeypatch, answer)
        self.steps |= {
            "score": asked(
                part("a"), part("b"), part("c", blocked_by=[2]), part("d", blocked_by=[3])
            ),
            "implementation T-001": says("a", "bad", "good"),
            "implementation T-002": says("b", "good"),
            "implementation T-003": says("c", "good"),
            "implementation T-004": [
                {"write": {"a.txt": "undone\n", "d.txt": "good\n"}},
                *says("d", "good"),
            ],
        }

    def heed(self) -> None:
        self.steps["implementation T-004"] = says("d", "good")

    def meanwhile(self, record: run.Record) -> None:
        if isinstance(record, run.Answered) and record.step.subject == "T-004" and not self.seen:
            self.seen = True
            assert self.project.verify("T-001").exit == 1


def test_a_loop_that_flip_flops_rolls_back_two_and_asks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = FlipFlop(project, monkeypatch)
    assert loop.go().step == kinds.step(kinds.ANSWER)
    assert loop.history() == ["PROGRESSING", "PROGRESSING", "FLIP-FLOPPING"]
    outcomes = [
        row["outcomes"].get("T-001", {}).get("result") for row in loop.project.of("wave_closed")
    ]
    assert outcomes == ["failed", "passed", "failed"]
    assert loop.rollbacks() == ["~2"]
    (back,) = loop.project.of("rolled_back")
    labels = {row["number"]: row["label"] for row in loop.project.of("checkpoint_made")}
    assert labels[back["number"]] == "batch-1"
    (asked,) = loop.project.of("question_asked")
    assert asked["text"].startswith("FLIP-FLOPPING: ")
    assert "rollback after batch 3 (FLIP-FLOPPING)" in asked["text"]
    assert len(asked["text"].splitlines()) <= 40
    assert loop.project.status["status"] == "awaiting_approval"
    assert (loop.project.folder / "a.txt").read_text() == "bad\n", "as it was after the first batch"
    assert not (loop.project.folder / "d.txt").exists()
    # nobody can be asked here: the command that asked said so by its exit code, and it stays so
    assert loop.project.lk("wave", "next").exit == 1
    assert len(loop.project.of("question_asked")) == 1


def test_the_answer_lets_it_end_complete(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "T-001 is right, d leaves a.txt alone"
    loop = FlipFlop(project, monkeypatch, words)
    assert loop.go().why == "over" and loop.completed
    assert loop.history()[:3] == ["PROGRESSING", "PROGRESSING", "FLIP-FLOPPING"]
    assert {row["status"] for row in loop.project.tasks.values()} == {"completed"}
    assert loop.project.status["course"]["used"] == {}
    assert words in loop.project.ok("task", "show", "T-004").out
