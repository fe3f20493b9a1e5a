"""PROGRESS.md: the loop for people, from its state."""

from __future__ import annotations

from ..core.journal import pricing, prose, verdict
from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.plan import outline
from . import text


def render(state: LoopState) -> str:
    """The whole file (rule: PROGRESS.md)."""
    session = state.session
    layers = _layers(state)
    number = len(state.waves)
    usd, tokens, unpriced = pricing.cost(session.usage, session.prices)
    rows: dict[str, list] = {name: [] for name in ("done", "running", "waiting", "blocked")}
    for task in state.tasks.values():
        line = {"id": task.id, "subject": prose.clean(task.subject, 200), "task": task}
        if task.status == tasks.COMPLETED:
            rows["done"].append(line)
        elif task.status == tasks.IN_PROGRESS:
            rows["running"].append(line)
        elif task.status == tasks.BLOCKED and task.block_kind != tasks.SPLIT:
            line["note"] = f" ({task.block_kind}: {prose.clean(task.block_text, 200)})"
            rows["blocked"].append(line)
        else:
            waits = [name for name in task.blocked_by if name in state.open]
            line["note"] = f" (blocked by {', '.join(waits)})" if waits else _note(task)
            rows["waiting"].append(line)
    return text(
        "PROGRESS.md",
        title=prose.clean(state.text.splitlines()[0] if state.text else "", 120),
        status=session.status,
        reason=prose.clean(session.reason, 300) if session.status != verdict.RUNNING else "",
        wave=number,
        waves=max(number, number + len(layers) - (1 if state.wave is not None else 0)),
        iteration=session.iteration,
        usd=usd,
        limit=session.limit_usd,
        tokens=tokens,
        unpriced=unpriced,
        stuck=sum(task.stuck_count for task in state.tasks.values()),
        panels=len(state.panels),
        total=len(state.tasks),
        **rows,
    )


def _layers(state: LoopState) -> list:
    try:
        return outline.waves({name: state.tasks[name].blocked_by for name in state.open})
    except ValueError:
        return []


def _note(task: tasks.Task) -> str:
    if task.status == tasks.FAILED:
        return " (failed, to be split)"
    if task.block_kind == tasks.SPLIT:
        return " (split into smaller tasks)"
    return f" (failed {task.attempts}×)" if task.attempts else ""
