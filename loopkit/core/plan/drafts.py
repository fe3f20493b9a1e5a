"""New tasks: their criteria, count and dependencies, their ids."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ..journal import settings
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from . import graph, outline

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

LONGEST_SUBJECT, LONGEST_TEXT = 1000, 100_000


def paths(value: list[str]) -> list[str]:
    """Paths of files inside the project, relative to it, each in its shortest form. Raises
    UsageFault for any other."""
    for path in value:
        parts = path.replace("\\", "/").split("/")
        if (
            not path.strip()
            or "\0" in path
            or parts[0] == ""
            or parts[0][1:] == ":"
            or ".." in parts
        ):
            raise UsageFault(
                f"a file must be a path inside the project, not {path!r}",
                "give it relative to the project's root",
            )
    return list(dict.fromkeys(map(posixpath.normpath, value)))


def check_criteria(state: LoopState, rows: list[dict]) -> None:
    """Raises Refused where a task serves a criterion that SHAPE.md does not have."""
    for row in rows:
        for name in row.get("criteria", ()):
            if name not in state.criteria:
                raise Refused(
                    f"there is no criterion {name}",
                    f"SHAPE.md has: {', '.join(state.criteria)}; nothing was added",
                )


def check_size(state: LoopState, more: int) -> None:
    """Raises Refused where the loop would have too many tasks (subtasks and remediation do not
    count)."""
    total = state.planned + more
    if total > settings.MOST_TASKS:
        raise Refused(
            f"{total} tasks, at most {settings.MOST_TASKS} in one loop",
            "cut the work into several loops, one after the other",
        )


def added(state: LoopState, rows: list[dict], **common: object) -> list[Change]:
    """New tasks with the next ids. `#2` in `blockedBy` is the second of these rows; `common` is set
    on each.

    Raises Refused for an unknown blocker or a circle, by name.
    """
    first = state.highest + 1
    made = []
    for place, row in enumerate(rows):
        blockers = [_blocker(state, word, first, len(rows)) for word in row.get("blockedBy", ())]
        made.append(
            {
                **row,
                "id": tasks.make_id(first + place),
                "blockedBy": list(dict.fromkeys(blockers)),
                **common,
            }
        )
    waits = graph.waits(state.tasks) if common.get("parent") else {}
    for row in made:
        waits[row["id"]] = row["blockedBy"]
        if common.get("parent"):
            waits[str(common["parent"])].append(row["id"])
    for row in made:
        circle = graph.cycle_from(row["id"], waits)
        if circle:
            raise Refused(
                "cycle: " + " → ".join(circle), "drop one of these dependencies; nothing was added"
            )
    return [("task_added", {"task": row}) for row in made]


def _blocker(state: LoopState, word: str, first: int, count: int) -> str:
    if word[:1] == "#" and word[1:].isdigit() and word.isascii():
        place = int(word[1:9])
        if not 1 <= place <= count:
            raise Refused(
                f"blocked by {word[:20]}, but {count} tasks were submitted",
                "count from #1; nothing was added",
            )
        return tasks.make_id(first + place - 1)
    known = outline.named(state, word) if outline.is_number(word) else word
    number = 0 if known is None else tasks.number(known)
    wanted = word if known is None else tasks.make_id(number)
    if wanted not in state.tasks and not first <= number < first + count:
        raise Refused(
            f"blocked by {wanted}, which does not exist", "see loopkit task list; nothing was added"
        )
    return wanted
