"""Handing steps out to roles: recorded, a brief written for each, an agent line and a reply line
for each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..core.steps import briefing, due
from ..render import briefs as render
from ..store import briefs
from ..store.loop import Loop, unwritable
from . import app

if TYPE_CHECKING:
    from ..core.journal.events import Change
    from ..core.journal.state import LoopState
    from ..core.steps.kinds import Step


def hand_out(call: app.App, loop: Loop, steps: list[Step]) -> list[str]:
    """Ask these steps of their roles: the agent lines, then a line for each reply. No step: no
    line.

    The briefs are written before anything is recorded, so that no line names a file that is not
    there. What another command has handed out meanwhile is left to it. Raises Damaged where a brief
    cannot be written.
    """
    if not steps:
        return []
    briefed = {step: _brief(call, loop, step) for step in steps}
    recorded = {(data["kind"], data["task"]) for _, data in call.change(loop, _asked, steps)}
    handed = [step for step in steps if (briefing.asked_as(step), step.subject) in recorded]
    agents = [briefing.agent(loop.state, step, briefed[step]) for step in handed]
    return [*agents, *[briefing.reply(step) for step in handed]]


def _asked(state: LoopState, steps: list[Step]) -> list[Change]:
    now = due.undispatched(state)
    return [briefing.asked(state, step) for step in steps if step in now]


def _brief(call: app.App, loop: Loop, step: Step) -> str:
    """Write the brief of a step; the path as it is shown."""
    text = render.render(loop.state, step, shown(call, loop.folder), reply=briefing.reply(step))
    try:
        return shown(call, briefs.write(loop.folder, step, briefing.number(loop.state, step), text))
    except OSError as error:
        raise unwritable(loop.folder, error) from None


def shown(call: app.App, path: str) -> str:
    """A path as agents are told it: relative where they stand at the project's root, else whole."""
    if os.path.realpath(call.folder) == os.path.realpath(call.project):
        near = os.path.relpath(os.path.realpath(path), os.path.realpath(call.folder))
        if not near.startswith(os.pardir):
            return near
    return path
