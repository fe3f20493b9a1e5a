"""A request: made clear, scored, and given its shape."""

import os

from .. import replies
from ..core.evidence import proofs
from ..core.journal import prose, stage, verdict
from ..core.journal.errors import Damaged, Refused, UsageFault
from ..core.journal.state import LoopState
from ..core.request import aspects, clarify, intake, shape
from ..core.request.topics import TOPICS
from ..core.review import convergence, panel
from ..core.steps.request import shape as shape_of
from ..core.steps.request import submitted, wanted
from ..store import atomic, place, profiles, project
from ..store.loop import Loop
from . import memory
from .workspace import Result, Workspace, untrusted_only

#: Commands of the project that a prompt shows at the most.
SHOWN = 8

#: Characters of a request in a line of ours.
LONGEST_REQUEST = 4000
#: How much of the form a vague request needs.
VAGUE = (
    "a vague request, mostly 0 and 1: fill in scores, kind and topics alone, questions come next"
)


def rubric(dimension: str) -> str:
    """What each value of a dimension means."""
    return " · ".join(f"{value} {text}" for value, text in enumerate(stage.RUBRIC[dimension]))


# -- clarifying


def ask_clarification(workspace: Workspace) -> Result:
    """What is unclear about the request, and the form."""
    loop = workspace.own_loop()
    state = loop.state
    stage.running(state)
    stage.require(state, stage.INTENT, doing="clarifying")
    lines = [
        f"request: {prose.clean(' '.join(state.text.split()), LONGEST_REQUEST)}",
        "not explicit; each needs a line of its own under answers or assumptions:",
        *(f"  {name}: {rubric(name)}" for name in clarify.open_dimensions(state)),
        _rounds_left(state),
        "submit as block YAML, the order only where the request is nearly "
        f"explicit (spec {clarify.ORDER_FROM} or more):",
        replies.form("clarification"),
    ]
    return Result(loop, "\n".join(lines), steps=["loopkit clarify --file -"])


def _rounds_left(state: LoopState) -> str:
    left = clarify.rounds_left(state)
    if state.session.unattended:
        return (
            f"nobody can be asked: all of it goes under assumptions, each is marked {clarify.MARK}"
        )
    if left:
        return (
            f"{prose.count(left, 'round')} of questions left; experts with options for one: "
            "loopkit panel --clarify <dimension>"
        )
    return "no round of questions left: what is still open goes under assumptions"


def record_clarification(workspace: Workspace, row: dict) -> Result:
    """Record what was answered and what is assumed."""
    loop = workspace.own_loop()
    data = workspace.change(loop, clarify.clarified, row)[0][1]
    told = f"clarified: {prose.count(len(data['answers']), 'answer')}"
    if data["assumptions"]:
        told += f", {prose.count(len(data['assumptions']), 'assumption')}"
        told += f" (scored {clarify.MOST_ASSUMED} at most)"
    return Result(loop, told, data)


# -- the scores


def ask_scores(workspace: Workspace) -> Result:
    """The rubric."""
    loop = workspace.own_loop()
    return Result(loop, "\n".join(f"{name}: {rubric(name)}" for name in stage.DIMENSIONS))


def record_scores(
    workspace: Workspace, values: dict[str, int | str | None], overrule: str | None = None
) -> Result:
    """Record scores, topics and kind, or an overrule; without either show the scores."""
    loop = workspace.own_loop()
    scored = any(value is not None for value in values.values())
    if overrule is not None and scored:
        raise UsageFault("--overrule together with scores", "score first, then overrule")
    if overrule is None and not scored and loop.state.scores:
        return Result(loop, _scores(loop.state.scores))
    if overrule is not None:
        workspace.check_somebody("overrules", loop)
        workspace.change(loop, intake.overruled, overrule)
    else:
        workspace.change(loop, intake.scored, values)
    scores = loop.state.scores or {}
    text = _scores(scores)
    try:
        stage.check_leave_intent(scores, loop.state.overruled)
    except Refused as error:
        low = [name for name in stage.DIMENSIONS if scores["values"][name] < 2]
        text += f"\nstays in intent: {error}\nunder 2: {', '.join(low)}"
        return Result(loop, text, scores, code=1)
    prompt = ["SHAPE.md (skill hope:shape):", *_shape_prompt(workspace, loop.state)]
    return Result(loop, "\n".join([text, *prompt]), scores)


def _scores(scores: dict) -> str:
    return (
        f"spec {scores['spec']}/10, fit {scores['fit']}, shape {scores['shape'] or 'none: blocked'}"
    )


# -- SHAPE.md


def ask_shape(workspace: Workspace) -> Result:
    """The prompt of a loop's request; without a loop, or with one that is over, the form alone."""
    root = workspace.root
    loop = Loop.active(root) if root and not untrusted_only(root) else None
    alive = loop is not None and loop.ours and loop.state.session.status not in verdict.FINAL
    state = loop.state if loop is not None and alive else None
    row: dict = {"types": proofs.TYPES, "form": shape.FORM}
    if state is not None:
        row["aspects"] = aspects.chosen(state)
        checks = project.runnable(workspace.work_folder(state), workspace.environment)
        row["commands"] = [check._asdict() for check in checks]
    return Result(None, "\n".join(_shape_prompt(workspace, state)), row)


