"""The events of tasks and waves: attempts, outline numbers, worktrees, roles."""

from __future__ import annotations

from ..journal import stage
from ..journal import task as tasks
from ..journal.events import EventType, Fields, is_task_id, on
from ..journal.parts import DRAFT, REVISE, SETTLED, Row, Supervision, Wave
from ..journal.session import AttemptsReset, QuestionAnswered, QuestionAsked
from ..journal.task import Check, Task

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from ..journal.events import Amount, Anything, Count, Flag, TaskId, Text, WorktreePath
    from ..journal.state import LoopState

#: Reason of a task_reopened whose attempt was cut short: it is not counted.
INTERRUPTED = "interrupted"

#: Kinds of replies, as `loopkit reply` takes them.
PLAN, REPLAN, IMPLEMENTATION, FIX = "plan", "replan", "implementation", "fix"
TEST, VERIFICATION, DIAGNOSIS = "test", "verification", "diagnosis"
KINDS = (PLAN, REPLAN, IMPLEMENTATION, FIX, TEST, VERIFICATION, DIAGNOSIS)
#: What a verification may be of, beside a task.
OF_PLAN, OF_GOAL = "plan", "goal"
#: The step of the one who reviews a batch.
REVIEWING = "review"

#: What a review of a plan comes to. `lower` and `continue`: worked on though it was not approved.
APPROVED, CONTINUE, LOWER, PAUSED, ASKED = "approved", "continue", "lower", "paused", "asked"
_SETTLES = (APPROVED, CONTINUE, LOWER)

#: Replies of a planner that come to nothing before the loop pauses: the first one and two more.
MOST_MISSES = 3

# -- tasks


class TaskRow(Fields):
    id: TaskId
    subject: Text = ""
    verify: Text = ""
    activeForm: Text = ""
    description: Text = ""
    blockedBy: list[Text] = []
    parent: Text | None = None
    depth: Count = 0
    complexity: Text = "medium"
    criteria: list[Text] = []
    files: list[Text] = []
    scaffold: Flag = False
    group: Anything = None
    kind: Text = "work"
    native: Text | None = None

    @classmethod
    def fits(cls, data: object) -> bool:
        """Its parent has a lower number, as every parent has: so no task is its own ancestor."""
        if not super().fits(data):
            return False
        own, parent = data["id"], data.get("parent")  # type: ignore[index, attr-defined]
        return parent is None or is_task_id(parent) and int(parent[2:]) < int(own[2:])


class TaskAdded(EventType):
    task: TaskRow

    def fold(self, state: LoopState) -> None:
        row = self.task
        if row.id in state.tasks:
            return
        values = {name: getattr(row, name) for name in TaskRow.fields()}
        values.update(active_form=values.pop("activeForm"), blocked_by=values.pop("blockedBy"))
        values.update((name, tuple(values[name])) for name in ("blocked_by", *_LISTS))
        state.add(Task(**values))


class OfAgent(Fields):
    """An event that takes an agent's answer. by: how that came, HAND where the session submitted it
    · looked: whether whoever judges work has looked at it; None: nobody knows."""

    by: Text = ""
    looked: Flag | None = None

    def source(self) -> dict:
        """What is known of where the answer is from."""
        return {name: self.data[name] for name in OfAgent.fields() if name in self.data}


#: An answer that the session handed in, and no hook has heard.
HAND = "hand"


class OfTask(Fields):
    """An event about one task."""

    id: Text = ""

    def task_in(self, state: LoopState) -> Task | None:
        """The task, if it is there."""
        return state.tasks.get(self.id)


class TaskChanged(OfTask, EventType):
    """Those of the fields that are named."""

    subject: Text = ""
    verify: Text = ""
    description: Text = ""
    files: list[Text] = []
    criteria: list[Text] = []
    complexity: Text = ""
    keeps: Flag = False
    blockedBy: list[Text] = []

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        changes = {name: value for name, value in self.data.items() if name in _CHANGEABLE}
        changes.update((name, tuple(changes[name])) for name in _LISTS if name in changes)
        if changes.get("verify", task.verify) != task.verify:
            changes["evidence"], changes["failing"] = None, 0
            if task.verify:
                changes["checks_before"] = (*task.checks_before, task.verify)
        state.put(task._replace(**changes))
        if "blockedBy" in self.data:
            state.block_by(state.tasks[task.id], tuple(self.blockedBy))


