"""Start a run of a stage or a pipeline, or go on with one."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...core.journal.errors import LoopError
from ...core.journal.events import Event
from ...core.pipeline import events, status
from ...core.pipeline.definitions import Entry
from ...engine import process, run
from ...engine.agents import Agent, Answer
from ...render import runs as words
from ...store import loop
from ...store.runs import Lock, Run
from .. import headless
from ..workspace import Workspace
from . import completions, loops, making, notices, on_loop, taking
from .driver import RUN, Driver, Stop, prompt
from .on_loop import LOOPER
from .ready import Asked, Ready, complete, looked_up

#: Rounds of the runner that an iteration takes, and some that begin and end stages.
_ROUNDS, _MORE_ROUNDS = 4, 1000


class Told(NamedTuple):
    """Something to say about a run beside its steps."""

    text: str


class Over(NamedTuple):
    """A run has ended or paused here, or nothing was begun. code: the command's exit code · text:
    lines that say how · data: its state.json."""

    code: int
    text: str
    data: dict


Record = Told | Over | run.Record


def start(
    workspace: Workspace, asked: Asked, told: Callable[[str], None] = lambda line: None
) -> Iterator[Record]:
    """Run a stage or a pipeline until it is complete, a limit is reached or somebody stops it.
    told: gets lines of progress from other threads."""
    workspace.note = _once(workspace.note)
    try:
        found = checked(workspace, asked)
        yield from map(Told, found.notes)
        loop.prepare(found.root)
        found.books.note_own()
        opened, lock, away = taking.take(workspace, found, asked)
    except taking.Stands as there:
        taking.tidy(there.run)
        yield stands(there, asked)
        return
    try:
        maker = making.maker(opened, found.settings["agents"], opened.state.chosen, told)
        driver = _driver(workspace, opened, found, maker)
    except BaseException:
        lock.release()
        raise
    if away:
        yield Told(f"the run {asked.session} of before is put away: {away}")
    yield Told(words.limits(found.pipeline.name, found.limits))
    try:
        yield from _standing(workspace, driver, lock)
    except SystemExit:  # aborted by a signal
        for line in words.how_it_stands(opened.state, status.FREE):
            told(line)
        raise
    if opened.fault is not None:
        raise opened.fault
    state = opened.state
    if driver.lost:
        text = f"run {asked.session} was taken by another process; nothing more is written here"
        yield Over(status.EXITS[status.FAILED], text, events.document(state))
        return
    yield _told(opened, status.FREE, _by_signal(driver))
    notices.give(state, found.settings["notify"], workspace)


def _once(note: Callable[[str], None]) -> Callable[[str], None]:
    """Notes a line that each step would note once."""
    said: set[str] = set()

    def noted(line: str) -> None:
        if line not in said:
            said.add(line)
            note(line)

    return noted


def checked(workspace: Workspace, asked: Asked) -> Ready:
    """All that a start needs, after what stands in its way: of a run that is complete nobody misses
    a program. Nothing is written. Raises LoopError, taking.Stands."""
    found = looked_up(workspace, asked)
    refused = taking.refusal(taking.look(found, asked), found, asked)
    if refused is not None:
        raise refused
    found = complete(workspace, asked, found)
    making.check(found, asked)
    return found


def stands(there: taking.Stands, asked: Asked) -> Over:
    """How the run stands that a start did not touch."""
    over = _told(there.run, there.held, there.code)
    state = there.run.state
    anew = words.anew(state)
    more = [] if anew in over.text else [anew]
    if over.code:
        there_is = f"nothing was begun: run {state.session} is there already"
        ways = "--resume goes on where something is left, --force starts over"
        if asked.name not in (state.pipeline, *state.words):
            there_is += f", of {state.pipeline}"
            typed = shlex.join(["loopkit", "run", *asked.words, "--force"])
            ways = f"put it away and begin this one: {typed}"
        more.append(f"{there_is}; {ways}")
    return over._replace(text="\n".join([over.text, *more]))


def _driver(
    workspace: Workspace, opened: Run, found: Ready, maker: Callable[[Entry], Agent]
) -> Driver:
    """The driver of a run; where a stage works on a loop, one that knows it."""
    if found.loop is None:
        return Driver(workspace, opened, found.pipeline, maker)
    wanted, limits = found.loop, found.limits

    def take() -> str:
        return loops.take(workspace.note, wanted, limits)

    roles = _roles(found, maker) if found.pipeline.name == LOOPER else {}
    return on_loop.Driver(workspace, opened, found.pipeline, maker, roles, take)


def _roles(found: Ready, maker: Callable[..., Agent]) -> dict[str, Agent]:
    """An agent for each role, with the model that the settings give it."""
    entry = found.pipeline.entries[0]
    made = {}
    for role, models in found.settings["models"].items():
        stage = entry.stage._replace(model=models[0])
        more = {"fallback_model": models[1]} if len(models) > 1 else {}
        if role != headless.CODER:  # who judges and plans edits nothing
            more["permission_mode"] = "default"
        made[role] = maker(entry._replace(stage=stage), more)
    return made


def _standing(workspace: Workspace, driver: Driver, lock: Lock) -> Iterator[Record]:
    """Run it; where it works on a loop, as a session of its own, which gives the loop back."""
    if not isinstance(driver, on_loop.Driver):
        yield from _run(driver, lock)
        return
    with headless.session(workspace.folder, driver.run.session):
        os.environ[RUN] = driver.run.state.token  # by it checks are found that outlive this process
        try:
            yield from _run(driver, lock)
        finally:
            if driver.taken and not driver.lost:
                loops.give_back(workspace.note, driver.run.state, status.COMPLETED)


def _by_signal(driver: Driver) -> int | None:
    """The exit code of a run that a signal has paused; None of any other."""
    if driver.run.state.status != status.PAUSED or driver.stop is None or not driver.stop.number:
        return None
    return 128 + driver.stop.number


def _run(driver: Driver, lock: Lock) -> Iterator[Record]:
    opened = driver.run
    lock.lost = lambda: driver.interrupt(Stop("its lock was taken by another process", lost=True))
    lock.begin()
    rounds = _ROUNDS * (opened.state.limits.iterations or 10**9) + _MORE_ROUNDS
    try:
        with _signals(driver):
            project = opened.state.project
            yield from run.run(driver, _Nobody(), project, side_by_side=1, rounds=rounds)
    finally:
        if opened.state.status == status.RUNNING and not driver.lost:
            with contextlib.suppress(LoopError):
                driver.aborted()
        lock.release()


class _Nobody:
    """No agent of the run's own: each stage has one."""

    def run(self, *given: object) -> Answer:
        raise AssertionError

    def interrupt(self) -> None:
        """Nothing to end."""


