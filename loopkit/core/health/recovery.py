"""What a loop does when its batches go wrong: the play that is due, then the person asked."""

from __future__ import annotations

from collections import namedtuple

from ..journal import parts, prose
from ..journal import task as tasks
from ..journal.events import Change
from ..journal.parts import Batch
from ..journal.state import LoopState
from ..plan import outline
from ..plan.escalation import IMPOSSIBLE, REPLAN
from . import monitor

#: status: what it answers · kind: rollback, split, panel, wait or ask · subject: its task, where a
#: rollback goes, or None · why: for people, one line.
Play = namedtuple("Play", "status kind subject why")

#: Batches, recoveries and errors that a question shows; characters of an error.
SHOWN_BATCHES, SHOWN_RECOVERIES, SHOWN_ERRORS, ERROR_LENGTH = 8, 6, 5, 240


def due(state: LoopState) -> Play | None:
    """The recovery that the last batch asks for and that is not done; None while a wave is open."""
    history = state.history
    if state.wave is not None or _is_over(state):
        return None
    if history.rolled_back:
        why = "rolled back, and only a person can say which way is right"
        return _ask(parts.FLIP_FLOPPING, why)
    status = history.standing
    if status == parts.BLOCKED:
        return _blocked(state)
    if status == parts.STALLED:
        return _stalled(state)
    return _back(state, status) if status in (parts.FLIP_FLOPPING, parts.REGRESSING) else None


def _stalled(state: LoopState) -> Play | None:
    """Another approach; where the clamp table has just made a replan, that is the recovery."""
    failing = [state.tasks[name] for name in state.history.failing() if name in state.tasks]
    for task in failing:
        if task.status == tasks.FAILED or task.id in state.narrow:
            split = Play(parts.STALLED, parts.SPLIT, task.id, "smaller tasks")
            return split if task.action == REPLAN else None
    pending = [task for task in failing if task.status == tasks.PENDING]
    used_up = _used_up(state, parts.STALLED)
    if used_up or not pending:
        return used_up or _ask(parts.STALLED, "no failing task can be tried again")
    chosen = next((task for task in pending if task.panel_due), pending[0])
    return Play(parts.STALLED, parts.PANEL, chosen.id, "another approach, or smaller tasks")


def _back(state: LoopState, status: str) -> Play:
    """Files go back to a checkpoint."""
    used_up = _used_up(state, status)
    if used_up is not None:
        return used_up
    if not state.checkpoints.rows:
        return _ask(status, "there is no checkpoint to go back to")
    if status == parts.FLIP_FLOPPING:
        return Play(status, parts.ROLLBACK, "~2", "back two checkpoints, then the person decides")
    if not _has_good(state):
        return _ask(status, "no checkpoint is known to be good")
    return Play(status, parts.ROLLBACK, "last-good", "back to the last good checkpoint")


def _used_up(state: LoopState, status: str) -> Play | None:
    if state.history.used.get(status, 0) < monitor.MOST_RECOVERIES:
        return None
    return _ask(status, f"{monitor.MOST_RECOVERIES} recoveries did not help")


def _has_good(state: LoopState) -> bool:
    """A good checkpoint is on the branch; a folder that became a repository later may have none."""
    from . import checkpoints  # only where something went wrong

    return any(checkpoints.is_good(state, row) for row in checkpoints.ancestors(state))


def _is_over(state: LoopState) -> bool:
    """The loop ends with the diagnosis of what nothing can fix: nobody is asked before."""
    return any(state.tasks[name].action == IMPOSSIBLE for name in state.open)


def _ask(status: str, why: str) -> Play:
    return Play(status, parts.ASK, None, why)


# -- blocked tasks


def blocked(state: LoopState) -> list[str]:
    """The tasks of the last batch that wait for something outside and still do."""
    last = state.history.batches[-1].outcomes if state.history.batches else {}
    waiting = [name for name, outcome in last.items() if outcome.result == parts.TASK_BLOCKED]
    known = [state.tasks[name] for name in waiting if name in state.tasks]
    return [task.id for task in known if tasks.is_blocked_outside(task)]


def _dependencies(state: LoopState, task_id: str, waits: dict[str, list[str]]) -> list[str]:
    """The known tasks that a blocked one says it depends on, except those that wait for it
    themselves. waits: who waits for whom already; what is added here joins it."""
    task = state.tasks[task_id]
    if task.block_kind != "dependency":
        return []
    import re  # no hook pays for it

    added = []
    for name in dict.fromkeys(re.findall(r"\bT-\d{1,10}\b", task.block_text.upper())):
        if name not in state.tasks or name == task_id:
            continue
        waits[task_id].append(name)
        if outline.cycle_from(task_id, waits):
            waits[task_id].pop()
        else:
            added.append(name)
    return added


def _blocked(state: LoopState) -> Play | None:
    names = blocked(state)
    if not names:
        return None
    if state.history.used.get(parts.BLOCKED, 0) < monitor.MOST_RECOVERIES:
        for name in names:
            if _dependencies(state, name, outline.waits(state.tasks)):
                return Play(parts.BLOCKED, parts.WAIT, name, "it waits for a task of this loop")
    return None if state.workable else _ask(parts.BLOCKED, "only a person can go on")


