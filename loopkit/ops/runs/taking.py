"""Whose a run is: it is taken together with its lock, put away, or left to whoever works on it."""

from __future__ import annotations

import os
import signal
import time

from ...core.journal.errors import LimitReached, Refused
from ...core.pipeline import due, events, status
from ...core.pipeline.definitions import Entry, Pipeline
from ...engine import process
from ...render import runs as words
from ...store import project, runs
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


def take(workspace: Workspace, found: Ready, asked: Asked) -> tuple[Run, Lock]:
    """The run and its lock, taken together: of many who start it at once one gets it. Raises
    LoopError, Stands."""
    while True:
        with runs.guarded(found.root):
            taken = _take_now(workspace, found, asked)
        if isinstance(taken, tuple):
            return taken
        end(taken, asked.session)


def _take_now(workspace: Workspace, found: Ready, asked: Asked) -> tuple[Run, Lock] | dict:
    """The same under the guard; the lock of a process that has to end first."""
    root, session = found.root, asked.session
    before = Run.open(root, session)
    held_lock = runs.read_lock(root, session)
    known = before.state.status if before else None
    here = runs.here()
    held = status.holder(held_lock, known or "", here, time.time())
    can_end = held_lock is not None and status.process(held_lock, here) == status.SAME
    what = status.start(known, held, can_end, asked.how)
    if what == status.END_FIRST:
        assert held_lock is not None
        return held_lock
    if before is not None and held == status.FREE:
        runs.tidy(before)
    if what == status.REFUSE or what == status.SAY_COMPLETED:
        raise _refusal(before, held, held_lock, asked, what)
    if what == status.GO_ON:
        assert before is not None
        _check_goes_on(before, found, asked)
        runs.clear_requests(before)
        sweep(before)
        before.record([("run_resumed", _row(found, asked, before))])
        opened = before
    else:
        if before is not None:
            sweep(before)
            runs.archive(root, session)
        _check_allowed(workspace, found.pipeline)
        head = progress_head(session, found.pipeline, workspace.project)
        row = first(workspace, found, asked, before)
        opened = runs.create(root, session, row, head)
    lock = Lock(root, session, lambda: None)
    lock.take()
    return opened, lock


def sweep(before: Run) -> None:
    """End agents that outlived the process which started them."""
    if before.ours:  # the token of a run that came along may be anything
        process.sweep(f"{RUN}={before.state.token}")


def _refusal(
    before: Run | None, held: str, lock: dict | None, asked: Asked, what: str
) -> Exception:
    if before is None:
        return Refused(f"there is no run {asked.session} to go on with", "leave --resume out")
    if held in (status.ACTIVE, status.HUNG):
        word = "is active" if held == status.ACTIVE else "hangs: it has no heartbeat any more"
        ways = f"stop it: loopkit runs stop {asked.session}, or watch it: loopkit runs logs"
        by = words.held_by(lock or {}, time.time())
        return Refused(f"run {asked.session} {word} ({by})", f"{ways} {asked.session}", code="busy")
    if not before.ours:
        return foreign(asked.session)
    return Stands(before, held, 0 if what == status.SAY_COMPLETED else 1)


def foreign(session: str) -> Refused:
    """The refusal of a run that came with the folder: nothing of it is shown to a session."""
    what = f"run {session} was not started here"
    return Refused(what, "put it away and start over: --force", code="not_yours")


def _check_goes_on(before: Run, found: Ready, asked: Asked) -> None:
    """Raises Refused or LimitReached where a run cannot go on like this."""
    state, session = before.state, asked.session
    if not before.ours:
        raise foreign(session)
    if state.pipeline != found.pipeline.name:
        what = f"run {session} is one of {state.pipeline}, not of {found.pipeline.name}"
        raise Refused(what, f"go on with it: {words.command(state, '--resume')}")
    if state.definition != found.books.digest and not asked.accept_changes:
        raise Refused(
            f"the files of {state.pipeline} have changed since run {session} began",
            "go on with them as they are now: --accept-changes",
        )
    parts = [_part(entry) for entry in found.pipeline.entries]
    for stage, part in zip(state.stages, parts, strict=False):
        if stage.status != status.PENDING and stage.part.name != part["name"]:
            what = f"stage {stage.part.name}, which has begun, is called {part['name']} now"
            raise Refused(what, "start over: --force")
    if state.status == status.LIMIT:
        why = due.used_up(state, parts, found.limits)
        if why:
            way = words.command(state, "--resume", *words.raising(state))
            raise LimitReached(f"run {session}: {why}", f"raise the limit: {way}")


def _row(found: Ready, asked: Asked, before: Run | None) -> dict:
    """The data of a start. A further start keeps the agent of the one before it."""
    return {
        "words": list(asked.words),
        "chosen": agent_of(asked, before),
        "parts": [_part(entry) for entry in found.pipeline.entries],
        "definition": found.books.digest,
        **found.limits._asdict(),
    }


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
