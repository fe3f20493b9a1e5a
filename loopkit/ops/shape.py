"""SHAPE.md: what it is made from, and how it is stored."""

from __future__ import annotations

import os

from .. import replies
from ..core.evidence import proofs
from ..core.journal import prose, stages, verdict
from ..core.journal.errors import Damaged
from ..core.journal.state import LoopState
from ..core.request import aspects, clarify, intake, shape
from ..core.review import convergence, panel
from ..store import atomic, place, profiles, project
from ..store.loop import Loop
from .workspace import Result, Workspace, untrusted_only

#: Commands of the project that a brief shows at the most.
SHOWN = 8


def accept(workspace: Workspace, text: str, most: int) -> Result:
    """Check a SHAPE.md strictly and store it, with at most these permission bits. Raises
    ShapeFaults."""
    loop = workspace.own_loop()
    data = workspace.change(loop, intake.shaped, text)[0][1]
    target = os.path.join(loop.folder, shape.FILE)
    try:
        atomic.write(target, text.encode("utf-8"), most=most)
    except OSError as error:
        raise Damaged(
            f"cannot write {target}: {error.strerror}",
            "the shape is recorded; make room, then submit it again",
        ) from None
    return Result(loop, _said(loop.state, data))


def show(workspace: Workspace) -> Result:
    """The brief of a loop's request; without a loop, or with one that is over, the form alone."""
    root = workspace.root
    loop = Loop.active(root) if root and not untrusted_only(root) else None
    alive = loop is not None and loop.ours and loop.state.session.status not in verdict.FINAL
    state = loop.state if loop is not None and alive else None
    row: dict = {"types": proofs.TYPES, "form": shape.FORM}
    if state is not None:
        row["aspects"] = aspects.chosen(state)
        row["commands"] = [one._asdict() for one in project.checks(workspace.work_folder(state))]
    return Result(None, "\n".join(brief(workspace, state)), row)


def brief(workspace: Workspace, state: LoopState | None) -> list[str]:
    """What a shape is made from: aspects with anchor and proof, the project's own commands, types,
    the form."""
    lines, form, folder = [], shape.FORM, workspace.folder
    if state is not None:
        folder = workspace.work_folder(state)
        named = aspects.chosen(state)
        known = {one.name: one for one in panel.allowed(profiles.read(place.plugin_root()), state)}
        lines.append(
            "aspects of the request (others, if these miss it), each with its view and its usual "
            "proof:"
        )
        for name in named:
            one = aspects.ASPECTS[name]
            view = known.get(one.anchor)
            said = f"{view.name}: {view.viewpoint}" if view else one.anchor
            lines.append(f"  {name} · {said} · {one.proof}")
        lines.append(f"in conflict: {', then '.join(aspects.CONFLICTS)}")
        lines += [f"{what}: {prose.clean(text, 200)}" for what, text in clarify.told(state)]
        form = form.replace("<two to five>", ", ".join(named))
    checks = project.checks(folder)[:SHOWN]
    if checks:
        lines.append("the project's own commands:")
        lines += [
            f"  {one.kind}: {prose.clean(one.command, 120)} ({prose.clean(one.why, 60)})"
            for one in checks
        ]
    return [*lines, "types, strongest first: " + ", ".join(proofs.TYPES), form.rstrip()]


def _said(state: LoopState, data: dict) -> str:
    rows = data["criteria"]
    if data.get("stronger"):
        return f"proof of {', '.join(data['stronger'])} grown stronger"
    musts = sum(row["must_not"] for row in rows)
    counted = prose.count(len(rows) - musts, "criterion", "criteria")
    lines = [f"shape recorded: {counted}, {musts} mustNot; aspects: {', '.join(data['aspects'])}"]
    weak = [row["id"] for row in rows if row["type"] in proofs.UNSEEN and not row["must_not"]]
    if weak:
        lines.append(
            f"{', '.join(weak)} rests on nothing that can be seen: that will block completion"
        )
    if convergence.growing(state.shape_rounds):
        lines.append(
            "it has grown again and no goal is another: longer is not better; keep what changes "
            "the outcome"
        )
    if state.stage == stages.DECOMPOSE and not state.terms.plan_reviewed:
        lines.append(
            "tasks as a block YAML list; verify exits 0 when the task is done and runs without "
            "a shell:\n" + replies.form("tasks")
        )
    return "\n".join(lines)
