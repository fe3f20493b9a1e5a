"""The events of a run and the state that they give."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..journal.events import Event, EventType, Fields, Table
from . import on_loop, status

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


class Seen(NamedTuple):
    """How things stood when an attempt began. tree: the project's files, "" where nobody knows ·
    dirty: paths with changes of the person's · mark: how far the loop had come · usd: that its
    agents had cost, None in older journals · yours: paths that the person has changed since, while
    no attempt was under way."""

    tree: str = ""
    dirty: tuple[str, ...] = ()
    mark: on_loop.Mark = on_loop.Mark()
    usd: float | None = None
    yours: tuple[str, ...] = ()


class MarkRow(Fields):
    """on_loop.Mark as an event has it."""

    completed: list[Text] = []
    blocked: list[Text] = []
    attempts: Count = 0


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

    @property
    def has_ended(self) -> bool:
        """Whether the next one may follow."""
        stops = self.status == status.LIMIT and self.part.on_limit == status.STOP
        return self.status in (status.COMPLETED, status.LIMIT) and not stops


class RunState:
    """All that the events of a run say.

    kind: LOOP or PIPELINE · words: of the command that started it · needs: options that a further
    start has to give besides · chosen: the agent and its
    options as they were given then · begun: the iteration under way, None between two · untested:
    completion was not tested since the last iteration or the stage's start · validated: whether
    the stage's own checks passed on its last iteration; None: they have not run since ·
    unpriced: iterations of which nobody knows the cost · base: seconds spent before this start ·
    loop: the folder of the loop that it works on · seen: how things stood when the attempt under
    way began, one that was cut off included · since: the same for tasks that were tried and are not
    committed yet · left: the project's files as the last attempt left them, where some
    are · stuck: the step of the loop at which the last iterations ended, and how many in a row
    since this start.
    """

    begun: int | None
    validated: bool | None

    def __init__(self, session: str) -> None:
        self.session, self.kind, self.pipeline, self.token = session, LOOP, "", ""
        self.words: list[str] = []
        self.needs: list[str] = []
        self.chosen: dict[str, Any] = {}
        self.project = self.definition = self.loop = ""
        self.items: list[str] = []
        self.limits = Limits()
        self.stages: list[StageState] = []
        self.status, self.reason, self.error = status.RUNNING, "", ""
        self.begun, self.begun_at = None, ""
        self.untested, self.validated = False, None
        self.usd, self.seconds, self.base, self.unpriced = 0.0, 0.0, 0.0, 0
        self.until: float | None = None
        self.started_at = self.resumed_at = self.ended_at = self.updated_at = ""
        self.events = 0
        self.seen: Seen | None = None
        self.since: dict[str, Seen] = {}
        self.left = ""
        self.stuck: tuple[str, int] = "", 0

    @property
    def current(self) -> int:
        """The index (from 0) of the stage that is worked on; their number where all have ended."""
        open_ones = (number for number, one in enumerate(self.stages) if not one.has_ended)
        return next(open_ones, len(self.stages))

    @property
    def stage(self) -> StageState | None:
        """The stage that is worked on."""
        current = self.current
        return self.stages[current] if current < len(self.stages) else None

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
        before, self.stages = self.stages, list(map(StageState, parts))
        for number, stage in enumerate(before[: len(parts)]):
            stage.part = parts[number]
            self.stages[number] = stage


class _Start(EventType):
    """A start or a further one. words: of its command · chosen: agent, model, program, script and
    the like, as they were given · definition: digest of the files."""

    words: list[Text]
    chosen: dict[str, Anything] = {}
    parts: list[Part]
    definition: Text
    iterations: Number | None = None
    usd: Amount | None = None
    seconds: Amount | None = None

    def fold(self, state: RunState) -> None:
        state.words, state.definition, state.chosen = self.words, self.definition, self.chosen
        state.needs = []
        state.limits = Limits(self.iterations, self.usd, self.seconds)
        state.take_parts(self.parts)
        state.status, state.reason, state.error, state.ended_at = status.RUNNING, "", "", ""
        state.until, state.begun, state.base = None, None, state.seconds
        state.stuck = "", 0


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
        for stage in state.stages:
            if stage.status == status.LIMIT and stage.done < stage.part.runs:
                stage.status, stage.reason = status.RUNNING, ""


class StageBegun(EventType):
    """A stage begins. index: from 0."""

    index: Count

    def fold(self, state: RunState) -> None:
        stage = state.stages[self.index]
        stage.status, stage.at = status.RUNNING, self.at
        state.untested, state.validated = True, None


class LoopTaken(EventType):
    """The run works on a loop. loop: its folder."""

    loop: Text

    def fold(self, state: RunState) -> None:
        state.loop = self.loop


class IterationBegun(EventType):
    """An agent is started. stage: its index · iteration: within the stage, from 1 · tree, dirty,
    mark, usd, yours: as of Seen, where the stage works on a loop and no attempt before was cut
    off."""

    stage: Count
    iteration: Number
    tree: Text = ""
    dirty: list[Text] = []
    mark: MarkRow | None = None
    usd: Amount | None = None
    yours: list[Text] = []

    def fold(self, state: RunState) -> None:
        state.begun, state.begun_at, state.untested = self.iteration, self.at, False
        if self.mark is not None:
            row = self.mark
            known = on_loop.Mark(tuple(row.completed), tuple(row.blocked), row.attempts)
            state.seen = Seen(self.tree, tuple(self.dirty), known, self.usd)
        for task, seen in state.since.items():
            yours = tuple(dict.fromkeys((*seen.yours, *self.yours)))
            state.since[task] = seen._replace(yours=yours)


class IterationEnded(EventType):
    """What came of an agent's run. counted: whether the iteration is completed; one that is not is
    run again · outcome: see engine/agents · elapsed: seconds since this start of the run · parsed:
    what its output said · output: its result's file, relative to the run's folder · dirty: whether
    it left uncommitted changes · notes: for the next agent · task: that it was about · commit: of
    what it changed · settled: tasks whose changes are committed, if that could be · left: as of
    RunState · stuck: the step at which its loop came no further."""

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
    task: Text = ""
    commit: Text = ""
    settled: list[Text] = []
    left: Text = ""
    stuck: Text = ""

    def fold(self, state: RunState) -> None:
        state.begun, state.until, state.validated = None, None, None
        state.seconds = state.base + self.elapsed
        state.usd += self.usd or 0.0
        state.unpriced += self.usd is None
        for task in (*self.settled, *([self.task] if self.commit else ())):
            state.since.pop(task, None)
        if self.task and not self.commit and self.task not in self.settled and state.seen:
            state.since.setdefault(self.task, state.seen)
        state.seen, state.left = None, self.left
        if not self.counted:
            return
        step, count = state.stuck
        again = count if self.stuck == step else 0
        state.stuck = self.stuck, again + 1 if self.stuck else 0
        stage = state.stages[self.stage]
        stage.done += 1
        stage.rows.append(self.row(stage.part.name))
        state.untested = True

    def row(self, name: str) -> dict:
        """Its entry of the history."""
        more = ("task", "commit", "error", "denied", "notes")
        keys = ["iteration", "outcome", "exit", "seconds", "usd", "dirty"]
        keys += [key for key in more if getattr(self, key)]
        row = {"stage": name, "timestamp": self.at, **{key: getattr(self, key) for key in keys}}
        return {**self.parsed, **row}


class WaitBegun(EventType):
    """An agent waits for a usage limit's reset. until: seconds since 1970; None: no longer."""

    until: Amount | None = None

    def fold(self, state: RunState) -> None:
        state.until = self.until


class ValidationRan(EventType):
    """The checks of a stage ran on what its last iteration left. iteration: 0 before the first ·
    rows: a record a command, as evidence has it."""

    stage: Count
    iteration: Count
    passed: Flag
    rows: list[Anything]

    def fold(self, state: RunState) -> None:
        state.validated = self.passed
        for row in state.stages[self.stage].rows[-1:]:  # none before the first iteration
            row["validation"] = self.rows


class StageEnded(EventType):
    """A stage is complete, or has used up its runs. status: COMPLETED or LIMIT."""

    index: Count
    status: Text
    reason: Text = ""

    def fold(self, state: RunState) -> None:
        stage = state.stages[self.index]
        stage.status, stage.reason, stage.at = self.status, self.reason, self.at
        state.untested = False


class RunEnded(EventType):
    """A run has ended, or waits for a person. needs: options that a further start has to give."""

    status: Text
    reason: Text = ""
    error: Text = ""
    elapsed: Amount = 0.0
    needs: list[Text] = []

    def fold(self, state: RunState) -> None:
        state.needs = self.needs
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
