"""Panels of experts: whom to ask what, what they found."""

from __future__ import annotations

from typing import Any

from .. import replies
from ..core.journal import prose, score, settings, stage, stages
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.state import LoopState
from ..core.plan import work
from ..core.review import panel
from ..store import place, profiles
from ..store.loop import Loop
from .request import rubric
from .workspace import Result, Workspace


def on_task(workspace: Workspace, task_id: str, row: dict | None = None) -> Result:
    """A panel on a stuck task: record what it found, or (row None) whom to ask what."""
    loop = workspace.own_loop()
    task = work.find(loop.state, task_id)
    if row is not None:
        data = _record(workspace, loop, panel.recorded, task.id, row)
        said = f"panel on {data['task']} recorded; the next attempt is told: {_consensus(data)}"
        return Result(loop, "\n".join([said, *_lowered(data, row)]), data)
    stage.running(loop.state)
    lines = [
        f"{task.id} ({prose.clean(task.subject, 100)}), "
        f"{prose.count(task.attempts, 'failed attempt')}"
    ]
    for entry in task.history[-3:]:
        tried, error = prose.clean(entry["approach"], 120), prose.clean(entry["error"][-300:], 300)
        lines.append(f"tried: {tried}; error: {error}")
    earlier = [
        one
        for one in loop.state.panels
        if one.get("task") == task.id and one.get("attempt", 0) < task.attempts
    ]
    lines += [f"failed, not again: {prose.clean(one['consensus'], 160)}" for one in earlier[-3:]]
    return _brief(loop, lines, panel.stuck_topics(loop.state, task), task.id)


def on_dimension(workspace: Workspace, dimension: str, row: dict | None = None) -> Result:
    """The same on an unclear dimension of the request: its readings are choices."""
    loop = workspace.own_loop()
    if row is not None:
        data = _record(workspace, loop, panel.clarified, dimension, row)
        lines = [f"panel on {dimension} recorded; choices:"]
        letters = zip("ABCD", data["recommendations"], strict=False)
        lines += [f"  {letter}) {prose.clean(one['approach'], 160)}" for letter, one in letters]
        lines.append(f"if nobody answers: {prose.clean(data['fallback'], 160)}")
        return Result(loop, "\n".join([*lines, *_lowered(data, row)]), data)
    stage.running(loop.state)
    stage.require(loop.state, stages.INTENT, doing="clarifying")
    if dimension not in score.DIMENSIONS:
        raise UsageFault(
            f"there is no dimension {dimension[:30]!r}", "use " + ", ".join(score.DIMENSIONS)
        )
    lines = [
        f"request: {prose.clean(loop.state.text.strip(), 300)}",
        f"unclear: {dimension} ({rubric(dimension)})",
        f"recommendations are {panel.OPTIONS[0]} to {panel.OPTIONS[1]} readings to choose from; "
        "consensus is the likeliest, fallback what is assumed if nobody answers",
    ]
    return _brief(loop, lines, panel.clarify_topics(loop.state), f"--clarify {dimension}")


def on_wave(workspace: Workspace, row: dict | None = None) -> Result:
    """The same on how the next wave is worked: in parallel, or one task at a time."""
    loop = workspace.own_loop()
    state = loop.state
    if row is not None:
        data = _record(workspace, loop, panel.planned, row)
        how = "one task at a time" if data["sequential"] else "in parallel"
        said = f"strategy of wave {data['wave']} recorded: {how}; {_consensus(data)}"
        return Result(loop, "\n".join([said, *_lowered(data, row)]), data)
    stage.running(state)
    if not state.open:
        raise Refused("no task is open", "see loopkit status")
    free = [state.tasks[one] for one in state.open if state.is_free(state.tasks[one])]
    lines = ["next wave, may these run side by side? (add `sequential: true` if not)"]
    for task in free[: settings.MOST_IN_WAVE]:
        files = f" [{', '.join(task.files[:6])}]" if task.files else ""
        lines.append(f"  {task.id} {prose.clean(task.subject, 90)}{prose.clean(files, 200)}")
    return _brief(loop, lines, panel.wave_topics(state), "--wave")


def _record(workspace: Workspace, loop: Loop, decide: Any, *given: Any) -> dict:
    known = profiles.read(place.plugin_root())
    return workspace.change(loop, decide, *given, known)[0][1]


def _brief(loop: Loop, lines: list[str], topics: list[str], about: str) -> Result:
    """What a panel has to know; `about`: the words of the call that records it."""
    head = (
        f"skill counsel:panel; {panel.LEAST} to {panel.MOST} experts, each with another question:"
    )
    said = [*lines, head, *_members(loop.state, topics), "submit as block YAML:"]
    said.append(replies.form("panel"))
    return Result(loop, "\n".join(said), {"topics": topics}, [f"loopkit panel {about} --file -"])


def _members(state: LoopState, topics: list) -> list[str]:
    """A line for each expert of a panel on these topics: role, what it may claim at most, its
    question."""
    lines, asked = [], set()
    known = profiles.read(place.plugin_root())
    for one in panel.choose(panel.allowed(known, state), topics):
        value = panel.confidence(one, topics)
        question = next((ask for ask in one.asks if ask not in asked), one.asks[0])
        asked.add(question)
        weak = " (weak)" if panel.standing(value) == "weak" else ""
        lines.append(
            f"  {one.name} ({one.title}), confidence at most {value}{weak}: "
            f"{prose.clean(str(question), 120)}"
        )
    return lines


def _consensus(data: dict) -> str:
    return prose.clean(data["consensus"], 200)


def _lowered(data: dict, row: dict) -> list[str]:
    claimed = sorted((one["confidence"] for one in row["recommendations"]), reverse=True)
    if claimed != [one["confidence"] for one in data["recommendations"]]:
        return ["a confidence was lowered to what its expert may claim"]
    return []
