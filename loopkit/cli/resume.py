"""loopkit resume: go on with a loop, here."""

from __future__ import annotations

from typing import Any

import click

from ..core.journal import clock, limits, verdict
from ..core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ..core.journal.session import Session
from ..core.journal.state import LoopState
from ..core.steps import resolution, resumption, snapshot
from ..ops import workspace, worktree
from ..render import words as shown_words
from ..store import native, place, prompts, transcript, trust
from ..store.loop import Loop, unwritable
from . import app, which


@app.command("resume", "loopkit resume --iterations +25")
@click.argument("words", nargs=-1, metavar="[WHICH]")
@click.option("--take-over", is_flag=True, help="Also where another running session owns it.")
@click.option(
    "--adopt",
    is_flag=True,
    help="Also where it came with the folder from elsewhere and you trust it.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Also where it ended as impossible: its open tasks get all attempts anew.",
)
@click.option("--iterations", metavar="N", help="Another limit: N, +N, none.")
@click.option("--usd", metavar="N", help="Another limit: N, +N, none.")
@click.option("--time", "seconds", metavar="T", help="Another limit: 2h, +30m, none.")
@click.option("--answer", "text", metavar="TEXT", help="The person's answer to the open question.")
@click.option("--ask", is_flag=True, hidden=True, help="Take the words typed after /loop:resume.")
def command(call: app.App, words: tuple, ask: bool, **given: Any) -> int:
    """Go on with a loop in this session: same stage, same scores, same tasks. Limits may be raised
    on the way.

    WHICH is its number, a part of its name, or what it is about; without it the active one goes on.
    A loop that was active until then is paused.
    """
    try:
        return _resume(call, _typed(call) if ask and not words else " ".join(words), **given)
    except LoopError as error:
        if not ask:
            raise
        app.say_no(error)
        return 0


def _typed(call: app.App) -> str:
    """The words of this session's /loop:resume, taken once."""
    data = place.data_dir(call.environment)
    words = prompts.load(data, call.session, prompts.RESUME) or ""
    prompts.forget(data, call.session, prompts.RESUME)
    return words.strip()


def _open(call: app.App, words: str, adopt: bool) -> Loop:
    if words and adopt:
        raise UsageFault(
            "--adopt is about the loop that came with the folder", "leave the words out"
        )
    try:
        return which.find(call, words) if words else call.loop(strangers=adopt)
    except Damaged as error:
        raise Damaged(f"nothing to resume: {error.what}", error.todo) from None


def _resume(
    call: app.App,
    words: str,
    take_over: bool,
    adopt: bool,
    again: bool,
    text: str | None,
    **given: object,
) -> int:
    loop = _open(call, words, adopt)
    session = loop.state.session
    if not loop.ours and not adopt:
        raise workspace.not_ours()
    if session.status in verdict.FINAL and not again:
        other_way = (
            "; the person may try it again: loopkit resume --again"
            if session.status == verdict.FAILED
            else ""
        )
        others = which.unfinished(call)
        if others and not words:
            other_way += f"; or go on with one of: {others}: loopkit resume <number>"
        raise Refused(
            f"loop {loop.name} is over ({session.verdict})",
            f"start another: /loop:start <task>{other_way}",
        )
    before = session.owner
    other = bool(call.session) and before != call.session
    token = _known_by(loop)
    _changes(
        loop.state, call, token, take_over, again, text, given
    )  # refused before the other loop is put aside
    aside = _put_aside(call, loop, take_over)
    call.change(loop, _changes, call, token, take_over, again, text, given)
    if call.session:
        here = native.ensure_folder(call.environment, call.session, loop.state.session.native_seen)
        there = native.folder(call.environment, before)
        if (
            there != here
        ):  # the session that is let go is not reminded of tasks that are done elsewhere now
            native.withdraw(there, loop.name)
        call.follow(loop)
    name = resolution.described(loop.name, loop.state.text) if words else loop.name
    said = (
        f"loop {name} goes on"
        + (" in this session" if other else "")
        + (f"; {aside} is paused" if aside else "")
    )
    call.answer(loop, said + "\n" + "\n".join([*_stand(loop), *worktree.left(call, loop)]))
    return 0


