"""loop-state.md: how the batches of a loop have gone and what the detectors say, from its state."""

from __future__ import annotations

from ..core.health import monitor
from ..core.journal import prose
from ..core.journal.parts import FAILED, INITIALIZING, PASSED, TASK_BLOCKED, Batch
from ..core.journal.state import LoopState
from . import text

NAME = "loop-state.md"
#: Batches in its table; characters of a note, a signature and the recoveries.
SHOWN, NOTE, SIGNATURE, RECOVERIES = 20, 120, 120, 200


def render(state: LoopState) -> str:
    """The whole file, under 50 lines however many batches there were (rule: loop-state.md)."""
    course = state.history
    number = len(course.batches)
    last = course.batches[-1] if number else None
    streak, signature = monitor.same_error(course.window)
    wave = state.wave
    tried = [f"{row.play} after batch {row.wave} ({row.status})" for row in course.recoveries]
    return text(
        NAME,
        loop=state.name,
        iteration=number,
        status=course.status,
        confidence=(last.confidence if last else "") or "medium",
        current="none open" if wave is None else f"{wave.number}: {', '.join(wave.tasks)}",
        rows=[_row(at, batch) for at, batch in enumerate(course.batches, 1)][-SHOWN:],
        left_out=max(0, number - SHOWN),
        failures=monitor.failures(course.window),
        streak=streak,
        signature=prose.clean(signature, SIGNATURE),
        trend=(last.trend if last else "") or "stable",
        recoveries=prose.clean("; ".join(reversed(tried)) or "none", RECOVERIES),
        recommendation=prose.clean(last.recommendation if last else "", NOTE) or "continue",
    )


def record(state: LoopState) -> dict:
    """The same for `status --json`."""
    course = state.history
    last = course.batches[-1] if course.batches else None
    keys = ("confidence", "trend", "recommendation")
    return {
        "status": course.status,
        **{key: (getattr(last, key) if last else "") or None for key in keys},
        "batches": len(course.batches),
        "recoveries": [row._asdict() for row in course.recoveries],
        "used": course.used,
    }


def line(state: LoopState) -> str:
    """The same in one line of `status`; "" before the first batch."""
    course = state.history
    if course.status == INITIALIZING:
        return ""
    last = course.batches[-1]
    text = f"Batches: {course.status}"
    if last.confidence:
        advice = prose.clean(last.recommendation, NOTE)
        text += f", confidence {last.confidence}, trend {last.trend}, {advice}"
    return text


def _row(number: int, batch: Batch) -> dict:
    counts = {name: monitor.count(batch, name) for name in (PASSED, FAILED, TASK_BLOCKED)}
    failed = [f"{name} failed" for name, one in batch.outcomes.items() if one.result == FAILED]
    blocked = [
        f"{name} blocked" for name, one in batch.outcomes.items() if one.result == TASK_BLOCKED
    ]
    notes = [batch.status] if batch.status not in ("", "PROGRESSING") else []
    return {
        "number": number,
        "attempted": counts[PASSED] + counts[FAILED],
        "passed": counts[PASSED],
        "failed": counts[FAILED],
        "notes": prose.clean(", ".join([*notes, *failed, *blocked]), NOTE),
    }
