"""plan.md: the tasks of a loop as an outline, from its state."""

from __future__ import annotations

from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.journal.task import Task
from ..core.plan import outline
from . import text
from .words import decisions, first, line

#: Most tasks, files of a task, and rows of any other list; characters of somebody's words.
MOST_TASKS, MOST_FILES, MOST_ROWS, LONGEST = 400, 12, 60, 200
_STATES = {tasks.IN_PROGRESS: "in progress", tasks.FAILED: "failed", tasks.BLOCKED: "blocked"}


def render(state: LoopState) -> str:
    """The whole file; bounded whatever the tasks are called."""
    numbers = outline.numbers(state)
    order = sorted(numbers, key=lambda task_id: [int(part) for part in numbers[task_id].split(".")])
    groups: dict[str, list] = {}
    for task_id in order[:MOST_TASKS]:
        row = _row(state, state.tasks[task_id], numbers)
        groups.setdefault(numbers[task_id].split(".")[0], []).append(row)
    headings = outline.groups(state)
    plan = state.supervision.plan or {}
    assumed = [f"assumed: {assumption}" for assumption in plan.get("assumptions", ())]
    return text(
        "plan.md",
        title=line(state.text, 120),
        iteration=outline.iteration(state),
        status=outline.plan_status(state),
        groups=[
            (key, line(headings.get(key, outline.UNGROUPED), 80), rows)
            for key, rows in groups.items()
        ],
        left="".join(first(order, MOST_TASKS)[MOST_TASKS:]),
        graph=_listed(_graph(state, numbers)),
        risks=_listed([*plan.get("risks", ()), *assumed]),
        questions=_listed(_questions(state)),
        decisions=_listed(decisions(state, LONGEST)[0]),
    )


def _row(state: LoopState, task: Task, numbers: dict[str, str]) -> dict:
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
    return {
        "indent": "  " * (number.count(".") - 1),
        "done": "x" if task.status == tasks.COMPLETED else " ",
        "number": number,
        "id": task.id,
        "subject": line(task.subject, LONGEST),
        "notes": "".join(f" · {note}" for note in notes),
        "files": " ".join([line(", ".join(files[:MOST_FILES]), 600), *files[MOST_FILES:]]),
        "acceptance": line("; ".join(proof), 2 * LONGEST),
    }


def _graph(state: LoopState, numbers: dict[str, str]) -> list[str]:
    """`1.1 → 1.2, 2.1`: what each task lets begin."""
    follows: dict[str, list] = {}
    for task in state.tasks.values():
        for name in task.blocked_by:
            if name in state.tasks:
                waiting = follows.setdefault(numbers.get(name, name), [])
                waiting.append(numbers.get(task.id, task.id))
    return [f"{number} → {', '.join(others)}" for number, others in follows.items()]


def _questions(state: LoopState) -> list[str]:
    open_now = [state.session.question] if state.session.question else []
    return [*open_now, *(state.supervision.plan or {}).get("questions", ())]


def _listed(rows: list) -> list[str]:
    return first([line(row, 3 * LONGEST) for row in rows], MOST_ROWS)
