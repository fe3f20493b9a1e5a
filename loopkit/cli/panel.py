"""loopkit panel: experts on a stuck task."""

from __future__ import annotations

import click

from ..core import announce, panel, work
from ..store import place, profiles
from . import app, experts

FORM = """\
experts:
- name: …
  question: "…"
  diagnosis: "…"
recommendations:
- approach: "…"
  confidence: <0-9>
consensus: "…"
fallback: "…\""""


@app.command("panel", "loopkit panel T-003 --file -")
@click.argument("task_id")
@click.option("--file", "source", metavar="FILE", help="What the panel found, as block YAML; - for standard input.")
def command(call: app.App, task_id: str, source: str | None) -> None:
    """Brief a panel on a task that failed (error, what was tried, whom to ask), or record what it found."""
    loop = call.own_loop()
    task = work.find(loop.state, task_id)
    if source:
        changes = call.change(loop, panel.recorded, task_id, app.read_record(source, dict))
        data = changes[0][1]
        call.answer(
            loop,
            f"panel on {task.id} recorded; the next attempt is told: {announce.clean(data['consensus'], 200)}",
            data,
        )
        return
    lines = [f"{task.id} ({announce.clean(task.subject, 100)}), {announce.count(task.attempts, 'failed attempt')}"]
    for entry in task.history[-3:]:
        lines.append(
            f"tried: {announce.clean(entry['approach'], 120)}; error: {announce.clean(entry['error'][-300:], 300)}"
        )
    said = f"{task.subject} {task.description} {task.history[-1]['error'] if task.history else ''}"
    topics = panel.topics_in(said, "debugging")
    chosen = panel.choose(profiles.read(place.plugin_root()), topics)
    lines.append(f"skill counsel:panel; {panel.LEAST} to {panel.MOST} experts, each with another question:")
    for one in chosen:
        value = panel.confidence(one, topics)
        lines.append(
            f"  {one.name} ({one.title}), confidence at most {value}: {announce.clean(experts.question(one), 120)}"
        )
    lines.append("hand in as block YAML:\n" + FORM)
    call.answer(loop, "\n".join(lines), None, [f"loopkit panel {task.id} --file -"])
