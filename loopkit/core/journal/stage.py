"""The stages of a loop, the scores that open the first ones, and what every decider asks first."""

from __future__ import annotations

from collections import namedtuple

from . import parts, prose, verdict
from . import task as tasks
from .errors import LimitReached, NotYet, Refused, UsageFault
from .events import STAGES, Change

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .session import Session
    from .state import LoopState

INTENT, SHAPE, DECOMPOSE, EXECUTING, REVIEW, COMPLETE = STAGES

# -- spec score and fit score: the rubric, the formula, the shape that follows

DIMENSIONS = ("outcome", "scope", "constraints", "success", "done")
RUBRIC = {
    "outcome": ("vague wish", "a metric without a target", "a target that can be measured"),
    "scope": ("whole application", "a named module", "a named file, function or endpoint"),
    "constraints": ("none", "general", "explicit technical limits"),
    "success": ("none", "one way to check", "several ways"),
    "done": ("implied", "vague end", "an end that can be observed"),
}
#: The kinds of work, one of which is chosen with the scores.
BUILD, DEBUG, REFACTOR = KINDS = ("build", "debug", "refactor")
SPEC_MINIMUM = 5
TOOL, TOOL_REVIEW, COLLEAGUE = "tool", "tool-review", "colleague"
FIT_TOOL, FIT_TOOL_REVIEW, FIT_COLLEAGUE = 40, 30, 25
FAMILIARITY_EACH, FAMILIARITY_MOST = 2, 10

#: A scored request: `values` by dimension (0-2), spec 0-10, fit 0-75, shape name or None where fit
#: is too low.
Scores = namedtuple("Scores", "values spec fit shape")


def score(values: dict, confirmed_learnings: int) -> Scores:
    """Scores of the five dimensions; confirmed_learnings: how many were recalled. Raises UsageFault
    where a dimension is missing or not 0, 1 or 2 (rule: Spec score, fit score)."""
    for name in DIMENSIONS:
        if values.get(name) not in (0, 1, 2):
            raise UsageFault(f"--{name} is {values.get(name)!r}", "give 0, 1 or 2")
    spec = sum(values[name] for name in DIMENSIONS)
    explicit = sum(values[name] == 2 for name in ("constraints", "success", "done"))
    familiarity = min(FAMILIARITY_EACH * confirmed_learnings, FAMILIARITY_MOST)
    fit = 5 * spec + 5 * explicit + familiarity
    return Scores({name: values[name] for name in DIMENSIONS}, spec, fit, shape_of(fit))


def shape_of(fit: int) -> str | None:
    """The shape that a fit score chooses, or None: blocked, clarify first."""
    rows = ((FIT_TOOL, TOOL), (FIT_TOOL_REVIEW, TOOL_REVIEW), (FIT_COLLEAGUE, COLLEAGUE))
    return next((shape for least, shape in rows if fit >= least), None)


def needs(shape: str | None) -> tuple:
    """What the person confirms in a shape: of `shape`, `tasks`, `wave`."""
    by_shape = {TOOL_REVIEW: ("shape", "tasks"), COLLEAGUE: ("shape", "tasks", "wave")}
    return by_shape.get(shape or "", ())


# -- what the person confirms


def confirmation(state: LoopState) -> str | None:
    """What the person still has to confirm now: `shape`, `tasks`, `wave`, or None."""
    return unconfirmed(state) if state.session.status == verdict.RUNNING else None


def unconfirmed(state: LoopState) -> str | None:
    """The same, also while the loop is paused."""
    wanted = needs(state.shape)
    if not wanted:
        return None
    attended, planning = not state.session.unattended, state.stage == DECOMPOSE
    if state.stage in (SHAPE, DECOMPOSE) and state.criteria and "shape" not in state.confirmed:
        return "shape"
    if planning and not planned(state):
        return None  # it may still be replaced
    if planning and state.tasks and "tasks" not in state.confirmed and attended:
        return "tasks"
    if attended and _new_checks_wait(state):
        return "tasks"
    starts = state.stage in (DECOMPOSE, EXECUTING) and state.wave is None and state.free
    seen = "wave" not in wanted or wave_key(state) in state.confirmed
    return None if seen or not starts else "wave"


def _new_checks_wait(state: LoopState) -> bool:
    """Whether checks that the person has not seen are about to run."""
    if not state.new_checks or state.stage not in (EXECUTING, REVIEW):
        return False
    worked_on = (*state.running, *state.interrupted)
    return state.wave is None or not state.new_checks.isdisjoint(worked_on)


def planned(state: LoopState) -> bool:
    """Whether the tasks may be worked on: reviewed where plans are, or begun."""
    if not state.terms.plan_reviewed or state.counts[tasks.COMPLETED]:
        return True
    return state.supervision.standing == parts.SETTLED


def wave_key(state: LoopState) -> str:
    """The name under which the next wave is confirmed: `wave-2`."""
    return f"wave-{len(state.waves) + 1}"


