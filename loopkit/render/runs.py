"""Runs of pipelines in words: how one stands, how it goes on, its history."""

from __future__ import annotations

import shlex
import time

from ..core.journal import clock, prose
from ..core.pipeline import events, parsing, status, typed
from ..core.pipeline.definitions import AGENT, Pipeline
from ..core.pipeline.events import Limits, RunState

#: What a run that was cut off says of it.
_GONE = "the run's process is gone, and its agent left no result"


def command(state: RunState, *more: str) -> str:
    """The command that started a run, as it is typed, with further words."""
    number = [str(state.stages[0].part.runs)] if state.kind == events.LOOP else []
    if "--iterations" in more:
        number = []
    return shlex.join(["loopkit", "run", *typed.again(state.words, number, [*more, *state.needs])])


def shown_iteration(state: RunState) -> str:
    """`3/25` of the stage that is worked on."""
    stage = state.stage or state.stages[-1]
    return f"{min(state.iteration, stage.part.runs)}/{stage.part.runs}"


def money(state: RunState) -> str:
    """`$1.20 of $25`; said where nobody knows the cost."""
    most = "" if state.limits.usd is None else f" of ${state.limits.usd:g}"
    unknown = f" ({state.unpriced} unknown)" if state.unpriced else ""
    return f"${state.usd:.2f}{most}{unknown}"


def limits(name: str, wanted: Limits) -> str:
    """The limits of a run in a line."""
    parts = [f"at most {prose.count(wanted.iterations, 'iteration')}"] if wanted.iterations else []
    parts.append("no limit on cost" if wanted.usd is None else f"${wanted.usd:g}")
    parts.append("no limit on time" if wanted.seconds is None else clock.human(wanted.seconds))
    return f"{name}: {', '.join(parts)}"


def how_it_stands(state: RunState, held: str) -> list[str]:
    """A run that is not at work: where it stopped, why, by which commands it goes on."""
    crashed = held == status.CRASHED
    word = status.FAILED if crashed else state.status
    stage = state.stage or state.stages[-1]
    of_stage = f" of stage {stage.part.name}" if len(state.stages) > 1 else ""
    if word == status.COMPLETED:
        return [f"{state.session}: completed after {prose.count(state.done, 'iteration')}"]
    where = f"at iteration {shown_iteration(state)}{of_stage}, last completed: {stage.done}"
    lines = [f"{state.session}: {word} {where}"]
    if crashed:
        lines.append(f"error: {_GONE if state.begun else 'its process is gone'}")
    elif state.error:
        lines.append(f"error: {state.error}")
    elif state.reason and state.status != status.LIMIT:
        lines.append(f"incomplete: {state.reason}")
    return lines + going_on(state, held)


def going_on(state: RunState, held: str) -> list[str]:
    """The commands that go on with a run, or begin anew."""
    if state.status == status.LIMIT and held != status.CRASHED:
        return [f"incomplete ({state.reason}), {raised(state)}"]
    lines = [f"go on with iteration {state.iteration}: {command(state, '--resume')}"]
    if state.stage is None:
        lines = [f"go on: {command(state, '--resume')}"]
    return [*lines, anew(state)]


def anew(state: RunState) -> str:
    """How a run is put away and begun anew."""
    return f"start over: {command(state, '--force')}"


def raised(state: RunState) -> str:
    """How a run that ended at a limit gets further: the command that lifts it. How often a stage of
    a pipeline may run no option lifts: where that is used up it begins anew."""
    used_up = state.stage is None or state.stage.status == status.LIMIT
    if state.reason == status.MAX_ITERATIONS and state.kind != events.LOOP and used_up:
        return f"its stages have used up their runs, for as many again {anew(state)}"
    return f"raise the limit to go on: {command(state, '--resume', *_raising(state))}"


def _raising(state: RunState) -> list[str]:
    if state.reason == status.MAX_COST:
        return ["--usd", f"{2 * (state.limits.usd or 1):g}"]
    if state.reason == status.MAX_DURATION:
        return ["--time", f"{int(2 * (state.limits.seconds or 3600))}s"]
    return ["--iterations", str(2 * (state.limits.iterations or state.done or 1))]


def held_by(lock: dict, now: float) -> str:
    """Who is at work on a run: `process 4711 since 09:00, last heartbeat 12 s ago`."""
    beat = lock.get("heartbeat_epoch")
    age = clock.human(max(0, now - beat)) if isinstance(beat, (int, float)) else "?"
    since = time.strftime("%H:%M", time.localtime(clock.epoch(str(lock.get("started_at")))))
    where = prose.clean(str(lock.get("host") or "?"), 60)
    pid = lock.get("pid")
    return f"process {pid} on {where} since {since}, last heartbeat {age} ago"


