"""The events of a run and the state that they give."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..journal.events import Event, EventType, Fields, Table
from . import status

if TYPE_CHECKING:
    from typing import Any

    from ..journal.events import Amount, Anything, Count, Flag, Number, Text, Whole

#: A run of one stage, a run of several.
LOOP, PIPELINE = "loop", "pipeline"


class Part(Fields):
    """A stage of a run, as its start found it."""

    name: Text
    completion: Text
    runs: Number
    stage: Text = ""
    on_limit: Text = "continue"


class Limits(NamedTuple):
    """What bounds a run: iterations, USD, seconds; None: not bounded by it."""

    iterations: int | None = None
    usd: float | None = None
    seconds: float | None = None


class StageState:
    """One stage of a run. status: PENDING, RUNNING, COMPLETED or LIMIT · done: iterations that
    count · at: when its status changed · rows: its entries of the history."""

    def __init__(self, part: Part) -> None:
        self.part, self.status, self.reason, self.at = part, status.PENDING, "", ""
        self.done = 0
        self.rows: list[dict] = []


class RunState:
    """All that the events of a run say.

    kind: LOOP or PIPELINE · words: of the command that started it · current: index of the stage
    (from 0) that is worked on, the number of stages where all have ended · begun: the iteration
    under way, None between two · untested: completion was not tested since the last iteration ·
    unpriced: iterations of which nobody knows the cost · base: seconds spent before this start.
    """

    def __init__(self, session: str) -> None:
        self.session, self.kind, self.pipeline, self.token = session, LOOP, "", ""
        self.words: list[str] = []
        self.project = self.folder = self.definition = self.loop = ""
        self.items: list[str] = []
        self.limits = Limits()
        self.stages: list[StageState] = []
        self.status, self.reason, self.error = status.RUNNING, "", ""
        self.current, self.begun, self.untested = 0, None, False
        self.begun_at = ""
        self.usd, self.seconds, self.base, self.unpriced = 0.0, 0.0, 0.0, 0
        self.until: float | None = None
        self.started_at = self.resumed_at = self.ended_at = self.updated_at = ""
        self.events = 0

    begun: int | None

    @property
    def stage(self) -> StageState | None:
        """The stage that is worked on."""
        return self.stages[self.current] if self.current < len(self.stages) else None

    @property
    def done(self) -> int:
        """Iterations that count, of all stages."""
        return sum(stage.done for stage in self.stages)

    @property
    def iteration(self) -> int:
        """The iteration of the stage that is under way or due, from 1."""
        stage = self.stage or self.stages[-1]
        return self.begun or stage.done + (self.stage is not None)

    def before(self, event: Event) -> None:
        self.events += 1
        self.updated_at = event.at

    def after(self, event: Event) -> None:
        """Nothing follows from every event."""

    def take_parts(self, parts: list[Part]) -> None:
        """The stages as a start finds them now; what was done in them stays."""
        for number, part in enumerate(parts):
            if number < len(self.stages):
                self.stages[number].part = part
            else:
                self.stages.append(StageState(part))


class _Start(EventType):
    """A start or a further one. words: of its command · definition: digest of the files."""

    words: list[Text]
    parts: list[Part]
    definition: Text
    iterations: Number | None = None
    usd: Amount | None = None
    seconds: Amount | None = None

    def fold(self, state: RunState) -> None:
        state.words, state.definition = self.words, self.definition
        state.limits = Limits(self.iterations, self.usd, self.seconds)
        state.take_parts(self.parts)
        state.status, state.reason, state.error, state.ended_at = status.RUNNING, "", "", ""
        state.until, state.begun, state.base = None, None, state.seconds


class RunStarted(_Start):
    """A run begins. project: the folder that agents work in · token: what makes it ours."""

    session: Text
    kind: Text
    pipeline: Text
    project: Text
    token: Text
    items: list[Text] = []
    loop: Text = ""

    def fold(self, state: RunState) -> None:
        super().fold(state)
        state.session, state.kind, state.pipeline = self.session, self.kind, self.pipeline
        state.project, state.token, state.items = self.project, self.token, self.items
        state.loop = self.loop
        state.started_at = self.at


class RunResumed(_Start):
    """A run goes on after it has ended, or after its process has."""

    def fold(self, state: RunState) -> None:
        super().fold(state)
        state.resumed_at = self.at
        stage = state.stage
        if stage is None:  # all had ended, the last of them at its limit
            state.current = len(state.stages) - 1
            stage = state.stages[-1]
        if stage.status == status.LIMIT:
            stage.status, stage.reason = status.RUNNING, ""


class StageBegun(EventType):
    """A stage begins. index: from 0."""

    index: Count

    def fold(self, state: RunState) -> None:
        stage = state.stages[self.index]
        state.current, stage.status, stage.at = self.index, status.RUNNING, self.at


class IterationBegun(EventType):
    """An agent is started. stage: its index · iteration: within the stage, from 1."""

    stage: Count
    iteration: Number

    def fold(self, state: RunState) -> None:
        state.begun, state.begun_at, state.untested = self.iteration, self.at, False


class IterationEnded(EventType):
    """What came of an agent's run. counted: whether the iteration is completed; one that is not is
    run again · outcome: see engine/agents · elapsed: seconds since this start of the run · parsed:
    what its output said · output: its result's file, relative to the run's folder · dirty: whether
    it left uncommitted changes · validation: what came of the stage's own check."""

    stage: Count
    iteration: Number
    outcome: Text
    counted: Flag
    seconds: Amount
    elapsed: Amount
    exit: Whole | None = None
    usd: Amount | None = None
    parsed: dict[str, Anything] = {}
    dirty: Flag = False
    error: Text = ""
    output: Text = ""
    denied: list[Text] = []
    notes: list[Text] = []
    validation: Anything = None

    def fold(self, state: RunState) -> None:
        state.begun, state.until = None, None
        state.seconds = state.base + self.elapsed
        state.usd += self.usd or 0.0
        state.unpriced += self.usd is None
        if not self.counted:
            return
        stage = state.stages[self.stage]
        stage.done += 1
        stage.rows.append(self.row(stage.part.name))
        state.untested = True

    def row(self, name: str) -> dict:
        """Its entry of the history."""
        row = {
            "stage": name,
            "iteration": self.iteration,
            "timestamp": self.at,
            "outcome": self.outcome,
            "exit": self.exit,
            "seconds": self.seconds,
            "usd": self.usd,
            "dirty": self.dirty,
        }
        for key in ("error", "denied", "notes", "validation"):
            if value := getattr(self, key):
                row[key] = value
        return {**self.parsed, **row}


