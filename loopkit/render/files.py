"""The files that follow a loop's state, each bounded: context.md, plan.md, loop-state.md."""

from __future__ import annotations

from ..core.journal import prose
from ..core.journal import task as tasks
from ..core.journal.parts import FAILED, INITIALIZING, PASSED, PROGRESSING, TASK_BLOCKED, Batch
from ..core.journal.state import LoopState
from ..core.journal.task import Task
from ..core.plan import outline
from ..core.steps import attempts
from . import decisions, first, line

# -- context.md

#: Tokens that the file stays under, characters of a token.
TOKENS, PER_TOKEN = 500, 4
_ROOM = TOKENS * PER_TOKEN - 1
#: Most tasks named in a list, characters of their subjects, of the request, of a row.
_SHOWN, _SUBJECT, _TITLE, _ROW = 6, 50, 120, 140
#: What gives way, in this order: (part, rows of it that stay while something else can still go).
_ORDER = (
    *(("patterns", 2), ("decisions", 4), ("patterns", 0), ("decisions", 1)),
    *(("state", 1), ("decisions", 0), ("state", 0), ("lessons", 0)),
)
#: Rows of a part that can have room at all.
_MOST = 40
_HEADINGS = {
    "decisions": "Key decisions",
    "lessons": "Anti-patterns",
    "patterns": "Relevant patterns",
    "state": "Current state",
}


def context(state: LoopState) -> str:
    """All that an agent needs to know of a loop, under TOKENS tokens; the newest first."""
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
        parted = [(_HEADINGS[name], rows[name]) for name in _HEADINGS if rows[name]]
        whole = "\n".join([*head, *_sections(parted)]) + "\n"
        name = next((part for part, least in _ORDER if kept[part] > least), None)
        if len(whole) <= _ROOM or name is None:
            return whole if len(whole) <= _ROOM else whole[: _ROOM - 2] + "…\n"
        kept[name] -= 1


def _sections(parts: list) -> list[str]:
    """(heading, rows) as lines."""
    return [
        line for heading, rows in parts for line in (f"## {heading}", *[f"- {row}" for row in rows])
    ]


def _head(state: LoopState) -> list[str]:
    running = [state.tasks[task_id] for task_id in state.running]
    candidates = [state.tasks[task_id] for task_id in list(state.open)[:64]]
    ready = [task for task in candidates if attempts.startable(state, task)]
    if state.scaffold_first:
        ready = [task for task in ready if task.id in state.scaffold_first]
    plan = f"{outline.plan_status(state)}, iteration {outline.iteration(state)}"
    return [
        f"# Context: {line(state.text, _TITLE)}",
        f"Plan: {plan} (plan.md)",
        f"Phase: {outline.phase(state)}, wave {len(state.waves)}",
        f"Active: {_named(state, running)}",
        f"Ready: {_named(state, ready)}",
        f"Updated: {line(state.session.last_updated, 40)}",
    ]


def _named(state: LoopState, chosen: list) -> str:
    rows = [
        f"{outline.number(state, task.id)} {task.id} {line(task.subject, _SUBJECT)}"
        for task in chosen
    ]
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


# -- plan.md

#: Most tasks, files of a task, and rows of any other list; characters of somebody's words.
MOST_TASKS, MOST_FILES, MOST_ROWS, LONGEST = 400, 12, 60, 200
_STATES = {tasks.IN_PROGRESS: "in progress", tasks.FAILED: "failed", tasks.BLOCKED: "blocked"}


def plan(state: LoopState) -> str:
    """The tasks of a loop as an outline."""
    numbers = outline.numbers(state)
    order = sorted(numbers, key=lambda task_id: [int(part) for part in numbers[task_id].split(".")])
    groups: dict[str, list] = {}
    for task_id in order[:MOST_TASKS]:
        row = _task_row(state, state.tasks[task_id], numbers)
        groups.setdefault(numbers[task_id].split(".")[0], []).append(row)
    headings = outline.groups(state)
    proposed = state.supervision.plan or {}
    assumed = [f"assumed: {assumption}" for assumption in proposed.get("assumptions", ())]
    asked = [state.session.question] if state.session.question else []
    lines = [f"# Plan: {line(state.text, 120)}", f"Iteration: {outline.iteration(state)}"]
    lines += [f"Status: {outline.plan_status(state)}", "## Tasks"]
    for key, rows in groups.items():
        heading = line(headings.get(key, outline.UNGROUPED), 80)
        lines += [f"### {key} {heading}", *[part for row in rows for part in row]]
    lines += [f"- {left}" for left in first(order, MOST_TASKS)[MOST_TASKS:]]
    nothing = "none: every task can begin at once"
    asked = [*asked, *proposed.get("questions", ())]
    lines += _sections(
        [
            ("Dependency graph", _listed(_graph(state, numbers)) or [nothing]),
            ("Risks", _listed([*proposed.get("risks", ()), *assumed]) or ["none named"]),
            ("Open questions", _listed(asked) or ["none"]),
            ("Decisions", _listed(decisions(state, LONGEST)[0]) or ["none"]),
        ]
    )
    return "\n".join(lines) + "\n"


