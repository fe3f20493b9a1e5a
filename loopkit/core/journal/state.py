"""The whole state of a loop, folded from its journal by the events of core's subjects
(core/steps/events); the events of its request."""

from __future__ import annotations

from . import settings, stage
from . import task as tasks
from .events import Event, EventType, Fields, on
from .parts import (
    Changes,
    Checkpoints,
    Criterion,
    DecisionLog,
    Finding,
    History,
    Replaced,
    Shown,
    Supervision,
    Trial,
    Wave,
    Worktrees,
)
from .session import (
    SESSION,
    AttendedChanged,
    IterationEnded,
    LoopStarted,
    OwnerChanged,
    Paused,
    Resumed,
    Session,
)
from .task import Evidence, Task

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .events import Count, Flag, Text


class LoopState:
    """One loop. `tasks` keeps the ledger's order; counters follow line by line.

    waiting: {task: unfinished blockers} · dependents: {task: tasks that wait for it} · open:
    unfinished tasks in order · running: tasks in progress · free: pending tasks that wait for
    nothing · records: everything that counts as progress beside tasks.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.session = Session()
        self.text = ""
        self.approval = settings.EVIDENCE
        self.terms = settings.TERMS[self.approval]
        self.list_mode = "session"
        self.folder = ""  # where the session was opened, relative to the project
        self.settings: dict = {}
        self.scores: dict | None = None
        self.overruled: str | None = None
        self.clarified: dict | None = None
        self.rounds = 0  # of questions that the person answered
        self.scored_line = self.clarified_line = 0
        self.recall_surfaced: list = []
        self.recall_shown: list = []
        self.recall_dismissed: list = []
        self.criteria: dict[str, Criterion] = {}
        self.aspects: list = []
        self.shape_rounds: list = []  # of each one submitted: size in bytes, spec score, goals
        self.confirmed: set = set()
        self.by_default: set = set()  # of these, what nobody could be asked about
        self.new_checks: set[str] = set()  # whose check is another since the yes to the tasks
        self.tasks: dict[str, Task] = {}
        self.highest = 0
        self.counts = dict.fromkeys(tasks.STATUSES, 0)
        self.waiting: dict[str, int] = {}
        self.dependents: dict[str, list] = {}
        self.open: dict[str, None] = {}
        self.running: dict[str, None] = {}
        self.due: dict[str, None] = {}  # pending tasks whose failure no panel has looked at
        self.narrow: dict[str, None] = {}  # pending tasks without attempts left: to be split
        self.bare: dict[str, None] = {}  # pending tasks without a verification command
        self.free = 0
        self.planned = 0  # tasks that the size rule counts: no subtasks, no remediation
        self.evidence_count = 0
        self.attempts = 0
        self.records = 0
        self.last_completion = 0
        self.waves: list[Wave] = []
        self.wave_closed_line = 0
        self.reviews: dict = {}
        self.findings: dict[str, Finding] = {}
        self.thorough: dict | None = None
        self.shown: dict[str, Shown] = {}  # what the thorough review says of a criterion, a mustNot
        self.unlooked: set[str] = set()  # of these, whose proof is another since
        self.review_rounds: list[dict] = []  # thorough ones: round, size, score, goals, categories
        self.asked: dict | None = None  # whom a thorough review was given to, and when
        self.decisions: list[dict] = []
        self.panels: list = []
        self.criterion_evidence: dict[str, Evidence] = {}
        self.trials: dict[str, dict[str, Trial]] = {}  # of proofs: {whose: {when: its result}}
        self.replaced: list[Replaced] = []
        self.gate: dict | None = None
        self.baselines: dict[str, dict] = {}  # command → how it stood: exit, failures, log
        self.supervision = Supervision()
        self.history = History()
        self.checkpoints = Checkpoints()
        self.changes = Changes()
        self.decision_log = DecisionLog()
        self.worktrees = Worktrees()
        self.pauses: list[dict] = []  # verdict and reason of each
        self.lines = 0
        self.idle_at = self.idle_before = 0

    # -- what others ask

    @property
    def stage(self) -> str:
        return self.session.stage

    @property
    def wave(self) -> Wave | None:
        """The open wave, if one is."""
        return self.waves[-1] if self.waves and not self.waves[-1].closed else None

    @property
    def must_nots(self) -> list:
        return [one for one in self.criteria.values() if one.must_not]

    @property
    def shape(self) -> str | None:
        return (self.scores or {}).get("shape")

    @property
    def workable(self) -> int:
        """Tasks that the session can move now: running, failed, or free to start."""
        return self.counts[tasks.IN_PROGRESS] + self.counts[tasks.FAILED] + self.ready

    @property
    def ready(self) -> int:
        """Pending tasks without a blocker, or where batches are reviewed an open scaffold."""
        if not self.terms.scaffold_first or not self.free:
            return self.free
        first = self.scaffold_first
        return sum(self.is_free(self.tasks[one]) for one in first) if first else self.free

    @property
    def scaffold_first(self) -> set[str]:
        """Open scaffold tasks and all they wait for: while there are any, nothing else is begun
        where batches are reviewed."""
        found: set[str] = set()
        left = [one for one in self.open if self.tasks[one].scaffold]
        while left:
            task_id = left.pop()
            if task_id not in found:
                found.add(task_id)
                task = self.tasks[task_id]
                left += [one for one in task.blocked_by if one in self.open]
                if task.block_kind == tasks.SPLIT:
                    left += [one for one in self.open if self.tasks[one].parent == task_id]
        return found

    @property
    def interrupted(self) -> list[str]:
        """Tasks of the open wave whose attempt was cut short and that nobody has started again."""
        names = self.wave.tasks if self.wave else ()
        own = [self.tasks[one] for one in names if one in self.tasks]
        return [one.id for one in own if one.interrupted and one.status == tasks.PENDING]

    def verification(self, task: Task) -> str | None:
        """The verification type of the first criterion that a task serves, or None."""
        kinds = (self.criteria[name].type for name in task.criteria if name in self.criteria)
        return next(kinds, None)

    def check_of(self, name: str) -> str:
        """The command that checks a task, criterion, mustNot or decision (D1); "" without one."""
        if name in self.tasks:
            return self.tasks[name].verify
        if name in self.criteria:
            return self.criteria[name].command or ""
        decided = {f"D{number}": line for number, line in self.decision_log.checks.items()}
        return decided.get(name, "")

    def is_free(self, task: Task) -> bool:
        return task.status == tasks.PENDING and not self.waiting.get(task.id)

    # -- for the folds

    def before(self, event: Event) -> None:
        """Every event goes through the session first."""
        self.lines += 1
        SESSION.apply(self.session, event)

    def after(self, event: Event) -> None:
        """A confirmation may have become open, or no longer be."""
        self.session.awaiting = stage.unconfirmed(self) is not None

    def add(self, task: Task) -> None:
        """A new task; every counter follows."""
        self.highest = max(self.highest, tasks.number(task.id))
        self.tasks[task.id] = task
        self.waiting[task.id] = 0
        self._release(task.id, 1)  # tasks that named it before it was there
        self._wait_for(task.id, task.blocked_by)
        self._count(task, 1)
        self.open[task.id] = None
        if task.parent is None and task.kind == "work":
            self.planned += 1

    def put(self, task: Task) -> None:
        """Replace a task; every counter follows."""
        old = self.tasks[task.id]
        self._count(old, -1)
        self.tasks[task.id] = task
        self._count(task, 1)
        pending = task.status == tasks.PENDING
        _list(self.running, task.id, task.status == tasks.IN_PROGRESS)
        _list(self.due, task.id, pending and task.panel_due)
        _list(self.narrow, task.id, pending and task.action == "replan")
        was, now = old.status == tasks.COMPLETED, task.status == tasks.COMPLETED
        if was != now:
            if now:
                self.open.pop(task.id, None)
                self.last_completion = self.lines
            else:
                self._open_again(task.id)
            self._release(task.id, -1 if now else 1)

    def _open_again(self, task_id: str) -> None:
        """At its place in the plan's order."""
        last = next(reversed(self.open), task_id)
        self.open[task_id] = None
        if tasks.number(last) > tasks.number(task_id):
            self.open = {name: None for name in self.tasks if name in self.open}

    def change(self, task_id: str, **changes: object) -> None:
        """Other values for fields of a task, if there is one of this id."""
        task = self.tasks.get(task_id)
        if task is not None:
            self.put(task._replace(**changes))  # type: ignore[arg-type]

    def block_by(self, task: Task, blockers: tuple) -> None:
        """Let a task wait for these and no others."""
        self._count(task, -1)
        self._forget_waiting(task)
        task = self.tasks[task.id] = task._replace(blocked_by=blockers)
        self.waiting[task.id] = 0
        self._wait_for(task.id, blockers)
        self._count(task, 1)

    def proof_replaced(self, name: str) -> None:
        """Another proof stands for a criterion: what was seen of the old one counts no more, and a
        thorough review has to look at the new one."""
        self.criterion_evidence.pop(name, None)
        if self.shown.pop(name, None) is not None:
            self.unlooked.add(name)

    def remove(self, task: Task) -> None:
        """A task goes; nothing waits for it any longer."""
        if task.status != tasks.COMPLETED:
            self._release(task.id, -1)
        self._count(task, -1)
        self._forget_waiting(task)
        if task.parent is None and task.kind == "work":
            self.planned -= 1
        for table in (self.tasks, self.waiting, self.open, self.running, self.due, self.narrow):
            table.pop(task.id, None)
        self.new_checks.discard(task.id)
        for dependent in self.dependents.pop(task.id, ()):
            waiting = self.tasks.get(dependent)
            if waiting is not None:
                left = tuple(one for one in waiting.blocked_by if one != task.id)
                self.tasks[dependent] = waiting._replace(blocked_by=left)

    def _wait_for(self, task_id: str, blockers: tuple) -> None:
        for blocker in blockers:
            self.dependents.setdefault(blocker, []).append(task_id)
            other = self.tasks.get(blocker)
            if other is not None and other.status != tasks.COMPLETED:
                self.waiting[task_id] += 1

    def _count(self, task: Task, sign: int) -> None:
        self.counts[task.status] += sign
        if task.status == tasks.PENDING and not task.verify:
            _list(self.bare, task.id, sign > 0)
        if task.status == tasks.PENDING and not self.waiting[task.id]:
            self.free += sign

    def _forget_waiting(self, task: Task) -> None:
        for blocker in task.blocked_by:
            if task.id in self.dependents.get(blocker, ()):
                self.dependents[blocker].remove(task.id)

    def _release(self, task_id: str, step: int) -> None:
        for dependent in self.dependents.get(task_id, ()):
            waiting = self.tasks.get(dependent)
            if waiting is not None and task_id in waiting.blocked_by:
                self._count(waiting, -1)
                self.waiting[dependent] += step
                self._count(waiting, 1)


