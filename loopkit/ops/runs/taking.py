"""Whose a run is: it is taken together with its lock, put away, or left to whoever works on it."""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

from ...core.journal.errors import LimitReached, Refused
from ...core.pipeline import due, events, status, typed
from ...core.pipeline.definitions import Entry, Pipeline
from ...engine import process
from ...render import runs as words
from ...store import atomic, project, runs
from ...store.runs import Lock, Run
from ..workspace import Workspace
from . import validators
from .driver import RUN
from .ready import Asked, Ready, agent_of

#: Seconds that a process is given to end when somebody else wants it to.
_PATIENCE = 30.0
#: Most checks that a progress file names.
_MOST_CHECKS = 5


class Stands(Exception):
    """There is a run that this start does not touch. code: of the command."""

    def __init__(self, run: Run, held: str, code: int) -> None:
        super().__init__()
        self.run, self.held, self.code = run, held, code


class Look(NamedTuple):
    """A run of that name as it stands. what: a start may do, as of status.start."""

    run: Run | None
    lock: dict | None
    held: str
    what: str


def look(found: Ready, asked: Asked) -> Look:
    """See what this start may do; nothing is written. Raises Damaged."""
    before = Run.open(found.root, asked.session)
    lock, here = runs.read_lock(found.root, asked.session), runs.here()
    known = before.state.status if before else None
    held = status.holder(lock, known or "", here, time.time())
    can_end = lock is not None and status.process(lock, here) == status.SAME
    other = before is not None and before.ours and before.state.pipeline != found.pipeline.name
    return Look(before, lock, held, status.start(known, held, can_end, asked.how, other))


def refusal(seen: Look, found: Ready, asked: Asked) -> Exception | None:
    """Why this start is not to be; None where it is."""
    if seen.what not in (status.REFUSE, status.SAY_COMPLETED):
        return None
    before, session = seen.run, asked.session
    if before is None:
        return Refused(f"there is no run {session} to go on with", "leave --resume out")
    if seen.held in (status.ACTIVE, status.HUNG):
        word = "is active" if seen.held == status.ACTIVE else "hangs: it has no heartbeat any more"
        ways = f"stop it: loopkit runs stop {session}, or watch it: loopkit watch {session}"
        by = words.held_by(seen.lock or {}, time.time())
        return Refused(f"run {session} {word} ({by})", ways, code="busy")
    if not before.ours:
        return foreign(session)
    if asked.how == status.RESUME and before.state.pipeline != found.pipeline.name:
        return _other(before, found.pipeline.name)
    return Stands(before, seen.held, 0 if seen.what == status.SAY_COMPLETED else 1)


def _other(before: Run, name: str) -> Refused:
    state = before.state
    what = f"run {state.session} is one of {state.pipeline}, not of {name}"
    if state.status == status.COMPLETED:
        return Refused(f"{what}, and is completed", "leave --resume out")
    return Refused(what, f"go on with it: {words.command(state, '--resume')}")


class Taken(NamedTuple):
    """A run that is ours now. away: where the one of that name was put, "" where there was none."""

    run: Run
    lock: Lock
    away: str


def take(workspace: Workspace, found: Ready, asked: Asked) -> Taken:
    """The run and its lock, taken together: of many who start it at once one gets it. Raises
    LoopError, Stands."""
    while True:
        with runs.guarded(found.root):
            taken = _take_now(workspace, found, asked)
        if isinstance(taken, Taken):
            return taken
        end(taken, asked.session)


def _take_now(workspace: Workspace, found: Ready, asked: Asked) -> Taken | dict:
    """The same under the guard; the lock of a process that has to end first."""
    root, session = found.root, asked.session
    seen = look(found, asked)
    before = seen.run
    if seen.what == status.END_FIRST:
        assert seen.lock is not None
        return seen.lock
    refused = refusal(seen, found, asked)
    if refused is not None:
        raise refused
    if before is not None and seen.held == status.FREE:
        runs.tidy(before)
    away = ""
    if seen.what == status.GO_ON:
        assert before is not None
        _check_goes_on(before, found, asked)
        atomic.remove(os.path.join(before.folder, runs.PAUSE))  # asked of the process before
        sweep(before)
        before.record([("run_resumed", _row(found, asked, before))])
        opened = before
    else:
        _check_allowed(workspace, found.pipeline)
        head = progress_head(session, found.pipeline, workspace.project)
        row = first(workspace, found, asked, before)
        if before is not None:
            if asked.how == status.PLAIN:
                head = _notes(before) + head
            sweep(before)
            away = os.path.relpath(runs.archive(root, session), os.path.dirname(root))
        opened = runs.create(root, session, row, head)
    lock = Lock(root, session, lambda: None)
    lock.take()
    return Taken(opened, lock, away)


def tidy(before: Run) -> None:
    """Finish what a process left that died when its run had ended; nothing of one that is at work
    or has crashed. Raises LoopError."""
    with runs.guarded(before.root):
        before.refresh()
        lock = runs.read_lock(before.root, before.session)
        if status.holder(lock, before.state.status, runs.here(), time.time()) == status.FREE:
            runs.tidy(before)


