"""Decisions and anti-patterns: why something is so, and what is not done again."""

from __future__ import annotations

from .. import replies
from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..store import decisions as files
from ..store.loop import Loop
from .workspace import Result, Workspace

#: Decisions and anti-patterns that a list shows at the most; its data holds all.
MOST_LISTED = 38


def ask(workspace: Workspace, avoid: bool) -> Result:
    """The form of a decision, or of an anti-pattern."""
    form = replies.form("lesson" if avoid else "decision")
    step = "loopkit decide --avoid --file -" if avoid else "loopkit decide --file -"
    return Result(workspace.loop(), f"submit as block YAML:\n{form}", steps=[step])


def record(workspace: Workspace, row: dict, avoid: bool) -> Result:
    """Record a decision, or an anti-pattern."""
    loop = workspace.own_loop()
    decide = decisions.avoided if avoid else decisions.recorded
    data = workspace.change(loop, decide, row)[0][1]
    lines = [decisions.line(data), shown(loop, data)]
    if not avoid:
        lines += _followed(loop.state, data)
    # agents record theirs while others are still at work: nothing follows from it then
    steps: list[str] | None = [] if loop.state.running else None
    return Result(loop, "\n".join(lines), {"number": data["number"], "file": lines[1]}, steps)


def shown(loop: Loop, row: dict) -> str:
    """The path of a decision's or anti-pattern's file, as it is printed."""
    return "/".join((".loop", loop.name, files.FOLDER, files.name(row)))


def _followed(state: LoopState, data: dict) -> list[str]:
    """What a decision has changed: older ones, what hangs on them, findings that it settles."""
    if not data["supersedes"]:
        return []
    lines = [f"superseded: {_numbers(data['supersedes'])}"]
    hanging = decisions.dependents(state, data["supersedes"])
    if hanging:
        lines.append(f"still stands and depends on it: {_numbers(hanging)}; do they hold?")
    for one in state.findings.values():
        if (one.resolution or {}).get("text") == f"decision {data['number']:03d}":
            is_open = one.task in state.tasks and one.task in state.open
            left = f"; loopkit task remove {one.task}, if nothing needs it" if is_open else ""
            lines.append(f"{one.id} is settled by it{left}")
    return lines


def _numbers(numbers: list[int]) -> str:
    return ", ".join(f"{one:03d}" for one in numbers)


def listed(workspace: Workspace) -> Result:
    """All decisions and anti-patterns, with what became of them."""
    loop = workspace.loop()
    state = loop.state
    rows = [*state.decisions, *state.decision_log.anti_patterns]
    if not rows:
        return Result(loop, "no decision yet", {"decisions": []}, ["loopkit decide --file -"])
    lines, data = [], []
    for one in sorted(rows, key=lambda one: one.get("number", 0)):
        number, lesson = one.get("number", 0), decisions.is_lesson(one)
        status = "ANTI-PATTERN" if lesson else decisions.status(state, number)
        invalid = number in state.decision_log.invalidated and status == "DECISION"
        gone = " (no longer holds)" if invalid else ""
        title = prose.clean(str(one.get("title", "")), decisions.LONGEST_TITLE)
        lines.append(f"{number:03d} {status}{gone}: {title}")
        kept = {key: value for key, value in one.items() if key != "at"}
        data.append({**kept, "status": status})
    left = len(lines) - MOST_LISTED
    if left > 0:
        where = f"{prose.count(left, 'earlier one')}: see .loop/{loop.name}/learnings/"
        lines = [where, *lines[left:]]
    return Result(loop, "\n".join(lines), {"decisions": data}, [])
