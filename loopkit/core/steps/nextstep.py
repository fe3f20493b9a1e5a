"""The next step of a loop as runnable lines: every command ends with them, the hold and the
announcement quote the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal import prose, score, stage, stages, supervised, verdict, worktrees
from ..journal import task as tasks
from ..plan import approval, work

if TYPE_CHECKING:
    from ..journal.state import LoopState
    from ..journal.task import Task

SCORE = "loopkit score " + " ".join(f"--{name} <0-2>" for name in score.DIMENSIONS)

CLARIFY = "loopkit clarify"
#: Hands out whatever is due: a wave, and under a supervisor every role's part.
WAVE_NEXT = "loopkit wave next"


def command(state: LoopState) -> str | None:
    """The one command that comes next, or None when the loop is over. No scan over all tasks:
    hooks' snapshots hold it."""
    session = state.session
    if session.status in verdict.FINAL:
        return None
    if session.status == verdict.PAUSED:
        if session.verdict in verdict.LIMITS:
            from ..journal import limits

            return limits.raising(session.verdict, session.most)
        return "loopkit resume"
    if session.question is not None:
        return 'loopkit answer "<what the person said>"'
    confirm = stage.confirmation(state)
    if confirm:
        return f"loopkit confirm {confirm}"
    if state.stage == stages.INTENT:
        from ..request import clarify

        return CLARIFY if clarify.due(state) else SCORE
    if state.stage == stages.SHAPE:
        return "loopkit shape --accept -"
    if state.stage == stages.DECOMPOSE:
        if _wanted(state):
            return WAVE_NEXT
        if not state.tasks:
            return "loopkit task add --file -"
        return _work(state) if supervised.planned(state) else "loopkit review --plan"
    if state.open or state.wave is not None:
        return _work(state)
    if not approval.on_evidence(state):
        return _judged(state) or _end(state)
    if unreviewed(state):
        return _after_wave(state)
    return _end(state)


def _end(state: LoopState) -> str:
    if state.stage == stages.EXECUTING:
        return "loopkit review --thorough"
    return _review(state)


def unreviewed(state: LoopState) -> bool:
    """The newest wave brought something and no expert has looked at it yet (the review is offered,
    it never blocks).

    Under a supervisor, or where batches are reviewed, every task has been judged already.
    """
    return (
        approval.on_evidence(state)
        and _brought(state)
        and f"wave_{len(state.waves)}" not in state.reviews
    )


def _brought(state: LoopState) -> bool:
    """The newest wave is closed, something of it stands, and no thorough review has looked at
    that."""
    if not state.waves or state.thorough is not None and state.thorough["wave"] >= len(state.waves):
        return False
    wave = state.waves[-1]
    undone = state.course.undone  # what is no longer there is not looked at
    return wave.closed and bool(wave.completed) and not undone


def _after_wave(state: LoopState) -> str:
    """MustNots and decisions that a command can show are looked at once after each wave, then the
    wave is reviewed."""
    return _shown(state) or light_review(len(state.waves))


def _shown(state: LoopState) -> str | None:
    for one in state.must_nots:
        seen = state.criterion_evidence.get(one.id)
        if one.command and (seen is None or seen.line < state.wave_closed_line):
            return f"loopkit verify {one.id} -- {one.command}"
    if state.trail.checks:
        from ..memory import decisions

        for number, line in decisions.due(state):
            return f"loopkit verify D{number} -- {line}"
    return None


def _judged(state: LoopState) -> str | None:
    """Between waves where tasks are judged one by one: the checks of the newest wave, then what a
    role has to do."""
    shown = _shown(state) if _brought(state) else None
    return shown or (WAVE_NEXT if _wanted(state) else None)


def _wanted(state: LoopState) -> bool:
    """A role has something to do."""
    if approval.on_evidence(state):
        return False
    from . import supervision

    return bool(supervision.wanted(state))


def light_review(number: int) -> str:
    """The call that records a light review of a wave, its judgement left open."""
    return (
        f"loopkit review --wave {number} --score <0-10> --issues <n> --blockers <n> --experts <a,b>"
    )


