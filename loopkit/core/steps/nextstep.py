"""Steps as runnable lines: every command ends with them, hold and announcement quote the first."""

from __future__ import annotations

from collections.abc import Callable

from ..journal import prose, verdict
from ..journal.state import LoopState
from ..plan import worktrees
from . import due, kinds, policies
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


def line(state: LoopState, step: Step) -> str:
    """The command that does a step, or asks for it."""
    if step.kind in _LINES:
        return _LINES[step.kind](state, step)
    return kinds.KINDS[step.kind].command.format(subject=step.subject)


def _resume(state: LoopState, step: Step) -> str:
    if state.session.verdict not in verdict.LIMITS:
        return "loopkit resume"
    from ..journal import limits

    return limits.raising(state.session.verdict, state.session.most)


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


def _batch(state: LoopState, step: Step) -> str:
    from ..review import batch_review

    return batch_review.line(state)


def _resolve(state: LoopState, step: Step) -> str:
    finding = state.findings[step.subject]
    ways = "<--approve | --task --verify COMMAND | --discuss TEXT | --skip TEXT>"
    if finding.severity == "BLOCKER":
        ways = '--waive "<why>"' if finding.task else "<--task --verify COMMAND | --waive WHY>"
    return f"loopkit review resolve {finding.id} {ways}"


_LINES: dict[str, Callable[[LoopState, Step], str]] = {
    kinds.RESUME: _resume,
    kinds.CHECK: lambda state, step: check(state, step.subject),
    kinds.BATCH_REVIEW: _batch,
    kinds.RESOLVE: _resolve,
}


def dispatch_lines(state: LoopState, ids: list[str], folder: str = "") -> list[str]:
    """The lines that give these tasks to agents, and what follows when all have reported. folder:
    the loop's, as agents are told it."""
    policy = policies.of(state)
    lines = []
    for task in (state.tasks[name] for name in ids):
        row, role = worktrees.apart(state, task.id), policy.work(task).agent
        path = f"{folder or f'.loop/{state.name}'}/{row.path}" if row else ""
        where = f" in `{path}`, a worktree of its own" if path else ""
        what = f"Do {task.id} ({prose.subject(task.subject, 100)}){where}"
        lines.append(f"agent loop:{role}: {what}. Run `loopkit task show {task.id}` first.")
    after = worktrees.MERGE if worktrees.used(state) else line(state, policy.closing(state))
    return [*lines, after]


def reviewers(state: LoopState, asked: list[tuple[str, str]]) -> list[str]:
    """The lines that give the thorough review to agents, [(expert, question)]; what follows."""
    head = f"agent loop:review: Review loop {state.name}, "
    head += f"round {1 + (state.thorough or {}).get('round', 0)}, as"
    brief = "loopkit review --thorough --brief"
    lines = [f"{head} {name}: {question} Run `{brief} {name}` first." for name, question in asked]
    return [*lines, "loopkit review --thorough --file -"]