def settled(state: LoopState) -> list[Change]:
    """What loopkit does itself of the due recovery: a task waits, or the person is asked."""
    play = due(state)
    if play is None or play.kind not in (parts.WAIT, parts.ASK):
        return []
    if play.kind == parts.ASK:
        return _asked(state, play)
    changes: list[Change] = []
    freed = left = 0
    known = outline.waits(state.tasks)
    for name in blocked(state):
        blockers = _dependencies(state, name, known)
        if not blockers:
            left += 1
            continue
        waits = list(dict.fromkeys([*state.tasks[name].blocked_by, *blockers]))
        freed += not any(other in state.open for other in waits)
        again = {"id": name, "reason": "waits for a task", "keep_evidence": True}
        changes += [("task_changed", {"id": name, "blockedBy": waits}), ("task_reopened", again)]
    changes.append(_event(state, play))
    if left and not state.workable + freed:
        changes += _asked(state, _ask(parts.BLOCKED, "only a person can go on"))
    return changes


def _asked(state: LoopState, play: Play) -> list[Change]:
    return [_event(state, play), ("question_asked", {"text": question(state, play)})]


def _event(state: LoopState, play: Play) -> Change:
    wave, counted = state.history.batches[-1].wave, play.kind != parts.ASK
    data = {"status": play.status, "play": play.kind, "wave": wave, "counted": counted}
    return ("recovery", data)


# -- the question


def question(state: LoopState, play: Play) -> str:
    """What the person is asked, on one screen: batches, what was tried, last errors, options."""
    history = state.history
    rows = [
        f"{play.status}: {play.why}. How shall the loop go on?",
        "batch | attempted | passed | failed | blocked",
    ]
    for batch in history.batches[-SHOWN_BATCHES:]:
        results = (parts.PASSED, parts.FAILED, parts.TASK_BLOCKED)
        passed, failed, waiting = (monitor.count(batch, result) for result in results)
        status = [batch.status] if batch.status not in ("", parts.PROGRESSING) else []
        figures = (batch.wave, passed + failed, passed, failed, waiting, *status)
        rows.append(" | ".join(map(str, figures)))
    tried = [
        f"{row.play} after batch {row.wave} ({row.status})"
        for row in history.recoveries
        if row.play != parts.ASK
    ]
    more = len(tried) - SHOWN_RECOVERIES
    before = f"; {more} before" if more > 0 else ""
    rows.append(f"tried: {'; '.join(tried[-SHOWN_RECOVERIES:]) or 'nothing yet'}{before}")
    about = blocked(state) if play.status == parts.BLOCKED else _troubled(state)
    rows += [trouble(state, name) for name in about[:SHOWN_ERRORS]]
    if len(about) > SHOWN_ERRORS:
        others = about[SHOWN_ERRORS:]
        rows.append(f"and {len(others)} more: {', '.join(others)}"[:ERROR_LENGTH])
    options = enumerate(_options(state, play.status, about), 1)
    rows += ["options:", *(f"{number}. {text}" for number, text in options)]
    return "\n".join([*rows, 'to answer, before any of these: loopkit resume --answer "…"'])


def _options(state: LoopState, status: str, about: list[str]) -> list[str]:
    """What a person can do, the likeliest first; `about`: the tasks that the question is about."""
    first = about[0] if about else ""
    if status == parts.BLOCKED:
        options = [f"give what is needed, then: loopkit task unblock {first}"]
    elif status == parts.FLIP_FLOPPING:
        options = ["say which of the ways is right; the next attempt is told"]
    else:
        options = ["say how to do it; the next attempt is told"]
    if first:
        options.append(f"another check, other blockers: loopkit task set {first}")
        options.append(f"go on without it: loopkit task remove {first}")
    if status != parts.BLOCKED and _has_good(state):
        options.append("go back first: loopkit rollback last-good")
    return [*options, "end the loop, the work stays: loopkit cancel"]


def _troubled(state: LoopState) -> list[str]:
    """Tasks that failed in the last batches, the newest first, each once."""
    batches = reversed(state.history.batches[-SHOWN_BATCHES:])
    failed = dict.fromkeys(name for batch in batches for name in _failed(batch))
    return [name for name in failed if name in state.tasks]


def _failed(batch: Batch) -> dict[str, str]:
    """{failed task: signature of its error}."""
    rows = batch.outcomes.items()
    return {name: str(row.signature) for name, row in rows if row.result == parts.FAILED}


def trouble(state: LoopState, task_id: str) -> str:
    """A task that is blocked or failed and why, in one line."""
    task = state.tasks[task_id]
    head = f"{task.id} {prose.clean(task.subject, 60)}"
    if tasks.is_blocked_outside(task):
        return f"{head} ({task.block_kind}): {prose.clean(task.block_text, ERROR_LENGTH)}"
    from ..evidence import signature  # only questions pay for it

    error = signature.line_of(str(task.history[-1]["error"])) if task.history else ""
    batches = reversed(state.history.batches)
    seen = (failed[task_id] for failed in map(_failed, batches) if task_id in failed)
    error = error or next(seen, "") or "no error text"
    attempts = prose.count(task.attempts, "failed attempt")
    return f"{head}, {attempts}: {prose.clean(error, ERROR_LENGTH)}"