def _list(table: dict[str, None], name: str, holds: bool) -> None:
    """Let a name stand in a table, or not."""
    if holds:
        table[name] = None
    else:
        table.pop(name, None)


@on(LoopStarted)
def _started(event: LoopStarted, state: LoopState) -> None:
    state.text, state.approval = event.task, event.approval
    state.terms = settings.TERMS.get(event.approval, settings.TERMS[settings.SUPERVISOR])
    state.list_mode, state.folder = event.list, event.folder
    state.settings = event.settings.data if event.settings is not None else {}


@on(Paused)
def _paused(event: Paused, state: LoopState) -> None:
    state.pauses.append({"verdict": event.verdict, "reason": event.reason})


@on(IterationEnded, Resumed, OwnerChanged)
def _idle(event: IterationEnded | Resumed | OwnerChanged, state: LoopState) -> None:
    """No agent of the session is at work any more; where its client lives on, all are."""
    if isinstance(event, IterationEnded):
        if event.decision != "hold":
            return
        state.idle_before = state.idle_at
    elif event.same_client:
        return
    else:
        state.idle_before = state.lines
        state.asked = None
    state.idle_at = state.lines


# -- what clarifying, scoring and shaping a request leave in it, and the person's yes


class RecallAnswered(EventType):
    """Titles of what was shown of earlier loops."""

    shown: list[Text] | None = None
    confirmed: list[Text] = []
    dismissed: list[Text] = []

    def fold(self, state: LoopState) -> None:
        yes, no = self.confirmed, self.dismissed
        state.recall_shown = state.recall_shown if self.shown is None else self.shown
        surfaced = dict.fromkeys([*state.recall_surfaced, *yes])
        state.recall_surfaced = [one for one in surfaced if one not in no]
        dismissed = dict.fromkeys([*state.recall_dismissed, *no])
        state.recall_dismissed = [one for one in dismissed if one not in yes]


