"""What a loop does when its batches go wrong: the play that is due, at most twice, then the person
(rule: Recovery)."""

from __future__ import annotations

from collections import namedtuple

from ..journal import prose
from ..journal import task as tasks
from ..journal.parts import (
    ASK,
    BLOCKED,
    FAILED,
    FLIP_FLOPPING,
    PANEL,
    PASSED,
    REGRESSING,
    ROLLBACK,
    SPLIT,
    STALLED,
    TASK_BLOCKED,
    WAIT,
)
from ..plan import graph
from ..plan.escalation import IMPOSSIBLE, REPLAN
from . import monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

#: status that it answers · kind: rollback, split, panel, wait or ask · subject: the task it is
#: about, or where a rollback goes, or None · why: for people, one line.
Play = namedtuple("Play", "status kind subject why")

#: Batches, recoveries and errors that a question shows; characters of an error.
SHOWN_BATCHES, SHOWN_RECOVERIES, SHOWN_ERRORS, ERROR_LENGTH = 8, 6, 5, 240


def due(state: LoopState) -> Play | None:
    """The recovery that the last batch asks for and that has not been done; None while a wave is
    open."""
    course = state.history
    if state.wave is not None or _is_over(state):
        return None
    if course.rolled_back:
        return _ask(FLIP_FLOPPING, "rolled back, and only a person can say which way is right")
    status = course.standing
    if status == BLOCKED:
        return _blocked(state)
    if status == STALLED:
        return _stalled(state)
    return _back(state, status) if status in (FLIP_FLOPPING, REGRESSING) else None


def _stalled(state: LoopState) -> Play | None:
    """Another approach; where the clamp table has just made a replan, that is the recovery."""
    failing = [state.tasks[one] for one in state.history.failing() if one in state.tasks]
    for task in failing:
        if task.status == tasks.FAILED or task.id in state.narrow:
            split = Play(STALLED, SPLIT, task.id, "smaller tasks")
            return split if task.action == REPLAN else None
    pending = [one for one in failing if one.status == tasks.PENDING]
    if _used_up(state, STALLED) or not pending:
        return _used_up(state, STALLED) or _ask(STALLED, "no failing task can be tried again")
    chosen = next((one for one in pending if one.panel_due), pending[0])
    return Play(STALLED, PANEL, chosen.id, "another approach, or smaller tasks")


def _back(state: LoopState, status: str) -> Play:
    """Files go back to a checkpoint."""
    used_up = _used_up(state, status)
    if used_up is not None:
        return used_up
    if not state.checkpoints.rows:
        return _ask(status, "there is no checkpoint to go back to")
    if status == FLIP_FLOPPING:
        return Play(status, ROLLBACK, "~2", "back two checkpoints, then the person decides")
    if not _has_good(state):
        return _ask(status, "no checkpoint is known to be good")
    return Play(status, ROLLBACK, "last-good", "back to the last good checkpoint")


def _used_up(state: LoopState, status: str) -> Play | None:
    if state.history.used.get(status, 0) < monitor.MOST_RECOVERIES:
        return None
    return _ask(status, f"{monitor.MOST_RECOVERIES} recoveries did not help")


def _has_good(state: LoopState) -> bool:
    """A good checkpoint stands on the line; in a folder that became a repository only later none
    may."""
    from . import checkpoints  # only where something went wrong

    return any(checkpoints.is_good(state, one) for one in checkpoints.ancestors(state))


def _is_over(state: LoopState) -> bool:
    """A failure that nothing can fix waits for its diagnosis, and the loop ends with that: nobody
    is asked before."""
    return any(state.tasks[one].action == IMPOSSIBLE for one in state.open)


def _ask(status: str, why: str) -> Play:
    return Play(status, ASK, None, why)


# -- blocked tasks


def blocked(state: LoopState) -> list[str]:
    """The tasks of the last batch that wait for something outside and still do."""
    last = state.history.batches[-1].outcomes if state.history.batches else {}
    return [
        one
        for one, outcome in last.items()
        if outcome.result == TASK_BLOCKED
        and one in state.tasks
        and tasks.is_blocked_outside(state.tasks[one])
    ]


def _dependencies(
    state: LoopState, task_id: str, waits: dict[str, list[str]] | None = None
) -> list[str]:
    """The known tasks that a blocked one says it depends on, those apart that wait for it
    themselves. waits: who waits for whom already; what is found is added to it."""
    task = state.tasks[task_id]
    if task.block_kind != "dependency":
        return []
    import re  # no hook pays for it

    named = dict.fromkeys(re.findall(r"\bT-\d{1,10}\b", task.block_text.upper()))
    waits = graph.waits(state.tasks) if waits is None else waits
    found = []
    for one in named:
        if one not in state.tasks or one == task_id:
            continue
        waits[task_id].append(one)
        if graph.cycle_from(task_id, waits):
            waits[task_id].pop()
        else:
            found.append(one)
    return found


def _blocked(state: LoopState) -> Play | None:
    names = blocked(state)
    if not names:
        return None
    if state.history.used.get(BLOCKED, 0) < monitor.MOST_RECOVERIES:
        for one in names:
            if _dependencies(state, one):
                return Play(BLOCKED, WAIT, one, "it waits for a task of this loop")
    return None if state.workable else _ask(BLOCKED, "only a person can go on")


