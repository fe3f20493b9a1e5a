"""The judgement of the scripted model for the tests' one small piece of work: three greetings in
two waves."""

from __future__ import annotations

import re

from tests.client.harness import Sandbox
from tests.client.model import Scenario, Text, Turn, write

REQUEST = "Add greetings in two languages and a list of them"

SHAPE = """# Shape: Add greetings
criteria:
- C1: hello.txt greets in English
- C2: list.txt names both greetings
mustNot:
- M1: README.md changes
- M2: A dependency is added
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | grep -q hello hello.txt |
| C2 | execution output | grep -q bonjour list.txt |
"""

TASKS = [
    {
        "subject": "Greet in English",
        "verify": "grep -q hello hello.txt",
        "files": ["hello.txt"],
        "criteria": ["C1"],
    },
    {
        "subject": "Greet in French",
        "verify": "grep -q bonjour bonjour.txt",
        "files": ["bonjour.txt"],
    },
    {
        "subject": "List the greetings",
        "verify": "grep -q bonjour list.txt",
        "blocked_by": ["#1", "#2"],
        "files": ["list.txt"],
        "criteria": ["C2"],
    },
]
for _task in TASKS:
    _task.update(description="See the subject.", complexity="simple")

WORK = {
    "T-001": [write("hello.txt", "hello\n")],
    "T-002": [write("bonjour.txt", "bonjour\n")],
    "T-003": [write("list.txt", "hello\nbonjour\n")],
}

GATE: dict = {
    "kind": "build",
    "points": {
        "runs": "PASS: the verifications ran",
        "edge_cases": "PASS: there are none",
        "rollback": "PASS: git revert",
        "dependencies": "PASS: none",
    },
    "criteria": {"C1": "PASS: grep found it", "C2": "PASS: grep found it"},
    "confidence": 90,
    "reversal": "2B",
    "size": 3,
    "alternative": "one file",
    "risk": "none known",
}

THOROUGH = {
    "score": 8,
    "experts": ["test-first-developer", "api-designer", "security-reviewer"],
    "findings": [],
}
PANEL = {
    "experts": [
        {
            "name": "test-first-developer",
            "question": "What fails?",
            "diagnosis": "the file is missing",
        },
        {"name": "api-designer", "question": "Is the task right?", "diagnosis": "it is"},
    ],
    "recommendations": [{"approach": "write the file", "confidence": 8}],
    "consensus": "write the file",
    "fallback": "split the task",
}


def light_review(turn: Turn, _count: int) -> str:
    """The light review of the wave that the newest line names."""
    wave = re.findall(r"loopkit review --wave (\d+)", turn.newest)[-1]
    return (
        f"loopkit review --wave {wave} --score 8 --issues 2 --blockers 0 --experts "
        "test-first-developer,simplifier"
    )


ANSWERS = {
    r"^loopkit score\b": "loopkit score --outcome 2 --scope 2 --constraints 2 --success 2 --done 2 "
    "--kind build --topics ui",
    r"^loopkit shape --accept": SHAPE,
    r"^loopkit task add --file": TASKS,
    r"^loopkit review --wave .*--score": light_review,
    r"^loopkit review --thorough.*--file -": THOROUGH,
    r"^loopkit panel .*--file -": PANEL,
    r"^loopkit gate --file": GATE,
}


#: What reviewers say at once, without reading their briefs.
REPORTS = {r"^loop:review: ": "findings: []"}


def greetings(**changes: object) -> Scenario:
    """The whole work; `changes` are fields of the Scenario."""
    given = {"answers": dict(ANSWERS), "work": dict(WORK), "reports": dict(REPORTS), **changes}
    return Scenario(**given)


def greeting(**changes: object) -> Scenario:
    """The first greeting alone, one task in one wave: for what its size does not matter to."""
    shape = "".join(line for line in SHAPE.splitlines(keepends=True) if "C2" not in line)
    gate = {**GATE, "criteria": {"C1": GATE["criteria"]["C1"]}}
    own = {
        r"^loopkit shape --accept": shape,
        r"^loopkit task add --file": TASKS[:1],
        r"^loopkit gate --file": gate,
    }
    return greetings(**{"answers": {**ANSWERS, **own}, **changes})


def halfway(here: Sandbox) -> None:
    """Only talk once the first wave is closed, for what the end does not matter to."""
    here.model.scenario.deviate = lambda turn: (
        [Text("Enough.")] if turn.main and here.events("wave_closed") else None
    )


def talk_only() -> Scenario:
    """A model that does nothing."""
    return Scenario(deviate=lambda turn: [Text("I see.")] if turn.tools else None)
