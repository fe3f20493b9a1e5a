"""What supervision leaves in a loop's state: who was asked for what, the plan and its reviews,
judgements of tasks."""

from __future__ import annotations

from . import stages
from . import task as tasks

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Event
    from .state import LoopState

#: Kinds of replies, as `loopkit reply` takes them.
PLAN, REPLAN, IMPLEMENTATION, FIX = "plan", "replan", "implementation", "fix"
TEST, VERIFICATION, DIAGNOSIS = "test", "verification", "diagnosis"
KINDS = (PLAN, REPLAN, IMPLEMENTATION, FIX, TEST, VERIFICATION, DIAGNOSIS)
#: What a verification may be of, beside a task.
OF_PLAN, OF_GOAL = "plan", "goal"

#: Where a plan stands: none yet, to be reviewed, to be revised, to be worked on.
DRAFT, REVISE, SETTLED = "draft", "revise", "settled"
#: What a review of a plan comes to. `lower` and `continue`: worked on though it was not approved.
APPROVED, CONTINUE, LOWER, PAUSED, ASKED = "approved", "continue", "lower", "paused", "asked"
_SETTLES = (APPROVED, CONTINUE, LOWER)

#: What a line of each kind holds where it says nothing of it.
_CODED: dict = {
    "kind": IMPLEMENTATION,
    "status": "",
    "summary": "",
    "files": (),
    "block_reason": "",
}
_TESTED: dict = {"passed": False, "failures": (), "coverage": None, "fix_plan": ""}
_TESTED |= dict.fromkeys(("tests_run", "tests_passed", "tests_failed"), 0)
_FAILURE: dict = dict.fromkeys(("testName", "error", "file", "severity"), "")
_JUDGED: dict = {"score": None, "level": "", "feedback": "", "issues": (), "missing": ()}
_DIAGNOSED: dict = {"suggested": None, "reasoning": "", "blockers": ()}

#: Replies of a planner that come to nothing before the loop pauses: the first one and two more.
MOST_MISSES = 3


def key(kind: str, task: str | None) -> str:
    """`test T-001`, `verification goal`, `plan`: the name under which a step is counted."""
    return f"{kind} {task}" if task else kind


class Supervised:
    """Facts of a supervised or reviewed loop that belong to no single task; changed only by FOLDS.

    asked: how often each step was handed out · out: the journal line that handed it out, while no
    reply is in · stopped: how many subagents had ended by then · unfit: what was wrong with the
    newest reply, while a better one is awaited · misses: how many were unfit in a row; each by key.
    plan: the newest plan_proposed (warning, risks, assumptions, questions, replaces, line) ·
    standing: "", DRAFT, REVISE, SETTLED · review: the newest plan_reviewed · revisions: plans after
    the first, additions for the goal included · goal: the newest goal_judged, with its line ·
    worked: the line of the newest completion of a task that is no remediation · questions:
    {question, answer (None while open)} in order · level: the newest escalation level.
    """

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.out: dict[str, int] = {}
        self.stopped: dict[str, int] = {}
        self.unfit: dict[str, str] = {}
        self.misses: dict[str, int] = {}
        self.plan: dict | None = None
        self.standing = ""
        self.review: dict | None = None
        self.revisions = 0
        self.goal: dict | None = None
        self.worked = 0
        self.questions: list[dict] = []
        self.started = False
        self.level = ""

    def settle(self, name: str) -> None:
        """The reply to a step is in."""
        for table in (self.out, self.unfit, self.misses):
            table.pop(name, None)

    def forget(self, task_id: str) -> None:
        """Nothing that was asked about a task is awaited any longer."""
        for table in (self.out, self.unfit, self.misses):
            for name in [one for one in table if one.endswith(" " + task_id)]:
                del table[name]


def _asked(state: LoopState, data: dict, event: Event) -> None:
    name = key(data.get("kind", ""), data.get("task"))
    state.supervised.asked[name] = data.get("number", state.supervised.asked.get(name, 0) + 1)
    state.supervised.out[name] = state.lines
    state.supervised.stopped[name] = len(state.session.subagents)


