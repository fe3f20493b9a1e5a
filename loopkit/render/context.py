"""context.md: all that an agent needs to know of a loop, in a few hundred tokens (rule: Files,
context.md)."""

from __future__ import annotations

from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.plan import outline, work
from . import text
from .words import decisions, line, more

#: Tokens that the file stays under, characters of one.
TOKENS, PER_TOKEN = 500, 4
_ROOM = TOKENS * PER_TOKEN - 1
#: Tasks that are named in a list at the most, characters of their subjects, of the request and of a
#: row.
_SHOWN, _SUBJECT, _TITLE, _ROW = 6, 50, 120, 140
#: What gives way, in this order: (part, rows of it that stay as long as something else can still
#: go).
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
    """The whole file, under TOKENS tokens. Newest decisions and anti-patterns come first, since
    older ones go first."""
    decided, lessons = decisions(state, _ROW)
    parts = {
        "decisions": decided,
        "lessons": lessons,
        "patterns": list(state.trail.patterns),
        "state": _state(state),
    }
    kept = {name: min(_MOST, len(rows)) for name, rows in parts.items()}
    head = _head(state)
    while True:
        rows = {name: _cut(part, kept[name]) for name, part in parts.items()}
        whole = text("context.md", **head, **rows)
        name = next((one for one, least in _ORDER if kept[one] > least), None)
        if len(whole) <= _ROOM or name is None:
            return whole if len(whole) <= _ROOM else whole[: _ROOM - 2] + "…\n"
        kept[name] -= 1


def _cut(rows: list[str], count: int) -> list[str]:
    shown = [line(one, _ROW) for one in rows[:count]]
    return [*shown, more(len(rows) - count)] if len(rows) > count else shown


def _head(state: LoopState) -> dict:
    active = [state.tasks[one] for one in state.running]
    first = state.scaffold_first
    ready = [
        state.tasks[one] for one in list(state.open)[:64] if work.startable(state, state.tasks[one])
    ]
    if first:
        ready = [one for one in ready if one.id in first]
    return {
        "title": line(state.text, _TITLE),
        "plan": f"{outline.plan_status(state)}, iteration {outline.iteration(state)}",
        "phase": outline.phase(state),
        "wave": len(state.waves),
        "active": _named(state, active),
        "ready": _named(state, ready),
        "updated": line(state.session.last_updated, 40),
    }


def _named(state: LoopState, chosen: list) -> str:
    rows = [
        f"{outline.number(state, one.id)} {one.id} {line(one.subject, _SUBJECT)}"
        for one in chosen[:_SHOWN]
    ]
    rows += [more(len(chosen) - _SHOWN)] if len(chosen) > _SHOWN else []
    return "; ".join(rows) or "none"


def _state(state: LoopState) -> list[str]:
    """Where the work stands, the most telling first."""
    counts = state.counts
    parts = [f"{counts[tasks.COMPLETED]}/{len(state.tasks)} tasks completed"]
    parts += [f"{counts[one]} {one}" for one in (tasks.FAILED, tasks.BLOCKED) if counts[one]]
    rows = [", ".join(parts) + f"; batches: {state.course.status}"]
    if state.session.question:
        rows.append(f"a question is open: {state.session.question}")
    for task in state.tasks.values():
        if task.history and task.id in state.open:
            last = task.history[-1]
            said = str(last["error"]).strip().split("\n")[0] or last["result"]
            rows.append(
                f"{outline.number(state, task.id)} failed {task.attempts}×: {line(said, 100)}"
            )
    return rows[:12]
