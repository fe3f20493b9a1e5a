"""The dependency graph of tasks: cycles by name, waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..journal.task import Task


def waits(tasks: Mapping[str, Task]) -> dict[str, list[str]]:
    """{task: what it waits for}: its blockers, and where it was split its subtasks."""
    found = {name: list(one.blocked_by) for name, one in tasks.items()}
    for name, one in tasks.items():
        if one.parent in found:
            found[one.parent].append(name)
    return found


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
    """Tasks in layers, each in the first one that has all its blockers behind it.

    Blockers that are no key count as done. Raises ValueError naming a cycle.
    """
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
