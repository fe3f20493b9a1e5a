"""Steps as runnable lines: every command ends with them, the hold and the announcement quote the
first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import prose, verdict
from ..plan import worktrees
from . import due, kinds, policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..journal.state import LoopState
    from ..journal.task import Task
    from .kinds import Step


#: Goes on as far as no judgement is needed.
NEXT = "loopkit next"


def command(state: LoopState) -> str | None:
    """The one command that comes next, or None when the loop is over."""
    steps = due.due(state)
    return line(state, steps[0]) if steps else None


def onward(state: LoopState) -> str | None:
    """The line that a session goes on with, whatever is due: the person's part is named, the rest
    is found out by `loopkit next`. None when the loop is over."""
    steps = due.due(state)
    if not steps:
        return None
    person = kinds.KINDS[steps[0].kind].who == kinds.PERSON
    return line(state, steps[0]) if person else NEXT


def line(state: LoopState, one: Step) -> str:
    """The command that does a step, or asks for it."""
    make = _LINES.get(one.kind)
    return make(state, one) if make else kinds.KINDS[one.kind].command.format(subject=one.subject)


def _resume(state: LoopState, one: Step) -> str:
    session = state.session
    if session.verdict in verdict.LIMITS:
        from ..journal import limits

        return limits.raising(session.verdict, session.most)
    return "loopkit resume"


def stored_check(state: LoopState, name: str) -> str:
    """The command that checks a task, a criterion, a mustNot or a decision."""
    if name in state.tasks:
        return state.tasks[name].verify
    if name in state.criteria:
        return state.criteria[name].command
    return state.decision_log.checks[int(name[1:])]


def check(state: LoopState, name: str) -> str:
    """The line that verifies one of these."""
    return f"loopkit verify {name} -- {stored_check(state, name)}"


def _batch(state: LoopState, one: Step) -> str:
    from ..review import batch_review

    return batch_review.line(state)


def _resolve(state: LoopState, one: Step) -> str:
    finding = state.findings[one.subject]
    ways = "<--approve | --task --verify COMMAND | --discuss TEXT | --skip TEXT>"
    if finding.severity == "BLOCKER":
        ways = '--waive "<why>"' if finding.task else "<--task --verify COMMAND | --waive WHY>"
    return f"loopkit review resolve {finding.id} {ways}"


_LINES: dict[str, Callable[[LoopState, Step], str]] = {
    kinds.RESUME: _resume,
    kinds.CHECK: lambda state, one: check(state, one.subject),
    kinds.BATCH_REVIEW: _batch,
    kinds.RESOLVE: _resolve,
}


def agent(task: Task, role: str = "coder", place: str = "") -> str:
    """The line that hands a task to a subagent; `place`: the worktree it works in, as a path from
    the project's root."""
    subject = prose.subject(task.subject, 100)
    where = f" in `{place}`, a worktree of its own" if place else ""
    return (
        f"agent loop:{role}: Do {task.id} ({subject}){where}. Run `loopkit task show {task.id}` "
        "first."
    )


def dispatch_lines(state: LoopState, ids: list[str], folder: str = "") -> list[str]:
    """The lines that give these tasks to agents, and what follows when all have reported. folder:
    the loop's, as agents are told it."""
    policy = policies.of(state)
    lines = []
    for task in (state.tasks[one] for one in ids):
        row = worktrees.apart(state, task.id)
        place = f"{folder or f'.loop/{state.name}'}/{row.path}" if row else ""
        lines.append(agent(task, policy.work(task).agent, place))
    after = worktrees.MERGE if worktrees.used(state) else line(state, policy.closing(state))
    return [*lines, after]


def reviewers(state: LoopState, asked: list[tuple[str, str]]) -> list[str]:
    """The lines that give the thorough review to agents, and what follows when all have reported;
    (expert, question)."""
    number = 1 + (state.thorough or {}).get("round", 0)
    return [
        *[
            f"agent loop:review: Review loop {state.name}, round {number}, as {name}: {question} "
            f"Run `loopkit review --thorough --brief {name}` first."
            for name, question in asked
        ],
        "loopkit review --thorough --file -",
    ]
