"""loopkit panel: experts on a stuck task, on an unclear dimension of the request, on how to work
the next wave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..core.journal import prose, score, settings, stage, stages
from ..core.journal.errors import Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.plan import work
from ..core.review import panel
from ..store import place, profiles
from ..store.loop import Loop
from . import app

FORM = """\
experts:
- name: …
  question: "…"
  diagnosis: "…"
recommendations:
- approach: "…"
  confidence: <0-9>
  by: <name>
consensus: "…"
dissent: "<who sees it otherwise, and why; may be left out>"
fallback: "…\""""


@app.command("panel", "loopkit panel T-003 --file -")
@click.argument("task_id", required=False)
@click.option(
    "--clarify",
    metavar="DIMENSION",
    help="The readings of a dimension of the request that is unclear.",
)
@click.option(
    "--wave", is_flag=True, help="How the next wave is worked: in parallel, or one task at a time."
)
@click.option(
    "--file",
    "source",
    metavar="FILE",
    help="What the panel found, as block YAML; - for standard input.",
)
def command(
    call: app.App, task_id: str | None, clarify: str | None, wave: bool, source: str | None
) -> None:
    """Brief a panel (whom to ask what, about what), or record what it found with --file."""
    if sum((task_id is not None, clarify is not None, wave)) != 1:
        raise UsageFault("give a task, --clarify DIMENSION or --wave", "see loopkit panel --help")
    loop = call.own_loop()
    known = profiles.read(place.plugin_root())
    if task_id is not None:
        line = f"loopkit panel {work.find(loop.state, task_id).id}"
        decide: Callable[..., list[Change]] = panel.recorded
        _run(call, loop, known, source, line, _stuck, decide, task_id)
    elif clarify is not None:
        _run(
            call,
            loop,
            known,
            source,
            f"loopkit panel --clarify {clarify}",
            _clarify,
            panel.clarified,
            clarify,
        )
    else:
        _run(call, loop, known, source, "loopkit panel --wave", _wave, panel.planned)


def _run(
    call: app.App,
    loop: Loop,
    known: list,
    source: str | None,
    line: str,
    brief: Callable[..., tuple[list[str], list[str]]],
    decide: Callable[..., list[Change]],
    *about: Any,
) -> None:
    """Record what a panel found, or print its brief. `line`: the call itself; `about`: what it is
    about."""
    if source:
        given = app.read_record(call, source, dict)
        data = call.change(loop, decide, *about, given, known)[0][1]
        call.answer(loop, "\n".join(_said(data, given)), data)
        return
    stage.running(loop.state)
    lines, topics = brief(loop.state, *about)
    lines.append(
        f"skill counsel:panel; {panel.LEAST} to {panel.MOST} experts, each with another question:"
    )
    lines += members(loop.state, known, topics)
    lines.append("hand in as block YAML:\n" + FORM)
    call.answer(loop, "\n".join(lines), {"topics": topics}, [f"{line} --file -"])


def members(state: LoopState, known: list, topics: list) -> list[str]:
    """A line for each expert of a panel on these topics: role, what it may claim at most, its
    question."""
    lines, asked = [], set()
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


def _stuck(state: LoopState, task_id: str) -> tuple[list[str], list[str]]:
    task = work.find(state, task_id)
    lines = [
        f"{task.id} ({prose.clean(task.subject, 100)}), "
        f"{prose.count(task.attempts, 'failed attempt')}"
    ]
    for entry in task.history[-3:]:
        lines.append(
            f"tried: {prose.clean(entry['approach'], 120)}; error: "
            f"{prose.clean(entry['error'][-300:], 300)}"
        )
    earlier = [
        one
        for one in state.panels
        if one.get("task") == task.id and one.get("attempt", 0) < task.attempts
    ]
    lines += [f"failed, not again: {prose.clean(one['consensus'], 160)}" for one in earlier[-3:]]
    return lines, panel.stuck_topics(state, task)


def _clarify(state: LoopState, dimension: str) -> tuple[list[str], list[str]]:
    stage.require(state, stages.INTENT, doing="clarifying")
    if dimension not in score.DIMENSIONS:
        raise UsageFault(
            f"there is no dimension {dimension[:30]!r}", "use " + ", ".join(score.DIMENSIONS)
        )
    words = " · ".join(f"{value} {text}" for value, text in enumerate(score.RUBRIC[dimension]))
    lines = [
        f"request: {prose.clean(state.text.strip(), 300)}",
        f"unclear: {dimension} ({words})",
        f"recommendations are {panel.OPTIONS[0]} to {panel.OPTIONS[1]} readings to choose from; "
        "consensus is the likeliest, "
        "fallback what is assumed "
        "if nobody answers",
    ]
    return lines, panel.clarify_topics(state)


def _wave(state: LoopState) -> tuple[list[str], list[str]]:
    if not state.open:
        raise Refused("no task is open", "see loopkit status")
    free = [state.tasks[one] for one in state.open if state.is_free(state.tasks[one])]
    lines = ["next wave, may these run side by side? (add `sequential: true` if not)"]
    for task in free[: settings.MOST_IN_WAVE]:
        files = f" [{', '.join(task.files[:6])}]" if task.files else ""
        lines.append(f"  {task.id} {prose.clean(task.subject, 90)}{prose.clean(files, 200)}")
    return lines, panel.wave_topics(state)


def _said(data: dict, given: dict) -> list[str]:
    if data["call"] == "clarify":
        lines = [f"panel on {data['dimension']} recorded; choices:"]
        letters = zip("ABCD", data["recommendations"], strict=False)
        lines += [f"  {letter}) {prose.clean(one['approach'], 160)}" for letter, one in letters]
        lines.append(f"if nobody answers: {prose.clean(data['fallback'], 160)}")
    elif data["call"] == "wave":
        how = "one task at a time" if data["sequential"] else "in parallel"
        lines = [
            f"strategy of wave {data['wave']} recorded: {how}; "
            f"{prose.clean(data['consensus'], 200)}"
        ]
    else:
        lines = [
            f"panel on {data['task']} recorded; the next attempt is told: "
            f"{prose.clean(data['consensus'], 200)}"
        ]
    claimed = [float(one.get("confidence") or 0) for one in given["recommendations"]]
    if sorted(claimed, reverse=True) != [one["confidence"] for one in data["recommendations"]]:
        lines.append("a confidence was lowered to what its expert may claim")
    return lines