def _work(state: LoopState) -> str:
    wave = state.wave
    if wave is not None:
        if worktrees.used(state) and not approval.at_work(state):
            together = worktrees.command(state)
            if together is not None:
                return together
        if (
            state.approval == approval.REVIEW
            and state.running
            and not _goes_on(state)
            and not approval.at_work(state)
        ):
            return _batch(state)
        return "loopkit wave next" if state.running or _goes_on(state) else "loopkit wave close"
    from ..health import recovery  # between waves only

    play = recovery.command(state)
    if play is not None:
        return play
    if not approval.on_evidence(state):
        own = _judged(state)
        if own is not None:
            return own
    if unreviewed(state):
        return _after_wave(state)
    if state.counts[tasks.FAILED]:
        from ..plan.escalation import IMPOSSIBLE

        for task in state.tasks.values():
            if task.status == tasks.FAILED:
                cut_off = (
                    task.action == IMPOSSIBLE or not task.attempts
                )  # the loop's end, or the way back
                return WAVE_NEXT if cut_off else f"loopkit task split {task.id} --file -"
    if state.narrow:
        return f"loopkit task split {next(iter(state.narrow))} --file -"
    if state.bare:
        return f'loopkit task set {next(iter(state.bare))} --verify "<command>"'
    if state.due:
        return f"loopkit panel {next(iter(state.due))}"
    if state.ready or state.counts[tasks.IN_PROGRESS]:
        return "loopkit wave next"
    for task_id in state.open:
        if state.tasks[task_id].block_kind not in (None, tasks.SPLIT):
            return f"loopkit task unblock {task_id}"
    return WAVE_NEXT if work.belated(state) else "loopkit status"


def _goes_on(state: LoopState) -> bool:
    """A task of the open wave whose attempt was cut short can be started again; one may wait for
    another by now."""
    cut = state.interrupted
    if not cut:
        return False
    return any(work.startable(state, state.tasks[one]) for one in cut)


def _batch(state: LoopState) -> str:
    from ..review import batch_review

    return batch_review.line(state)


def _review(state: LoopState) -> str:
    from ..review import review

    if state.thorough is None or review.needs_new_round(state):
        return "loopkit review --thorough"
    for finding in state.findings.values():
        if review.unsettled(finding, state):
            if finding.severity == "BLOCKER" and not finding.task:
                return (
                    f"loopkit review resolve {finding.id} <--task --verify COMMAND | --waive WHY>"
                )
            if finding.severity == "BLOCKER":
                return f'loopkit review resolve {finding.id} --waive "<why>"'
            return (
                f"loopkit review resolve {finding.id} <--approve | --task --verify COMMAND | "
                "--discuss TEXT | --skip TEXT>"
            )
    if (
        state.gate is None
        or not state.gate.get("passed")
        or state.gate["line"] < state.last_completion
    ):
        return "loopkit gate"
    # RESEARCH does not complete: more has to be found out, then the gate is answered anew
    return (
        "loopkit gate --file -"
        if state.gate.get("card") == verdict.RESEARCH
        else "loopkit complete"
    )


def agent(task: Task, role: str = "coder", place: str = "") -> str:
    """The line that hands a task to a subagent; `place`: the worktree it works in, as a path from
    the project's root."""
    subject = prose.subject(task.subject, 100)
    where = f" in `{place}`, a worktree of its own" if place else ""
    return (
        f"agent loop:{role}: Do {task.id} ({subject}){where}. Run `loopkit task show {task.id}` "
        "first."
    )


def hand_out(state: LoopState, ids: list[str], folder: str = "") -> list[str]:
    """The lines that give these tasks to agents, and what follows when all have reported. folder:
    the loop's, as agents are told it."""
    judged = state.approval == approval.REVIEW
    lines = []
    for task in (state.tasks[one] for one in ids):
        row = worktrees.apart(state, task.id)
        place = f"{folder or f'.loop/{state.name}'}/{row.path}" if row else ""
        lines.append(agent(task, "scaffold" if judged and task.scaffold else "coder", place))
    if worktrees.used(state):
        return [*lines, worktrees.MERGE]
    return [*lines, _batch(state) if judged else "loopkit wave close"]


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