class WaitBegun(EventType):
    """An agent waits for a usage limit's reset. until: seconds since 1970."""

    until: Amount

    def fold(self, state: RunState) -> None:
        state.until = self.until


class StageEnded(EventType):
    """A stage is complete, or has used up its runs. status: COMPLETED or LIMIT."""

    index: Count
    status: Text
    reason: Text = ""

    def fold(self, state: RunState) -> None:
        stage = state.stages[self.index]
        stage.status, stage.reason, stage.at = self.status, self.reason, self.at
        state.current, state.untested = self.index + 1, False


class RunEnded(EventType):
    """A run has ended, or waits for a person."""

    status: Text
    reason: Text = ""
    error: Text = ""
    elapsed: Amount = 0.0

    def fold(self, state: RunState) -> None:
        state.status, state.reason, state.error = self.status, self.reason, self.error
        state.ended_at, state.until = self.at, None
        state.seconds = max(state.seconds, state.base + self.elapsed)


RUN = Table(sys.modules[__name__])


def document(state: RunState) -> dict[str, Any]:
    """The run's state.json. Numbers of stages and iterations are from 1, as in its folders."""
    stage = state.stage or (state.stages[-1] if state.stages else None)
    failed, completed = state.status == status.FAILED, state.status == status.COMPLETED
    return {
        "version": 1,
        "session": state.session,
        "type": state.kind,
        "pipeline": state.pipeline,
        "started_at": state.started_at,
        "status": state.status,
        "current_stage": stage.part.name if stage else None,
        "iteration": state.iteration if state.stages else 0,
        "iteration_started": state.begun_at if state.begun else None,
        "iteration_completed": stage.done if stage else 0,
        "stages": [
            {
                "index": number,
                "name": one.part.name,
                "status": one.status,
                "timestamp": one.at or None,
                "reason": one.reason or None,
            }
            for number, one in enumerate(state.stages, 1)
        ],
        "history": [row for one in state.stages for row in one.rows],
        "limits": state.limits._asdict(),
        "spent": {
            "iterations": state.done,
            "usd": round(state.usd, 6),
            "seconds": round(state.seconds, 1),
            "unpriced": state.unpriced,
        },
        "waiting_until": state.until,
        "completed_at": state.ended_at if completed else None,
        "completion_reason": state.reason or None,
        "resumed_at": state.resumed_at or None,
        "failed_at": state.ended_at if failed else None,
        "error": state.error or None,
        "definition_hash": state.definition,
    }
