"""context.md: all that an agent needs to know of a loop, in a few hundred tokens."""

from __future__ import annotations

from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.plan import outline
from ..core.steps import attempts
from . import text
from .words import decisions, first, line

#: Tokens that the file stays under, characters of a token.
TOKENS, PER_TOKEN = 500, 4
_ROOM = TOKENS * PER_TOKEN - 1
#: Most tasks named in a list, characters of their subjects, of the request, of a row.
_SHOWN, _SUBJECT, _TITLE, _ROW = 6, 50, 120, 140
#: What gives way, in this order: (part, rows of it that stay while something else can still go).
_ORDER = (
    ("patterns", 2),
    ("decisions", 4),
    ("patterns", 0),
    ("decisions", 1),
    ("state", 1),
    ("decisions", 0),
    ("state", 0),
    ("lessons", 0),
)
#: Rows of a part that can have room at all.
_MOST = 40


def render(state: LoopState) -> str:
    """The whole file, under TOKENS tokens; the newest decisions and anti-patterns first."""
    decided, lessons = decisions(state, _ROW)
    parts = {
        "decisions": decided,
        "lessons": lessons,
        "patterns": list(state.decision_log.patterns),
        "state": _state(state),
    }
    parts = {name: [line(row, _ROW) for row in rows] for name, rows in parts.items()}
    kept = {name: min(_MOST, len(rows)) for name, rows in parts.items()}
    head = _head(state)
    while True:
        rows = {name: first(part, kept[name]) for name, part in parts.items()}
        whole = text("context.md", **head, **rows)
        name = next((part for part, least in _ORDER if kept[part] > least), None)
        if len(whole) <= _ROOM or name is None:
            return whole if len(whole) <= _ROOM else whole[: _ROOM - 2] + "…\n"
        kept[name] -= 1


def _head(state: LoopState) -> dict:
    running = [state.tasks[task_id] for task_id in state.running]
    candidates = [state.tasks[task_id] for task_id in list(state.open)[:64]]
    ready = [task for task in candidates if attempts.startable(state, task)]
    if state.scaffold_first:
        ready = [task for task in ready if task.id in state.scaffold_first]
    return {
        "title": line(state.text, _TITLE),
        "plan": f"{outline.plan_status(state)}, iteration {outline.iteration(state)}",
        "phase": outline.phase(state),
        "wave": len(state.waves),
        "active": _named(state, running),
        "ready": _named(state, ready),
        "updated": line(state.session.last_updated, 40),
    }


def _named(state: LoopState, chosen: list) -> str:
    rows = []
    for task in chosen:
        subject = line(task.subject, _SUBJECT)
        rows.append(f"{outline.number(state, task.id)} {task.id} {subject}")
    return "; ".join(first(rows, _SHOWN)) or "none"


def _state(state: LoopState) -> list[str]:
    """Where the work stands, the most telling first."""
    counts = state.counts
    parts = [f"{counts[tasks.COMPLETED]}/{len(state.tasks)} tasks completed"]
    parts += [f"{counts[key]} {key}" for key in (tasks.FAILED, tasks.BLOCKED) if counts[key]]
    rows = [", ".join(parts) + f"; batches: {state.history.status}"]
    if state.session.question:
        rows.append(f"a question is open: {state.session.question}")
    for task in state.tasks.values():
        if task.history and task.id in state.open:
            last = task.history[-1]
            error = line(str(last["error"]).strip().split("\n")[0] or last["result"], 100)
            rows.append(f"{outline.number(state, task.id)} failed {task.attempts}×: {error}")
    return rows[:12]