_LISTS = ("files", "criteria")
_CHANGEABLE = ("subject", "verify", "description", "complexity", "keeps", *_LISTS)


class TaskStarted(OfTask, EventType):
    wave: Count | None = None

    def fold(self, state: LoopState) -> None:
        now = {"wave": self.wave, "handed": state.lines, "handed_at": self.at, "fix_cycles": 0}
        now |= {"action": None, "interrupted": False, "back": False}
        state.change(self.id, status=tasks.IN_PROGRESS, **now)
        wave = state.wave
        if wave is not None and self.id in state.tasks and self.id not in wave.tasks:
            state.waves[-1] = wave._replace(tasks=(*wave.tasks, self.id))


class TasksHanded(EventType):
    """Running tasks were given to agents once more."""

    ids: list[Text] = []

    def fold(self, state: LoopState) -> None:
        for task_id in self.ids:
            state.change(task_id, handed=state.lines, handed_at=self.at)


class TaskVerified(Check, OfTask, EventType):
    """worktree: where it ran; then it says nothing of the project's own tree."""

    run: Count | None = None
    signature: Text = ""
    worktree: Text | None = None

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        state.evidence_count += 1
        failed = not self.passed and self.told != tasks.NOT_STARTABLE
        state.put(
            task._replace(
                evidence=task.evidence if self.worktree else self.evidence(self.at, state.lines),
                runs=task.runs + 1 if self.run is None else self.run,
                fix_cycles=task.fix_cycles + failed,
                failing=0 if self.passed else task.failing + failed,
                stale=False,
                back=task.back and not failed,
            )
        )


class TaskCompleted(OfTask, EventType):
    def fold(self, state: LoopState) -> None:
        state.change(self.id, status=tasks.COMPLETED, block_kind=None, block_text="", back=False)


class TaskFailed(OfTask, EventType):
    """An attempt came to nothing. action: what the clamp table says; the rest is told."""

    attempt: Count = 0
    approach: Text = ""
    result: Text = ""
    error: Text = ""
    action: Text | None = None
    also = {"Text | None": "suggested", "Flag": "clamped raised"}
    score: Count | None = None
    feedback: Text | None = None
    level: Text | None = None

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        state.attempts += 1
        names = ["attempt", "approach", "result", "error"]
        names += [one for one in ("score", "feedback") if getattr(self, one) is not None]
        entry = {**{name: getattr(self, name) for name in names}, "at": self.at}
        state.put(
            task._replace(
                status=tasks.PENDING if self.action == "retry" else tasks.FAILED,
                attempts=task.attempts + 1,
                stuck_count=task.stuck_count + 1,
                action=self.action,
                history=(*task.history, entry),
            )
        )


class TaskBlocked(OfTask, EventType):
    kind: Text | None = None
    text: Text = ""

    def fold(self, state: LoopState) -> None:
        state.change(self.id, status=tasks.BLOCKED, block_kind=self.kind, block_text=self.text)


class TaskSplit(OfTask, EventType):
    also = {"list[Text]": "subtasks", "Text": "analysis resolution warning"}

    def fold(self, state: LoopState) -> None:
        blocked = {"block_kind": tasks.SPLIT, "block_text": ""}
        state.change(self.id, status=tasks.BLOCKED, action=None, **blocked)


class TaskReopened(OfTask, EventType):
    reason: Text | None = None
    signature: Text = ""
    keep_evidence: Flag = False

    def fold(self, state: LoopState) -> None:
        old = self.task_in(state)
        anew: dict = {"interrupted": self.reason == INTERRUPTED, "fix_cycles": 0}
        if old is not None and old.status == tasks.COMPLETED:
            anew["reopened"] = (self.reason or "", self.signature)
        if not self.keep_evidence:
            anew["evidence"] = None
        state.change(self.id, status=tasks.PENDING, block_kind=None, block_text="", **anew)


class TaskRemoved(OfTask, EventType):
    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is not None:
            state.remove(task)


class NativeConflict(OfTask, EventType):
    """The client's task list says something else than the ledger, which stands."""

    also = {"Text | None": "list ledger"}


