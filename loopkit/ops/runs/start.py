"""Start a run of a stage or a pipeline, or go on with one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...core.journal import limits as typed
from ...core.journal.errors import LimitReached, LoopError, Refused, UsageFault
from ...core.journal.events import Event
from ...core.pipeline import definitions, due, events, status
from ...core.pipeline.definitions import DEFAULT_RUNS, Entry, Known, Pipeline
from ...core.pipeline.events import Limits, RunState
from ...engine import agents, process, run
from ...engine.agents import Agent, Answer, Options
from ...engine.agents.patient import Patient
from ...engine.definitions import Library, unknown, usable
from ...render import runs as words
from ...store import config, loop, origin, place, runs
from ...store.runs import Lock, Run
from .. import headless
from ..workspace import Workspace
from . import completions, loops, notices, on_loop, validators
from .driver import RUN, Driver, Stop, prompt
from .loops import LOOPER
from .on_loop import OnLoop

STAGE, PIPELINE = "stage", "pipeline"
#: The stage that works a goal to its end: what its agents are told is the loop's.
_LOOPER = definitions.Stage(
    LOOPER, "Work a goal to its end", "goal-reached", delay=0, text="${ITEM}"
)
#: Seconds that a process is given to end when somebody else wants it to.
_PATIENCE = 30.0
#: Rounds of the runner that an iteration takes, and some that begin and end stages.
_ROUNDS, _MORE_ROUNDS = 4, 1000


class Asked(NamedTuple):
    """A start as it was asked for. form: STAGE, PIPELINE or "" (whatever has that name) · words: of
    the command, to be typed again · iterations, usd, seconds: limits; None: not given, 0: none ·
    how: PLAIN, RESUME or FORCE · chosen: agent and options that were given: agent, model, program,
    script, record, allowed_tools, permission_mode · items: None where none were given · loop,
    tasks, goal, approval, checks, take_over: of a stage that works on a loop, as of loops.Wish."""

    name: str
    session: str
    form: str = ""
    words: tuple[str, ...] = ()
    iterations: int | None = None
    usd: float | None = None
    seconds: float | None = None
    how: str = status.PLAIN
    chosen: dict[str, Any] = {}  # noqa: RUF012
    items: tuple[str, ...] | None = None
    accept_changes: bool = False
    loop: str = ""
    tasks: str = ""
    goal: str = ""
    approval: str = ""
    checks: tuple[str, ...] = ()
    take_over: bool = False


def amount(text: str | None, kind: str) -> float | None:
    """A limit as it was typed; 0: none. Raises UsageFault."""
    return None if text is None else typed.amount(text, None, kind) or 0


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


def library(workspace: Workspace) -> tuple[Library, dict]:
    """The stages and pipelines that can be named here, and the settings of runs. Raises
    LoopError."""
    whose = workspace.origin(workspace.root) if workspace.root else None
    settings = config.of_runs(whose, workspace.environment, workspace.project)
    names = Known(completions.names(), [*settings["agents"], *agents.names()], validators.names())
    return Library(workspace.root, workspace.environment, whose, names), settings


class Ready(NamedTuple):
    """All that a start needs, found out before anything is written. notes: what to tell the person
    first · loop: where a stage works on one."""

    root: str
    pipeline: Pipeline
    limits: Limits
    books: Library
    settings: dict
    notes: list[str]
    loop: loops.Found | None = None


def ready(workspace: Workspace, asked: Asked) -> Ready:
    """Look everything up. Raises LoopError for what cannot be run."""
    _check(workspace, asked)
    books, settings = library(workspace)
    root = workspace.root or place.future(workspace.folder, workspace.environment)
    before = Run.open(root, asked.session)
    try:
        pipeline = find(workspace, books, _as_before(asked, before))
    except UsageFault as fault:
        raise _untrusted(books, fault) from None
    notes = [_passed_over(name) for name in dict.fromkeys(books.untrusted)]
    wanted = limits(asked, pipeline, settings["limits"], before)
    for entry in pipeline.entries:
        completions.check_programs(entry.stage.completion, workspace.environment)
    found = _loop(workspace, asked, pipeline, before)
    return Ready(root, pipeline, wanted, books, settings, notes, found)


def _loop(
    workspace: Workspace, asked: Asked, pipeline: Pipeline, before: Run | None
) -> loops.Found | None:
    """The loop that stages of a pipeline work on. Raises LoopError."""
    strategies = [completions.made(entry.stage.completion) for entry in pipeline.entries]
    on_loop = [one for one in strategies if isinstance(one, OnLoop)]
    if not on_loop:
        return None
    goal = asked.goal if any(one.goal for one in on_loop) else None
    named = asked.loop or (before.state.loop if before and asked.how == status.RESUME else "")
    given = Limits(asked.iterations, asked.usd, asked.seconds)
    wish = (asked.session, named, asked.tasks, goal, asked.approval)
    return loops.look(workspace, loops.Wish(*wish, asked.checks, asked.take_over, given))


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


def _as_before(asked: Asked, before: Run | None) -> Asked:
    """A start that goes on takes the number of iterations from the run, unless it is given."""
    if before is None or asked.how != status.RESUME:
        return asked
    state = before.state
    if asked.items is not None and list(asked.items) != state.items:
        raise Refused("a run keeps the items that it began with", "leave --items out")
    if asked.iterations is None and state.kind == events.LOOP:
        asked = asked._replace(iterations=state.stages[0].part.runs)
    return asked._replace(items=tuple(state.items))


def _untrusted(books: Library, fault: UsageFault) -> LoopError:
    """The refusal of a name that only an untrusted file has."""
    if not books.untrusted:
        return fault
    return Refused(_passed_over(books.untrusted[0]), code="not_yours")


def _passed_over(name: str) -> str:
    way = f"look at it and take it over in a terminal: {origin.program()} trust"
    return f".loop/{name} came with the repository and is not used; {way}"


def find(workspace: Workspace, books: Library, asked: Asked) -> Pipeline:
    """What is to be run. Raises UsageFault for a name that nothing has, Damaged for what lint calls
    an error."""
    if asked.name == LOOPER:
        return definitions.single(_LOOPER, asked.iterations or DEFAULT_RUNS)
    if asked.form != PIPELINE:
        found, faults = books.stage(asked.name)
        usable(faults)
        if found is not None:
            return definitions.single(found, _iterations(asked, found))
        if asked.form == STAGE:
            raise unknown("stage", asked.name, [name for name, _ in books.stages()])
    whole, faults = books.pipeline(asked.name, workspace.folder)
    usable(faults)
    if whole is None:
        names = [name for name, _ in (*books.stages(), *books.pipelines())]
        raise unknown("pipeline" if asked.form else "stage or pipeline", asked.name, names)
    return whole


def _iterations(asked: Asked, found: definitions.Stage) -> int:
    """Iterations of a single stage at the most."""
    if asked.iterations:
        return asked.iterations
    if found.completion == definitions.ALL_ITEMS:
        return max(1, len(found.items if asked.items is None else asked.items))
    return DEFAULT_RUNS


def limits(asked: Asked, pipeline: Pipeline, usual: dict, before: Run | None = None) -> Limits:
    """The limits of a start: what was given, what the run had, what the settings say. Raises
    UsageFault where nothing would bound it."""
    had: dict[str, Any] = {"iterations": None, **usual}
    if before is not None and asked.how == status.RESUME:
        had = before.state.limits._asdict()
    if pipeline.single:
        most: int | None = pipeline.entries[0].runs
    else:
        most = asked.iterations or max(
            had["iterations"] if asked.how == status.RESUME else 0,
            sum(entry.runs for entry in pipeline.entries),
        )
    usd = had["usd"] if asked.usd is None else asked.usd or None
    seconds = had["seconds"] if asked.seconds is None else asked.seconds or None
    return Limits(most, usd, seconds)


# -- running


def start(
    workspace: Workspace, asked: Asked, told: Callable[[str], None] = lambda line: None
) -> Iterator[Record]:
    """Run a stage or a pipeline until it is complete, a limit is reached or somebody stops it.
    told: gets lines of progress from other threads."""
    found = ready(workspace, asked)
    yield from map(Told, found.notes)
    loop.prepare(found.root)
    found.books.note_own()
    try:
        opened, lock = _take(workspace, found, asked)
    except _Stands as stands:
        over = _told(stands.run, stands.held, stands.code)
        anew = words.anew(stands.run.state)
        yield (
            over
            if anew in over.text or not over.code
            else over._replace(text=f"{over.text}\n{anew}")
        )
        return
    try:
        chosen = opened.state.chosen
        maker = _maker(found, opened, chosen, told)
        driver = _driver(workspace, opened, found, maker)
    except BaseException:
        lock.release()
        raise
    yield Told(words.limits(found.pipeline.name, found.limits))
    yield from _standing(workspace, driver, lock)
    state = opened.state
    code = _by_signal(driver)
    notices.give(state, found.settings["notify"], workspace)
    yield _told(opened, status.FREE, code)


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
        fallback = {"fallback_model": models[1]} if len(models) > 1 else {}
        made[role] = maker(entry._replace(stage=stage), fallback)
    return made


def _standing(workspace: Workspace, driver: Driver, lock: Lock) -> Iterator[Record]:
    """Run it; where it works on a loop, as a session of its own, which gives the loop back."""
    if not isinstance(driver, on_loop.Driver):
        yield from _run(driver, lock)
        return
    with headless.session(workspace.folder, driver.run.session):
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
                driver.end(status.PAUSED, status.INTERRUPTED)
        lock.release()


class _Nobody:
    """No agent of the run's own: each stage has one."""

    def run(self, *given: object) -> Answer:
        raise AssertionError

    def interrupt(self) -> None:
        """Nothing to end."""


