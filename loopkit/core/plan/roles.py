"""What roles were asked for in a supervised or reviewed loop and what they answered: the plan and
its reviews, judgements of tasks."""

from __future__ import annotations

from ..journal import stage
from ..journal import task as tasks
from ..journal.events import EventType, Fields, on
from ..journal.parts import DRAFT, REVISE, SETTLED, Supervision
from ..journal.session import AttemptsReset, QuestionAnswered, QuestionAsked
from . import events
from .events import OfTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Amount, Count, Flag, Text
    from ..journal.state import LoopState

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


class PlanProposed(EventType):
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


class Judgement(Fields):
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
        own.standing = SETTLED if self.outcome in (APPROVED, CONTINUE, LOWER) else REVISE
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


class TaskCoded(OfWork, EventType):
    kind: Text = IMPLEMENTATION
    status: Text = ""
    summary: Text = ""
    files: list[Text] = []
    block_reason: Text = ""

    def fold(self, state: LoopState) -> None:
        task = self.task_in(state)
        if task is not None:
            self.record(
                state,
                FIX if self.kind == FIX else IMPLEMENTATION,
                "coded",
                turn=TEST,
                fixes=task.fixes + (self.kind == FIX),
                revisions=task.revisions + (self.kind == "revision"),
            )


class Failure(Fields):
    """A test that failed, named as the tester's reply does."""

    testName: Text = ""
    error: Text = ""
    file: Text = ""
    severity: Text = ""
    also = {"Text": "stackTrace"}


class TaskTested(OfWork, EventType):
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


class TaskDiagnosed(OfTask, EventType):
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


@on(AttemptsReset)
def _reset(event: AttemptsReset, state: LoopState) -> None:
    for task_id in event.ids:
        state.change(task_id, diagnosed=0, diagnosis=None)


@on(events.TaskStarted)
def _started(event: events.TaskStarted, state: LoopState) -> None:
    own = state.supervision
    own.started = True
    if event.id in state.tasks:
        own.forget(event.id)
        anew = dict.fromkeys(("coded", "tested", "judged"))
        state.change(event.id, turn=IMPLEMENTATION, fixes=0, revisions=0, **anew)


@on(events.TaskFailed, events.TaskReopened, events.TaskBlocked)
def _ended(
    event: events.TaskFailed | events.TaskReopened | events.TaskBlocked, state: LoopState
) -> None:
    """An attempt has failed, or was interrupted."""
    own = state.supervision
    own.forget(event.id)
    if isinstance(event, events.TaskFailed):
        own.level = event.level or own.level
    task = event.task_in(state)
    if task is not None and task.turn:
        state.put(task._replace(turn=""))


@on(events.TaskCompleted)
def _completed(event: events.TaskCompleted, state: LoopState) -> None:
    task = event.task_in(state)
    if task is not None and task.kind == "work":
        state.supervision.worked = state.lines
    if task is not None and task.turn:
        state.put(task._replace(turn=""))


@on(events.TaskSplit)
def _split(event: events.TaskSplit, state: LoopState) -> None:
    state.supervision.settle(key(REPLAN, event.id))


@on(events.TaskChanged, events.TaskVerified)
def _looks_again(event: events.TaskChanged | events.TaskVerified, state: LoopState) -> None:
    """While the supervisor judges, another check has not run yet, or one fails: the tester looks
    again."""
    task = event.task_in(state)
    if task is None or task.turn != VERIFICATION:
        return
    if isinstance(event, events.TaskVerified):
        again = not event.passed and task.status == tasks.IN_PROGRESS
    else:
        again = task.evidence is None
    if again:
        state.put(task._replace(turn=TEST))


# -- what others ask; cheap, since rules of every loop do


def is_out(state: LoopState, name: str) -> bool:
    """What bears this name was dispatched, and whoever has it can still be at work, or has just
    ended: then its reply is on its way.

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
