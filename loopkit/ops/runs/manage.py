"""Runs that there are: list, show, stop, pause, logs, clean."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from ...core.journal import clock, prose
from ...core.journal.errors import Damaged, LoopError, Refused, UsageFault
from ...core.pipeline import events, status
from ...render import runs as words
from ...store import atomic, runs
from ...store.loop import writes
from ...store.runs import PAUSE, Run
from ..workspace import Result, Workspace
from . import taking
from .driver import RUN

#: Days after which `clean` puts a run away.
OLD_DAYS = 7
#: Lines about runs that stand in the way of nothing.
_MOST_LINES = 12
#: Bytes of a log that are shown.
_TAIL = 20_000
#: Seconds between two looks at a run that is followed.
_LOOK = 0.5


class Seen:
    """A run as it stands now: its state, its lock, who holds it."""

    def __init__(self, root: str, session: str) -> None:
        run = Run.open(root, session)
        if run is None:
            raise Refused(f"there is no run {session[:70]}", "see loopkit runs", code="unknown")
        self.run, self.state = run, run.state
        self.lock = runs.read_lock(root, session)
        self.held = status.holder(self.lock, run.state.status, runs.here(), time.time())

    @property
    def shown(self) -> str:
        """Its status for people."""
        return status.shown(self.state.status, self.held)

    @property
    def data(self) -> dict[str, Any]:
        """Its state.json with how it is shown."""
        return {**events.document(self.state), "shown": self.shown, "lock": self.lock}


def _seen(workspace: Workspace, session: str) -> Seen:
    """A run by its name. Nothing of one that came with the folder reaches a session."""
    if workspace.root is None:
        raise Refused(f"there is no run {session[:70]}", "see loopkit runs", code="unknown")
    seen = Seen(workspace.root, session)
    if workspace.session and not seen.run.ours:
        raise taking.foreign(session)
    return seen


def _held(workspace: Workspace, session: str) -> Seen:
    """The same of one that is to end. Raises Refused where none is at work, and for its own
    agents."""
    seen = _seen(workspace, session)
    if seen.held not in (status.ACTIVE, status.HUNG):
        raise Refused(f"run {session} is not at work: {seen.shown}", "see loopkit runs")
    if workspace.environment.get(RUN) == seen.state.token:
        raise Refused("an agent of a run does not end it", "say it in the answer")
    return seen


def every(root: str | None, note: Any = None) -> list[Seen]:
    """All runs that can be read."""
    found = []
    for session in runs.names(root) if root else ():
        try:
            found.append(Seen(root or "", session))
        except LoopError as error:
            if note is not None:
                note(str(error))
    return found


def _result(text: str, data: dict, code: int = 0) -> Result:
    return Result(None, text, {**data, "said": text, "next": []}, code=code)


def listing(workspace: Workspace) -> Result:
    """The runs of this project, the newest last: session, status, stage and iteration, cost beside
    its cap, time."""
    damaged: list[str] = []
    found = every(workspace.root, damaged.append)
    for line in damaged:
        workspace.note(line)
    found.sort(key=lambda one: one.state.updated_at)
    if workspace.session:
        found = [one for one in found if one.run.ours]
    rows = words.table([(one.state, one.held) for one in found], time.time())
    none = "there are no runs" if not damaged else "there are no other runs"
    text = "\n".join(rows) or f"{none}; start one: loopkit run"
    return _result(text, {"runs": [one.data for one in found]})


def unfinished(root: str) -> list[str]:
    """Lines about this person's runs that are at work, or that could go on."""
    lines = []
    for seen in every(root):
        if not seen.run.ours or seen.state.status == status.COMPLETED:
            continue
        if seen.held in (status.ACTIVE, status.HUNG):
            at = words.shown_iteration(seen.state)
            lines.append(f"run {seen.state.session}: {seen.shown} at {at}")
        else:
            first, *rest = words.how_it_stands(seen.state, seen.held)
            lines += [f"run {first}", *(f"  {one}" for one in rest[:2])]
    return lines[:_MOST_LINES]


def show(workspace: Workspace, session: str) -> Result:
    """A run's stages and the history of its iterations, and how it goes on."""
    seen = _seen(workspace, session)
    state = seen.state
    if seen.run.damaged:
        told = ", ".join(map(str, seen.run.damaged[:5]))
        workspace.note(f"{seen.run.path}: line {told} cannot be read and is left out")
    head = f"{session}: {seen.shown}, {state.pipeline}, {words.money(state)}"
    lines = [f"{head}, {clock.human(state.seconds)}"]
    if seen.held in (status.ACTIVE, status.HUNG):
        lines.append(words.held_by(seen.lock or {}, time.time()))
        if state.until:
            at = time.strftime("%H:%M %Z", time.localtime(state.until))
            lines.append(f"waits for a usage limit's reset until {at}")
    lines += words.history(state)
    if seen.held not in (status.ACTIVE, status.HUNG):
        lines += words.how_it_stands(state, seen.held)
    lines.append(f"notes for the next agent: {seen.run.progress}")
    return _result("\n".join(lines), seen.data)


