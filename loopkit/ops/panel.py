"""Panels of experts: whom to ask what, what they found."""

from collections.abc import Callable
from typing import Any

from .. import replies
from ..core.journal import prose, settings, stage
from ..core.journal.errors import Refused, UsageFault
from ..core.plan import work
from ..core.review import panel
from ..store import place, profiles
from ..store.loop import Loop
from .request import LONGEST_REQUEST, rubric
from .review import chosen, expert_line
from .workspace import Result, Workspace


def on_task(workspace: Workspace, task_id: str, row: dict | None = None) -> Result:
    """A panel on a stuck task: record what it found, or (row None) whom to ask what."""
    loop = workspace.own_loop()
    task = work.find(loop.state, task_id)
    if row is not None:
        data = _record(workspace, loop, panel.recorded, task.id, row)
        text = f"panel on {data['task']} recorded; the next attempt is told: {_consensus(data)}"
        return _recorded(loop, [text], data, row)
    stage.running(loop.state)
    lines = [
        f"{task.id} ({prose.clean(task.subject, 100)}), "
        f"{prose.count(task.attempts, 'failed attempt')}"
    ]
    for entry in task.history[-3:]:
        tried, error = prose.clean(entry["approach"], 120), prose.last(entry["error"], 300)
        lines.append(f"tried: {tried}; error: {error}")
    earlier = [
        f"failed, not again: {prose.clean(data['consensus'], 160)}"
        for data in loop.state.panels
        if data.get("task") == task.id and data.get("attempt", 0) < task.attempts
    ]
    lines += earlier[-3:]
    return _block(loop, lines, panel.stuck_topics(loop.state, task), task.id)


def unheard(workspace: Workspace, task_id: str) -> Result:
    """Nothing that a panel on a stuck task said can be used: the work goes on without it."""
    loop = workspace.own_loop()
    workspace.change(loop, panel.unheard, task_id)
    return Result(loop, f"the next attempt at {task_id} goes without a panel")


def on_dimension(workspace: Workspace, dimension: str, row: dict | None = None) -> Result:
    """The same on an unclear dimension of the request: its readings are choices."""
    loop = workspace.own_loop()
    if row is not None:
        data = _record(workspace, loop, panel.clarified, dimension, row)
        lines = [f"panel on {dimension} recorded; choices:"]
        lines += [
            f"  {letter}) {prose.clean(choice['approach'], 160)}"
            for letter, choice in zip("ABCD", data["recommendations"], strict=False)
        ]
        lines.append(f"if nobody answers: {prose.clean(data['fallback'], 160)}")
        return _recorded(loop, lines, data, row)
    stage.running(loop.state)
    stage.require(loop.state, stage.INTENT, doing="clarifying")
    if dimension not in stage.DIMENSIONS:
        what = f"there is no dimension {dimension[:30]!r}"
        raise UsageFault(what, "use " + ", ".join(stage.DIMENSIONS))
    lines = [
        f"request: {prose.clean(' '.join(loop.state.text.split()), LONGEST_REQUEST)}",
        f"unclear: {dimension} ({rubric(dimension)})",
        f"recommendations are {panel.OPTIONS[0]} to {panel.OPTIONS[1]} readings to choose from; "
        "consensus is the likeliest, fallback what is assumed if nobody answers",
    ]
    return _block(loop, lines, panel.clarify_topics(loop.state), f"--clarify {dimension}")


def on_wave(workspace: Workspace, row: dict | None = None) -> Result:
    """The same on how the next wave is worked: in parallel, or one task at a time."""
    loop = workspace.own_loop()
    state = loop.state
    if row is not None:
        data = _record(workspace, loop, panel.planned, row)
        how = "one task at a time" if data["sequential"] else "in parallel"
        text = f"strategy of wave {data['wave']} recorded: {how}; {_consensus(data)}"
        return _recorded(loop, [text], data, row)
    stage.running(state)
    if not state.open:
        raise Refused("no task is open", "see loopkit status")
    free = [state.tasks[name] for name in state.open if state.is_free(state.tasks[name])]
    lines = ["next wave, may these run side by side? (add `sequential: true` if not)"]
    for task in free[: settings.MOST_IN_WAVE]:
        files = f" [{', '.join(task.files[:6])}]" if task.files else ""
        lines.append(f"  {task.id} {prose.clean(task.subject, 90)}{prose.clean(files, 200)}")
    return _block(loop, lines, panel.wave_topics(state), "--wave")


def _block(loop: Loop, lines: list[str], topics: list[str], about: str) -> Result:
    """What a panel has to know. about: the words of the call that records it."""
    lines.append(f"{panel.LEAST} to {panel.MOST} experts, each with another question:")
    for expert, question, value in chosen(loop.state, topics):
        weak = " (weak)" if panel.standing(value) == "weak" else ""
        lines.append(expert_line(expert, question, f"at most {value}{weak}"))
        lines.append(f"    {expert.viewpoint} Trusts: {expert.evidence}.")
    text = "\n".join([*lines, "submit as block YAML:", replies.form("panel")])
    return Result(loop, text, {"topics": topics}, [f"loopkit panel {about} --file -"])


def _record(workspace: Workspace, loop: Loop, decide: Callable, *arguments: Any) -> dict:
    known = profiles.read(place.plugin_root())
    return workspace.change(loop, decide, *arguments, known)[0][1]


def _recorded(loop: Loop, lines: list[str], data: dict, row: dict) -> Result:
    claimed = sorted((claim["confidence"] for claim in row["recommendations"]), reverse=True)
    if claimed != [granted["confidence"] for granted in data["recommendations"]]:
        lines.append("a confidence was lowered to what its expert may claim")
    return Result(loop, "\n".join(lines), data)


def _consensus(data: dict) -> str:
    return prose.clean(data["consensus"], 200)
