"""What a run waits for: a pure function of its state."""

from __future__ import annotations

from ..journal import limits
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


def reached(state: RunState, elapsed: float, usd: float = 0.0) -> tuple[str, str] | None:
    """(why a run's limits let it start no further iteration, in words), None where they do. usd:
    spent by the iteration under way."""
    spent = (state.done, state.usd + usd, state.base + elapsed)
    over = limits.reached(*spent, state.limits)
    return over and (status.LIMITS[over[0]], over[1])


def used_up(state: RunState, parts: list, most: Limits) -> str:
    """Why a run at its limit cannot go on with these stages and limits; "" where it can."""
    for stage, part in zip(state.stages, parts):
        if not stage.has_ended and stage.status == status.LIMIT and stage.done >= part["runs"]:
            return f"stage {stage.part.name} has used up its runs, and none follows without it"
        if stage.status in (status.PENDING, status.RUNNING) or stage.done < part["runs"]:
            break
    else:
        return f"all {state.done} iterations are used up"
    over = limits.reached(state.done, state.usd, state.seconds, most)
    return over[1] if over else ""
