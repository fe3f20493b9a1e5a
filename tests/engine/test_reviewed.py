"""A whole loop whose batches are reviewed: the script agent follows the `next:` lines, from the
plan to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.test_courses import GOOD, Run, checked, says

DECISION = {
    "title": "Key by address",
    "context": "clients can set any header",
    "choice": "the connection's address",
    "alternatives": ["A header: it can be forged"],
    "files": ["limiter.txt"],
}
BLOCKER = {
    "severity": "Critical",
    "issue": "nothing proves the limit",
    "guidance": "write a test",
    "category": "tests",
}
FINE = {"build": "none", "tests": "passed", "findings": []}


def part(name: str, **fields: Any) -> dict:
    files = [f"{name}.txt"]
    return {
        "description": f"write {name}",
        "verify": checked(name),
        "complexity": "simple",
        "files": files,
        **fields,
    }


def test_a_reviewed_loop_from_its_plan_to_its_report(tmp_path: Path, home: Path) -> None:
    """A plan sent back, scaffold first, a batch with an approval and a contradiction, the next
    attempt, the end."""
    tasks = [
        part("base", scaffold=True, group="Base"),
        part("limit", dependencies=[0]),
        part("docs", dependencies=[0]),
    ]
    agents = {
        "T-004": says("base", GOOD),
        "T-005": says("limit", GOOD),
        "T-006": says("docs", GOOD, GOOD),
    }
    run = Run(tmp_path, home, [], agents)
    against = {
        **BLOCKER,
        "issue": "the header decides",
        "task": "T-006",
        "contradicts": [2],
        "category": "security",
    }
    answers: list[tuple[str, object, float]] = [
        (r"^loopkit reply plan --file -", {"tasks": tasks}, 1),
        (r"^loopkit reply plan --file -", {"tasks": tasks, "decisions": [DECISION]}, 1),
        (r"^loopkit review --plan --file -", {"findings": [BLOCKER]}, 1),
        (r"^loopkit review --plan --file -", {"findings": []}, 1),
        (r"^loopkit review --wave \d+$", "", 9),
        (r"^loopkit review --scaffold --file -", {**FINE, "verdicts": {"T-004": "approved"}}, 1),
        (
            r"^loopkit review --wave 2 --file -",
            {**FINE, "verdicts": {"T-005": "approved", "T-006": "changes"}, "findings": [against]},
            1,
        ),
        (r"^loopkit review --wave 3 --file -", {**FINE, "verdicts": {"T-006": "approved"}}, 1),
    ]
    rules = []
    for step, given, times in answers:
        rule = run.rule(step, None, given)
        rule.times = times
        rules.append(rule)
    run.script.rules[:0] = rules
    output = run.go(
        run.call(["start", "--approval", "review", "--task-file", "-"], run.script.task)[1]
    )
    assert "<loop-complete>" in output
    project = run.project
    assert [row["outcome"] for row in project.of("plan_reviewed")] == ["revise", "approved"]
    assert [(row["mode"], row["verdicts"]) for row in project.of("review_light")] == [
        ("scaffold", {"T-004": "approved"}),
        ("batch", {"T-005": "approved", "T-006": "changes"}),
        ("batch", {"T-006": "approved"}),
    ]
    assert [row["tasks"] for row in project.of("wave_opened")] == [
        ["T-004"],
        ["T-005", "T-006"],
        ["T-006"],
    ]
    agents_of = [
        text.split(":")[1]
        for kind, text in run.told
        if kind == "step" and text.startswith("agent ")
    ]
    assert (
        agents_of[:4] == ["planner", "plan-review", "planner", "plan-review"]
        and agents_of[4] == "scaffold"
    )
    assert [row["source"] for row in project.of("anti_pattern_recorded")] == [
        "plan-review",
        "review",
    ]
    assert "contradicts decision 002" in project.of("task_failed")[0]["error"]
    labels = [row["label"] for row in project.of("checkpoint_made")]
    assert labels[:2] == ["start", "scaffold"]
    folder = project.root / project.name
    assert "| 002 Key by address | yes, after F-001 |" in (folder / "report.md").read_text()
    plan = (folder / "plan.md").read_text()
    assert (
        "Iteration: 2\nStatus: COMPLETE\n" in plan
        and "- [x] 1.1 write base (T-004) · scaffold" in plan
    )
    assert sorted(one.name[:3] for one in (folder / "learnings").iterdir()) == ["001", "002", "003"]