#: Columns of the list of runs; a name that is wider than this moves its own row only.
_HEAD = ("run", "state", "stage", "iteration", "cost", "time", "began")
_WIDEST = 24


def table(rows: list[tuple[RunState, str]], now: float) -> list[str]:
    """A line for each run under their heads: session, status, stage, iteration, cost, time, when it
    began; nothing for none."""
    cells = [_HEAD, *(_cells(state, held, now) for state, held in rows)]
    widths = [
        max(len(text) for text in column if len(text) <= _WIDEST)
        for column in zip(*cells, strict=True)
    ]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return lines if rows else []


def _cells(state: RunState, held: str, now: float) -> tuple[str, ...]:
    begun = clock.epoch(state.resumed_at or state.started_at)
    active = held in (status.ACTIVE, status.HUNG)
    long = f", over {clock.human(status.LONG)}" if active and now - begun > status.LONG else ""
    return (
        state.session,
        status.shown(state.status, held),
        (state.stage or state.stages[-1]).part.name,
        shown_iteration(state),
        money(state),
        f"{clock.human(state.seconds)}{long}",
        time.strftime("%b %d %H:%M", time.localtime(begun)),
    )


def history(state: RunState) -> list[str]:
    """A line for each stage and for each iteration that counts."""
    lines = []
    for number, stage in enumerate(state.stages, 1):
        part = stage.part
        why = f": {stage.reason}" if stage.reason else ""
        done = f"{stage.done} of {part.runs}, {part.completion}"
        lines.append(f"stage {number} {part.name}: {stage.status}, {done}{why}")
        lines += [f"  {entry(row)}" for row in stage.rows]
    return lines


def entry(row: dict) -> str:
    """One iteration of the history."""
    parts = [f"{row['iteration']:>3} {row['outcome'].replace('_', ' ')}"]
    parts.append(clock.human(row["seconds"]))
    parts.append("cost unknown" if row["usd"] is None else f"${row['usd']:.2f}")
    parts += votes(row)
    if row["dirty"]:
        parts.append("left uncommitted changes")
    for key in ("error", "denied", "notes"):
        value = row.get(key)
        if value:
            said = value if isinstance(value, str) else "; ".join(map(str, value))
            parts.append(f"{key}: {prose.clean(said, 200)}")
    checks = [row for row in row.get("validation", ()) if isinstance(row, dict)]
    parts += [f"{one.get('line')}: exit {one.get('exit')}, {one.get('log')}" for one in checks]
    return " · ".join(parts)


def votes(row: dict) -> list[str]:
    """What an iteration's output said: `plateau: true`."""
    parsed = row.get("parsed", {key: row[key] for key in row if key not in parsing.OWN})
    words = {key: "missing" if value is None else str(value) for key, value in parsed.items()}
    return [
        f"{key}: {word.lower() if word in ('True', 'False') else prose.clean(word, 60)}"
        for key, word in words.items()
    ]


def ended(state: RunState, view: str, iteration: int, runs: int, row: dict) -> str:
    """An iteration's end in a line: `plan 2 of 5: done in 34 s · plateau: true · $0.12 …`."""
    what = f"{view} {iteration} of {runs}: {row['outcome'].replace('_', ' ')}"
    parts = [f"{what} in {clock.human(row['seconds'])}", *votes({"parsed": row.get("parsed", {})})]
    cost = "cost unknown" if row["usd"] is None else f"${row['usd']:.2f}"
    parts.append(f"{cost}, {money(state)} so far")
    parts += [f"denied: {one}" for one in row["denied"][:3]]
    if row["error"]:
        parts.append(row["error"])
    parts += [prose.clean(note, 200) for note in row.get("notes", ())]
    return " · ".join(parts)


def plan(pipeline: Pipeline, chosen: dict) -> list[str]:
    """What a pipeline would do: a line for each stage, and what ends it. chosen: agent and model
    that were given with the start, which count before the stage's."""
    lines = []
    for number, entry in enumerate(pipeline.entries, 1):
        stage = entry.stage
        ends = f"until {stage.completion}, at most {prose.count(entry.runs, 'iteration')}"
        if stage.min_iterations > 1:
            ends += f", at least {stage.min_iterations}"
        lines.append(f"stage {number} {entry.name} ({stage.name}): {ends}")
        agent = chosen.get("agent") or stage.agent or AGENT
        model = chosen.get("model") or stage.model
        model = f", model {model}" if model else ""
        limits = ", ".join(f"{key} {value:g} s" for key, value in stage.timeouts._asdict().items())
        lines.append(f"  agent {agent}{model}; pause {stage.delay:g} s; deadlines {limits}")
        if stage.validate:
            lines.append(f"  checked by: {'; '.join(stage.validate)}")
        if stage.prompt_file:
            lines.append(f"  prompt {stage.prompt_file}")
    return lines
