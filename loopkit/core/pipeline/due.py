"""What a run waits for: a pure function of its state."""

from __future__ import annotations

from ..journal import clock
from ..steps.kinds import Step
from . import status
from .events import Limits, RunState

#: Kinds of steps that loopkit does itself; an agent's has its stage's name, which has no space.
BEGIN_STAGE, TEST, CAP, END = "begin stage", "test completion", "reach limit", "end run"
OWN = frozenset((BEGIN_STAGE, TEST, CAP, END))


def due(state: RunState, elapsed: float, tested: bool) -> Step | None:
    """The next step; None where the run has ended. elapsed: seconds since this start · tested:
    whether completion has been tested since the last iteration, which nothing records."""
    if state.status != status.RUNNING:
        return None
    stage = state.stage
    if stage is None:
        return Step(END)
    if stage.status == status.PENDING:
        return Step(BEGIN_STAGE, state.current)
    if state.untested and not tested or stage.done >= stage.part.runs:
        return Step(TEST, stage.done)
    if reached(state, elapsed):
        return Step(CAP)
    return Step(stage.part.name, stage.done + 1)


def reached(state: RunState, elapsed: float) -> str:
    """Why a run's limits let it start no further iteration; "" where they do."""
    limits = state.limits
    if limits.iterations is not None and state.done >= limits.iterations:
        return status.MAX_ITERATIONS
    if limits.usd is not None and state.usd >= limits.usd:
        return status.MAX_COST
    if limits.seconds is not None and state.base + elapsed >= limits.seconds:
        return status.MAX_DURATION
    return ""


def used_up(state: RunState, parts: list, limits: Limits) -> str:
    """Why a run at its limit cannot go on with these stages and limits; "" where it can."""
    for stage, part in zip(state.stages, parts):
        if stage.status in (status.PENDING, status.RUNNING) or stage.done < part["runs"]:
            break
    else:
        return f"all {state.done} iterations are used up"
    if limits.iterations is not None and state.done >= limits.iterations:
        return f"{state.done} of {limits.iterations} iterations are used up"
    if limits.usd is not None and state.usd >= limits.usd:
        return f"${state.usd:.2f} of ${limits.usd:g} are spent"
    if limits.seconds is not None and state.seconds >= limits.seconds:
        return f"{clock.human(state.seconds)} of {clock.human(limits.seconds)} are used up"
    return ""