@contextlib.contextmanager
def _signals(driver: Driver) -> Iterator[None]:
    """Pause on INT, TERM and HUP; a second one aborts, and so does one during a check. Only the
    main thread can have handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pause(number: int, frame: object) -> None:
        again = driver.stop is not None and driver.stop.number
        driver.interrupt(Stop(status.INTERRUPTED, number))
        if again or driver.checking:
            process.sweep(f"{RUN}={driver.run.state.token}")
            sys.exit(128 + number)

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, pause) for number in numbers}
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


# -- taking the run


class _Stands(Exception):
    """There is a run that this start does not touch. code: of the command."""

    def __init__(self, run: Run, held: str, code: int) -> None:
        super().__init__()
        self.run, self.held, self.code = run, held, code


def _take(workspace: Workspace, found: Ready, asked: Asked) -> tuple[Run, Lock]:
    """The run and its lock, taken together: of many who start it at once one gets it. Raises
    LoopError, _Stands."""
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
        _sweep(before)
        before.record([("run_resumed", _row(found, asked, before.state))])
        opened = before
    else:
        if before is not None:
            _sweep(before)
            runs.archive(root, session)
        _check_allowed(workspace, found.pipeline)
        opened = runs.create(root, session, _first(workspace, found, asked), progress_head(session))
    lock = Lock(root, session, lambda: None)
    lock.take()
    return opened, lock


def _sweep(before: Run) -> None:
    """End agents that outlived the process which started them."""
    if before.state.token:
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
    return _Stands(before, held, 0 if what == status.SAY_COMPLETED else 1)


def _check_goes_on(before: Run, found: Ready, asked: Asked) -> None:
    """Raises Refused or LimitReached where a run cannot go on like this."""
    state, session = before.state, asked.session
    if not before.ours:
        what = f"run {session} was not started here"
        raise Refused(what, "start over: --force", code="not_yours")
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


def _row(found: Ready, asked: Asked, state: RunState | None = None) -> dict:
    """The data of a start. A further start keeps the agent of the one before it."""
    chosen = {**(state.chosen if state else {}), **asked.chosen}
    return {
        "words": list(asked.words),
        "chosen": chosen,
        "parts": [_part(entry) for entry in found.pipeline.entries],
        "definition": found.books.digest,
        **found.limits._asdict(),
    }


def _first(workspace: Workspace, found: Ready, asked: Asked) -> dict:
    pipeline = found.pipeline
    items = next((entry.stage.items for entry in pipeline.entries if entry.stage.items), ())
    return {
        **_row(found, asked),
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
        for line in entry.stage.validate:
            validators.check_allowed(workspace, line, entry.name)


def progress_head(session: str) -> str:
    """How a progress file begins."""
    return f"# Progress: {session}\n\nVerify: \n\n## Codebase patterns\n\n---\n"


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


# -- agents


def _maker(
    found: Ready, opened: Run, chosen: dict, told: Callable[[str], None]
) -> Callable[..., Agent]:
    """Makes the agent of a stage (and with further options): what was given with the start counts
    before what the stage says, and that before the settings."""
    seconds = found.limits.seconds
    left = None if seconds is None else max(0.0, seconds - opened.state.seconds)
    until = None if left is None else time.time() + left
    known = found.settings["agents"]
    mark = {RUN: opened.state.token}

    def make(entry: Entry, more: dict = {}) -> Agent:  # noqa: B006  # only read
        name = chosen.get("agent") or entry.stage.agent or "claude"
        row = dict(known.get(name, {}))
        use = row.pop("use", "") or name
        model = {"model": entry.stage.model} if entry.stage.model else {}
        given = {key: value for key, value in chosen.items() if key != "agent"}
        values = {**row, **model, **more, **given}
        values = {key: tuple(one) if type(one) is list else one for key, one in values.items()}
        options = Options(**values)._replace(environment=mark, told=told)
        fallback = None
        if options.fallback_model and use != "claude":  # the client falls back by itself
            fallback = agents.make(use, options._replace(model=options.fallback_model))
        return Patient(agents.make(use, options), fallback, until, told, opened.waiting)

    return make


def shown(workspace: Workspace, asked: Asked) -> Told:
    """What a start would do: stages, paths, limits, the prompt of iteration 1. Nothing is written
    and nothing started."""
    found = ready(workspace, asked)
    session = asked.session
    dry = Run(found.root, session)
    row = {**_first(workspace, found, asked), "token": ""}
    events.RUN.apply(dry.state, Event("run_started", row, "", "person"))
    view = completions.View(dry, found.pipeline.entries[0], 0, workspace)
    lines = [
        *found.notes,
        words.limits(found.pipeline.name, found.limits),
        *words.plan(found.pipeline),
        f"works in {workspace.project}",
        f"keeps state in {dry.folder}",
        "",
        f"prompt of iteration 1 of {found.pipeline.entries[0].name}:",
        "",
        prompt(dry, found.pipeline, view, 1),
    ]
    return Told("\n".join(lines))
