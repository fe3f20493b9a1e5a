"""The loop that a run works on: which one is meant, who may have it, how the run becomes its owner
and gives it back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ...core.evidence import consent as rules
from ...core.journal import limits, prose, stage, verdict
from ...core.journal.errors import LimitReached, LoopError, Refused, UsageFault
from ...core.journal.session import Session
from ...core.journal.state import LoopState
from ...core.pipeline import status
from ...core.pipeline.definitions import is_name
from ...core.pipeline.events import Limits, RunState
from ...core.steps import resumption
from ...store import loops, place, runs
from ...store.loop import Loop
from ...store.runs import Run
from .. import consent, headless, resume, taskfile
from .. import start as starting
from ..workspace import Workspace, no_loop
from .on_loop import LOOPER

#: Kinds of limits, in the order in which they are kept, and the options that raise them.
_KINDS = ("iterations", "usd", "seconds")
_OPTIONS = {
    verdict.LIMIT_ITERATIONS: "--iterations",
    verdict.LIMIT_BUDGET: "--usd",
    verdict.LIMIT_TIME: "--time",
}
#: What a loop waits for that a run has done the tasks of.
_DONE = (
    "run {name} has done its tasks; reviews and the gate come next: /loop:resume, or loopkit run "
    "--continue {name}"
)


class Wish(NamedTuple):
    """Which loop a run is to work on. name: of the run, and of a loop that is made · loop: what was
    given to name one · tasks: a file of tasks · goal: the request of a loop that is worked to its
    end; None: its tasks alone are · approval: its policy, where it is made · checks: patterns of
    checks that the person lets run · take_over: also from a session that is at work · given: limits
    as they were given now, which lift those of the loop that leave less room."""

    name: str
    loop: str = ""
    tasks: str = ""
    goal: str | None = None
    approval: str = ""
    checks: tuple[str, ...] = ()
    take_over: bool = False
    given: Limits = Limits()


class Found(NamedTuple):
    """wish: as it was · folder: the loop's, "" where it is to be made · rows: the tasks of one that
    is to be made of a file · note: what to tell the person first."""

    wish: Wish
    folder: str
    rows: list[dict] = []  # noqa: RUF012
    note: str = ""


def look(workspace: Workspace, wish: Wish) -> Found:
    """Find the loop, or what it is to be made of; nothing is written. Raises LoopError where the
    run cannot have it."""
    folder = named(workspace.root, wish.loop or wish.name, bool(wish.loop))
    _check_leave(workspace, wish, folder)
    if not folder and wish.loop:
        raise Refused(f"there is no loop {wish.loop[:70]}", "see loopkit status --list")
    _check_beside(workspace, folder, wish)
    if folder:
        assert workspace.root is not None
        loop = Loop(workspace.root, folder)
        _check(workspace, loop, wish)
        if wish.goal is not None or loop.state.tasks or loop.state.stage != stage.INTENT:
            _check_tasks(loop, wish)
            return Found(wish, folder, note=_passed_over(workspace, loop, wish))
    if wish.goal is not None:
        return Found(wish, folder)
    path, shown = _file(workspace, wish)
    if not wish.tasks and not os.path.exists(path):
        what = f"there is neither a loop {wish.name} nor a file {shown}"
        raise Refused(what, f"skill loop:create-tasks makes one: {taskfile.FORM}")
    return Found(wish, folder, taskfile.read(path, shown))


def _file(workspace: Workspace, wish: Wish) -> tuple[str, str]:
    """The path of the tasks that are meant, and how it is shown."""
    if wish.tasks:
        return os.path.join(workspace.folder, wish.tasks), wish.tasks
    shown = taskfile.path_of(wish.name)
    return os.path.join(workspace.project, shown), shown


def _passed_over(workspace: Workspace, loop: Loop, wish: Wish) -> str:
    """What to tell of tasks that stand in the file and not in the loop that was made of it. Raises
    Refused where nothing else is left to do."""
    path, shown = _file(workspace, wish)
    if wish.goal is not None or not os.path.exists(path):
        return ""
    known = {task.subject for task in loop.state.tasks.values()}
    try:
        more = [row["subject"] for row in taskfile.read(path, shown) if row["subject"] not in known]
    except LoopError:
        if wish.tasks:
            raise
        return ""
    if not more:
        return ""
    named = f"{prose.count(len(more), 'task')} of {shown} ({prose.clean('; '.join(more), 200)})"
    if not loop.state.open:
        what = f"loop {loop.name} has done its tasks, and does not hold {named}"
        raise Refused(what, "put them into a file of another name, and run that")
    return f"loop {loop.name} does not hold {named}: they are left for another name"


def _check_leave(workspace: Workspace, wish: Wish, folder: str) -> None:
    """Raises Refused where a session gives leave that the person has not given already."""
    if not wish.checks or not workspace.session:
        return
    if folder and workspace.root is not None:
        known = consent.leave_of(workspace, Loop(workspace.root, folder))
        if set(wish.checks) <= set(known.patterns):
            return
    what = "--checks gives leave, and that is the person's, not a session's"
    raise Refused(what, "they type it in a terminal of their own", code="unconfirmed")


def named(root: str | None, name: str, exactly: bool) -> str:
    """The folder of a loop by its folder or its name; of several the newest that is not over, else
    the newest. exactly: a folder may be given, also as a path."""
    if root is None:
        return ""
    given = os.path.basename(os.path.normpath(name))
    if exactly and loops.is_loop(root, given):
        return given
    fitting = [folder for folder in loops.names(root) if prose.loop_name(folder) == name]
    alive = [folder for folder in fitting if not _is_over(root, folder)]
    return next(reversed(alive or fitting), "")


def _is_over(root: str, name: str) -> bool:
    return Loop(root, name).state.session.status in verdict.FINAL


def _check(workspace: Workspace, loop: Loop, wish: Wish) -> None:
    """Raises Refused where the loop is not to be had."""
    session = loop.state.session
    if not loop.ours:
        what = f"loop {loop.name} was not started here"
        way = "adopt it in a terminal if you trust it: loopkit resume --adopt"
        raise Refused(what, way, code="not_yours")
    if session.status == verdict.ABORTED:
        raise Refused(f"loop {loop.name} was cancelled", "begin another, with another name")
    lifted = {**dict(zip(_KINDS, session.most, strict=True)), **_lifted(session, wish.given)}
    over = limits.reached(*session.spent, tuple(lifted.values()))
    if session.verdict in verdict.LIMITS and over is not None:
        way = f"raise it: {_OPTIONS[over[0]]}"
        raise LimitReached(f"loop {loop.name}: {over[1]}", way)
    _check_owner(workspace, loop.state, wish)


def _check_beside(workspace: Workspace, folder: str, wish: Wish) -> None:
    """Raises Refused where somebody is at work on another loop of the project: they share its
    files."""
    loop = Loop.active(workspace.root) if workspace.root else None
    if loop is not None and loop.name != folder and loop.ours:
        why = ", and one loop of a project is worked on at a time"
        _check_owner(workspace, loop.state, wish, why)


def _check_owner(workspace: Workspace, state: LoopState, wish: Wish, why: str = "") -> None:
    """Raises Refused where somebody else is at work on a loop. Of a run its lock says so; of the
    run of this name whoever takes it."""
    session = state.session
    let_go = session.status != verdict.RUNNING or session.failure is not None
    other = headless.run_of(session.owner)
    if let_go or wish.take_over or session.owner == workspace.session or other == wish.name:
        return
    by, way = f"by session {session.owner}", "pause it there (/loop:pause), or add --take-over"
    at_work = place.alive(session.owner_pid)
    if other:
        by, way = f"by run {other}", f"wait for it, or stop it: loopkit runs stop {other}"
        lock, now = runs.read_lock(workspace.root or "", other), time.time()
        held = status.holder(lock, status.RUNNING, runs.here(), now)
        at_work = lock is not None and held in (status.ACTIVE, status.HUNG)
    if at_work:
        raise Refused(f"loop {state.name} is worked on {by}{why}", way, code="not_yours")


def _check_tasks(loop: Loop, wish: Wish) -> None:
    if wish.goal is None and not loop.state.tasks:
        what = f"loop {loop.name} has no tasks yet: it is in stage {loop.state.stage}"
        raise Refused(what, f"go on with all of it: loopkit run --continue {wish.name}")


def _lifted(session: Session, given: Limits) -> dict[str, float | None]:
    """Limits of a loop that leave less room than a start gives, which counts from now on: what is
    spent, and that on top; None: no limit any more."""
    lifted: dict[str, float | None] = {}
    for kind, spent, most, more in zip(_KINDS, session.spent, session.most, given, strict=True):
        if more is not None and most is not None and (not more or spent + more > most):
            lifted[kind] = spent + more if more else None
    return lifted


def _typed(amounts: dict[str, float | None]) -> dict[str, str]:
    """Limits as a person types them."""
    forms = {"iterations": "{:.0f}", "usd": "{:g}", "seconds": "{:.0f}s"}
    return {
        kind: "none" if value is None else forms[kind].format(value)
        for kind, value in amounts.items()
    }


def is_session(word: str) -> bool:
    """Whether a word can be the name of a run, and no goal."""
    return is_name(word)


def session_of(goal: str) -> str:
    """The name of a run for a goal."""
    return prose.slug(goal)


class Continued(NamedTuple):
    """A run that goes on with a loop. how: PLAIN, RESUME or FORCE."""

    session: str
    folder: str
    how: str


def continued(workspace: Workspace, name: str) -> Continued:
    """The run for a loop by its name or folder, "": the active one. Raises LoopError."""
    root = workspace.root
    if root is None:
        raise no_loop()
    folder = named(root, name, True) if name else workspace.our_loop().name
    if not folder:
        raise Refused(f"there is no loop {name[:70]}", "see loopkit status --list")
    session = prose.loop_name(folder)
    before = Run.open(root, session)
    if before is not None and before.state.pipeline != LOOPER:
        session = f"{session[:58]}-loop"
        before = Run.open(root, session)
    if before is None:
        return Continued(session, folder, status.PLAIN)
    same = before.state.loop == folder and before.state.status != status.COMPLETED
    return Continued(session, folder, status.RESUME if same else status.FORCE)


def described(workspace: Workspace, found: Found) -> tuple[list[str], str]:
    """(lines on the loop that a run would work on, its first task in a line)."""
    if not found.folder:
        if found.wish.goal is not None:
            return [f"begins a loop {found.wish.name}"], ""
        counted = prose.count(len(found.rows), "task")
        lines = [f"begins a loop {found.wish.name} with {counted}"]
        return lines + _waiting(workspace, found), found.rows[0]["subject"]
    assert workspace.root is not None
    loop = Loop(workspace.root, found.folder)
    state = loop.state
    done = f"{state.counts['completed']} of {prose.count(len(state.tasks), 'task')} completed"
    lines = [f"works on loop {loop.name}, {state.session.status}: {done}"]
    lines += _waiting(workspace, found, loop)
    opened = [state.tasks[name] for name in state.open]
    first = next((task for task in opened if state.is_free(task)), None)
    return lines, f"{first.id}: {first.subject}" if first else ""


def _waiting(workspace: Workspace, found: Found, loop: Loop | None = None) -> list[str]:
    """A line on the checks that nobody has let run yet, those given now included."""
    if loop is not None:
        waiting = consent.missing(workspace, loop)
    else:
        checks = [(f"task {number}", row["verify"]) for number, row in enumerate(found.rows, 1)]
        waiting = consent.uncovered(workspace, checks)
    given = found.wish.checks
    waiting = [row for row in waiting if not any(rules.fits(one, row[1]) for one in given)]
    return [headless.not_allowed(waiting)] if waiting else []


def take(note: Callable[[str], None], found: Found, most: Limits) -> str:
    """Become the owner of the loop, which is made where it is not there; the folder of it. most:
    limits of one that is made. We stand as the run's session. Raises LoopError."""
    workspace = Workspace(note)
    assert workspace.root is not None
    with runs.guarded(workspace.root):  # of several that found nobody at work one begins
        _check_beside(workspace, found.folder, found.wish)
        return _taken(workspace, found, most)