class Scored(EventType):
    values: dict[str, Count | None] | None = None
    spec: Count | None = None
    fit: Count | None = None
    shape: Text | None = None
    topics: list[Text] | None = None
    kind: Text | None = None

    def fold(self, state: LoopState) -> None:
        keys = ("values", "spec", "fit", "shape", "topics", "kind")
        state.scores = {key: getattr(self, key) for key in keys}
        state.scored_line = state.lines


class Clarified(EventType):
    echo: Text
    answers: dict[str, Text] = {}
    assumptions: dict[str, Text] = {}
    round: Count | None = None
    also = {
        "Text": "task context done stakes reviewers by",
        "list[Text]": "must_nots",
        "dict[str, TextOrTexts]": "order",
    }

    def fold(self, state: LoopState) -> None:
        answers = {**(state.clarified or {}).get("answers", {}), **self.answers}
        state.clarified = {**self.data, "answers": answers, "assumptions": dict(self.assumptions)}
        state.rounds = state.rounds if self.round is None else self.round
        state.clarified_line = state.lines


class SpecOverruled(EventType):
    why: Text = ""

    def fold(self, state: LoopState) -> None:
        state.overruled = self.why


class CriterionRow(Fields):
    id: Text
    text: Text
    type: Text | None = None
    command: Text | None = None
    must_not: Flag = False
    keeps: Flag = False
    paths: list[Text] = []


