"""Supervised and reviewed loops in the real client: roles with prompts of their own, bands, replans,
decisions that hold."""

from __future__ import annotations

from typing import Any

from tests.client.harness import EVERYTHING, Sandbox
from tests.client.model import in_turn, write
from tests.client.scenarios import (
    CODED,
    CRITERIA,
    PANEL,
    REQUEST,
    TESTED,
    asked,
    greetings,
    judged,
    piece,
)
from tests.client.test_judgement import order_of

CARD = "</loop-complete>"

DECISION = {
    "title": "Greetings are plain text files",
    "context": "two programs read them",
    "choice": "one .txt file for each language",
    "alternatives": ["One JSON file: both programs would need a parser"],
    "consequences": "no metadata",
    "files": ["list.txt"],
}


PLAN = {
    "tasks": [
        piece(
            "Lay out the list",
            "test -f list.txt",
            scaffold=True,
            files=["list.txt"],
            criteria=["C2"],
        ),
        piece(
            "Greet in English",
            "grep -q hello hello.txt",
            files=["hello.txt"],
            criteria=["C1"],
            dependencies=[0],
        ),
        piece(
            "Greet in French",
            "grep -q bonjour bonjour.txt",
            files=["bonjour.txt"],
            dependencies=[0],
        ),
        piece(
            "List greetings",
            "grep -q bonjour list.txt",
            files=["list.txt"],
            complexity="complex",
            dependencies=[1, 2],
        ),
    ],
    "risks": [],
    "assumptions": ["UTF-8"],
    "decisions": [DECISION],
}
REPLAN = {
    "analysis": "one language after the other",
    "subtasks": [
        piece("List the English one", "grep -q hello list.txt", files=["list.txt"]),
        piece(
            "List the French one", "grep -q bonjour list.txt", files=["list.txt"], dependencies=[0]
        ),
    ],
}


WORK = {
    "T-001": [write("list.txt", "greetings:\n")],
    "T-002": [write("hello.txt", "hello\n")],
    "T-003": [write("bonjour.txt", "bonjour\n")],
    "T-005": [write("list.txt", "greetings:\nhello\n")],
    "T-006": [write("list.txt", "greetings:\nhello\nbonjour\n")],
}
#: The criteria of a work without a list.
NO_LIST = [CRITERIA[0], {**CRITERIA[1], "proof": "grep -q bonjour bonjour.txt"}]
CONTRADICTED = {
    "severity": "BLOCKER",
    "issue": "list.txt:1 has a heading, decision 1 says that the files hold greetings only",
    "reason": "the programs would read it as a greeting",
    "guidance": "take the heading out",
    "contradicts": [1],
    "verify": "grep -qv greetings list.txt",
    "files": ["list.txt"],
}


def supervised(place: Any, **settings: str) -> Sandbox:
    """A place whose loops are supervised, with a scenario that does the whole work."""
    here = place(greetings())
    (here.project / ".loop").mkdir()
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (here.project / ".loop" / "config.toml").write_text(f'approval = "supervisor"\n{lines}')
    scenario = here.model.scenario
    scenario.work = {**WORK, "T-007": [write("list.txt", "hello\nbonjour\n")]}
    scenario.replies = {
        "plan": PLAN,
        "verification plan": judged(82),
        r"implementation T-\d+": CODED,
        r"test T-\d+": TESTED,
        "verification T-002": in_turn(judged(65, "no line break at its end"), judged(85)),
        "verification T-003": in_turn(
            judged(40, "nobody asked for that file", issues=["wrong file"]), judged(85)
        ),
        r"verification T-\d+": judged(90),
        "diagnosis T-003": {
            "decision": "impossible",
            "reasoning": "it cannot be known",
            "blockers": [],
        },
        "replan T-004": REPLAN,
        "verification goal": judged(88),
    }
    return here


def told(here: Sandbox, name: str) -> str:
    """The text of a prompt, `test-T-001-1`."""
    return next((here.project / ".loop").glob(f"0*/prompts/{name}.md")).read_text(encoding="utf-8")


def kinds(here: Sandbox, task: str) -> list[str]:
    """What was asked of whom for a task, in order."""
    return [
        f"{one['role']}:{one['kind']}"
        for one in here.events("role_asked")
        if one.get("task") == task
    ]


def test_a_supervised_loop_in_the_real_client(place: Any) -> None:
    here = supervised(place)
    here.model.scenario.replies |= {
        r"thorough_review \d+": in_turn({"findings": [CONTRADICTED]}, {"findings": []}),
        "diagnosis T-003": {"decision": "perhaps", "reasoning": ""},  # then a panel is due
    }
    here.run(f"/loop:start {REQUEST}", allowed=EVERYTHING)
    it_scaffolds_revises_rejects_replans_and_keeps_its_decisions(here)
    roles_see_their_own_scope_and_can_do_no_more_than_their_files_say(here)