def _unfit(state: LoopState, data: dict, event: Event) -> None:
    own, name = state.supervised, key(data.get("kind", ""), data.get("task"))
    own.out.pop(name, None)
    own.unfit[name] = data.get("error", "")
    own.misses[name] = own.misses.get(name, 0) + 1
    if (
        own.misses[name] >= MOST_MISSES
    ):  # whoever goes on with the loop gives the planner another chance
        own.misses[name] = 0


def _proposed(state: LoopState, data: dict, event: Event) -> None:
    own = state.supervised
    state.records += 1
    if own.standing == REVISE or short(own):
        own.revisions += 1
    own.plan = {**data, "line": state.lines}
    if state.stage == stages.DECOMPOSE:  # later ones only add
        own.standing = DRAFT
        state.confirmed.discard("tasks")
    own.settle(PLAN)
    own.settle(key(VERIFICATION, OF_PLAN))


def short(own: Supervised) -> bool:
    """The newest plan is older than the judgement that more is needed for the goal."""
    if own.goal is None or own.goal.get("approved"):
        return False
    return own.plan is None or own.plan["line"] < own.goal["line"]


def _plan_reviewed(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.supervised.review = {**_JUDGED, **data}
    state.supervised.standing = SETTLED if data.get("outcome") in _SETTLES else REVISE
    state.supervised.level = data.get("level") or state.supervised.level
    state.supervised.settle(key(VERIFICATION, OF_PLAN))


def _goal_judged(state: LoopState, data: dict, event: Event) -> None:
    state.records += 1
    state.supervised.goal = {**_JUDGED, **data, "line": state.lines}
    state.supervised.level = data.get("level", "")
    state.supervised.settle(key(VERIFICATION, OF_GOAL))


def _question(state: LoopState, data: dict, event: Event) -> None:
    state.supervised.questions.append({"question": data.get("text", ""), "answer": None})
    state.supervised.settle(PLAN)


def _reset(state: LoopState, data: dict, event: Event) -> None:
    for task_id in data.get("ids", ()):
        if task_id in state.tasks:
            state._put(state.tasks[task_id]._replace(diagnosed=0, diagnosis=None))


def _answer(state: LoopState, data: dict, event: Event) -> None:
    if state.supervised.questions:
        state.supervised.questions[-1]["answer"] = data.get("text", "")


def _started(state: LoopState, data: dict, event: Event) -> None:
    state.supervised.started = True
    task = state.tasks.get(data.get("id", ""))
    if task is not None:
        state.supervised.forget(task.id)
        state._put(
            task._replace(
                turn=IMPLEMENTATION, coded=None, tested=None, judged=None, fixes=0, revisions=0
            )
        )


def _ended(state: LoopState, data: dict, event: Event) -> None:
    """An attempt has failed, or was interrupted."""
    task = state.tasks.get(data.get("id", ""))
    state.supervised.forget(data.get("id", ""))
    state.supervised.level = data.get("level") or state.supervised.level
    if task is not None and task.turn:
        state._put(task._replace(turn=""))


def _completed(state: LoopState, data: dict, event: Event) -> None:
    task = state.tasks.get(data.get("id", ""))
    if task is not None and task.kind == "work":
        state.supervised.worked = state.lines
    if task is not None and task.turn:
        state._put(task._replace(turn=""))


def _coded(state: LoopState, data: dict, event: Event) -> None:
    task = state.tasks.get(data.get("id", ""))
    if task is None:
        return
    state.records += 1
    fix, revision = data.get("kind") == FIX, data.get("kind") == "revision"
    state.supervised.settle(key(FIX if fix else IMPLEMENTATION, task.id))
    coded = {**_CODED, **data, "line": state.lines}
    state._put(
        task._replace(
            coded=coded, turn=TEST, fixes=task.fixes + fix, revisions=task.revisions + revision
        )
    )


def _tested(state: LoopState, data: dict, event: Event) -> None:
    task = state.tasks.get(data.get("id", ""))
    if task is None:
        return
    state.records += 1
    state.supervised.settle(key(TEST, task.id))
    turn = VERIFICATION if data.get("passed") else FIX
    tested = {**_TESTED, **data, "line": state.lines}
    tested["failures"] = [{**_FAILURE, **one} for one in tested["failures"]]
    state._put(task._replace(tested=tested, turn=turn))


def _judged(state: LoopState, data: dict, event: Event) -> None:
    task = state.tasks.get(data.get("id", ""))
    if task is None:
        return
    state.records += 1
    state.supervised.level = data.get("level", "")
    state.supervised.settle(key(VERIFICATION, task.id))
    turn = IMPLEMENTATION if data.get("band") == "revise" else ""
    state._put(task._replace(judged={**_JUDGED, **data, "line": state.lines}, turn=turn))


def _diagnosed(state: LoopState, data: dict, event: Event) -> None:
    task = state.tasks.get(data.get("id", ""))
    if task is None:
        return
    state.records += 1
    state.supervised.settle(key(DIAGNOSIS, task.id))
    attempt = data.get("attempt", task.attempts)
    # one that says something takes the place of a panel
    panel = attempt if data.get("suggested") and data.get("reasoning") else task.panel_for
    state._put(task._replace(diagnosis={**_DIAGNOSED, **data}, diagnosed=attempt, panel_for=panel))


def _split(state: LoopState, data: dict, event: Event) -> None:
    state.supervised.settle(key(REPLAN, data.get("id", "")))


def _changed(state: LoopState, data: dict, event: Event) -> None:
    """Another check has not run yet: the tester looks again."""
    task = state.tasks.get(data.get("id", ""))
    if task is not None and task.turn == VERIFICATION and task.evidence is None:
        state._put(task._replace(turn=TEST))


def _verified(state: LoopState, data: dict, event: Event) -> None:
    """A check that fails while the supervisor judges: the tester looks again."""
    task = state.tasks.get(data.get("id", ""))
    if (
        task is not None
        and task.turn == VERIFICATION
        and not data.get("passed")
        and task.status == tasks.IN_PROGRESS
    ):
        state._put(task._replace(turn=TEST))


#: {type of a journal line: (state, data, event) → None}.
FOLDS: dict[str, Callable] = {
    "role_asked": _asked,
    "reply_unfit": _unfit,
    "plan_proposed": _proposed,
    "plan_reviewed": _plan_reviewed,
    "goal_judged": _goal_judged,
    "question_asked": _question,
    "question_answered": _answer,
    "attempts_reset": _reset,
    "task_started": _started,
    "task_failed": _ended,
    "task_reopened": _ended,
    "task_blocked": _ended,
    "task_completed": _completed,
    "task_coded": _coded,
    "task_tested": _tested,
    "task_judged": _judged,
    "task_diagnosed": _diagnosed,
    "task_split": _split,
    "task_changed": _changed,
    "task_verified": _verified,
}


# -- what others ask; cheap, since rules of every loop do


def is_out(state: LoopState, name: str) -> bool:
    """What bears this name was handed out, and whoever has it can still be at work, or has just
    ended: then its reply is on its way.

    Reports of agents in the background arrive one by one, and a session may stop between two of
    them. Who has not handed them over by the stop after that has lost them.
    """
    own = state.supervised
    line = own.out.get(name)
    if line is None or line < state.idle_before:
        return False
    if line >= state.idle_at:
        return True
    asked = sum(one >= state.idle_before for one in own.out.values())
    return len(state.session.subagents) - own.stopped.get(name, 0) >= asked


def planned(state: LoopState) -> bool:
    """Whether the tasks may be worked on: where plans are reviewed, one was, or work has been done
    already."""
    if not state.terms.plan_reviewed or state.counts[tasks.COMPLETED]:
        return True
    return state.supervised.standing == SETTLED