def attended(state: LoopState, unattended: bool, anew: bool = False) -> list[Change]:
    """Somebody can be asked in the loop's session now, or nobody can, by what the client says;
    where the person has said that nobody can be, that stands in their session. anew: it is another
    one from now on, or goes on after a pause."""
    session = state.session
    if session.unattended == unattended or session.by_word and not anew:
        return []
    return [("attended_changed", {"unattended": unattended})]


def asked_again(state: LoopState, changes: list[Change]) -> list[Change]:
    """The line that drops the person's yes to the tasks, and to the next wave, where these changes
    bring a check that it was not given to. Where nobody can be asked it stands."""
    held = [what for what in ("tasks", wave_key(state)) if what in state.confirmed]
    if state.session.unattended or not held and not state.new_checks:
        return []
    ids = [name for kind, data in changes for name in _new_checks(state, kind, data)]
    return [("confirmation_dropped", {"what": held, "ids": ids})] if ids else []


def _new_checks(state: LoopState, kind: str, data: dict) -> list[str]:
    """Tasks, criteria and decisions whose check is another after a change."""
    if kind == "task_added" and data["task"].get("verify"):
        return [data["task"]["id"]]
    if kind == "task_changed" and data.get("verify"):
        task = state.tasks.get(data["id"])
        return [task.id] if task is not None and task.verify != data["verify"] else []
    if kind == "shape_saved":
        known = {name: criterion.command for name, criterion in state.criteria.items()}
        rows = [row for row in data["criteria"] if row.get("command")]
        return [row["id"] for row in rows if known.get(row["id"]) != row["command"]]
    if kind == "decision_recorded" and parts.command_of(data):
        return [f"D{data['number']}"]
    return []


# -- what deciders ask


def require(state: LoopState, *stages: str, doing: str) -> None:
    """Raises NotYet unless the loop is in one of the stages."""
    if state.stage not in stages:
        wanted = " or ".join(stages)
        raise NotYet(f"{doing} belongs to stage {wanted}, the loop is in {state.stage}")


def check_seen(state: LoopState, name: str) -> None:
    """Raises NotYet where the person has not said yes to a check as it is now."""
    if name in state.new_checks and not state.session.unattended:
        raise NotYet(f"the check of {name} is new since the person's yes to the tasks")


def running(state: LoopState) -> None:
    """Raises Refused unless the loop may be worked on now."""
    session = state.session
    if session.status in verdict.FINAL:
        what = f"loop {state.name} is over ({session.verdict})"
        raise Refused(what, "start another: /loop:start <task>", code="loop_over")
    if session.status == verdict.PAUSED:
        named = f" ({session.verdict})" if session.verdict else ""
        what = f"loop {state.name} is paused{named}: {session.reason or verdict.BY_HAND}"
        if session.verdict in verdict.LIMITS:
            raise LimitReached(what, raised(session))
        raise Refused(what, f"{verdict.AGAIN}loopkit resume", code="loop_paused")
    if session.question is not None:
        what = f"a question is open: {prose.clean(session.question, 120)}"
        raise Refused(what, 'next: loopkit answer "<text>"', code="question_open")


def raised(session: Session) -> str:
    """What lets a loop go on that is at its limits."""
    from . import limits  # reached now and then

    options = limits.raising(*session.spent, session.most)
    return f"if the person agrees: loopkit resume {options}".rstrip()


def move(state: LoopState, to: str) -> Change:
    """The journal line that takes the loop from its stage to another."""
    return ("stage_moved", {"from": state.stage, "to": to})


def check_leave_intent(scores: dict | None, overruled: str | None) -> None:
    """Raises Refused unless spec and fit let the loop go on to shape (spec first, then fit)."""
    if scores is None:
        raise NotYet("not scored yet")
    if scores["spec"] < SPEC_MINIMUM and not overruled:
        todo = f'{_CLARIFY}, or the person says: loopkit score --overrule "<why>"'
        raise Refused(f"spec {scores['spec']}/10 is under {SPEC_MINIMUM}", todo)
    if scores["shape"] is None:
        what = f"fit {scores['fit']} is under {FIT_COLLEAGUE}"
        raise Refused(f"{what}: blocked, also when the spec was overruled", _CLARIFY)


_CLARIFY = "clarify (skill hope:intent) and score again"


def check_leave_decompose(state: LoopState, most: int) -> None:
    """Raises Refused unless the tasks may be worked on (rule: gate before work)."""
    if not state.tasks:
        raise NotYet("there are no tasks")
    if state.planned > most:
        what, todo = f"{state.planned} tasks, at most {most}", "remove some, or start several loops"
        raise Refused(what, todo, code="out_of_bounds")
    for task_id in state.open:
        if not state.tasks[task_id].verify:
            todo = f'next: loopkit task set {task_id} --verify "<command>"'
            raise Refused(f"{task_id} has no verification command", todo)
    if len(state.must_nots) < 2 or not state.criteria:
        raise Refused("the shape is not fixed", "next: loopkit shape --accept -")


def check_leave_executing(state: LoopState) -> None:
    """Raises Refused unless every task is completed and the last wave closed."""
    if state.wave is not None:
        raise NotYet(f"wave {state.wave.number} is open")
    if state.open:
        first = next(iter(state.open))
        raise NotYet(f"{len(state.open)} tasks are not completed, first {first}")
