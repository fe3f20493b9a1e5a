"""The judgement of the scripted model for the tests' one small piece of work: three greetings in
two waves."""

from __future__ import annotations

import re
from typing import Any

from tests.client.harness import Sandbox
from tests.client.model import Scenario, Text, Turn, in_turn, write

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


def judged(score: int, feedback: str = "seen", **more: Any) -> dict:
    """A supervisor's answer; what it approves and recommends is nonsense on purpose, the score
    decides."""
    word = "reject" if score >= 70 else "approve"
    return {
        "score": score,
        "approved": score < 70,
        "recommendation": word,
        "feedback": feedback,
        **more,
    }


TESTED = {"status": "passed", "testsRun": 1, "testsPassed": 1, "testsFailed": 0}
CODED = {"status": "complete", "summary": "wrote the file, see the check"}


def piece(description: str, verify: str, **more: Any) -> dict:
    return {"description": description, "complexity": "simple", "verify": verify, **more}


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


def four_greetings() -> Scenario:
    """Four tasks in two waves, three of them side by side."""
    spanish = {**TASKS[1], "subject": "Greet in Spanish", "verify": "grep -q hola hola.txt"}
    tasks = [*TASKS[:2], {**spanish, "files": ["hola.txt"]}, TASKS[2]]
    work = {**WORK, "T-003": [write("hola.txt", "hola\n")], "T-004": WORK["T-003"]}
    return greetings(answers={**ANSWERS, r"^loopkit task add --file": tasks}, work=work)


def failing() -> Scenario:
    """One task whose first attempt fails."""
    right, wrong = WORK["T-001"], [write("hello.txt", "good day\n")]
    return greeting(work={"T-001": lambda _turn, attempt: right if attempt else wrong})


def blocked() -> Scenario:
    """One task, in which the thorough review finds a blocker."""
    blocker = {
        "severity": "BLOCKER",
        "issue": "hello.txt:1 greets nobody",
        "guidance": "greet the world",
        "verify": "grep -q world hello.txt",
        "files": ["hello.txt"],
    }
    work = {**WORK, "T-002": [write("hello.txt", "hello world\n")]}
    found = in_turn({"findings": [blocker]}, {"findings": []})
    return greeting(work=work, replies={"thorough_review": found})


def vague() -> Scenario:
    """One task out of a vague request that nobody can clarify."""
    guesses = {
        "echo": "Greet in English",
        "task": "a greeting",
        "context": "an empty project",
        "done": "the file is there",
        "assumptions": dict.fromkeys(("scope", "constraints", "success"), "the modest reading"),
    }
    line = "loopkit score --outcome 2 --done 2 --kind build --topics ui"
    scores = in_turn(*(f"{line} --scope {n} --constraints {n} --success {n}" for n in (0, 1)))
    more = {r"^loopkit score\b": scores, r"^loopkit clarify --file": guesses}
    base = greeting()
    return greeting(answers={**base.answers, **more})


def four_supervised() -> Scenario:
    """Four tasks in two waves, each of which a tester and a supervisor look at."""
    words = {"hello": "English", "bonjour": "French", "hola": "Spanish"}
    tasks = [
        piece(f"Greet in {language}", f"grep -q {word} {word}.txt", files=[f"{word}.txt"])
        for word, language in words.items()
    ]
    tasks[0]["criteria"] = ["C1"]
    last = {"files": ["list.txt"], "criteria": ["C2"], "dependencies": [0, 1, 2]}
    plan = {"tasks": [*tasks, piece("List the greetings", "grep -q bonjour list.txt", **last)]}
    files = [write(f"{word}.txt", f"{word}\n") for word in words]
    return greetings(
        work={**{f"T-00{n}": [one] for n, one in enumerate(files, 1)}, "T-004": WORK["T-003"]},
        replies={
            "plan": {**plan, "risks": [], "assumptions": [], "decisions": []},
            r"implementation T-\d+": CODED,
            r"test T-\d+": TESTED,
            "verification .*": judged(90),
        },
    )


def halfway(here: Sandbox) -> None:
    """Only talk once the first wave is closed, for what the end does not matter to."""
    here.model.scenario.deviate = lambda turn: (
        [Text("Enough.")] if turn.main and here.events("wave_closed") else None
    )


def talk_only() -> Scenario:
    """A model that does nothing."""
    return Scenario(deviate=lambda turn: [Text("I see.")] if turn.tools else None)
