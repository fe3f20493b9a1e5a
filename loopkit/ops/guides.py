"""Guidance that comes with a step: the request and the skill's own text, once in a session."""

from __future__ import annotations

import os

from ..core.journal.session import GUIDE
from ..core.journal.state import LoopState
from ..core.steps import kinds
from ..core.steps.kinds import KINDS, Step
from ..core.steps.request import wanted
from ..render import prompts
from ..store import place
from ..store.loop import Loop
from . import dispatch
from .workspace import Workspace

_SHAPE, _TASKS = "plugins/hope/skills/shape", "skills/decomposition"
#: The folders of the skills that a form is filled in by.
_SKILLS = {
    kinds.SCORE: (_SHAPE, _TASKS),
    kinds.SHAPE: (_SHAPE, _TASKS),
    kinds.TASKS: (_TASKS,),
    kinds.PROOFS: (_SHAPE,),
    kinds.SPLIT: (_TASKS,),
    kinds.CLARIFY: ("plugins/hope/skills/intent",),
    kinds.PANEL: ("plugins/counsel/skills/panel",),
    kinds.GATE: ("plugins/hope/skills/gate",),
}
#: How a session works with the loop at all, and what the loop is for.
_RULES, _REQUEST = "rules", "request"
#: Where the part of a skill begins that a printed step says itself.
_ALONE = "**By itself.**"


def due(workspace: Workspace, loop: Loop, steps: list[Step]) -> str:
    """The texts for these steps that this session has not been shown yet; "" where there are
    none."""
    told = loop.state.session.notices
    skills = [name for step in steps for name in _skills(loop.state, step)]
    names = [_RULES, _REQUEST, *skills]
    fresh = [one for one in dict.fromkeys(names) if GUIDE + one not in told]
    texts = [(one, _body(workspace, loop, one)) for one in fresh]
    changes = [("notice_given", {"name": GUIDE + one}) for one, text in texts if text]
    if changes:
        workspace.change(loop, lambda state: changes)
    return "\n\n".join(f"{text}\n" for _, text in texts if text)


def of(workspace: Workspace, loop: Loop, step: Step) -> str:
    """The request and all texts of a step, for an agent that has been shown nothing."""
    names = (_REQUEST, *_skills(loop.state, step))
    return "\n\n".join(filter(None, (_body(workspace, loop, name) for name in names)))


def _skills(state: LoopState, step: Step) -> list[str]:
    """The skills of a step; how work is cut is none of a form's without tasks, which a planner
    gives."""
    names = list(_SKILLS.get(step.kind, ()))
    if KINDS[step.kind].reply == "request" and "tasks" not in wanted(state):
        names = [name for name in names if name != _TASKS]
    return names


def _body(workspace: Workspace, loop: Loop, name: str) -> str:
    if name == _REQUEST:
        dispatch.keep_request(loop)
        text = prompts.whole(loop.state.text.strip(), dispatch.shown(workspace, loop.folder))
        return f"# The request\n\n{text}"
    if name == _RULES:
        return _read("templates/rules.md")
    text = _read(f"{name}/SKILL.md").split("---\n", 2)[-1].partition(_ALONE)[0].strip()
    return f"# How: {name.rpartition('/')[2]}\n\n{text}" if text else ""


def _read(name: str) -> str:
    try:
        with open(os.path.join(place.plugin_root(), name), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
