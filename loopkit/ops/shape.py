"""The shape: what it is made from."""

from __future__ import annotations

from ..core.evidence import proofs
from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.request import aspects, clarify, shape
from ..core.review import panel
from ..store import place, profiles, project
from .workspace import Workspace

#: Commands of the project that are named at most.
SHOWN = 8


def brief(workspace: Workspace, state: LoopState | None) -> list[str]:
    """What a shape is made from: aspects, commands of the project, types, the form."""
    lines, form = [], shape.FORM
    if state is not None:
        named = aspects.chosen(state)
        known = {one.name: one for one in panel.allowed(profiles.read(place.plugin_root()), state)}
        lines.append(
            "aspects of the request (others, if these miss it), each with its view and its usual "
            "proof:"
        )
        for name in named:
            aspect = aspects.ASPECTS[name]
            view = known.get(aspect.anchor)
            shown = f"{view.name}: {view.viewpoint}" if view else aspect.anchor
            lines.append(f"  {name} · {shown} · {aspect.proof}")
        lines.append(f"in conflict: {', then '.join(aspects.CONFLICTS)}")
        lines += [f"{what}: {prose.clean(text, 200)}" for what, text in clarify.told(state)]
        form = form.replace("<two to five>", ", ".join(named))
    checks = project.checks(
        workspace.work_folder(state) if state is not None else workspace.folder
    )[:SHOWN]
    if checks:
        lines.append("the project's own commands:")
        lines += [
            f"  {check.kind}: {prose.clean(check.command, 120)} ({prose.clean(check.why, 60)})"
            for check in checks
        ]
    return [*lines, "types, strongest first: " + ", ".join(proofs.TYPES), form.rstrip()]
