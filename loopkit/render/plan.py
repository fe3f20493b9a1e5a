"""plan.md: the tasks of a loop as an outline, from its state (rule: Files, plan.md)."""

from __future__ import annotations

from ..core.journal import task as tasks
from ..core.journal.state import LoopState
from ..core.journal.task import Task
from ..core.plan import outline
from . import text
from .words import decisions, line, more

#: Tasks, files of a task, and rows of any other list at the most; characters of a line of
#: somebody's words.
MOST_TASKS, MOST_FILES, MOST_ROWS, LONGEST = 400, 12, 60, 200
_STATES = {tasks.IN_PROGRESS: "in progress", tasks.FAILED: "failed", tasks.BLOCKED: "blocked"}


def render(state: LoopState) -> str:
    """The whole file; bounded whatever the tasks are called."""
    numbers = outline.numbers(state)
    order = sorted(numbers, key=lambda one: [int(part) for part in numbers[one].split(".")])
    groups: dict[str, list] = {}
    for task_id in order[:MOST_TASKS]:
        groups.setdefault(numbers[task_id].split(".")[0], []).append(
            _row(state, state.tasks[task_id], numbers)
        )
    headings = outline.groups(state)
    plan = state.supervised.plan or {}
    return text(
        "plan.md",
        title=line(state.text, 120),
        iteration=outline.iteration(state),
        status=outline.plan_status(state),
        groups=[
            (key, line(headings.get(key, outline.UNGROUPED), 80), rows)
            for key, rows in groups.items()
        ],
        left=more(len(order) - MOST_TASKS) if len(order) > MOST_TASKS else "",
        graph=_listed(_graph(state, numbers)),
        risks=_listed(
            [*plan.get("risks", ()), *(f"assumed: {one}" for one in plan.get("assumptions", ()))]
        ),
        questions=_listed(_questions(state)),
        decisions=_listed(decisions(state, LONGEST)[0]),
    )


def _row(state: LoopState, task: Task, numbers: dict[str, str]) -> dict:
    number = numbers[task.id]
    notes = ["scaffold"] if task.scaffold else []
    waits = [numbers.get(one, one) for one in task.blocked_by if one in state.tasks]
    if waits:
        notes.append("depends_on: " + ", ".join(waits))
    if task.status in _STATES:
        notes.append(_STATES[task.status] + (" (split)" if task.block_kind == tasks.SPLIT else ""))
    proof = [state.criteria[one].text for one in task.criteria if one in state.criteria]
    proof += [f"`{task.verify}` exits 0"] if task.verify else []
    if task.checks_before:
        proof.append(f"the check before was `{task.checks_before[-1]}`")
    left = len(task.files) - MOST_FILES
    return {
        "indent": "  " * (number.count(".") - 1),
        "done": "x" if task.status == tasks.COMPLETED else " ",
        "number": number,
        "id": task.id,
        "subject": line(task.subject, LONGEST),
        "notes": "".join(f" · {one}" for one in notes),
        "files": line(", ".join(task.files[:MOST_FILES]), 600)
        + (f" {more(left)}" if left > 0 else ""),
        "acceptance": line("; ".join(proof), 2 * LONGEST),
    }


def _graph(state: LoopState, numbers: dict[str, str]) -> list[str]:
    """`1.1 → 1.2, 2.1`: what each task lets begin."""
    follows: dict[str, list] = {}
    for task in state.tasks.values():
        for one in task.blocked_by:
            if one in state.tasks:
                follows.setdefault(numbers.get(one, one), []).append(numbers.get(task.id, task.id))
    return [f"{one} → {', '.join(others)}" for one, others in follows.items()]


def _questions(state: LoopState) -> list[str]:
    open_now = [state.session.question] if state.session.question else []
    said = (state.supervised.plan or {}).get("questions", ())
    return [*open_now, *said]


def _listed(rows: list) -> list[str]:
    """The rows of a list, one line each; the last says how many were left out."""
    shown = [line(one, 3 * LONGEST) for one in rows[:MOST_ROWS]]
    return [*shown, more(len(rows) - MOST_ROWS)] if len(rows) > MOST_ROWS else shown
