"""The dependency graph of tasks: cycles by name, waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """A circle through `start`, as `[start, …, start]` along blockers, or None. Iterative: depth is
    no limit."""
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
    """Tasks in layers: each task stands in the first layer in which all its blockers are behind it.

    Blockers that are no key count as done. Raises ValueError naming a cycle. O(tasks +
    dependencies).
    """
    waiting: dict[str, int] = {}
    dependents: dict[str, list[str]] = {}
    layer = []
    for task, wants in blocked_by.items():
        count = 0
        for wanted in wants:
            if wanted in blocked_by:
                count += 1
                if wanted in dependents:
                    dependents[wanted].append(task)
                else:
                    dependents[wanted] = [task]
        if count:
            waiting[task] = count
        else:
            layer.append(task)
    layers = []
    while layer:
        layers.append(layer)
        following = []
        for done in layer:
            for task in dependents.get(done, ()):
                left = waiting[task] - 1
                if left:
                    waiting[task] = left
                else:
                    del waiting[task]
                    following.append(task)
        layer = following
    if waiting:
        for task in waiting:
            circle = cycle_from(task, blocked_by)
            if circle:
                raise ValueError("cycle: " + " → ".join(circle))
    return layers