def stop(workspace: Workspace, session: str) -> Result:
    """End a run now, its agent with it; it can go on later."""
    seen = _held(workspace, session)
    _check_here(seen)
    assert seen.lock is not None
    taking.end(seen.lock, session)
    after = _seen(workspace, session)
    if after.held == status.CRASHED:  # it had to be killed, so that its agents live on
        taking.sweep(after.run)
    text = "\n".join([f"run {session} is stopped", *words.going_on(after.state, after.held)])
    return _result(text, after.data)


def pause(workspace: Workspace, session: str) -> Result:
    """Let a run end after the iteration that is under way; it can go on later."""
    seen = _held(workspace, session)
    path = os.path.join(seen.run.folder, PAUSE)
    with writes(path):
        atomic.write(path, b"")
    return _result(f"run {session} pauses after iteration {seen.state.iteration}", seen.data)


def _check_here(seen: Seen) -> None:
    """Raises Refused where a run's process cannot be ended from here."""
    session = seen.state.session
    if status.process(seen.lock or {}, runs.here()) != status.SAME:
        by = words.held_by(seen.lock or {}, time.time())
        raise Refused(f"run {session} is at work elsewhere: {by}", "stop it there")


def logs(workspace: Workspace, session: str, iteration: int | None, stage: str) -> Result:
    """What the agent of an iteration printed, the newest unless one is named; its last part, and
    where its result lies."""
    seen = _seen(workspace, session)
    path, result = _log(seen, iteration, stage)
    path, others = _newest(path)
    try:
        with atomic.opened(path, 1 << 40) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        raise Refused(
            f"there is no log {path}: {error.strerror}", "see loopkit runs show"
        ) from None
    lines = [path, text.rstrip("\n")]
    lines += [f"the agents before it: {', '.join(others)}"] if others else []
    there = os.path.isfile(result)
    lines += [f"result: {result}"] if there else []
    data = {"log": path, "text": text, "result": result if there else None}
    return _result("\n".join(lines), data)


def _log(seen: Seen, iteration: int | None, stage: str) -> tuple[str, str]:
    """The paths of an iteration's raw output and of its result."""
    state = seen.state
    names = [one.part.name for one in state.stages]
    if stage and stage not in names:
        raise UsageFault(f"there is no stage {stage[:40]!r}", "one of " + ", ".join(names))
    at = names.index(stage) if stage else min(state.current, len(names) - 1)
    number = iteration or state.stages[at].done + (state.begun is not None) or 1
    return seen.run.log(at, number), seen.run.result(at, number)


def _newest(path: str) -> tuple[str, list[str]]:
    """Of an iteration that has asked several agents, each for a step of its loop, the log of the
    last one, and the names of the others in order."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    try:
        with os.scandir(folder) as rows:
            mine = [row for row in rows if row.name == name or row.name.startswith(f"{stem}-")]
            found = sorted((row.stat().st_mtime_ns, row.name) for row in mine)
    except OSError:
        return path, []
    if not found:
        return path, []
    *others, last = [name for _, name in found]
    return os.path.join(folder, last), others


def follow(workspace: Workspace, session: str) -> Iterator[str]:
    """Lines about a run while it is at work, those so far first, until it ends."""
    shown = 0
    while True:
        seen = _seen(workspace, session)
        lines = words.history(seen.state)
        yield from lines[shown:]
        shown = max(shown, len(lines))
        if seen.held not in (status.ACTIVE, status.HUNG):
            yield from words.how_it_stands(seen.state, seen.held)
            return
        time.sleep(_LOOK)


def clean(workspace: Workspace, names: list[str], days: float) -> Result:
    """Put runs away in .loop/archive: those of these names, else all that ended so many days ago.
    One that is at work, or damaged, stays, exit 1."""
    root = workspace.root
    if root is None:
        raise Refused("there are no runs", "see loopkit runs")
    limit = time.time() - days * 86400
    done, kept = [], []
    for session in names or runs.names(root):
        with runs.guarded(root):
            try:
                seen = Seen(root, session)
            except Damaged as error:
                kept.append(f"{session} stays: {error}")
                continue
            last = clock.epoch(seen.state.updated_at)
            if seen.held in (status.ACTIVE, status.HUNG):
                if names:
                    by = words.held_by(seen.lock or {}, time.time())
                    kept.append(f"{session} stays, it is at work: {by}")
            elif names or last < limit:
                away = os.path.relpath(runs.archive(root, session), os.path.dirname(root))
                done.append(f"{session} → {away}")
    text = "\n".join(prose.clean(row, 400) for row in [*done, *kept]) or "nothing to put away"
    return _result(text, {"archived": done, "kept": kept}, 1 if kept else 0)
