"""Dispatching steps to agents: for each a record, a prompt, an agent line and a reply line."""

import os

from .. import replies
from ..core.journal import limits, prose, stage
from ..core.journal.errors import LimitReached
from ..core.journal.events import Change
from ..core.journal.state import LoopState
from ..core.steps import context, due, kinds
from ..core.steps.kinds import Step
from ..render import prompts as render
from ..store import atomic, prompts
from ..store.loop import Loop, writes
from .workspace import Result, Workspace


def dispatch(workspace: Workspace, loop: Loop, text: str = "", data: dict | None = None) -> Result:
    """The agent lines of all that is due, then a line for each reply; where all is out, the replies
    that are. text, data: what was recorded before, for people and as a record."""
    waiting, out = due.undispatched(loop.state), due.outstanding(loop.state)
    steps = lines(workspace, loop, waiting)
    if not steps:  # all is out, or another command has dispatched it just now
        # what is derived follows, should whoever dispatched it have died
        workspace.change(loop, lambda state: [])
        out = due.outstanding(loop.state)
        still = prose.count(len(out), "reply is", "replies are")
        text = f"{still} still out; wait, end the turn if need be"
        return Result(loop, text, {"out": _rows(out)}, [context.reply(step) for step in out])
    head, *rest = (text or f"{prose.count(len(waiting), 'step')} dispatched").split("\n")
    if len(waiting) > 1:
        head += ", to be done side by side"
    if out:
        head += f"; still out: {', '.join(map(kinds.key, out))}"
    row = {**(data or {}), "handed": _rows(waiting), "out": _rows(out)}
    return Result(loop, "\n".join([head, *rest]), row, steps)


def _rows(steps: list[Step]) -> list[dict]:
    return [context.shown(step) for step in steps]


def lines(workspace: Workspace, loop: Loop, steps: list[Step]) -> list[str]:
    """Ask these steps of their agents: the agent lines, then a line for each reply.

    The prompts are written before anything is recorded, so that no line names a missing file. What
    another command has dispatched meanwhile is left to it. Raises Damaged: a prompt not written.
    """
    if not steps:
        return []
    paths = {step: write(workspace, loop, step, context.reply(step)) for step in steps}
    recorded = {(data["kind"], data["task"]) for _, data in workspace.change(loop, _asked, steps)}
    dispatched = [step for step in steps if (context.asked_as(step), step.subject) in recorded]
    agents = [context.agent(loop.state, step, paths[step]) for step in dispatched]
    return [*agents, *[context.reply(step) for step in dispatched]]


def _asked(state: LoopState, steps: list[Step]) -> list[Change]:
    now = due.undispatched(state)
    return [context.asked(state, step) for step in steps if step in now]


def write(workspace: Workspace, loop: Loop, step: Step, reply: str, form: str | None = None) -> str:
    """Write the prompt of a step; the path as it is shown. reply: the line that hands the answer
    over · form: another one than the reply's own."""
    keep_request(loop)
    schema = kinds.KINDS[step.kind].reply if form is None else ""
    form = form if form is not None else replies.asked(schema)
    text = render.render(loop.state, step, shown(workspace, loop.folder), reply=reply, form=form)
    with writes(loop.folder):
        number = context.number(loop.state, step)
        wanted = replies.accepted(schema) if schema else None
        return shown(workspace, prompts.write(loop.folder, step, number, text, wanted))


def keep_request(loop: Loop) -> None:
    """A request that is too long for a prompt lies in a file beside the loop."""
    text, path = loop.state.text.strip(), os.path.join(loop.folder, render.REQUEST)
    if len(text) <= render.LONGEST_REQUEST or os.path.exists(path):
        return
    with writes(loop.folder):
        atomic.write(path, text.encode("utf-8", "replace"))


def shown(workspace: Workspace, path: str) -> str:
    """A path as agents are told it: relative where they stand at the project's root, else whole."""
    if os.path.realpath(workspace.folder) == os.path.realpath(workspace.project):
        near = os.path.relpath(os.path.realpath(path), os.path.realpath(workspace.folder))
        if not near.startswith(os.pardir):
            return near
    return path


# -- limits


def over(loop: Loop, used: dict) -> Change | None:
    """The pause that a limit asks for now; None where each has room left."""
    session = loop.state.session
    usd, _, _ = session.cost(used.get("usage"))
    seconds = session.spent_seconds + used.get("worked", 0)
    reached = limits.reached(session.iteration, usd, seconds, session.most)
    return ("paused", {"verdict": reached[0], "reason": reached[1]}) if reached else None


def check_limits(workspace: Workspace, loop: Loop) -> None:
    """Raises LimitReached, the loop paused, where one is used up."""
    pause = over(loop, workspace.unread(loop))
    if pause is not None:
        workspace.change(loop, lambda state: [pause])
        raise LimitReached(pause[1]["reason"], stage.raised(loop.state.session))
