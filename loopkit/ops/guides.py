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


#: How a session works with the loop at all.
_RULES = "rules"


def due(workspace: Workspace, loop: Loop, steps: list[Step]) -> str:
    """The texts for these steps that this session has not been shown yet; "" where there are
    none."""
    told = loop.state.session.notices
    names = [_RULES, *(name for step in steps for name in _SKILLS.get(step.kind, ()))]
    texts = [(one, _body(one)) for one in dict.fromkeys(names) if GUIDE + one not in told]
    changes = [("notice_given", {"name": GUIDE + one}) for one, text in texts if text]
    if changes:
        workspace.change(loop, lambda state: changes)
    return "\n\n".join(text for _, text in texts if text)


def _body(skill: str) -> str:
    """The rules, or a skill without its front matter and its example of a single command."""
    name = "templates/rules.md" if skill == _RULES else f"{skill}/SKILL.md"
    path = os.path.join(place.plugin_root(), name)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return ""
    return text.split("---\n", 2)[-1].partition("**Example.**")[0].strip()