@on(AttemptsReset)
def _reset(event: AttemptsReset, state: LoopState) -> None:
    names = "attempts stuck_count panel_for fix_cycles failing diagnosed".split()
    anew = dict.fromkeys(names, 0)
    for task_id in event.ids:
        state.change(task_id, **anew, action=None, diagnosis=None)


class WaveOpened(EventType):
    wave: Count | None = None
    tasks: list[Text] = []
    sequential: Flag = False
    worktrees: Flag = False

    def fold(self, state: LoopState) -> None:
        state.waves.append(Wave(self.wave, tuple(self.tasks), self.sequential, False, (), ()))
        if self.worktrees:
            state.worktrees.wave = len(state.waves)


class OutcomeRow(Fields):
    result: Text
    signature: Text = ""


class WaveClosed(EventType):
    """What became of a wave; from `status` on what the detectors say."""

    wave: Count | None = None
    completed: list[Text] = []
    failed: list[Text] = []
    outcomes: dict[str, OutcomeRow] = {}
    status: Text = ""
    confidence: Text = ""
    trend: Text = ""
    recommendation: Text = ""

    def fold(self, state: LoopState) -> None:
        if state.waves:
            done, failed = tuple(self.completed), tuple(self.failed)
            state.waves[-1] = state.waves[-1]._replace(closed=True, completed=done, failed=failed)
            state.wave_closed_line = state.lines
            for task_id in (*done, *failed):
                state.supervision.forget(task_id)
        state.worktrees.current.clear()


# -- outline numbers


@on(TaskAdded)
def _numbered(event: TaskAdded, state: LoopState) -> None:
    row, trail = event.task, state.decision_log
    if row.id in trail.outline:
        return
    if row.parent in trail.outline:
        above, beside = trail.outline[row.parent], row.parent
    else:
        name = str(row.group) if type(row.group) in (str, int) else ""
        above = str(trail.groups.setdefault(name, len(trail.groups) + 1))
        beside = "group " + name
    trail.children[beside] = trail.children.get(beside, 0) + 1
    number = f"{above}.{trail.children[beside]}"
    trail.outline[row.id] = number
    trail.ids[number] = row.id


@on(TaskRemoved)
def _unnumbered(event: TaskRemoved, state: LoopState) -> None:
    trail = state.decision_log
    if not state.tasks:  # another plan begins
        for table in (trail.outline, trail.ids, trail.groups, trail.children):
            table.clear()


class PatternsGathered(EventType):
    """What was gathered about the code."""

    lines: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.decision_log.patterns = list(self.lines)


# -- worktrees


class WorktreeMade(EventType):
    task: Text
    path: WorktreePath
    branch: Text = ""
    base: Text = ""
    tree: Text = ""
    also = {"list[Text]": "left_out"}

    def fold(self, state: LoopState) -> None:
        row = Row(self.task, self.path, self.branch, self.base, self.tree, False, "", False)
        state.worktrees.rows[row.path] = row
        state.worktrees.current[row.task] = row.path


class WorktreeMerged(EventType):
    task: Text = ""
    path: WorktreePath = ""
    tree: Text = ""
    also = {"list[Text]": "files"}

    def fold(self, state: LoopState) -> None:
        row = state.worktrees.of(self.task)
        if row is not None:
            state.records += 1
            merged = row._replace(merged=self.tree or "-", checked=False)
            state.worktrees.rows[row.path] = merged


class WorktreeRemoved(EventType):
    task: Text = ""
    path: WorktreePath = ""

    def fold(self, state: LoopState) -> None:
        rows, current = state.worktrees.rows, state.worktrees.current
        row = rows.pop(self.path, None)
        if row is not None and current.get(row.task) == row.path:
            del current[row.task]


@on(TaskVerified)
def _verified_in_worktree(event: TaskVerified, state: LoopState) -> None:
    row = state.worktrees.of(event.id)
    if row is None:
        return
    if event.worktree:
        state.worktrees.rows[row.path] = row._replace(passed=event.passed)
    elif row.merged:
        state.worktrees.rows[row.path] = row._replace(checked=True)


