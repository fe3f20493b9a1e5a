"""A loop is gone on with, here."""

import copy
from collections.abc import Callable
from typing import Any

from ..core.journal import limits, prose, stage, verdict
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..core.journal.events import Change
from ..core.journal.session import OfTranscripts
from ..core.journal.state import LoopState
from ..core.steps import resolution, resumption, snapshot
from ..render import question
from ..store import answers, native, place, transcript, trust
from ..store import typed as words_of
from ..store.loop import Loop, writes
from . import advance, consent, start, worktree
from .control import put_back
from .status import figures, meant, unfinished
from .workspace import Result, Workspace, not_ours

#: What may be typed before the words after /loop:resume.
_OPTIONS = ("iterations", "usd", "time", "checks")


def resume_typed(workspace: Workspace, **how: Any) -> Result:
    """Go on as the words after /loop:resume say: options, then which loop, or the answer to the
    question that the session's loop waits for."""
    given, words = start.typed_options(_words(workspace), _OPTIONS)
    how["typed"] = start.limits_of(given)
    if words and not how.get("answer") and _asks(workspace):
        words, how["answer"] = "", words
    result = resume(workspace, words.strip(), **how)
    if result.loop is None:
        return result
    if given.get("checks"):
        consent.typed_patterns(result.loop, given["checks"])
    return advance.advance(workspace, result.text)


def _asks(workspace: Workspace) -> bool:
    """The session's own loop waits for an answer."""
    try:
        session = workspace.our_loop().state.session
    except LoopError:
        return False
    return session.question is not None and session.owner == workspace.session


def _words(workspace: Workspace) -> str:
    """The words of this session's /loop:resume, taken once."""
    data = place.data_dir(workspace.environment)
    words = words_of.load(data, workspace.session, words_of.RESUME) or ""
    words_of.forget(data, workspace.session, words_of.RESUME)
    return words.strip()


def resume(
    workspace: Workspace,
    words: str = "",
    *,
    take_over: bool = False,
    adopt: bool = False,
    again: bool = False,
    answer: str | None = None,
    most: dict[str, str] | None = None,
    typed: dict[str, str] | None = None,
    check: Callable[[LoopState], object] = lambda state: None,
) -> Result:
    """Go on with the loop that the words mean, or the active one, in this session; the one that was
    active is paused.

    take_over, adopt, again: also where another running session owns it, where it came with the
    folder, where it failed · answer: to the open question · most: limits by kind, as written ·
    typed: the same in the words that the person typed, and no model · check: raises where the loop,
    as it stands then, is not to be had.
    """
    loop = _find(workspace, words, adopt)
    if again or most or answer is not None and typed is None:
        what = "tries again" if again else "changes limits" if most else "answers"
        workspace.check_somebody(what, loop)
    if not loop.ours and not adopt:
        raise not_ours()
    if loop.state.session.status in verdict.FINAL and not again:
        raise _over(workspace, loop, words)
    before, session = loop.state.session.owner, workspace.session
    token = loop.state.session.token if loop.ours else trust.new_token()
    with writes(trust.folder()):
        trust.remember(loop.root, loop.name, token)

    def decide(state: LoopState) -> list[Change]:
        check(state)
        owner = _owner(workspace, state, token, take_over)
        same = loop.ours and _at_work(workspace, loop, state)
        limits_now = {**(most or {}), **(typed or {})}
        given = (owner, again, answer, limits_now, same)
        changes = resumption.resumed(state, token, *given)
        if not workspace.session:
            return changes
        # who goes on with a paused loop is there, whatever they said when it began
        anew = bool(owner) or state.session.status == verdict.PAUSED
        return changes + stage.attended(state, workspace.unattended, anew)

    decide(loop.state)  # refused before the other loop is put aside
    aside = _put_aside(workspace, loop, take_over)
    changes = workspace.change(loop, decide)
    if session:
        environment, seen = workspace.environment, loop.state.session.native_seen
        kept = native.ensure_folder(environment, session, seen)
        former = native.folder(environment, before)
        if former != kept:  # that session is not reminded of tasks that are done elsewhere now
            native.withdraw(former, loop.name)
        workspace.follow(loop)
    name = resolution.described(loop.name, loop.state.text) if words else loop.name
    text = f"loop {name} goes on" + (" in this session" if session not in ("", before) else "")
    text += f"; {aside} is paused" if aside else ""
    lines = [
        text,
        *filter(None, [put_back(workspace, loop, changes)]),
        *_stand(workspace, loop),
        *worktree.left(workspace, loop),
    ]
    return Result(loop, "\n".join(lines)).going_on()