def _taken(workspace: Workspace, found: Found, most: Limits) -> str:
    wish = found.wish
    if not found.folder:
        loop = _made(workspace, found, most)
    else:
        assert workspace.root is not None
        loop = Loop(workspace.root, found.folder)
        session = loop.state.session
        if session.status == verdict.FAILED:  # the person's own command to try it once more
            with loop.writing() as state:
                loop.record(resumption.anew(state), workspace.by)
        if session.verdict != verdict.ACHIEVED:
            more = _typed(_lifted(session, wish.given))

            def check(state: LoopState) -> None:  # a session may have come to it since we looked
                _check_owner(workspace, state, wish)

            resume.resume(workspace, found.folder, take_over=True, typed=more, check=check)
            loop.refresh()
        if found.rows:
            taskfile.fill(workspace, loop, found.rows)
    if wish.checks:
        consent.typed_patterns(loop, list(wish.checks))
    return loop.name


def _made(workspace: Workspace, found: Found, most: Limits) -> Loop:
    wish = found.wish
    row = _typed(most._asdict())
    options = starting.Options(
        most=row, approval=wish.approval or None, beside=True, name=wish.name
    )
    if found.rows:
        return taskfile.begin(workspace, wish.name, found.rows, options)
    if not (wish.goal or "").strip():
        raise UsageFault("the goal is empty", 'loopkit run looper "<what you want done>"')
    result = starting.start(workspace, wish.goal or "", options)
    assert result.loop is not None
    return result.loop


def give_back(note: Callable[[str], None], state: RunState, completed: str) -> None:
    """Let the loop wait for whoever goes on with it, where it still runs."""
    reason = f"run {state.session} is {state.status}"
    if state.status == completed:
        reason = _DONE.format(name=state.session)
    elif state.error or state.reason:
        reason += f": {prose.clean(state.error or state.reason, 300)}"
    stalled = state.reason == status.STALLED
    headless.stop(note, reason, verdict.STALLED if stalled else verdict.WAITING)