@on(TaskFailed, TaskCompleted, TaskRemoved)
def _left(event: TaskFailed | TaskCompleted | TaskRemoved, state: LoopState) -> None:
    """An attempt is over: the next one has a worktree of its own."""
    state.worktrees.current.pop(event.id, None)


# -- what roles were asked for in a supervised or reviewed loop and what they answered


def key(kind: str, task: str | None) -> str:
    """`test T-001`, `verification goal`, `plan`: the name under which a step is counted."""
    return f"{kind} {task}" if task else kind


# -- steps


class RoleAsked(EventType):
    kind: Text = ""
    task: Text | None = None
    also = {"Text": "role"}
    number: Count | None = None

    def fold(self, state: LoopState) -> None:
        own, name = state.supervision, key(self.kind, self.task)
        own.asked[name] = own.asked.get(name, 0) + 1 if self.number is None else self.number
        own.out[name] = state.lines
        own.stopped[name] = len(state.session.subagents)


class ReplyUnfit(EventType):
    kind: Text = ""
    task: Text | None = None
    error: Text = ""
    also = {"Text": "text"}

    def fold(self, state: LoopState) -> None:
        own, name = state.supervision, key(self.kind, self.task)
        own.out.pop(name, None)
        own.invalid[name] = self.error
        # after the last one whoever goes on with the loop gives the planner another chance
        own.misses[name] = (own.misses.get(name, 0) + 1) % MOST_MISSES


# -- the plan and the goal


class PlanProposed(OfAgent, EventType):
    """replaces: ids of tasks that go."""

    also = {"Text": "warning", "list[Text]": "risks assumptions questions replaces"}

    def fold(self, state: LoopState) -> None:
        own = state.supervision
        state.records += 1
        if own.standing == REVISE or short(own):
            own.revisions += 1
        own.plan = {**self.data, "line": state.lines}
        if state.stage == stage.DECOMPOSE:  # later ones only add
            own.standing = DRAFT
            state.confirmed.discard("tasks")
        own.settle(PLAN)
        own.settle(key(VERIFICATION, OF_PLAN))


def short(own: Supervision) -> bool:
    """The newest plan is older than the judgement that more is needed for the goal."""
    if own.goal is None or own.goal.get("approved"):
        return False
    return own.plan is None or own.plan["line"] < own.goal["line"]


class Judgement(OfAgent):
    score: Count | None = None
    level: Text = ""
    feedback: Text = ""
    issues: list[Text] = []
    missing: list[Text] = []


class PlanReviewed(Judgement, EventType):
    revision: Count = 0
    approved: Flag = False
    outcome: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        own = state.supervision
        own.review = self.filled()
        own.standing = SETTLED if self.outcome in _SETTLES else REVISE
        own.level = self.level or own.level
        own.settle(key(VERIFICATION, OF_PLAN))


class GoalJudged(Judgement, EventType):
    approved: Flag = False

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.supervision.goal = {**self.filled(), "line": state.lines}
        state.supervision.level = self.level
        state.supervision.settle(key(VERIFICATION, OF_GOAL))


@on(QuestionAsked)
def _asked(event: QuestionAsked, state: LoopState) -> None:
    state.supervision.questions.append({"question": event.text, "answer": None})
    state.supervision.settle(PLAN)


@on(QuestionAnswered)
def _answered(event: QuestionAnswered, state: LoopState) -> None:
    if state.supervision.questions:
        state.supervision.questions[-1]["answer"] = event.text


# -- tasks


class OfWork(OfTask):
    """A role's reply about a task."""

    def record(self, state: LoopState, kind: str, name: str, **changes: object) -> None:
        """Keep it with the task, in this field, as the answer to this kind of step."""
        state.records += 1
        state.supervision.settle(key(kind, self.id))
        state.change(self.id, **{name: {**self.filled(), "line": state.lines}, **changes})


class TaskCoded(OfAgent, OfWork, EventType):
    kind: Text = IMPLEMENTATION
    status: Text = ""
    summary: Text = ""
    files: list[Text] = []
    block_reason: Text = ""

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is not None:
            fixes = task.fixes + (self.kind == FIX)
            counts = {"fixes": fixes, "revisions": task.revisions + (self.kind == "revision")}
            kind = FIX if self.kind == FIX else IMPLEMENTATION
            self.record(state, kind, "coded", turn=TEST, **counts)