def _notes(before: Run) -> str:
    """What agents of another stage or pipeline have left for those who follow under this name."""
    try:
        text = atomic.read(before.progress, runs.MOST_RESULT).decode("utf-8", "replace")
    except OSError:
        return ""
    return f"{text.rstrip()}\n\n"


def sweep(before: Run) -> None:
    """End agents that outlived the process which started them."""
    if before.ours:  # the token of a run that came along may be anything
        process.sweep(f"{RUN}={before.state.token}")


def foreign(session: str) -> Refused:
    """The refusal of a run that came with the folder: nothing of it is shown to a session."""
    what = f"run {session} was not started here"
    return Refused(what, "put it away and start over: --force", code="not_yours")


def _check_goes_on(before: Run, found: Ready, asked: Asked) -> None:
    """Raises Refused or LimitReached where a run cannot go on like this."""
    state, session = before.state, asked.session
    if not before.ours:
        raise foreign(session)
    if state.definition != found.books.digest and not asked.accept_changes:
        raise Refused(
            f"the files of {state.pipeline} have changed since run {session} began",
            f"go on as they are now: {words.command(state, '--resume', '--accept-changes')}",
        )
    parts = [_part(entry) for entry in found.pipeline.entries]
    for stage, part in zip(state.stages, parts, strict=False):
        if stage.status != status.PENDING and stage.part.name != part["name"]:
            what = f"stage {stage.part.name}, which has begun, is called {part['name']} now"
            raise Refused(what, words.anew(state))
    if state.status == status.LIMIT:
        why = due.used_up(state, parts, found.limits)
        if why:
            raise LimitReached(f"run {session}: {why}", words.raised(state))


def _row(found: Ready, asked: Asked, before: Run | None) -> dict:
    """The data of a start. A further start keeps the agent of the one before it."""
    return {
        "words": typed.anew(asked.words, _typed_before(before, found, asked)),
        "chosen": agent_of(asked, before),
        "parts": [_part(entry) for entry in found.pipeline.entries],
        "definition": found.books.digest,
        **found.limits._asdict(),
    }


def _typed_before(before: Run | None, found: Ready, asked: Asked) -> list[str]:
    """The words of the run that a start goes on with, or puts away to begin the same anew."""
    if before is None or not before.ours or asked.how == status.PLAIN:
        return []
    return before.state.words if before.state.pipeline == found.pipeline.name else []


def first(workspace: Workspace, found: Ready, asked: Asked, before: Run | None) -> dict:
    """The data of a run that begins; before: the one that it takes the place of."""
    pipeline = found.pipeline
    items = next((entry.stage.items for entry in pipeline.entries if entry.stage.items), ())
    return {
        **_row(found, asked, before),
        "session": asked.session,
        "kind": events.LOOP if pipeline.single else events.PIPELINE,
        "pipeline": pipeline.name,
        "project": workspace.project,
        "items": list(items if asked.items is None else asked.items),
        "loop": asked.loop,
    }


def _part(entry: Entry) -> dict:
    return {
        "name": entry.name,
        "stage": entry.stage.name,
        "completion": entry.stage.completion,
        "runs": entry.runs,
        "on_limit": entry.on_limit,
    }


def _check_allowed(workspace: Workspace, pipeline: Pipeline) -> None:
    """Raises Refused where a stage has a check that nobody allowed."""
    for entry in pipeline.entries:
        own = entry.stage.validator != validators.COMMAND  # what it runs is its own business
        for line in () if own else entry.stage.validate:
            validators.check_allowed(workspace, line, entry.name)


def progress_head(session: str, pipeline: Pipeline, folder: str) -> str:
    """How a progress file begins. Verify: the stages' own checks, else those of the project."""
    lines = [line for entry in pipeline.entries for line in entry.stage.validate]
    lines = lines or [check.command for check in project.checks(folder)]
    named = ", ".join(f"`{line}`" for line in dict.fromkeys(lines[:_MOST_CHECKS]))
    verify = named or "(no command is known)"
    return f"# Progress: {session}\n\nVerify: {verify}\n\n## Codebase patterns\n\n---\n"


def end(lock: dict, session: str) -> None:
    """End the process that holds a run, as a first Ctrl-C would; after a while for good. Raises
    Refused where it cannot be ended."""
    here, pid = runs.here(), lock["pid"]
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if status.process(lock, here) != status.SAME:
            return
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        except OSError as error:
            what = f"process {pid} of run {session} cannot be ended: {error.strerror}"
            raise Refused(what, "end it yourself") from None
        until = time.monotonic() + _PATIENCE
        while status.process(lock, here) == status.SAME and time.monotonic() < until:
            time.sleep(0.05)
    if status.process(lock, here) == status.SAME:
        raise Refused(f"process {pid} of run {session} does not end", "end it yourself")
