"""Handing steps out to roles: recorded, a brief written for each, an agent line and a reply line for each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..core import briefing
from ..core.errors import Refused
from ..render import briefs as render
from ..store import briefs
from ..store.loop import Loop, unwritable
from . import app

if TYPE_CHECKING:
    from ..core.intake import Change
    from ..core.state import LoopState
    from ..core.supervision import Step


def hand_out(call: app.App, loop: Loop, steps: list[Step]) -> list[str]:
    """Ask these steps of their roles: the agent lines, then a line for each reply. No step: no line.

    The briefs are written before anything is recorded, so that no line names a file that is not there. Raises Damaged
    where they cannot be, Refused where another command has handed out the same meanwhile.
    """
    if not steps:
        return []
    numbers = [briefing.number(loop.state, step) for step in steps]
    agents = []
    for step, number in zip(steps, numbers, strict=True):
        text = render.render(loop.state, step, shown(call, loop.folder), reply=briefing.reply(step))
        try:
            path = briefs.write(loop.folder, step, number, text)
        except OSError as error:
            raise unwritable(loop.folder, error) from None
        agents.append(briefing.agent(loop.state, step, shown(call, path)))
    call.change(loop, _asked, steps, numbers)
    return [*agents, *[briefing.reply(step) for step in steps]]


def _asked(state: LoopState, steps: list[Step], numbers: list[int]) -> list[Change]:
    for step, number in zip(steps, numbers, strict=True):
        if briefing.number(state, step) != number:
            raise Refused("another command has handed this out meanwhile", "next: loopkit wave next")
    return [briefing.asked(step, number) for step, number in zip(steps, numbers, strict=True)]


def shown(call: app.App, path: str) -> str:
    """A path as agents are told it: relative where they stand at the project's root, else whole."""
    if os.path.realpath(call.folder) == os.path.realpath(call.project):
        near = os.path.relpath(os.path.realpath(path), os.path.realpath(call.folder))
        if not near.startswith(os.pardir):
            return near
    return path