class Failure(Fields):
    """A test that failed, named as the tester's reply does."""

    testName: Text = ""
    error: Text = ""
    file: Text = ""
    severity: Text = ""
    also = {"Text": "stackTrace"}


class TaskTested(OfAgent, OfWork, EventType):
    passed: Flag = False
    failures: list[Failure] = []
    coverage: Amount | None = None
    fix_plan: Text = ""
    tests_run: Count = 0
    tests_passed: Count = 0
    tests_failed: Count = 0

    def filled(self) -> dict:
        return {**super().filled(), "failures": [one.filled() for one in self.failures]}

    def fold(self, state: LoopState) -> None:
        if self.task_in(state) is not None:
            self.record(state, TEST, "tested", turn=VERIFICATION if self.passed else FIX)


class TaskJudged(Judgement, OfWork, EventType):
    band: Text = ""

    def fold(self, state: LoopState) -> None:
        if self.task_in(state) is not None:
            state.supervision.level = self.level
            turn = IMPLEMENTATION if self.band == "revise" else ""
            self.record(state, VERIFICATION, "judged", turn=turn)


class TaskDiagnosed(OfAgent, OfTask, EventType):
    """One that says something takes the place of a panel."""

    attempt: Count | None = None
    suggested: Text | None = None
    reasoning: Text = ""
    blockers: list[Text] = []
    also = {"Text | None": "action", "Flag": "clamped raised", "Text": "level"}

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is None:
            return
        state.records += 1
        state.supervision.settle(key(DIAGNOSIS, task.id))
        attempt = task.attempts if self.attempt is None else self.attempt
        panel = attempt if self.suggested and self.reasoning else task.panel_for
        said = {name: getattr(self, name) for name in ("suggested", "reasoning", "blockers")}
        said.update(self.data)
        state.put(task._replace(diagnosis=said, diagnosed=attempt, panel_for=panel))


@on(TaskStarted)
def _started(event: TaskStarted, state: LoopState) -> None:
    own = state.supervision
    own.started = True
    if event.id in state.tasks:
        own.forget(event.id)
        anew = dict.fromkeys(("coded", "tested", "judged"))
        state.change(event.id, turn=IMPLEMENTATION, fixes=0, revisions=0, **anew)


@on(TaskFailed, TaskReopened, TaskBlocked)
def _ended(event: TaskFailed | TaskReopened | TaskBlocked, state: LoopState) -> None:
    """An attempt has failed, or was interrupted."""
    own = state.supervision
    own.forget(event.id)
    if isinstance(event, TaskFailed):
        own.level = event.level or own.level
    task = event.task_in(state)
    if task is not None and task.turn:
        state.put(task._replace(turn=""))


@on(TaskCompleted)
def _completed(event: TaskCompleted, state: LoopState) -> None:
    task = event.task_in(state)
    if task is not None and task.kind == "work":
        state.supervision.worked = state.lines
    if task is not None and task.turn:
        state.put(task._replace(turn=""))


@on(TaskSplit)
def _split(event: TaskSplit, state: LoopState) -> None:
    state.supervision.settle(key(REPLAN, event.id))


@on(TaskChanged, TaskVerified)
def _looks_again(event: TaskChanged | TaskVerified, state: LoopState) -> None:
    """Another check has not run, or one fails, while the supervisor judges: back to the tester."""
    task = event.task_in(state)
    if task is None or task.turn != VERIFICATION:
        return
    if isinstance(event, TaskVerified):
        again = not event.passed and task.status == tasks.IN_PROGRESS
    else:
        again = task.evidence is None
    if again:
        state.put(task._replace(turn=TEST))


# -- what others ask; cheap, since rules of every loop do


def is_out(state: LoopState, name: str) -> bool:
    """What bears this name was dispatched, and whoever has it can be at work, or has just ended.

    Reports of agents in the background arrive one by one, and a session may stop between two of
    them. Who has not submitted them by the stop after that has lost them.
    """
    own = state.supervision
    line = own.out.get(name)
    if line is None or line < state.idle_before:
        return False
    if line >= state.idle_at:
        return True
    asked = sum(one >= state.idle_before for one in own.out.values())
    return len(state.session.subagents) - own.stopped.get(name, 0) >= asked