def settled(state: LoopState) -> list[Change]:
    """What loopkit does by itself of the recovery that is due: a task waits for another, or the
    person is asked."""
    play = due(state)
    if play is None or play.kind not in (WAIT, ASK):
        return []
    wave = state.history.batches[-1].wave
    if play.kind == ASK:
        return [_line(play, wave, False), ("question_asked", {"text": question(state, play)})]
    changes: list[Change] = []
    freed = 0
    left = []
    known = graph.waits(state.tasks)
    for one in blocked(state):
        blockers = _dependencies(state, one, known)
        if not blockers:
            left.append(one)
            continue
        waits = list(dict.fromkeys([*state.tasks[one].blocked_by, *blockers]))
        freed += not any(other in state.open for other in waits)
        changes.append(("task_changed", {"id": one, "blockedBy": waits}))
        changes.append(
            ("task_reopened", {"id": one, "reason": "waits for a task", "keep_evidence": True})
        )
    changes.append(_line(play, wave, True))
    if left and not state.workable + freed:
        ask = _ask(BLOCKED, "only a person can go on")
        changes += [_line(ask, wave, False), ("question_asked", {"text": question(state, ask)})]
    return changes


def _line(play: Play, wave: int | None, counted: bool) -> Change:
    return (
        "recovery",
        {"status": play.status, "play": play.kind, "wave": wave, "counted": counted},
    )


# -- the question


def question(state: LoopState, play: Play) -> str:
    """What the person is asked, on one screen: the batches, what was tried, the last errors, what
    can be done."""
    course = state.history
    rows = [
        f"{play.status}: {play.why}. How shall the loop go on?",
        "batch | attempted | passed | failed | blocked",
    ]
    for batch in course.batches[-SHOWN_BATCHES:]:
        counts = [monitor.count(batch, one) for one in (PASSED, FAILED, TASK_BLOCKED)]
        figures = " | ".join(map(str, (batch.wave, counts[0] + counts[1], *counts)))
        rows.append(
            f"{figures}" + (f" | {batch.status}" if batch.status not in ("", "PROGRESSING") else "")
        )
    tried = [
        f"{one.play} after batch {one.wave} ({one.status})"
        for one in course.recoveries
        if one.play != ASK
    ]
    more = len(tried) - SHOWN_RECOVERIES
    rows.append(
        "tried: "
        + ("; ".join(tried[-SHOWN_RECOVERIES:]) or "nothing yet")
        + (f"; {more} before" * (more > 0))
    )
    about = blocked(state) if play.status == BLOCKED else _troubled(state)
    rows += [trouble(state, one) for one in about[:SHOWN_ERRORS]]
    if len(about) > SHOWN_ERRORS:
        rows.append(
            f"and {len(about) - SHOWN_ERRORS} more: {', '.join(about[SHOWN_ERRORS:])}"[
                :ERROR_LENGTH
            ]
        )
    rows.append("options:")
    rows += [f"{place}. {one}" for place, one in enumerate(_options(state, play.status, about), 1)]
    rows.append('to answer, before any of these: loopkit resume --answer "…"')
    return "\n".join(rows)


def _options(state: LoopState, status: str, about: list[str]) -> list[str]:
    """What a person can do, the likeliest first; `about`: the tasks that the question is about."""
    first = about[0] if about else ""
    if status == BLOCKED:
        found = [f"give what is needed, then: loopkit task unblock {first}"]
    elif status == FLIP_FLOPPING:
        found = ["say which of the ways is right; the next attempt is told"]
    else:
        found = ["say how to do it; the next attempt is told"]
    if first:
        found.append(f"another check, other blockers: loopkit task set {first}")
        found.append(f"go on without it: loopkit task remove {first}")
    if status != BLOCKED and _has_good(state):
        found.append("go back first: loopkit rollback last-good")
    return [*found, "end the loop, the work stays: loopkit cancel"]


def _troubled(state: LoopState) -> list[str]:
    """Tasks that failed in the last batches, the newest first, each once."""
    found: dict[str, None] = {}
    for batch in reversed(state.history.batches[-SHOWN_BATCHES:]):
        found.update(
            dict.fromkeys(name for name, one in batch.outcomes.items() if one.result == FAILED)
        )
    return [one for one in found if one in state.tasks]


def trouble(state: LoopState, task_id: str) -> str:
    """A task that is blocked or failed and why, in one line."""
    task = state.tasks[task_id]
    head = f"{task.id} {prose.clean(task.subject, 60)}"
    if tasks.is_blocked_outside(task):
        return f"{head} ({task.block_kind}): {prose.clean(task.block_text, ERROR_LENGTH)}"
    from ..evidence import signature  # only questions pay for it

    last = task.history[-1] if task.history else {"attempt": 0, "error": ""}
    error = signature.line_of(str(last["error"])) or next(
        (one for one in [_seen(state, task_id)] if one), "no error text"
    )
    return (
        f"{head}, {prose.count(task.attempts, 'failed attempt')}: "
        f"{prose.clean(error, ERROR_LENGTH)}"
    )


def _seen(state: LoopState, task_id: str) -> str:
    """The signature of a task's newest failed batch."""
    for batch in reversed(state.history.batches):
        outcome = batch.outcomes.get(task_id)
        if outcome is not None and outcome.result == FAILED:
            return str(outcome.signature)
    return ""
