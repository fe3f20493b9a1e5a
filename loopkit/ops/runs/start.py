"""Start a run of a pipeline, or go on with one."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...core.journal import clock
from ...core.journal.errors import LoopError, Refused, UsageFault
from ...core.pipeline import definitions, events, status
from ...core.pipeline.definitions import DEFAULT_RUNS, Entry, Known, Pipeline
from ...core.pipeline.events import Limits, RunState
from ...engine import agents, run
from ...engine.agents import Agent, Options
from ...engine.definitions import Library, unknown, usable
from ...store import loop, place, runs
from ...store.runs import Lock, Run
from ..workspace import Workspace
from . import completions
from .driver import Driver, Stop

#: In force unless the start says otherwise.
DEFAULT_USD, DEFAULT_SECONDS = 25.0, 7200.0
STAGE, PIPELINE = "stage", "pipeline"


class Asked(NamedTuple):
    """A start as it was asked for. form: STAGE, PIPELINE or "" (whatever has that name) · words: of
    the command, to be typed again · runs, usd, seconds: limits; None: not given, 0: none · how:
    PLAIN, RESUME or FORCE."""

    name: str
    session: str
    form: str = ""
    words: tuple[str, ...] = ()
    runs: int | None = None
    usd: float | None = None
    seconds: float | None = None
    how: str = status.PLAIN
    agent: str = ""
    options: Options = Options()
    items: tuple[str, ...] = ()
    accept_changes: bool = False
    loop: str = ""


class Told(NamedTuple):
    """Something to say about a run beside its steps."""

    text: str


class Over(NamedTuple):
    """A run has ended or paused here. code: the command's exit code · text: lines that say how."""

    code: int
    text: str
    data: dict


Record = Told | Over | run.Record


def known() -> Known:
    """What stages can name."""
    return Known(completions.names(), agents.names(), ("command",))


def library(workspace: Workspace) -> Library:
    """The stages and pipelines that can be named here."""
    whose = workspace.origin(workspace.root) if workspace.root else None
    return Library(workspace.root, workspace.environment, whose, known())


def start(workspace: Workspace, asked: Asked) -> Iterator[Record]:
    """Run a stage or a pipeline until it is complete, a limit is reached or somebody stops it."""
    _check(workspace, asked)
    books = library(workspace)
    pipeline = find(workspace, books, asked)
    root = workspace.root or place.future(workspace.folder, workspace.environment)
    loop.prepare(root)
    wanted = limits(asked, pipeline)
    yield Told(told_limits(pipeline, wanted))
    opened, lock = _take(workspace, root, asked, pipeline, wanted, books.digest)
    driver = Driver(workspace, opened, pipeline, _maker(asked))
    lock.lost = lambda: driver.interrupt(Stop("its lock was taken by another process"))
    lock.begin()
    try:
        with _signals(driver):
            rounds = 8 * (opened.state.limits.iterations or 10**6) + 100
            folder = opened.state.project
            yield from run.run(driver, _none(), folder, side_by_side=1, rounds=rounds)
    finally:
        if opened.state.status == status.RUNNING and lock.ours:
            with contextlib.suppress(LoopError):
                stop = driver.stop or Stop(status.INTERRUPTED)
                driver._end(status.PAUSED, stop.reason)
        lock.release()
    yield over(opened, driver.stop)


def _check(workspace: Workspace, asked: Asked) -> None:
    if workspace.environment.get("LOOPKIT_CHILD"):
        raise Refused(
            "an agent of a run starts no further run",
            "write down what should run next; the person starts it",
        )
    if not definitions.is_name(asked.session):
        raise UsageFault(
            f"not a session's name: {asked.session[:70]!r}",
            f"lower-case letters, digits and hyphens, at most {definitions.LONGEST}",
        )


def find(workspace: Workspace, books: Library, asked: Asked) -> Pipeline:
    """What is to be run. Raises UsageFault for a name that nothing has, Damaged for what lint calls
    an error."""
    if asked.form != PIPELINE:
        found, faults = books.stage(asked.name)
        if found is not None or faults:
            if found is not None:
                usable(found, faults)
                return definitions.single(found, _runs(asked, found))
            usable(definitions.Stage(asked.name), faults)
        if asked.form == STAGE:
            raise unknown("stage", asked.name, [name for name, _ in books.stages()])
    whole, faults = books.pipeline(asked.name, workspace.folder)
    if whole is None and not faults:
        names = [name for name, _ in (*books.stages(), *books.pipelines())]
        what = "pipeline" if asked.form else "stage or pipeline"
        raise unknown(what, asked.name, names)
    usable(whole or Pipeline(asked.name, ()), faults)
    assert whole is not None
    return whole