def it_scaffolds_revises_rejects_replans_and_keeps_its_decisions(here: Sandbox) -> None:
    assert here.state["status"] == "completed" and here.model.heard(CARD) == 1, here.model.story()
    # planned, reviewed, executed, verified, in this order
    phases = order_of(
        here, "plan_proposed", "plan_reviewed", "wave_opened", "goal_judged", "review_thorough"
    )
    assert list(dict.fromkeys(phases)) == [
        "plan_proposed", "plan_reviewed", "wave_opened", "goal_judged", "review_thorough",
    ]  # fmt: skip
    waves = [one["tasks"] for one in here.events("wave_opened")]
    assert waves[0] == ["T-001"] and waves[1] == [
        "T-002",
        "T-003",
    ]  # the scaffold before all others
    labels = [one["label"] for one in here.events("checkpoint_made")]
    assert labels[:3] == ["start", "scaffold", "batch-2"]
    # 65: the same attempt goes on
    bands = [(one["id"], one["score"], one["band"]) for one in here.events("task_judged")]
    assert ("T-002", 65, "revise") in bands and ("T-002", 85, "approve") in bands
    assert not [one for one in here.events("task_failed") if one["id"] == "T-002"]
    assert "no line break at its end" in told(here, "implementation-T-002-2")
    # 40: the attempt has failed; an answer that says nothing leaves it to a panel
    failures = here.events("task_failed")
    assert [(one["id"], one["action"], one["score"]) for one in failures] == [
        ("T-003", "retry", 40)
    ]
    assert [one["task"] for one in here.events("panel_recorded")] == ["T-003"]
    retried = told(here, "implementation-T-003-2")
    assert "nobody asked for that file" in retried and PANEL["consensus"] in retried
    # complex: cut before any coding, without using an attempt
    assert [one["id"] for one in here.events("task_split")] == ["T-004"]
    assert "planner:replan" in kinds(here, "T-004")[0].replace("loop:", "")
    parents = {
        task["id"]: task.get("parent")
        for task in (one["task"] for one in here.events("task_added"))
    }
    assert (parents["T-005"], parents["T-006"]) == ("T-004", "T-004")
    assert {one["id"] for one in here.events("task_completed")} >= {f"T-00{n}" for n in range(1, 8)}
    # a decision that a later change contradicts
    assert [one["title"] for one in here.events("decision_recorded")][0] == DECISION["title"]
    found = here.events("review_thorough")[0]["findings"][0]
    assert (found["severity"], found["task"]) == ("BLOCKER", "T-007") and found["contradicts"] == [
        1
    ]
    assert len(here.events("review_thorough")) == 2
    assert (here.project / "list.txt").read_text() == "hello\nbonjour\n"
    assert here.model.unanswered == []


def roles_see_their_own_scope_and_can_do_no_more_than_their_files_say(here: Sandbox) -> None:
    judged = ("plan-1", "goal-1", "T-005-1", "T-002-1")
    assert all(REQUEST in told(here, f"verification-{name}") for name in judged)
    assert "List greetings" in told(here, "verification-T-005-1"), (
        "its parent, by which it is judged"
    )
    tools = {
        record.turn.kind: set(record.turn.tools)
        for record in here.model.records
        if not record.turn.main
    }
    editing = {"Edit", "Write", "NotebookEdit"}
    assert {kind for kind, one in tools.items() if one & editing} == {"loop:coder", "loop:scaffold"}
    assert not any(one & {"Agent", "Task"} for one in tools.values())
    assert "Bash" not in tools["loop:planner"] | tools["loop:plan-review"]


def test_supervised_in_a_terminal_where_agents_report_from_the_background(
    place: Any, tmux: None
) -> None:
    here = supervised(place)
    scenario = here.model.scenario
    tasks = [{**one, "dependencies": []} for one in PLAN["tasks"][1:3]]
    scenario.work = {
        "T-001": [write("hello.txt", "hello\n")],
        "T-002": [write("bonjour.txt", "bonjour\n")],
    }
    scenario.replies |= {"plan": {"tasks": tasks}, "verification T-002": judged(90)}
    scenario.forms["request"] = asked(NO_LIST, [])
    terminal = here.terminal(allowed=EVERYTHING)
    terminal.say(f"/loop:start {REQUEST}")
    terminal.wait("the end", lambda: here.state.get("status") in ("completed", "failed", "paused"))
    assert here.state["status"] == "completed", here.model.story()
    assert {one["id"] for one in here.events("task_completed")} == {"T-001", "T-002"}


def test_a_reviewed_loop_in_the_real_client(place: Any) -> None:
    here = place(greetings())
    (here.project / ".loop").mkdir()
    (here.project / ".loop" / "config.toml").write_text('approval = "review"\n')
    scenario = here.model.scenario
    first, second = (dict(one) for one in PLAN["tasks"][1:3])
    tasks = [{**first, "dependencies": []}, {**second, "dependencies": []}]
    scenario.work = {
        "T-001": [write("hello.txt", "hello\n")],
        "T-002": [write("bonjour.txt", "bonjour\n")],
    }
    reviewed = {"build": "none", "tests": "passed", "findings": []}
    finding = {
        "severity": "Major",
        "task": "T-002",
        "issue": "no line for the evening",
        "guidance": "add one",
    }
    changes = {"T-001": "approved", "T-002": "changes"}
    scenario.forms["request"] = asked(NO_LIST, [])
    scenario.replies = {
        "plan": {"tasks": tasks},
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