def _at_work(workspace: Workspace, loop: Loop, state: LoopState) -> bool:
    """Agents that were started in this client have not answered yet."""
    pid = place.client_pid(workspace.environment)
    if pid is None or pid != state.session.owner_pid:
        return False
    names = [one for one in snapshot.out(state) if answers.started(loop.folder, one)]
    return not all(answers.given(loop.folder, one) for one in names)


def _find(workspace: Workspace, words: str, adopt: bool) -> Loop:
    if words and adopt:
        what = "--adopt is about the loop that came with the folder"
        raise UsageFault(what, "leave the words out")
    try:
        return meant(workspace, words) if words else workspace.loop(untrusted=adopt)
    except Damaged as error:
        raise Damaged(f"nothing to resume: {error.what}", error.todo) from None


def _over(workspace: Workspace, loop: Loop, words: str) -> Refused:
    session = loop.state.session
    todo = "start another: /loop:start <task>"
    if session.status == verdict.FAILED:
        todo += "; the person may try it again: loopkit resume --again"
    others = "" if words else unfinished(workspace)
    if others:
        todo += f"; or go on with one of: {others}: loopkit resume <number>"
    return Refused(f"loop {loop.name} is over ({session.verdict})", todo)


def _put_aside(workspace: Workspace, loop: Loop, take_over: bool) -> str:
    """Pause the loop that was active; its name or "". Refused where it is at work elsewhere."""
    old = Loop.active(loop.root)
    if old is None or old.name == loop.name or not old.ours:
        return ""
    session = old.state.session
    if session.status != verdict.RUNNING:
        return ""
    elsewhere = workspace.session not in ("", session.owner) and place.alive(session.owner_pid)
    if elsewhere and not take_over:
        raise Refused(
            f"loop {old.name} of session {session.owner} is running, and one loop of a folder is "
            "worked on at a time",
            "ask the person; pause it and go on: loopkit resume --take-over, with the same words; "
            "or wait for it",
        )
    with old.writing() as state:
        if state.session.status == verdict.RUNNING:
            reason = f"put aside: loop {loop.name} goes on"
            old.record([("paused", {"reason": reason})], workspace.by)
    native.withdraw(native.folder(workspace.environment, session.owner), old.name)
    return old.name


def _owner(workspace: Workspace, state: LoopState, token: str, take_over: bool) -> list[Change]:
    """The line that makes this session the owner. Refused where another one is at work."""
    session, environment = state.session, workspace.environment
    adopted = token != session.token  # whoever ran it elsewhere runs nothing here
    if not workspace.session or not adopted and session.owner == workspace.session:
        return []
    if not adopted and place.alive(session.owner_pid) and not take_over:
        raise Refused(
            f"loop {state.name} belongs to session {session.owner}, which is running",
            "ask the person; take it over: loopkit resume --take-over; or leave it there",
        )
    used = {} if adopted else transcript.unread(place.config_dir(environment), session, 0)
    row = {
        "session_id": workspace.session,
        "client_pid": place.client_pid(environment),
        **used,
        "why": "resume",
    }
    return [("owner_changed", row)]


def _stand(workspace: Workspace, loop: Loop) -> list[str]:
    state = copy.copy(loop.state)
    session = state.session = copy.deepcopy(state.session)
    if session.status == verdict.RUNNING:  # shown as status shows it; the next step records it
        OfTranscripts(workspace.unread(loop)).add(session)
    view = snapshot.build(state, loop.offset)
    spec, fit = ("–" if view[name] is None else view[name] for name in ("spec_score", "fit_score"))
    turns, money, hours = figures(session, view)
    lines = [
        f"stage {view['stage']}, spec {spec}/10, fit {fit}, {view['tasks']['completed']}/"
        f"{view['tasks']['total']} tasks, wave {view['wave']['number']}",
        f"used: {turns} iterations, {hours}, {money}",
    ]
    used = session.iteration, view["spent"]["usd"], session.spent_seconds
    over = limits.reached(*used, session.most)
    if over:  # it was set below what is spent
        options = limits.raising(*used, session.most)
        how = f"raise: loopkit resume {options}"
        lines.append(f"a limit is reached, so the loop pauses at its next step: {over[1]}; {how}")
    return [*lines, f"goal: {prose.short(state.text, 300)}", *question(state)]
