"""The judgement of the scripted model for the tests' one small piece of work: three greetings in
two waves."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.client.harness import Sandbox
from tests.client.model import Scenario, Text, in_turn, write

REQUEST = "Add greetings in two languages and a list of them"

CRITERIA = [
    {"text": "hello.txt greets in English", "proof": "grep -q hello hello.txt"},
    {"text": "list.txt names both greetings", "proof": "grep -q bonjour list.txt"},
]
MUST_NOTS = [{"text": "README.md changes"}, {"text": "A dependency is added"}]

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
        "blocked_by": [1, 2],
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

CLEAR = dict.fromkeys(("outcome", "scope", "constraints", "success", "done"), 2)


def asked(criteria: list, tasks: list, scores: dict = CLEAR, **more: Any) -> dict:
    """The form `request`, filled in."""
    return {
        "scores": scores,
        "kind": "build",
        "topics": ["ui"],
        "title": "Add greetings",
        "criteria": [{"type": "execution output", **one} for one in criteria],
        "must_nots": MUST_NOTS,
        "tasks": tasks,
        **more,
    }


GATE: dict = {
    "kind": "build",
    "points": {
        "runs": "PASS: the verifications ran",
        "edge_cases": "PASS: there are none",
        "rollback": "PASS: git revert",
        "dependencies": "PASS: none",
    },
    "confidence": 90,
    "reversal": "2B",
    "size": 3,
    "alternative": "one file",
    "risk": "none known",
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


FORMS = {"request": asked(CRITERIA, TASKS), "panel": PANEL, "gate": GATE}


def greetings(**changes: Any) -> Scenario:
    """The whole work; `changes` are fields of the Scenario."""
    return Scenario(**{"forms": dict(FORMS), "work": dict(WORK), **changes})


def greeting(**changes: Any) -> Scenario:
    """The first greeting alone, one task in one wave: for what its size does not matter to."""
    return greetings(forms={**FORMS, "request": asked(CRITERIA[:1], TASKS[:1])}, **changes)


def four_greetings() -> Scenario:
    """Four tasks in two waves, three of them side by side."""
    spanish = {**TASKS[1], "subject": "Greet in Spanish", "verify": "grep -q hola hola.txt"}
    tasks = [*TASKS[:2], {**spanish, "files": ["hola.txt"]}, {**TASKS[2], "blocked_by": [1, 2, 3]}]
    work = {**WORK, "T-003": [write("hola.txt", "hola\n")], "T-004": WORK["T-003"]}
    return greetings(forms={**FORMS, "request": asked(CRITERIA, tasks)}, work=work)


def failing() -> Scenario:
    """One task whose first attempt fails."""
    right, wrong = WORK["T-001"], [write("hello.txt", "good day\n")]
    return greeting(work={"T-001": lambda _turn, attempt: right if attempt else wrong})


BLOCKER = {
    "severity": "BLOCKER",
    "issue": "hello.txt:1 greets nobody",
    "guidance": "greet the world",
    "verify": "grep -q world hello.txt",
    "files": ["hello.txt"],
}


def blocked() -> Scenario:
    """One task, in which the thorough review finds a blocker."""
    work = {**WORK, "T-002": [write("hello.txt", "hello world\n")]}
    found = in_turn({"findings": [BLOCKER]}, {"findings": []})
    return greeting(work=work, replies={r"thorough_review \d+": found})


def vague() -> Scenario:
    """One task out of a vague request that nobody can clarify."""
    guesses = {
        "echo": "Greet in English",
        "task": "a greeting",
        "context": "an empty project",
        "done": "the file is there",
        "assumptions": dict.fromkeys(("scope", "constraints", "success"), "the modest reading"),
    }
    here = greeting()
    scores = ({**CLEAR, **dict.fromkeys(guesses["assumptions"], number)} for number in (0, 1))
    forms = [{**here.forms["request"], "scores": one} for one in scores]
    here.forms |= {"request": in_turn(*forms), "clarification": guesses}
    return here


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


class Flow(NamedTuple):
    """A loop from its start to its card. most: requests of the main session that it may take, with
    one for `loopkit allow`; with `beside` so many more than that flow · words: what is typed."""

    scenario: Scenario
    most: int
    beside: str = ""
    words: str = REQUEST


ONE, FOUR, SUPERVISED = "one task", "four tasks in two waves", "four tasks, supervised"


def flows() -> dict[str, Flow]:
    """The loops whose price is measured, by name."""
    return {
        ONE: Flow(greeting(), 8),
        FOUR: Flow(four_greetings(), 11),
        "an attempt that failed": Flow(failing(), 3, ONE),
        "a blocker of the review": Flow(blocked(), 4, ONE),
        "a vague request": Flow(vague(), 3, ONE, "Make it nicer, with a greeting"),
        SUPERVISED: Flow(four_supervised(), 24, words=f"--approval supervisor {REQUEST}"),
    }


def troubled() -> Flow:
    """One task to which all of that happens: it may take the sum."""
    known = flows()
    more = [flow for flow in known.values() if flow.beside]
    here = vague()
    here.work = {**blocked().work, **failing().work}
    here.replies = blocked().replies
    most = known[ONE].most + sum(flow.most for flow in more)
    return Flow(here, most, words=more[-1].words)


def halfway(here: Sandbox) -> None:
    """Only talk once the first wave is closed, for what the end does not matter to."""
    here.model.scenario.deviate = lambda turn: (
        [Text("Enough.")] if turn.main and here.events("wave_closed") else None
    )


def talk_only() -> Scenario:
    """A model that does nothing."""
    return Scenario(deviate=lambda turn: [Text("I see.")] if turn.tools else None)