def _shape_prompt(workspace: Workspace, state: LoopState | None) -> list[str]:
    """What a shape is made from: aspects, the project's own commands, types, the form."""
    lines, form, folder = [], shape.FORM, workspace.folder
    if state is not None:
        folder = workspace.work_folder(state)
        names = aspects.chosen(state)
        experts = panel.allowed(profiles.read(place.plugin_root()), state)
        views = {expert.name: f"{expert.name}: {expert.viewpoint}" for expert in experts}
        lines.append(
            "aspects of the request (others, if these miss it), each with its view and its usual "
            "proof:"
        )
        for name in names:
            aspect = aspects.ASPECTS[name]
            view = views.get(aspect.anchor, aspect.anchor)
            lines.append(f"  {name} · {view} · {aspect.proof}")
        lines.append(f"in conflict: {', then '.join(aspects.CONFLICTS)}")
        lines += [f"{what}: {prose.clean(text, 200)}" for what, text in clarify.told(state)]
        form = form.replace("<two to five>", ", ".join(names))
    checks = project.runnable(folder, workspace.environment)[:SHOWN]
    if checks:
        lines.append("the project's own commands:")
        lines += [
            f"  {check.kind}: {prose.clean(check.command, 120)} ({prose.clean(check.why, 60)})"
            for check in checks
        ]
    return [*lines, "types, strongest first: " + ", ".join(proofs.TYPES), form.rstrip()]


def accept_shape(workspace: Workspace, text: str, max_mode: int = 0o666) -> Result:
    """Check a SHAPE.md and store it, with at most these permission bits. Raises ShapeFaults."""
    loop = workspace.own_loop()
    data = workspace.change(loop, intake.shaped, text)[0][1]
    store(loop.folder, text, max_mode)
    if data.get("stronger"):
        return Result(loop, f"proof of {', '.join(data['stronger'])} grown stronger")
    rows, state = data["criteria"], loop.state
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
    if state.stage == stage.DECOMPOSE and not state.terms.plan_reviewed:
        lines.append(
            "tasks as a block YAML list; verify exits 0 when the task is done and runs without "
            "a shell:\n" + replies.form("tasks")
        )
    return Result(loop, "\n".join(lines))


# -- all of it in one form


def ask_request(workspace: Workspace) -> Result:
    """What the form is filled in from, and the form with what the loop has not got yet."""
    loop = workspace.own_loop()
    state, fields, lines = loop.state, wanted(loop.state), []
    if "scores" in fields:
        learnt = memory.fitting(workspace, loop.root, state)
        if learnt:
            lines += ["learnt before:", *("  " + line for line in memory.recall_lines(learnt))]
            fields.insert(fields.index("title"), "learnings")
        clear = " with its clarification" if state.clarified else ""
        lines.append(f"scores, 0 to 2 each, of what the request{clear} says and nothing else:")
        lines += [f"  {name}: {rubric(name)}" for name in stage.DIMENSIONS]
        if "topics" in fields:
            lines += ["topics, one to three of: " + ", ".join(TOPICS), VAGUE]
    lines += [f"{what}: {prose.clean(text, 400)}" for what, text in clarify.told(state)]
    checks = project.runnable(workspace.work_folder(state), workspace.environment)[:SHOWN]
    if checks:
        lines.append("the project's own commands:")
        lines += [f"  {one.kind}: {prose.clean(one.command, 120)}" for one in checks]
    if "criteria" in fields:
        above = ", those above included" if state.clarified else ""
        lines.append(
            f"at least one criterion and two mustNots{above}; they are C1, C2 … and M1, M2 …"
        )
    return Result(loop, "\n".join([*lines, "the form:", replies.form("request", *fields)]))


def record_request(workspace: Workspace, row: dict) -> Result:
    """Record all of it, or nothing; scores that are too low alone."""
    loop = workspace.own_loop()
    titles = [one.title for _, one in memory.fitting(workspace, loop.root, loop.state)]
    changes = dict(workspace.change(loop, submitted, row, titles))
    state, lines = loop.state, []
    if "scored" in changes:
        vague = ", too vague to be planned" if state.stage == stage.INTENT else ""
        lines.append(_scores(state.scores or {}) + vague)
    if "shape_saved" in changes:
        store(loop.folder, shape_of(row))
        lines.append(f"{', '.join(state.criteria)} recorded in {shape.FILE}")
    if "task_added" in changes:
        lines += [f"{one.id} {prose.clean(one.subject, 100)}" for one in state.tasks.values()]
    return Result(loop, "\n".join(lines), {"tasks": list(state.tasks)})


def store(folder: str, text: str, max_mode: int = 0o666) -> None:
    """Keep a SHAPE.md in a loop's folder, with at most these permission bits. Raises Damaged."""
    target = os.path.join(folder, shape.FILE)
    try:
        atomic.write(target, text.encode("utf-8", "replace"), most=max_mode)
    except OSError as error:
        what = f"cannot write {target}: {error.strerror}"
        raise Damaged(what, "the shape is recorded; make room, then submit it again") from None
