"""A supervised loop in memory: roles that answer what a test tells them, through the real deciders
and the real fold."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from loopkit import replies
from loopkit.core.plan import events, work
from loopkit.core.review import review
from loopkit.core.steps import answers, attempts, context, due, kinds, resumption, waves
from loopkit.core.steps.kinds import Step
from tests.core.kit import Book, outcome


def piece(
    text: str = "write it", verify: str = "ls", complexity: str = "simple", **fields: Any
) -> dict:
    return {"description": text, "complexity": complexity, "verify": verify, **fields}


def plan(*rows: dict, **fields: Any) -> dict:
    return {"tasks": list(rows) or [piece("one"), piece("two"), piece("three")], **fields}


def pieces(count: int) -> list[dict]:
    return [piece(f"task {number}") for number in range(1, count + 1)]


def replan(*rows: dict) -> dict:
    return {"analysis": "too large", "subtasks": list(rows) or [piece("smaller"), piece("rest")]}


def implemented(status: str = "complete", **fields: Any) -> dict:
    return {"status": status, "summary": "wrote it", **fields}


def fixed(status: str = "fixed", **fields: Any) -> dict:
    return {"status": status, "summary": "fixed it", **fields}


def saw(status: str = "passed", **fields: Any) -> dict:
    failed = int(status != "passed")
    return {
        "status": status,
        "testsRun": 1,
        "testsPassed": 1 - failed,
        "testsFailed": failed,
        **fields,
    }


def scored(score: int, **fields: Any) -> dict:
    """A judgement whose own verdict contradicts its score: nobody may believe it."""
    low = score < 70
    words = {
        "approved": low,
        "recommendation": "approve" if low else "reject",
        "feedback": f"worth {score}",
    }
    return {"score": score, **words, **fields}


def diagnosis(
    decision: str | None = "retry", reasoning: str = "the path is wrong", **fields: Any
) -> dict:
    return {"decision": decision, "reasoning": reasoning, **fields}


#: A step as the journal names it: kind of the reply, task (or "plan", "goal", None), agent.
Asked = namedtuple("Asked", "kind task role")


def asked(one: Step) -> Asked:
    return Asked(context.asked_as(one), one.subject, one.agent)


def named(kind: str, target: str | None) -> Step:
    """The step that a reply of this kind answers."""
    of = {events.OF_PLAN: kinds.PLAN_VERDICT, events.OF_GOAL: kinds.GOAL_VERDICT}
    if kind == events.VERIFICATION:
        kind = of.get(target or "", kinds.VERDICT)
    return kinds.step(kind, target)


class Roles(Book):
    """A shaped loop under a supervisor."""

    def __init__(self, approval: str = "supervisor", **data: Any) -> None:
        super().__init__(approval=approval, **data)
        self.shaped()

    def killed(self) -> bool:
        """Whether the session dies before the next reply and another one goes on; never, unless a
        test says so."""
        return False

    def resume(self) -> None:
        """Another session goes on with the loop of one that died."""
        changes = self.do(resumption.reopened)
        self.line("owner_changed", session_id=f"session-{len(self.events)}", client_pid=2)
        self.line("resumed")
        assert all(kind == "task_reopened" for kind, _ in changes)

    def reply(self, kind: str, target: str | None, given: dict) -> list:
        if kind in ("plan", "replan"):
            given = replies.check(kind, given)
        return self.do(answers.answered, kind, target, given)

    def kinds(self, kind: str, target: str | None, given: dict) -> list[str]:
        """The types of the lines that a reply makes."""
        return [one for one, _ in self.reply(kind, target, given)]

    def ask(self) -> list[Asked]:
        """Dispatch whatever is due."""
        steps = due.undispatched(self.state)
        for one in steps:
            kind, data = context.asked(self.state, one)
            self.line(kind, **data)
        return [asked(one) for one in steps]

    @property
    def wanted(self) -> list[str]:
        return [kinds.key(one) for one in due.prompted(self.state)]

    # -- the way through

    def approved(self, *rows: dict, score: int = 82) -> Roles:
        """The plan is reviewed and may be worked on."""
        self.ask()
        self.reply("plan", None, plan(*rows))
        self.ask()
        self.reply("verification", "plan", scored(score))
        return self

    def executing(self, *rows: dict) -> Roles:
        """The first wave is open, every coder is asked."""
        self.approved(*rows)
        self.wave()
        self.ask()
        return self

    def check(self, name: str, passed: bool = True) -> list:
        return self.do(attempts.verified, self.state.tasks[name], outcome(passed))

    def to_judge(self, name: str) -> Roles:
        """Coded and tested: the supervisor's turn."""
        self.reply("implementation", name, implemented())
        self.check(name)
        self.reply("test", name, saw())
        return self

    def fail(self, name: str, error: str = "no way") -> list:
        """The attempt under way fails: its coder is blocked."""
        return self.reply("implementation", name, implemented("blocked", blockReason=error))

    def close(self) -> list:
        return self.do(waves.closed)

    def drive(self, answer: Callable[[Asked], dict], steps: int = 2000) -> int:
        """Follow the next step, and nothing else, until there is none; each role answers what
        `answer` gives for its step. Gives the number of steps; fails where it takes too many or
        nothing moves."""
        for count in range(steps):
            command = due.command(self.state)
            if (
                command is None
                or self.state.session.status != "running"
                or self.state.session.question
            ):
                return count
            before = self.state.lines
            self.follow(command, answer)
            assert self.state.lines > before, (command, self.wanted)
        raise AssertionError(f"no end after {steps} steps: {due.command(self.state)}")

    def follow(self, command: str, answer: Callable[[Asked], dict]) -> None:
        words = command.split()
        if command == "loopkit wave next":
            if not self.wanted:
                self.wave()
            for one in self.ask() or [asked(one) for one in due.outstanding(self.state)]:
                if self.killed():
                    return
                if events.key(one.kind, one.task) in self.wanted:
                    self.answer(one, answer(one))  # unless an earlier reply has ended the loop
        elif command == "loopkit wave close":
            self.close()
        elif words[1] == "verify":
            self.shown(words[2])
        elif words[1] == "panel":
            self.panel(words[2])
        elif words[1:3] == ["task", "unblock"]:
            self.do(work.unblocked, words[3])
        elif words[1:3] == ["review", "resolve"]:
            self.do(
                review.resolved,
                words[3],
                "waive" if "--waive" in command else "skip",
                "as it is",
                "",
            )
        elif words[1:3] == ["review", "--thorough"]:
            self.review([])
        elif words[1] == "gate":
            from loopkit.core.review import gate
            from tests.core.kit import GATE, same

            self.seen()
            self.do(gate.decided, GATE, same)
        elif words[1] == "complete":
            from loopkit.core.review import gate
            from tests.core.kit import same

            self.do(gate.completed, same)
        else:
            raise AssertionError(command)

    def answer(self, one: Asked, given: dict) -> None:
        """A role answers; before a test its check runs, and passes unless the answer says otherwise
        (`check`)."""
        given = dict(given)
        passes = given.pop("check", True)
        if one.kind == events.TEST:
            self.check(one.task, passes)
        text = given.pop("invalid", None)
        if text is None:
            self.reply(one.kind, one.task, given)
        else:
            self.do(answers.answered, one.kind, one.task, None, "it is no record", text)


def good(one: Asked) -> dict:
    """What each role answers where all is well."""
    return {
        "plan": plan(),
        "replan": replan(),
        "implementation": implemented(),
        "fix": fixed(),
        "test": saw(),
        "verification": scored(82),
        "diagnosis": diagnosis(),
    }[one.kind]
