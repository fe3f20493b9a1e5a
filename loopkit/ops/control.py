"""The person's hand on the loop: pause, end it, ask, answer, say yes; and its completion."""

from ..core.journal import prose, verdict
from ..core.journal.errors import LoopError, UsageFault
from ..core.request import intake
from ..core.steps import resumption
from ..store import loops, native
from ..store.loop import Loop
from .workspace import Result, Workspace, not_ours, taught


def pause(workspace: Workspace, reason: str = "") -> Result:
    """Pause the loop: the session is let go, nothing is lost; loopkit resume goes on."""
    loop = workspace.our_loop()
    workspace.change(loop, resumption.paused, reason or verdict.BY_HAND)
    return Result(loop, f"loop {loop.name} paused; the session is free")


def cancel(workspace: Workspace, reason: str = "") -> Result:
    """End the loop from any session: hooks fall silent, the work and the loop's folder stay as they
    are."""
    loop = workspace.loop(untrusted=True)
    if not loop.ours:
        return _silence(workspace, loop)
    changes = workspace.change(loop, resumption.cancelled, reason or verdict.BY_HAND)
    state = loop.state
    native.withdraw(native.folder(workspace.environment, state.session.owner), loop.name)
    if not changes:
        return Result(loop, f"loop {loop.name} was over already ({state.session.verdict})")
    done = f"{state.counts['completed']} of {len(state.tasks)} tasks were completed"
    text = f"loop {loop.name} cancelled; {done}; its folder stays: {loop.folder}"
    return Result(loop, "\n".join([text, *taught(loop)]))


def _silence(workspace: Workspace, loop: Loop) -> Result:
    """End an untrusted loop: only its folder is written, nothing in it is told."""
    try:
        with loop.writing() as state:
            loop.record(resumption.cancelled(state, verdict.BY_HAND), workspace.by)
    except LoopError:
        if workspace.session:
            raise not_ours() from None
        raise
    text = "the loop in this folder was not started here; it is cancelled, and its folder stays"
    return Result(None, text, {"said": text, "next": []})


def ask(workspace: Workspace, text: str) -> Result:
    """Record a question that only the person can answer; stops are let through until it is
    answered."""
    loop = workspace.own_loop()
    if not text.strip():
        raise UsageFault("the question is empty", 'loopkit ask "…"')
    workspace.change(loop, resumption.asked, text)
    return Result(loop, f"asked: {prose.clean(text, 300)}")


def answer(workspace: Workspace, text: str) -> Result:
    """Record what the person answered; the loop goes on."""
    loop = workspace.persons_loop("answers")
    if not text.strip():
        raise UsageFault("the answer is empty", 'loopkit answer "<what the person said>"')
    question = prose.clean(str(loop.state.session.question), 200)
    changes = workspace.change(loop, resumption.answered, text)
    lines = [f"answered: {question}: {prose.clean(text, 300)}", put_back(workspace, loop, changes)]
    return Result(loop, "\n".join(filter(None, lines))).going_on()


def put_back(workspace: Workspace, loop: Loop, changes: list) -> str:
    """What an answer about files that must not change brings."""
    if "watched_settled" not in dict(changes):
        return ""
    from . import changes as measured

    return measured.settled(workspace, loop, changes)


def confirm(workspace: Workspace, what: str) -> Result:
    """Record that the person has agreed to the shape, the task list or the next wave."""
    loop = workspace.persons_loop("confirms")
    workspace.change(loop, intake.confirmed, what)
    return Result(loop, f"{what} confirmed").going_on()


def complete(workspace: Workspace) -> Result:
    """Check everything once more and complete the loop; prints the completion card."""
    from ..core.review import gate, result
    from . import changes as measured
    from .gate import files

    loop = workspace.own_loop()
    found = files(workspace, loop)
    gate.completed(loop.state, *found)  # refused before anything is recorded
    measured.at_end(workspace, loop)
    workspace.change(loop, gate.completed, *found)
    notes = [*result.open_rows(loop.state), *result.doubts(loop.state)]
    row = {"verdict": loop.state.session.verdict, "notes": notes}
    return Result(loop, _card(loop), row)


def _card(loop: Loop) -> str:
    from ..render import card

    return "\n".join([card.render(loop.state).rstrip("\n"), *taught(loop)])


def ended_unseen(workspace: Workspace, loop: Loop) -> str:
    """The card of a loop whose last call died once it had recorded the end: what is derived is made
    up for as well. "" for any other."""
    stored = loops.read_snapshot(loop.root) or {}
    if loop.state.session.status != verdict.COMPLETED or stored.get("status") == verdict.COMPLETED:
        return ""
    workspace.change(loop, lambda state: [])
    return _card(loop)
