"""Decisions and anti-patterns of a loop, and the outline numbers of its tasks, folded from the
journal.

Decisions and anti-patterns count with one number. Outline numbers are given once: a task that is
removed keeps its own, so that no number ever means another task of the same plan.
"""

from __future__ import annotations

from .reviewed import take_findings

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Event
    from .state import LoopState

#: What marks an `Invalidated If` that is a command.
COMMAND = "$ "
#: The step (core/supervised) of the one who reviews a batch.
REVIEWING = "review"


class Trail:
    """Anti-patterns and what became of decisions; changed only by FOLDS. The decisions themselves
    are state.decisions.

    superseded: {number: number of the newer one} · invalidated: {number: {exit, log, finding}} ·
    checks: {number: command that exits 0 when the decision no longer holds}, of live ones ·
    checked: {number: journal line of the newest check} · kinds: categories of findings that gave an
    anti-pattern · patterns: what was gathered about the code, a few lines · outline: {task id:
    "1.2"}, ids: the same turned round.
    """

    def __init__(self) -> None:
        self.anti_patterns: list[dict] = []
        self.highest = 0
        self.superseded: dict[int, int] = {}
        self.invalidated: dict[int, dict] = {}
        self.checks: dict[int, str] = {}
        self.checked: dict[int, int] = {}
        self.kinds: set[str] = set()
        self.patterns: list[str] = []
        self.outline: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.groups: dict[str, int] = {}
        self.children: dict[str, int] = {}


def next_number(state: LoopState) -> int:
    """The number of the next decision or anti-pattern."""
    return state.trail.highest + 1


def command_of(data: dict) -> str:
    """The command that tells whether a decision still holds; "" where that is said in words."""
    words = data.get("invalidated_if", "")
    return (
        words[len(COMMAND) :].strip()
        if words.startswith(COMMAND) and len(words.splitlines()) == 1
        else ""
    )


def _decision(state: LoopState, data: dict, event: Event) -> None:
    trail, number = state.trail, data["number"]
    trail.highest = max(trail.highest, number)
    line = command_of(data)
    if line:
        trail.checks[number] = line
    for old in data.get("supersedes", ()):
        trail.superseded[old] = number
        trail.checks.pop(old, None)
    if data.get("supersedes"):
        for one in list(state.findings.values()):
            if (
                one.contradicts
                and not one.breaks
                and all(name in trail.superseded for name in one.contradicts)
            ):
                how = {"how": "superseded", "text": f"decision {number:03d}"}
                state.findings[one.id] = one._replace(resolution=how)


def _anti_pattern(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.trail.highest = max(state.trail.highest, data["number"])
    state.trail.anti_patterns.append({**data, "at": event.at})
    if data.get("category"):
        state.trail.kinds.add(data["category"])


def _checked(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.trail.checked[data["number"]] = state.lines


def _invalidated(state: LoopState, data: dict, event: Event) -> None:
    rows = data.get("findings", [])
    state.trail.invalidated[data["number"]] = {
        "exit": data.get("exit", 0),
        "log": data.get("log", ""),
        "finding": rows[0]["id"] if rows else None,
    }
    take_findings(state, data, "decision")


def _gathered(state: LoopState, data: dict, event: Event) -> None:
    state.trail.patterns = list(data.get("lines", ()))


def _reviewed(state: LoopState, data: dict, event: Event) -> None:
    if data.get("mode"):
        state.supervised.settle(REVIEWING)


def _added(state: LoopState, data: dict, event: Event) -> None:
    row, trail = data["task"], state.trail
    task_id, parent = row["id"], row.get("parent")
    if task_id in trail.outline:
        return
    if parent in trail.outline:
        above, beside = trail.outline[parent], parent
    else:
        group = row.get("group")
        name = str(group) if type(group) in (str, int) else ""
        above = str(trail.groups.setdefault(name, len(trail.groups) + 1))
        beside = "group " + name
    trail.children[beside] = trail.children.get(beside, 0) + 1
    number = f"{above}.{trail.children[beside]}"
    trail.outline[task_id] = number
    trail.ids[number] = task_id


def _removed(state: LoopState, data: dict, event: Event) -> None:
    if not state.tasks:  # another plan begins
        for table in (
            state.trail.outline,
            state.trail.ids,
            state.trail.groups,
            state.trail.children,
        ):
            table.clear()


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {
    "decision_recorded": _decision,
    "anti_pattern_recorded": _anti_pattern,
    "decision_checked": _checked,
    "decision_invalidated": _invalidated,
    "patterns_gathered": _gathered,
    "review_light": _reviewed,
    "task_added": _added,
    "task_removed": _removed,
}
