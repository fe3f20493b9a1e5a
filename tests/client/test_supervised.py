"""Supervised and reviewed loops in the real client: roles with prompts of their own, bands, replans,
decisions that hold."""

from __future__ import annotations

from typing import Any

from tests.client.harness import EVERYTHING, Sandbox
from tests.client.model import in_turn, write
from tests.client.scenarios import (
    CODED,
    CRITERIA,
    REQUEST,
    SUPERVISED,
    TESTED,
    asked,
    greetings,
    judged,
    piece,
)
from tests.client.test_flows import CARD, at_its_price
from tests.client.test_judgement import order_of

TASKS = [
    piece("Greet in English", "grep -q hello hello.txt", files=["hello.txt"], criteria=["C1"]),
    piece("Greet in French", "grep -q bonjour bonjour.txt", files=["bonjour.txt"]),
]
PLAN = {"tasks": TASKS, "risks": [], "assumptions": ["UTF-8"], "decisions": []}
WORK = {"T-001": [write("hello.txt", "hello\n")], "T-002": [write("bonjour.txt", "bonjour\n")]}
#: The criteria of a work without a list.
NO_LIST = [CRITERIA[0], {**CRITERIA[1], "proof": "grep -q bonjour bonjour.txt"}]


def planned(place: Any, approval: str) -> Sandbox:
    """A place whose loops have a plan, with a scenario that does the whole work."""
    here = place(greetings(work=dict(WORK)))
    (here.project / ".loop").mkdir()
    (here.project / ".loop" / "config.toml").write_text(f'approval = "{approval}"\n')
    here.model.scenario.forms["request"] = asked(NO_LIST, [])
    here.model.scenario.replies = {
        "plan": PLAN,
        "verification plan": judged(82),
        r"implementation T-\d+": CODED,
        r"test T-\d+": TESTED,
        "verification .*": judged(90),
    }
    return here


def told(here: Sandbox, name: str) -> str:
    """The text of a prompt, `test-T-001-1`."""
    return next((here.project / ".loop").glob(f"0*/prompts/{name}.md")).read_text(encoding="utf-8")


def test_a_supervised_loop_in_the_real_client(place: Any) -> None:
    """Its courses are shown without the client, tests/ops/test_drive.py and tests/cli/test_batch.py."""
    here, _ = at_its_price(place, SUPERVISED)
    judged = ("plan-1", "goal-1", "T-001-1", "T-004-1")
    assert all(REQUEST in told(here, f"verification-{name}") for name in judged)
    tools = {
        record.turn.kind: set(record.turn.tools)
        for record in here.model.records
        if not record.turn.main
    }
    editing = {"Edit", "Write", "NotebookEdit"}
    assert {kind for kind, one in tools.items() if one & editing} == {"loop:coder"}
    assert not any(one & {"Agent", "Task"} for one in tools.values())
    assert "Bash" not in tools["loop:planner"] | tools["loop:plan-review"]


def test_supervised_in_a_terminal_where_agents_report_from_the_background(
    place: Any, tmux: None
) -> None:
    here = planned(place, "supervisor")
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end", lambda: here.state.get("status") in ("completed", "failed", "paused"))
    assert here.state["status"] == "completed", here.model.story()
    assert {one["id"] for one in here.events("task_completed")} == {"T-001", "T-002"}


def test_a_reviewed_loop_in_the_real_client(place: Any) -> None:
    here = planned(place, "review")
    reviewed = {"build": "none", "tests": "passed", "findings": []}
    finding = {
        "severity": "Major",
        "task": "T-002",
        "issue": "no line for the evening",
        "guidance": "add one",
    }
    changes = {"T-001": "approved", "T-002": "changes"}
    here.model.scenario.replies = {
        "plan": PLAN,
        "verification plan": {"status": "APPROVED", "findings": []},
        r"review.*": in_turn(
            {**reviewed, "verdicts": changes, "findings": [finding]},
            {**reviewed, "verdicts": {"T-002": "approved"}},
        ),
    }
    here.run(f"/loop:start {REQUEST}", allowed=EVERYTHING)
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1, here.model.story()
    assert [one["verdicts"] for one in here.events("review_light")] == [
        changes,
        {"T-002": "approved"},
    ]
    assert [one["tasks"] for one in here.events("wave_opened")] == [["T-001", "T-002"], ["T-002"]]
    assert "no line for the evening" in here.events("task_failed")[0]["error"]
    done = order_of(here, "task_verified", "review_light", "task_completed")
    assert done.index("task_completed") > done.index(
        "review_light"
    )  # never before the review's yes
    prompted = [
        turn
        for turn in (record.turn for record in here.model.records)
        if turn.kind == "loop:plan-review"
    ]
    assert (
        prompted
        and "Bash" not in prompted[0].tools
        and REQUEST in told(here, "verification-plan-1")
    )
    assert here.model.unanswered == []