class ShapeSaved(EventType):
    criteria: list[CriterionRow] = []
    aspects: list[Text] | None = None
    size: Count = 0
    stronger: list[Text] = []
    also = {"Text": "title"}

    def fold(self, state: LoopState) -> None:
        known = {name: one.command for name, one in state.criteria.items()}
        state.criteria = {
            row.id: Criterion(*(getattr(row, name) for name in Criterion._fields))
            for row in self.criteria
        }
        for name, command in known.items():
            if name not in state.criteria or state.criteria[name].command != command:
                state.proof_replaced(name)
        state.aspects = list(self.aspects or ())
        spec, goals = (state.scores or {}).get("spec"), list(state.criteria)
        state.shape_rounds.append({"size": self.size, "score": spec, "goals": goals})
        if not self.stronger:
            state.confirmed.discard("shape")
        state.records += 1


class Confirmed(EventType):
    """The person's yes; `default`: nobody could be asked."""

    what: Text = ""
    default: Flag = False

    def fold(self, state: LoopState) -> None:
        state.confirmed.add(self.what)
        (state.by_default.add if self.default else state.by_default.discard)(self.what)
        if self.what == "tasks":
            state.new_checks.clear()


@on(AttendedChanged)
def _attended(event: AttendedChanged, state: LoopState) -> None:
    """Somebody is there again: what they did not say yes to is asked again."""
    if not event.unattended:
        state.confirmed -= state.by_default
        state.by_default.clear()


class ConfirmationDropped(EventType):
    """Checks have changed since the yes; `ids`: whose."""

    what: list[Text] = []
    ids: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.confirmed.difference_update(self.what)
        state.new_checks.update(self.ids)