def _task_row(state: LoopState, task: Task, numbers: dict[str, str]) -> list[str]:
    number = numbers[task.id]
    notes = ["scaffold"] if task.scaffold else []
    waits = [numbers.get(name, name) for name in task.blocked_by if name in state.tasks]
    if waits:
        notes.append("depends_on: " + ", ".join(waits))
    if task.status in _STATES:
        notes.append(_STATES[task.status] + (" (split)" if task.block_kind == tasks.SPLIT else ""))
    proof = [state.criteria[name].text for name in task.criteria if name in state.criteria]
    proof += [f"`{task.verify}` exits 0"] if task.verify else []
    if task.checks_before:
        proof.append(f"the check before was `{task.checks_before[-1]}`")
    files = first(list(task.files), MOST_FILES)
    named = " ".join([line(", ".join(files[:MOST_FILES]), 600), *files[MOST_FILES:]])
    shown = line("; ".join(proof), 2 * LONGEST)
    indent, done = "  " * (number.count(".") - 1), "x" if task.status == tasks.COMPLETED else " "
    said = "".join(f" · {note}" for note in notes)
    return [
        f"{indent}- [{done}] {number} {line(task.subject, LONGEST)} ({task.id}){said}",
        *([f"{indent}  - Files: {named}"] if named else []),
        *([f"{indent}  - Acceptance: {shown}"] if shown else []),
    ]


def _graph(state: LoopState, numbers: dict[str, str]) -> list[str]:
    """`1.1 → 1.2, 2.1`: what each task lets begin."""
    follows: dict[str, list] = {}
    for task in state.tasks.values():
        for name in task.blocked_by:
            if name in state.tasks:
                waiting = follows.setdefault(numbers.get(name, name), [])
                waiting.append(numbers.get(task.id, task.id))
    return [f"{number} → {', '.join(others)}" for number, others in follows.items()]


def _listed(rows: list) -> list[str]:
    return first([line(row, 3 * LONGEST) for row in rows], MOST_ROWS)


# -- loop-state.md: how the batches have gone and what the detectors say

LOOP_STATE = "loop-state.md"
#: Batches in its table; characters of a note, a signature and the recoveries.
SHOWN, NOTE, SIGNATURE, RECOVERIES = 20, 120, 120, 200


def loop_state(state: LoopState) -> str:
    """Under 50 lines however many batches there were (rule: loop-state.md)."""
    history, wave = state.history, state.wave
    number = len(history.batches)
    said = batches(state)
    failures, streak, signature, rows = 0, 0, "", []
    if number:
        from ..core.health import monitor

        failures = monitor.failures(history.batches)
        streak, signature = monitor.same_error(history.window)
        rows = [_batch_row(at, batch) for at, batch in enumerate(history.batches, 1)][-SHOWN:]
    current = "none open" if wave is None else f"{wave.number}: {', '.join(wave.tasks)}"
    tried = [f"{row.play} after batch {row.wave} ({row.status})" for row in history.recoveries]
    left_out = max(0, number - SHOWN)
    told = f" ({prose.clean(signature, SIGNATURE)})" if signature else ""
    lines = [
        f"# Loop State: {state.name}",
        f"**Iteration**: {number}",
        f"**Status**: {history.status}",
        f"**Confidence**: {said['confidence'] or 'medium'}",
        f"**Current batch**: {current}",
        "",
        "## Batches",
        "| iter | attempted | passed | failed | notes |",
        "|---|---|---|---|---|",
        *rows,
        *(["", f"{left_out} earlier batches are left out."] if left_out else []),
        "",
        "## Signals",
        f"- Consecutive failures: {failures}",
        f"- Same error in a row: {streak}{told}",
        f"- Trend: {said['trend'] or 'stable'}",
        f"- Recoveries: {prose.clean('; '.join(reversed(tried)) or 'none', RECOVERIES)}",
        "",
        "## Recommendation",
        prose.clean(said["recommendation"] or "", NOTE) or "continue",
    ]
    return "\n".join(lines) + "\n"


def batches(state: LoopState) -> dict:
    """The same for `status --json`."""
    history = state.history
    last = history.batches[-1] if history.batches else None
    keys = ("confidence", "trend", "recommendation")
    return {
        "status": history.status,
        **{key: (getattr(last, key) if last else "") or None for key in keys},
        "batches": len(history.batches),
        "recoveries": [row._asdict() for row in history.recoveries],
        "used": history.used,
    }


def batches_line(state: LoopState) -> str:
    """The same in one line of `status`; "" before the first batch."""
    history = state.history
    if history.status == INITIALIZING:
        return ""
    last = history.batches[-1]
    advice = prose.clean(last.recommendation, NOTE)
    said = f"confidence {last.confidence}, trend {last.trend}, {advice}"
    return f"Batches: {history.status}, {said}"


def _batch_row(number: int, batch: Batch) -> str:
    results = [outcome.result for outcome in batch.outcomes.values()]
    passed, failed = results.count(PASSED), results.count(FAILED)
    notes = [batch.status] if batch.status not in ("", PROGRESSING) else []
    for result, word in ((FAILED, "failed"), (TASK_BLOCKED, "blocked")):
        notes += [f"{name} {word}" for name, one in batch.outcomes.items() if one.result == result]
    told = prose.clean(", ".join(notes), NOTE)
    return f"| {number} | {passed + failed} | {passed} | {failed} | {told} |"