@contextlib.contextmanager
def _signals(driver: Driver) -> Iterator[None]:
    """Pause on INT, TERM and HUP; a second one aborts, and so does one during a check, whose own
    handlers those are. Only the main thread can have handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pause(number: int, frame: object) -> None:
        again = driver.stop is not None and driver.stop.number
        driver.interrupt(Stop(status.INTERRUPTED, number))
        if again:
            process.sweep(f"{RUN}={driver.run.state.token}")
            sys.exit(128 + number)

    # a script's background jobs ignore INT, and are to be stopped by it all the same
    before = {number: signal.signal(number, pause) for number in {signal.SIGINT, *process.heeded()}}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _told(opened: Run, held: str, code: int | None) -> Over:
    state = opened.state
    if code is None:
        code = status.EXITS[state.status]
    return Over(code, "\n".join(words.how_it_stands(state, held)), events.document(state))


def shown(workspace: Workspace, asked: Asked) -> Told:
    """What a start would do: stages, paths, limits, the prompt of iteration 1. Nothing is written
    and nothing started."""
    found = looked_up(workspace, asked)
    seen = taking.look(found, asked)
    refused = taking.refusal(seen, found, asked)
    try:
        found = complete(workspace, asked, found)
    except LoopError:
        if refused is None:
            raise
    dry = Run(found.root, asked.session)
    row = {**taking.first(workspace, found, asked, seen.run), "token": ""}
    events.RUN.apply(dry.state, Event("run_started", row, "", "person"))
    view = completions.View(dry, found.pipeline.entries[0], 0, workspace)
    about, item = loops.described(workspace, found.loop) if found.loop else ([], "")
    more = {"ITEM": f"({item}, with all that is known of it)"} if found.loop else {}
    lines = [
        *found.notes,
        *_in_the_way(found, asked, refused),
        words.limits(found.pipeline.name, found.limits),
        *words.plan(found.pipeline, dry.state.chosen),
        *about,
        f"works in {workspace.project}",
        f"keeps state in {dry.folder}",
    ]
    if found.pipeline.name == LOOPER:
        lines += _models(found, dry.state.chosen)
    else:
        head = f"prompt of iteration 1 of {found.pipeline.entries[0].name}:"
        lines += ["", head, "", prompt(dry, found.pipeline, view, 1, more)]
    return Told("\n".join(lines))


def _models(found: Ready, chosen: dict) -> list[str]:
    """What stands in place of a prompt where each step of a loop has its own: who is asked, and
    with which model."""
    lines = ["each step asks a fresh agent; what it is told lies in the loop's folder, prompts/"]
    if chosen.get("agent") or chosen.get("model"):
        return lines
    for role, models in found.settings["models"].items():
        lines.append(f"  {role:<11}{models[0]}" + f", else {models[1]}" * (len(models) > 1))
    return lines


def _in_the_way(found: Ready, asked: Asked, refused: Exception | None) -> list[str]:
    """Why that start would be refused, as things stand."""
    why = refused
    if why is None:
        try:
            making.check(found, asked)
        except LoopError as error:
            why = error
    if why is None:
        return []
    told = stands(why, asked).text if isinstance(why, taking.Stands) else str(why)
    return [f"this start would be refused: {told}", ""]