def _runs(asked: Asked, found: definitions.Stage) -> int:
    """Iterations of a single stage at the most."""
    if asked.runs:
        return asked.runs
    items = asked.items or found.items
    if found.completion == definitions.ALL_ITEMS:
        return max(1, len(items))
    return DEFAULT_RUNS


def limits(asked: Asked, pipeline: Pipeline) -> Limits:
    """The limits of a start. Raises UsageFault where nothing would bound it."""
    runs = asked.runs or sum(entry.runs for entry in pipeline.entries)
    usd = DEFAULT_USD if asked.usd is None else asked.usd
    seconds = DEFAULT_SECONDS if asked.seconds is None else asked.seconds
    return Limits(runs, usd or None, seconds or None)


def told_limits(pipeline: Pipeline, wanted: Limits) -> str:
    """The limits in a line."""
    money = "no limit on cost" if wanted.usd is None else f"${wanted.usd:g}"
    time = "no limit on time" if wanted.seconds is None else clock.human(wanted.seconds)
    return f"{pipeline.name}: at most {wanted.iterations} iterations, {money}, {time}"


def _take(
    workspace: Workspace,
    root: str,
    asked: Asked,
    pipeline: Pipeline,
    wanted: Limits,
    digest: str,
) -> tuple[Run, Lock]:
    """The run and its lock, taken together: of many who start it at once one gets it."""
    row = {
        "words": list(asked.words),
        "parts": [_part(entry) for entry in pipeline.entries],
        "definition": digest,
        "iterations": wanted.iterations,
        "usd": wanted.usd,
        "seconds": wanted.seconds,
    }
    with runs.guarded(root):
        opened = Run.open(root, asked.session)
        if opened is None:
            begin = {
                **row,
                "session": asked.session,
                "kind": events.LOOP if pipeline.single else events.PIPELINE,
                "pipeline": pipeline.name,
                "project": workspace.project,
                "items": list(asked.items or _items(pipeline)),
                "loop": asked.loop,
            }
            opened = runs.create(root, asked.session, begin, progress_head(asked.session))
        else:
            raise Refused(f"there is a run {asked.session}", "--resume or --force")
        lock = Lock(root, asked.session, lambda: None)
        lock.take()
    return opened, lock


def _part(entry: Entry) -> dict:
    return {
        "name": entry.name,
        "stage": entry.stage.name,
        "completion": entry.stage.completion,
        "runs": entry.runs,
        "on_limit": entry.on_limit,
    }


def _items(pipeline: Pipeline) -> tuple[str, ...]:
    return next((entry.stage.items for entry in pipeline.entries if entry.stage.items), ())


def progress_head(session: str) -> str:
    """How a progress file begins."""
    return f"# Progress: {session}\n\nVerify: \n\n## Codebase patterns\n\n---\n"


def _maker(asked: Asked) -> Callable[[Entry], Agent]:
    def make(entry: Entry) -> Agent:
        options = asked.options._replace(model=entry.stage.model or asked.options.model)
        return agents.make(asked.agent or entry.stage.agent or "claude", options)

    return make


class _none:
    """No agent of the run itself: each stage has its own."""

    def run(self, *given: object) -> agents.Answer:
        raise AssertionError

    def interrupt(self) -> None:
        """Nothing to end."""


@contextlib.contextmanager
def _signals(driver: Driver) -> Iterator[None]:
    """Pause on INT, TERM and HUP; a second one aborts. Only the main thread can have handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pause(number: int, frame: object) -> None:
        if driver.stop is not None and driver.stop.number:
            raise SystemExit(128 + number)
        driver.stop = None
        driver.interrupt(Stop(status.INTERRUPTED, number))

    names = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    before = {number: signal.signal(number, pause) for number in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def over(opened: Run, stop: Stop | None) -> Over:
    """How a run has ended, and how it goes on."""
    state = opened.state
    code = status.EXITS[state.status]
    if stop is not None and stop.number and state.status == status.PAUSED:
        code = 128 + stop.number
    return Over(code, "\n".join(told(state)), events.document(state))


def told(state: RunState) -> list[str]:
    """The end of a run in lines."""
    lines = [f"{state.session}: {state.status}" + (f", {state.reason}" if state.reason else "")]
    return lines
