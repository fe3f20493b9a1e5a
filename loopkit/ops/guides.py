"""Guidance that comes with a step: the skill's own text, once in a session."""

from __future__ import annotations

import os

from ..core.journal.session import GUIDE
from ..core.steps import kinds
from ..core.steps.kinds import Step
from ..store import place
from ..store.loop import Loop
from .workspace import Workspace

_SHAPE, _TASKS = "plugins/hope/skills/shape", "skills/decomposition"
#: The folders of the skills that a form is filled in by.
_SKILLS = {
    kinds.SCORE: (_SHAPE, _TASKS),
    kinds.SHAPE: (_SHAPE, _TASKS),
    kinds.TASKS: (_TASKS,),
    kinds.SPLIT: (_TASKS,),
    kinds.CLARIFY: ("plugins/hope/skills/intent",),
    kinds.PANEL: ("plugins/counsel/skills/panel",),
    kinds.GATE: ("plugins/hope/skills/gate",),
}


def due(workspace: Workspace, loop: Loop, step: Step) -> str:
    """The texts that this session has not been shown yet; "" where there are none."""
    told = loop.state.session.notices
    fresh = [one for one in _SKILLS.get(step.kind, ()) if GUIDE + one not in told]
    texts = [(one, _body(one)) for one in fresh]
    changes = [("notice_given", {"name": GUIDE + one}) for one, text in texts if text]
    if changes:
        workspace.change(loop, lambda state: changes)
    return "\n\n".join(text for _, text in texts if text)


def _body(skill: str) -> str:
    """A skill without its front matter and its example of a single command."""
    path = os.path.join(place.plugin_root(), skill, "SKILL.md")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return ""
    return text.split("---\n", 2)[-1].partition("**Example.**")[0].strip()
