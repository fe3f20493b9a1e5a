"""What the cases of evals/ look for in a journal is what a loop of that course leaves there."""

from __future__ import annotations

import re

import pytest
import yaml

from loopkit.ops import start
from loopkit.ops.workspace import Workspace
from tests.cli.kit import GATE, ROOT, SEEN, Project
from tests.client.evals import vague_intent
from tests.ops.kit import PASSED, Case, asked, part, writes

BLOCKER = {"severity": "BLOCKER", "issue": "b is missing", "verify": "grep -qx good b.txt"}
FAILED = {"points": {**GATE["points"], "edge_cases": "FAIL c is missing"}}
REFUSED = {**GATE, **FAILED, "verify": {"edge_cases": "grep -qx good c.txt"}}
#: {case: what is answered in its loop otherwise}.
COURSES: dict[str, dict] = {
    "start": {},
    "stuck-panel": {"implementation T-001": writes("a", "bad", "good")},
    "blocker-remediation": {
        "implementation T-002": writes("b", "good"),
        "thorough_review": [{"reply": {**SEEN, "findings": [BLOCKER]}}, PASSED],
    },
    "gate-refusal": {
        "implementation T-002": writes("c", "good"),
        "gate": [{"reply": REFUSED}, {"reply": GATE}],
    },
}


def graded(name: str, journal: str) -> dict[str, bool]:
    """{grader of a case that reads the journal: whether it holds there}."""
    case = yaml.safe_load((ROOT / "evals" / name / "case.yaml").read_text(encoding="utf-8"))
    return {
        one["name"]: bool(re.search(one["pattern"], journal)) == (one.get("match") is None)
        for one in case["graders"]
        if one["target"]["path"].endswith("/ledger.jsonl")
    }


@pytest.mark.parametrize("name", COURSES)
def test_they_hold_in_a_loop_of_that_course(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    loop = Case(project, monkeypatch)
    loop.steps |= {"score": asked(part("a")), "implementation T-001": writes("a", "good")}
    loop.steps |= COURSES[name]
    start.start(Workspace(loop.notes.append), "Add two greetings", start.Options())
    assert loop.ended().why == "over"
    held = graded(name, project.ledger.read_text(encoding="utf-8"))
    assert len(held) > 2 and all(held.values()), held


def test_they_hold_where_a_vague_request_was_clarified(project: Project) -> None:
    project.start("Make the app better")
    project.score(0, 0, 0, 0, 0)
    clarified = {**vague_intent().forms["clarification"], "approved": True}
    project.ok("clarify", "--file", "-", given=clarified)
    held = graded("vague-intent", project.ledger.read_text(encoding="utf-8"))
    assert len(held) > 2 and all(held.values()), held
