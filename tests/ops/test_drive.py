"""Whole loops, run by the runner through the use cases, with recorded answers: every policy to its
card, and what stands in the way of it."""

from __future__ import annotations

import pytest

from loopkit.core.steps import kinds
from loopkit.core.steps.kinds import Step, step
from loopkit.engine import run
from loopkit.ops import consent, drive
from loopkit.ops.workspace import Workspace
from tests.cli.kit import Project
from tests.core import roles
from tests.ops.kit import REQUEST, Case, asked, part, planned, writes


@pytest.fixture
def made(project: Project, monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(project, monkeypatch)


def test_evidence_to_its_card(made: Case) -> None:
    """Two tasks side by side, and one that waits for both."""
    made.steps |= {
        "score": asked(part("a"), part("b"), part("c", blocked_by=[1, 2])),
        "implementation T-001": writes("a", "good"),
        "implementation T-002": writes("b", "good"),
        "implementation T-003": writes("c", "good"),
    }
    made.begin()
    records = made.run()
    assert records[-1] == run.Ended("over")
    assert made.completed
    assert [row["id"] for row in made.project.of("task_completed")][-1] == "T-003"
    checks = [
        (record.step.subject, record.passed)
        for record in records
        if isinstance(record, run.Recorded) and record.step.kind == "check"
    ]
    assert sorted(checks) == [("C1", True), ("T-001", True), ("T-002", True), ("T-003", True)]
    assert made.notes == []


def test_a_failed_attempt_has_its_panel_and_another_wave(made: Case) -> None:
    made.steps |= {
        "score": asked(part("a")),
        "implementation": writes("a", "bad", "good"),
    }
    made.begin()
    assert made.ended() == run.Ended("over")
    assert [row["id"] for row in made.project.of("task_failed")] == ["T-001"]
    assert [row["task"] for row in made.project.of("panel_recorded")] == ["T-001"]
    assert len(made.project.of("wave_closed")) == 2


def plan(*rows: dict) -> dict:
    return planned(
        *(
            {
                "description": row["subject"],
                "complexity": "simple",
                "verify": row["verify"],
                "files": row["files"],
            }
            for row in rows
        )
    )


def test_review_to_its_card(made: Case) -> None:
    """A plan sent back once, a batch whose first review wants a change."""
    made.steps |= {
        "plan": [plan(part("a"), part("b")), plan(part("a"), part("b"), part("c"))],
        "plan_review": [
            {
                "reply": {
                    "score": 40,
                    "summary": "c is missing",
                    "findings": [{"severity": "BLOCKER", "issue": "c is missing"}],
                }
            },
            {"reply": {"score": 90, "summary": "whole", "findings": []}},
        ],
        **{f"implementation T-00{n + 3}": writes(name, "good") for n, name in enumerate("abc")},
        "batch_review": [
            {
                "reply": {
                    "build": "passed",
                    "tests": "passed",
                    "lint": "none",
                    "verdicts": {"T-003": "approved", "T-004": "changes", "T-005": "approved"},
                    "findings": [
                        {"severity": "BLOCKER", "issue": "b is too short", "task": "T-004"}
                    ],
                }
            },
            {
                "reply": {
                    "build": "passed",
                    "tests": "passed",
                    "lint": "none",
                    "verdicts": {"T-004": "approved"},
                    "findings": [],
                }
            },
        ],
    }
    made.begin("review")
    assert made.ended() == run.Ended("over")
    assert made.completed


def test_supervisor_to_its_card(made: Case) -> None:
    """A malformed plan is asked for again; a test fails and is fixed; work is revised; an attempt is
    rejected and diagnosed."""
    verdicts = {score: {"reply": roles.scored(score)} for score in (20, 60, 90)}
    made.steps |= {
        "plan": [{"text": "I would rather not."}, plan(part("a"), part("b"), part("c"))],
        "plan_verdict": {"reply": {"score": 90, "summary": "whole", "findings": []}},
        **{
            f"implementation T-00{n + 1}": {**writes(name, "good")[0], "reply": roles.implemented()}
            for n, name in enumerate("abc")
        },
        "test": {"reply": roles.saw()},
        "test T-001": [{"reply": roles.saw("failed")}, {"reply": roles.saw()}],
        "fix": {"reply": roles.fixed()},
        "verdict": verdicts[90],
        "verdict T-002": [verdicts[60], verdicts[90]],
        "verdict T-003": [verdicts[20], verdicts[90]],
        "diagnosis": {"reply": roles.diagnosis()},
        "goal_verdict": verdicts[90],
    }
    made.begin("supervisor")
    assert made.ended() == run.Ended("over")
    assert made.completed
    assert len(made.project.of("reply_unfit")) == 1
    assert [row["id"] for row in made.project.of("task_failed")] == ["T-003"]
    assert [row["id"] for row in made.project.of("task_diagnosed")] == ["T-003"]


def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_told_why(made: Case) -> None:
    wrong = {"reply": {**REQUEST, "scores": {"outcome": 7}}}
    made.steps["score"] = [wrong, asked(part("a"))]
    made.begin()
    records = made.run()
    (fault,) = [record for record in records if isinstance(record, run.Unusable)]
    assert fault.step == step("score") and "outcome" in fault.error


def test_an_agent_that_fails_leaves_a_loop_that_goes_on(made: Case) -> None:
    made.steps |= {
        "score": asked(part("a")),
        "implementation": [{"outcome": "limit", "error": "until 8"}, *writes("a", "good")],
    }
    made.begin()
    end = made.ended()
    assert (end.why, end.text) == ("failed", "limit: until 8")
    made.steps["implementation"] = writes("a", "good")
    assert made.ended() == run.Ended("over")
    assert made.completed and made.project.of("task_failed") == []


def test_it_stops_where_a_person_is_needed(made: Case) -> None:
    made.steps["score"] = asked(part("a"))
    made.begin()
    made.project.ok("ask", "which of the two?")
    assert made.ended() == run.Ended("person", step("answer"))


def test_every_kind_of_step_is_known_to_the_driver() -> None:
    doing = {kinds.PROGRAM: drive._DO, kinds.FORM: drive.FORMS, kinds.AGENT: drive.FORMS}
    unknown = {
        kind
        for kind, row in kinds.KINDS.items()
        if row.who != kinds.PERSON and kind not in doing[row.who]
        # what has a line of `loopkit reply` is dispatched and recorded alike
        if row.command != kinds.WAVE_NEXT
    }
    assert unknown == {kinds.LOOK}, "nothing can be done about it"


@pytest.mark.parametrize("allowed", [True, False])
def test_what_an_agent_is_told(made: Case, allowed: bool) -> None:
    """Each prompt holds what its step is about and the form of the answer; beside it stands what
    its agent may run, if the person lets it."""
    kept = {"must_nots": [{"text": "a is lost", "proof": "python3 -c pass"}, {"text": "b is"}]}
    made.steps |= {
        "score": {"reply": {**asked(part("a"))["reply"], **kept}},
        "implementation": writes("a", "bad", "good"),
    }
    prompts: list[str] = []
    rules: dict[str, tuple] = {}

    class Listening(drive.Driver):
        def ask(self, steps: list[Step], faults: dict) -> dict:
            requests = super().ask(steps, faults)
            prompts.extend(request.prompt.text for request in requests.values())
            rules.update((step.kind, one.prompt.allowed_tools) for step, one in requests.items())
            return requests

    made.begin()
    if allowed:
        patterns = ["grep *", "python3 -c *"]
        consent.typed_patterns(Workspace(made.notes.append).loop(), patterns)
    for _ in made.records(Listening):
        pass
    first = next(text for text in prompts if text.startswith("# Do T-001\n"))
    assert (
        "loopkit verify T-001\n" in first
        and "`grep -qx good a.txt`" in first
        and "## Answer" in first
    )
    assert all("rate limiting" in text for text in prompts)
    panel = next(text for text in prompts if "consensus:" in text)
    assert "T-001" in panel and "consensus:" in panel
    # the check itself only reads, it needs no rule
    own = ("Bash(loopkit verify T-001)", "Bash(python3 -c pass)")
    assert (rules["implementation"], rules["gate"]) == (own if allowed else (), ())