def _put_aside(call: app.App, loop: Loop, take_over: bool) -> str:
    """Pause the loop that was active until now; its name, or "" where there is none. Raises Refused
    where it is at work in another session."""
    old = Loop.active(loop.root)
    if (
        old is None
        or old.name == loop.name
        or not old.ours
        or old.state.session.status != verdict.RUNNING
    ):
        return ""
    session = old.state.session
    if call.session not in ("", session.owner) and place.alive(session.owner_pid) and not take_over:
        raise Refused(
            f"loop {old.name} of session {session.owner} is running, and one loop of a folder is "
            "worked on at a time",
            "ask the person; pause it and go on: loopkit resume --take-over, with the same words; "
            "or wait for it",
        )

    def pause(state: LoopState) -> list:
        running = state.session.status == verdict.RUNNING
        return [("paused", {"reason": f"put aside: loop {loop.name} goes on"})] if running else []

    with old.writing() as state:
        old.record(pause(state), call.by)
    native.withdraw(native.folder(call.environment, session.owner), old.name)
    return old.name


def _known_by(loop: Loop) -> str:
    """The token of the loop, where it lies now; a new one for a loop that is being adopted. Raises
    Damaged."""
    token = loop.state.session.token if loop.ours else trust.new_token()
    try:
        trust.remember(loop.root, loop.name, token)
    except OSError as error:
        raise unwritable(trust.folder(), error) from None
    return token


def _changes(
    state: LoopState,
    call: app.App,
    token: str,
    take_over: bool,
    again: bool,
    text: str | None,
    given: dict,
) -> list:
    session = state.session
    adopted = token != session.token  # whoever ran it elsewhere runs nothing here
    other = bool(call.session) and (adopted or session.owner != call.session)
    if other and not adopted and place.alive(session.owner_pid) and not take_over:
        raise Refused(
            f"loop {state.name} belongs to session {session.owner}, which is running",
            "ask the person; take it over: loopkit resume --take-over; or leave it there",
        )
    changes: list = [("adopted", {"token": token})] if adopted else []
    cut_short = other or session.status == verdict.PAUSED
    reopened = resumption.again(state) if again else resumption.reopened(state) if cut_short else []
    present = {
        "iterations": session.limit_iterations,
        "usd": session.limit_usd,
        "seconds": session.limit_seconds,
    }
    chosen = {
        kind: limits.amount(str(value), present[kind], kind)
        for kind, value in given.items()
        if value
    }
    if chosen:
        changes.append(("limits_set", chosen))
    if other:
        unattended = call.environment.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"
        row = {
            "session_id": call.session,
            "client_pid": place.client_pid(call.environment),
            "unattended": unattended,
        }
        used = {} if adopted else transcript.unread(place.config_dir(call.environment), session)
        changes.append(("owner_changed", {**row, **used, "why": "resume"}))
    if text is not None:
        if session.question is None:
            raise Refused("no question is open", "see loopkit status; go on without --answer")
        changes.append(("question_answered", {"text": text}))
    elif session.status != verdict.PAUSED and session.question is not None:
        return [*changes, *reopened]
    if session.verdict in verdict.LIMITS:
        _check_raised(session, {**present, **chosen})
    return [*changes, *reopened, ("resumed", {"from": session.verdict})]


def _check_raised(session: Session, most: dict) -> None:
    """Raises LimitReached where the limit that paused the loop still stands."""
    from ..core.journal import pricing
    from ..core.journal.errors import LimitReached

    usd = pricing.cost(session.usage, session.prices)[0]
    over = limits.reached(
        session.iteration,
        usd,
        session.spent_seconds,
        (most["iterations"], most["usd"], most["seconds"]),
    )
    if over:
        raise LimitReached(f"still at its limit: {over[1].split('; ')[0]}", over[1].split("; ")[1])


def _used_up(session: Session, usd: float) -> list[str]:
    """What a limit that was set below what is spent leads to."""
    over = limits.reached(session.iteration, usd, session.seconds(app.now()), session.most)
    return (
        [f"a limit is reached, so the session is let go at its next stop: {over[1]}"]
        if over
        else []
    )


def _stand(loop: Loop) -> list[str]:
    session = loop.state.session
    view = snapshot.build(loop.state, loop.offset)
    known = {key: "–" if view[key] is None else view[key] for key in ("spec_score", "fit_score")}
    turns = limits.of(session.iteration, session.limit_iterations)
    time = limits.of(
        clock.human(session.seconds(app.now())),
        session.limit_seconds and clock.human(session.limit_seconds),
    )
    money = limits.of(
        f"${view['spent']['usd']:.2f}", session.limit_usd and f"${session.limit_usd:g}"
    )
    return [
        f"stage {view['stage']}, spec {known['spec_score']}/10, fit {known['fit_score']},"
        f" {view['tasks']['completed']}/{view['tasks']['total']} tasks, wave "
        f"{view['wave']['number']}",
        f"used: {turns} iterations, {time}, {money}",
        *_used_up(session, view["spent"]["usd"]),
        f"goal: {' '.join(loop.state.text.split())[:300]}",
        *shown_words.question(loop.state),
    ]
