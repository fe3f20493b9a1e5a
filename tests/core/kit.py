"""A loop in memory: the real deciders and the real fold, without a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopkit import replies
from loopkit.core.evidence import trials
from loopkit.core.journal import clock, stage
from loopkit.core.journal.errors import NotYet
from loopkit.core.journal.events import Event
from loopkit.core.journal.parts import BEFORE_WORK, RED, WITHOUT_WORK
from loopkit.core.journal.state import LoopState
from loopkit.core.memory import decisions
from loopkit.core.plan import drafts
from loopkit.core.request import clarify, intake
from loopkit.core.review import batch_review, gate, panel, review, shown
from loopkit.core.steps import attempts, due, waves
from loopkit.core.steps.events import LOOP
from loopkit.core.steps.policies import planning

S1, S2 = "session-one", "session-two"
BEGIN = 1_800_000_000

SHAPE = """\
# Shape: Add rate limiting to the API
criteria:
- C1: The 101st request of a minute is answered with 429
mustNot:
- M1: The signature of a public route handler changes
- M2: A runtime dependency is added
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | pytest tests/test_limits.py -q |
| M2 | execution output | git diff --exit-code requirements.txt |
"""

GATE = {
    "kind": "build",
    "points": dict.fromkeys(gate.POINTS["build"], "PASS: seen"),
    "criteria": {},
    "confidence": 90,
    "reversal": "2B",
    "size": 5,
    "alternative": "none needed",
    "risk": "edge cases",
}

PANEL = {
    "experts": [
        {"name": "debugging", "question": "what changed?", "diagnosis": "the path"},
        {"name": "testing", "question": "what is proven?", "diagnosis": "nothing"},
    ],
    "recommendations": [{"approach": "use the other path", "confidence": 7}],
    "consensus": "use the other path",
    "fallback": "ask for the old one",
}


#: What deciders get as it was submitted: by which schema a command reads it.
SUBMITTED: dict[Callable, str] = {
    **dict.fromkeys((drafts.submit, drafts.replaced, drafts.split), "tasks"),
    **dict.fromkeys((panel.recorded, panel.clarified, panel.planned), "panel"),
    **dict.fromkeys((review.thorough, batch_review.judged), "review"),
    planning.planned: "plan",
    planning.replanned: "replan",
    decisions.recorded: "decision",
    decisions.avoided: "lesson",
    review.light: "wave_review",
    batch_review.planned: "plan_review",
    gate.decided: "gate",
    clarify.clarified: "clarification",
}


def task(subject: str = "write it", verify: str = "ls", **fields: Any) -> dict:
    return {"subject": subject, "verify": verify, **fields}


def outcome(passed: bool = True, **fields: Any) -> dict:
    row = {
        "passed": passed,
        "exit": 0 if passed else 1,
        "log": "evidence/x.log",
        "seconds": 0.1,
        "head": None,
        "digest": "d" * 64,
    }
    return {**row, "files": {}, "output": "boom" if not passed else "", **fields}


def same(path: str) -> str:
    """A digest that never changes."""
    return "d"


class Book:
    """A journal in memory and the state folded from it. `now` is POSIX seconds and stands still
    unless it is set."""

    def __init__(self, **data: Any) -> None:
        self.state = LoopState("001-limiter")
        self.events: list[Event] = []
        self.now = BEGIN
        self.line(
            "loop_started",
            **{"task": "add rate limiting", "session_id": S1, "client_pid": 1, **data},
        )

    def line(self, kind: str, /, by: str = f"session:{S1}", **data: Any) -> None:
        event = Event(kind, data, clock.stamp(self.now), by)
        self.events.append(event)
        LOOP.apply(self.state, event)

    def do(self, decide: Callable, *given: Any, **named: Any) -> list:
        """Decide on what was submitted, as a command reads it; record, fold."""
        name = SUBMITTED.get(decide)
        kind = list if name == "tasks" else dict
        rows = [
            replies.check(name, one) if name and isinstance(one, kind) else one for one in given
        ]
        try:
            changes = decide(self.state, *rows, **named)
        except NotYet as refusal:
            refusal.next_comes(due.command(self.state))
            raise
        lines = [*changes, *stage.asked_again(self.state, changes)]
        LOOP.check([Event(kind, data, "", "") for kind, data in lines])
        for kind, data in lines:
            self.line(kind, **data)
        return changes

    def of(self, kind: str) -> list[dict]:
        """The data of all lines of a type."""
        return [event.data for event in self.events if event.type == kind]

    # -- the way through a loop

    def score(self, *values: int) -> list:
        names = ("outcome", "scope", "constraints", "success", "done")
        return self.do(intake.scored, dict(zip(names, values or (2, 2, 2, 2, 2), strict=True)))

    def shaped(self, *values: int, text: str = SHAPE) -> Book:
        self.score(*values)
        self.do(intake.shaped, text)
        return self

    def planned(self, *rows: dict) -> Book:
        self.shaped()
        self.do(drafts.submit, list(rows) or [task()])
        return self

    def wave(self) -> list:
        return self.do(waves.next_wave, False)

    def verify(self, task_id: str, passed: bool = True, **fields: Any) -> list:
        return self.do(attempts.verified, self.state.tasks[task_id], outcome(passed, **fields))

    def worked(self, *rows: dict) -> Book:
        """Everything completed, in review."""
        self.planned(*rows)
        while self.state.open:
            self.wave()
            for task_id in list(self.state.running):
                self.verify(task_id)
            self.do(waves.closed)
        return self

    def reviewed(self, *rows: dict, findings: list | None = None) -> Book:
        self.worked(*rows)
        self.review(findings or [])
        return self

    def review(self, findings: list, **answers: dict) -> list:
        """A thorough review that has seen everything, but for what `answers` say otherwise."""
        good = {"proofs": "yes", "must_nots": "kept: git diff"}
        seen = {
            field: dict.fromkeys(names, good[field]) | answers.get(field, {})
            for field, names in shown.asked(self.state).items()
        }
        given = {"experts": ["a", "b", "c"], "findings": findings, **seen}
        return self.do(review.thorough, given)

    def shown(self, name: str) -> list:
        """A criterion verified, and seen failing before the work and without it."""
        changes = self.do(gate.criterion_verified, name, outcome())
        if not trials.keeps(self.state, name):
            line = trials.checks(self.state)[name]
            for when in (BEFORE_WORK, WITHOUT_WORK):
                self.do(lambda state, when=when: [trials.tried(name, when, RED, line, "", {})])
        return changes

    def seen(self) -> Book:
        """Every criterion verified."""
        for row in self.state.criteria.values():
            if row.command:
                self.shown(row.id)
        return self

    def panel(self, task_id: str) -> list:
        """A panel on a failed task, with an advice that was not given before."""
        return self.do(
            panel.recorded,
            task_id,
            {**PANEL, "consensus": f"use path {len(self.state.panels) + 1}"},
        )
