"""The order of tasks: what waits for what, and the plan as people see it.

A number is group and position, `1.2`; groups count in the order of their first task, a subtask of
1.2 is 1.2.1. It is given once (plan/events) and stands for the task's id wherever one is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..journal import parts, prose, verdict
from ..journal import task as tasks
from ..journal.state import LoopState
from ..journal.task import Task

SCAFFOLD, EXECUTE = "SCAFFOLD", "EXECUTE"
NEEDS_CLARIFICATION, DRAFT, APPROVED = "NEEDS_CLARIFICATION", "DRAFT", "APPROVED"
IN_PROGRESS, COMPLETE = "IN_PROGRESS", "COMPLETE"
#: Heading of tasks that name no group.
UNGROUPED = "Tasks"
_NUMBER = re.compile(r"[1-9]\d{0,5}(?:\.[1-9]\d{0,5}){1,12}", re.ASCII)


def numbers(state: LoopState) -> dict[str, str]:
    """{task id: "1.2"} of the tasks there are, in the ledger's order."""
    known = state.decision_log.outline
    return {task_id: known[task_id] for task_id in state.tasks if task_id in known}


def number(state: LoopState, task_id: str) -> str:
    """The outline number of a task; its id where it has none."""
    return state.decision_log.outline.get(task_id, task_id)


def is_number(word: str) -> bool:
    """Whether a word looks like an outline number."""
    return _NUMBER.fullmatch(word.strip()) is not None


def named(state: LoopState, word: str) -> str | None:
    """The id of the task, even a removed one, with an outline number, or None."""
    return state.decision_log.ids.get(word.strip())


def groups(state: LoopState) -> dict[str, str]:
    """{"1": heading} of the groups, in their order."""
    return {str(number): name or UNGROUPED for name, number in state.decision_log.groups.items()}


def phase(state: LoopState) -> str:
    """SCAFFOLD while a task marked `scaffold` is open, else EXECUTE."""
    return SCAFFOLD if any(state.tasks[name].scaffold for name in state.open) else EXECUTE


def plan_status(state: LoopState) -> str:
    """What plan.md says of the plan."""
    if state.tasks and not state.open:
        return COMPLETE
    if state.waves:
        return IN_PROGRESS
    if state.session.question is not None or state.session.awaiting and not state.tasks:
        return NEEDS_CLARIFICATION
    if not state.tasks or state.session.awaiting:
        return DRAFT
    reviewed = state.supervision.standing == parts.SETTLED
    return APPROVED if reviewed or not state.terms.plan_reviewed else DRAFT


def iteration(state: LoopState) -> int:
    """1 for the first plan, one more for each that revised it."""
    return 1 + state.supervision.revisions


# -- the dependency graph


def waits(tasks: Mapping[str, Task]) -> dict[str, list[str]]:
    """{task: what it waits for}: its blockers, and where it was split its subtasks."""
    wanted = {name: list(task.blocked_by) for name, task in tasks.items()}
    for name, task in tasks.items():
        if task.parent in wanted:
            wanted[task.parent].append(name)
    return wanted


