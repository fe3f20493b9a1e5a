"""A start of a run as it was asked for, and all that it needs, found out before anything is
written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...core.journal import limits as typed
from ...core.journal.errors import LoopError, Refused, UsageFault
from ...core.pipeline import definitions, events, status
from ...core.pipeline import typed as typed_words
from ...core.pipeline.definitions import Known, Pipeline
from ...core.pipeline.events import Limits
from ...engine import agents
from ...engine.definitions import Library, unknown, usable
from ...store import config, origin, place
from ...store.runs import Run
from ..workspace import Workspace
from . import completions, loops, validators
from .on_loop import LOOPER, OnLoop

STAGE, PIPELINE = "stage", "pipeline"
#: The variable by which a start knows that it stands in the tmux session that was made for it.
INSIDE = "LOOPKIT_TMUX"
#: The stage that works a goal to its end: what its agents are told is the loop's.
_LOOPER = definitions.Stage(
    LOOPER, "Work a goal to its end", "goal-reached", delay=0, text="${ITEM}"
)


Names = Iterable[tuple[str, object]]


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


def own_words(environment: dict[str, str]) -> list[str]:
    """Options that were typed before this start was made of them."""
    return [typed_words.TMUX] if environment.get(INSIDE) else []


def amount(text: str | None, kind: str) -> float | None:
    """A limit as it was typed; 0: none, which iterations cannot be, so that something always ends a
    run. Raises UsageFault."""
    if text is None:
        return None
    most = typed.amount(text, None, kind)
    if most is None and kind == "iterations":
        raise UsageFault("a run has a number of iterations", "write one, a large one if need be")
    return most or 0


def library(workspace: Workspace) -> tuple[Library, dict]:
    """The stages and pipelines that can be named here, and the settings of runs. Raises
    LoopError."""
    whose = workspace.origin(workspace.root) if workspace.root else None
    settings = config.of_runs(whose, workspace.environment, workspace.project)
    for row in settings["agents"].values():
        row["program"] = _in_project(row["program"], workspace.project)
    names = Known(completions.names(), [*settings["agents"], *agents.names()], validators.names())
    return Library(workspace.root, workspace.environment, whose, names), settings


def _in_project(program: list[str], project: str) -> list[str]:
    """The program of a setting: a path counts from the project."""
    if program and os.path.dirname(program[0]):
        return [os.path.join(project, program[0]), *program[1:]]
    return program


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


def looked_up(workspace: Workspace, asked: Asked) -> Ready:
    """What is to be run, by its name. Raises LoopError for what cannot be run."""
    _check(workspace, asked)
    books, settings = library(workspace)
    root = workspace.root or place.future(workspace.folder, workspace.environment)
    before = Run.open(root, asked.session)
    try:
        most = settings["limits"]["iterations"] or typed.DEFAULT_ITERATIONS
        pipeline = find(workspace, books, _as_before(asked, before), most)
    except UsageFault as fault:
        raise _untrusted(books, fault) from None
    notes = [_passed_over(name) for name in dict.fromkeys(books.untrusted)]
    wanted = limits(asked, pipeline, settings["limits"], before)
    return Ready(root, pipeline, wanted, books, settings, notes)


def complete(workspace: Workspace, asked: Asked, found: Ready) -> Ready:
    """The same with what it works on. Raises LoopError where a program or the loop is missing."""
    for entry in found.pipeline.entries:
        completions.check_programs(entry.stage.completion, workspace.environment)
    before = Run.open(found.root, asked.session)
    loop = _loop(workspace, asked, found.pipeline, before)
    notes = [loop.note] if loop and loop.note else []
    return found._replace(loop=loop, notes=[*found.notes, *notes])


def _loop(
    workspace: Workspace, asked: Asked, pipeline: Pipeline, before: Run | None
) -> loops.Found | None:
    """The loop that stages of a pipeline work on. Raises LoopError."""
    strategies = [completions.made(entry.stage.completion) for entry in pipeline.entries]
    on_loop = [one for one in strategies if isinstance(one, OnLoop)]
    if not on_loop:
        return None
    goal = asked.goal if any(one.goal for one in on_loop) else None
    named = asked.loop or (before.state.loop if before and asked.how != status.PLAIN else "")
    given = Limits(asked.iterations, asked.usd, asked.seconds)
    wish = (asked.session, named, asked.tasks, goal, asked.approval)
    return loops.look(workspace, loops.Wish(*wish, asked.checks, asked.take_over, given))


def agent_of(asked: Asked, before: Run | None) -> dict[str, Any]:
    """The agent of a start and its options: what is given, else those of the run that it goes on
    with or puts away, if that is the person's own."""
    if before is None or asked.how == status.PLAIN or not before.ours:
        return asked.chosen
    had = before.state.chosen
    if asked.chosen.get("agent", had.get("agent")) != had.get("agent"):
        return asked.chosen
    return {**had, **asked.chosen}


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


def find(workspace: Workspace, books: Library, asked: Asked, most: int) -> Pipeline:
    """What is to be run. most: iterations of a stage where the start does not say how many. Raises
    UsageFault for a name that nothing has, Damaged for what lint calls an error."""
    if asked.name == LOOPER:
        return definitions.single(_LOOPER, asked.iterations or most)
    if asked.form != PIPELINE:
        found, faults = books.stage(asked.name)
        usable(faults)
        if found is not None:
            return definitions.single(found, _iterations(asked, found, most))
        if asked.form == STAGE:
            raise _unknown(asked.name, STAGE, books.stages(), PIPELINE, books.pipelines())
    whole, faults = books.pipeline(asked.name, workspace.folder)
    usable(faults)
    if whole is None and asked.form:
        raise _unknown(asked.name, PIPELINE, books.pipelines(), STAGE, books.stages())
    if whole is None:
        names = [name for name, _ in (*books.stages(), *books.pipelines())]
        raise unknown("stage or pipeline", asked.name, names)
    return whole


def _unknown(name: str, kind: str, there: Names, other: str, others: Names) -> UsageFault:
    """The refusal of a name of which nothing of that kind is there, but perhaps of the other."""
    if name in (one for one, _ in others):
        what = f"there is no {kind} {name!r}, but a {other}"
        return UsageFault(what, f"leave the word {kind} out")
    return unknown(kind, name, [one for one, _ in there])


def _iterations(asked: Asked, found: definitions.Stage, most: int) -> int:
    """Iterations of a single stage at the most."""
    if asked.iterations:
        return asked.iterations
    if found.completion == definitions.ALL_ITEMS:
        return max(1, len(found.items if asked.items is None else asked.items))
    return most


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
