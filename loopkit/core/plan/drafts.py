"""Tasks as they are handed in: each checked and completed, then given the next ids. Faults name the
place and the field."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ..evidence import command
from ..journal import settings
from ..journal import task as tasks
from ..journal.errors import Refused, UsageFault
from . import graph, outline

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

LONGEST_SUBJECT, LONGEST_TEXT = 1000, 100_000
KEYS = frozenset(
    (
        "subject",
        "verify",
        "description",
        "blocked_by",
        "files",
        "criteria",
        "complexity",
        "active_form",
        "scaffold",
        "group",
    )
)


def known(given: dict, keys: frozenset, what: str) -> None:
    """Raises UsageFault where a record that was handed in, `what`, has other fields than these."""
    unknown = sorted(str(key) for key in given if key not in keys)
    if unknown:
        raise UsageFault(
            f"{what} has unknown fields: {', '.join(unknown)[:200]}",
            "known: " + ", ".join(sorted(keys)),
        )


def draft(row: object, place: int) -> dict:
    """A task description as handed in, checked and completed. UsageFault names the place (1-based)
    and field."""
    if not isinstance(row, dict):
        raise UsageFault(f"task {place} is no record", "each has subject: and verify:")
    known(row, KEYS, f"task {place}")
    subject = " ".join(_text(row, "subject", place).split())
    if not subject:
        raise UsageFault(f"task {place} has no subject", "say in one sentence what it does")
    if len(subject) > LONGEST_SUBJECT:
        raise UsageFault(
            f"the subject of task {place} has {len(subject)} characters",
            f"at most {LONGEST_SUBJECT}; put the rest into the description",
        )
    verify = _text(row, "verify", place).strip()
    if not verify:
        raise UsageFault(
            f"task {place} ({subject[:40]}) has no verification command",
            'give verify: "<command that exits 0 when it is done>"',
        )
    command.accept(verify)
    complexity = row.get("complexity") or "medium"
    if complexity not in tasks.COMPLEXITIES:
        raise UsageFault(
            f"complexity {complexity!r} of task {place}", "use " + ", ".join(tasks.COMPLEXITIES)
        )
    return {
        "subject": subject,
        "verify": verify,
        "description": _text(row, "description", place)[:LONGEST_TEXT],
        "activeForm": _text(row, "active_form", place),
        "blockedBy": _blockers(row.get("blocked_by"), f"task {place}"),
        "files": paths(row.get("files"), f"task {place}"),
        "criteria": texts(row.get("criteria"), f"criteria of task {place}"),
        "complexity": complexity,
        "scaffold": row.get("scaffold") in (True, "true"),
        "group": _text(row, "group", place).strip() or None,
    }


def _text(row: dict, key: str, place: int) -> str:
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise UsageFault(f"{key} of task {place} is no text", f'give {key}: "…"')
    return value or ""


def texts(value: object, what: str) -> list[str]:
    """A list of texts, or nothing. Raises UsageFault naming what it is."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageFault(f"{what} is not a list of texts", "write it like [a, b]")
    return value


def paths(value: object, what: str) -> list[str]:
    """Paths of files inside the project, relative to it, each in its shortest form. Raises
    UsageFault for any other."""
    found = texts(value, f"files of {what}")
    for one in found:
        parts = one.replace("\\", "/").split("/")
        if not one.strip() or "\0" in one or parts[0] == "" or parts[0][1:] == ":" or ".." in parts:
            raise UsageFault(
                f"{one!r} in files of {what} is no path inside the project",
                "give it relative to its root",
            )
    return list(dict.fromkeys(map(posixpath.normpath, found)))


def _blockers(value: object, what: str) -> list[str]:
    if isinstance(value, list):  # a bare number is a place in the same list
        value = [
            f"#{one}" if isinstance(one, int) and not isinstance(one, bool) else one
            for one in value
        ]
    return texts(value, f"blocked_by of {what}")


def check_criteria(state: LoopState, drafts: list[dict]) -> None:
    """Raises Refused where a task serves a criterion that SHAPE.md does not have."""
    for row in drafts:
        for name in row["criteria"]:
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
                f"blocked by {word[:20]}, but {count} tasks were handed in",
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