def cycle_from(start: str, blocked_by: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A circle through `start`, as `[start, …, start]` along blockers, or None."""
    came_from: dict[str, str] = {}
    stack = [start]
    while stack:
        task = stack.pop()
        for wanted in blocked_by.get(task, ()):
            if wanted == start:
                path = [task]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return [*reversed(path), start]
            if wanted not in came_from:
                came_from[wanted] = task
                stack.append(wanted)
    return None


def waves(blocked_by: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Tasks in layers, each in the first one that has all its blockers behind it. Blockers that are
    no key count as done. Raises ValueError naming a cycle."""
    from graphlib import CycleError, TopologicalSorter

    sorter = TopologicalSorter(dict.fromkeys(blocked_by, ()))
    for task, wants in blocked_by.items():
        sorter.add(task, *(wanted for wanted in wants if wanted in blocked_by))
    try:
        sorter.prepare()
    except CycleError:
        circle = next(filter(None, (cycle_from(task, blocked_by) for task in blocked_by)))
        raise ValueError("cycle: " + " → ".join(circle)) from None
    layers = []
    while sorter.is_active():
        layers.append(list(sorter.get_ready()))
        sorter.done(*layers[-1])
    return layers


# -- PROGRESS.md

_DONE, _RUNNING, _WAITING, _BLOCKED = "✅ Completed", "🔄 In Progress", "⏳ Pending", "⛔ Blocked"


def progress(state: LoopState) -> str:
    """PROGRESS.md: the loop for people, bounded whatever anything is called (rule: PROGRESS.md).
    Hooks that pause a loop write it as well."""
    rows: dict[str, list] = {_DONE: [], _RUNNING: [], _WAITING: [], _BLOCKED: []}
    done_in = set()
    for task in state.tasks.values():
        part, note = _part(state, task)
        mark = "x" if part == _DONE else " "
        rows[part].append(f"- [{mark}] {task.id}: {prose.clean(task.subject, 200)}{note}")
        if part == _DONE and task.wave is not None:
            done_in.add(task.wave)
    number = len(state.waves)
    where = {_DONE: _in(", ".join(map(str, sorted(done_in)))), _RUNNING: _in(str(number))}
    where[_WAITING] = _in(f"{number + 1}+")
    lines = _head(state, number)
    for part, named in rows.items():
        if named or part != _BLOCKED:
            lines += ["", f"## {part}{where.get(part, '') if named else ''}", *named]
    return "\n".join([*lines, "", *_metrics(state, len(rows[_DONE])), ""])


def _in(waves: str) -> str:
    return f" (Wave {waves})"


def _head(state: LoopState, number: int) -> list[str]:
    session = state.session
    usd, tokens, unpriced = session.cost()
    limit = "" if session.limit_usd is None else f"/${session.limit_usd:g}"
    money = f"${usd:.2f}{limit}"
    if unpriced:
        money = f"{tokens} tokens (no price for {', '.join(unpriced)})"
    whole = max(number, number + _layers(state) - (state.wave is not None))
    title = prose.clean(state.text.splitlines()[0] if state.text else "", 120)
    lines = [
        f"# Loop Progress: {title}",
        f"**Status:** Wave {number} of {whole} | Iteration {session.iteration} | Cost: {money}",
    ]
    if session.status not in (verdict.RUNNING, verdict.COMPLETED):
        reason = prose.clean(session.reason, 300)
        lines += ["", f"**{session.status.capitalize()}**" + (f": {reason}" if reason else "")]
    return lines


def _layers(state: LoopState) -> int:
    """How many waves the open tasks need."""
    try:
        return len(waves({name: state.tasks[name].blocked_by for name in state.open}))
    except ValueError:
        return 0


def _metrics(state: LoopState, done: int) -> list[str]:
    panels = len(state.panels)
    return [
        "## 📊 Metrics",
        f"- Tasks: {done}/{len(state.tasks)} complete",
        f"- Stuck count: {sum(task.stuck_count for task in state.tasks.values())}",
        f"- Counsel consulted: {f'Yes ({panels})' if panels else 'No'}",
    ]


def _part(state: LoopState, task: Task) -> tuple[str, str]:
    """(the part that lists a task, what is said of it there)."""
    if task.status == tasks.COMPLETED:
        return _DONE, ""
    if task.status == tasks.IN_PROGRESS:
        return _RUNNING, " (loop:coder)"
    if tasks.is_blocked_outside(task):
        return _BLOCKED, f" ({task.block_kind}: {prose.clean(task.block_text, 200)})"
    waits = [name for name in task.blocked_by if name in state.open]
    if waits:
        return _WAITING, f" (blocked by {', '.join(waits)})"
    if task.status == tasks.FAILED:
        return _WAITING, " (failed, to be split)"
    if task.block_kind == tasks.SPLIT:
        return _WAITING, " (split into smaller tasks)"
    return _WAITING, f" (failed {task.attempts}×)" if task.attempts else ""
