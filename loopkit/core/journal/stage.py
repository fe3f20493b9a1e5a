"""The stage machine (intent → shape → decompose → executing → review → complete), and what every
decider asks first."""

from __future__ import annotations

from . import parts, prose, score, verdict
from . import task as tasks
from .errors import LimitReached, NotYet, Refused
from .events import Change
from .parts import SETTLED
from .stages import DECOMPOSE, EXECUTING, REVIEW, SHAPE

TYPE_CHECKING = False  # as in typing, whose import a hook would pay for each time
if TYPE_CHECKING:
    from .state import LoopState


def confirmation(state: LoopState) -> str | None:
    """What the person still has to confirm now: `shape`, `tasks`, `wave`, or None (rule: shapes by
    fit score)."""
    return unconfirmed(state) if state.session.status == "running" else None


def unconfirmed(state: LoopState) -> str | None:
    """The same, also while the loop is paused."""
    needs = score.needs(state.shape)
    if not needs:
        return None
    if state.stage in (SHAPE, DECOMPOSE) and state.criteria and "shape" not in state.confirmed:
        return "shape"
    if state.stage == DECOMPOSE and not planned(state):
        return None  # it may still be replaced
    if (
        state.stage == DECOMPOSE
        and state.tasks
        and "tasks" not in state.confirmed
        and not state.session.unattended
    ):
        return "tasks"
    if state.new_checks and state.stage in (EXECUTING, REVIEW) and not state.session.unattended:
        if state.wave is None or not state.new_checks.isdisjoint(
            (*state.running, *state.interrupted)
        ):
            return "tasks"
    if (
        "wave" in needs
        and state.stage in (DECOMPOSE, EXECUTING)
        and state.wave is None
        and state.free
    ):
        if wave_key(state) not in state.confirmed:
            return "wave"
    return None


def planned(state: LoopState) -> bool:
    """Whether the tasks may be worked on: where plans are reviewed, one was, or work has been done
    already."""
    if not state.terms.plan_reviewed or state.counts[tasks.COMPLETED]:
        return True
    return state.supervision.standing == SETTLED


def wave_key(state: LoopState) -> str:
    """The name under which the next wave is confirmed: `wave-2`."""
    return f"wave-{len(state.waves) + 1}"


def require(state: LoopState, *stages: str, doing: str) -> None:
    """Raises Refused unless the loop is in one of the stages; names the stage and the next step's
    command."""
    if state.stage not in stages:
        raise NotYet(
            f"{doing} belongs to stage {' or '.join(stages)}, the loop is in {state.stage}"
        )


def check_seen(state: LoopState, name: str) -> None:
    """Raises NotYet where the person has not said yes to a check as it is now: of a task, a
    criterion or a decision."""
    if name in state.new_checks and not state.session.unattended:
        raise NotYet(f"the check of {name} is new since the person's yes to the tasks")


def running(state: LoopState) -> None:
    """Raises Refused unless the loop may be worked on now."""
    session = state.session
    if session.status in verdict.FINAL:
        raise Refused(
            f"loop {state.name} is over ({session.verdict})",
            "start another: /loop:start <task>",
            code="loop_over",
        )
    if session.status == verdict.PAUSED:
        named = f" ({session.verdict})" if session.verdict else ""
        what = f"loop {state.name} is paused{named}: {session.reason or verdict.BY_HAND}"
        if session.verdict in verdict.LIMITS:
            raise LimitReached(what)
        raise Refused(what, "next: loopkit resume", code="loop_paused")
    if session.question is not None:
        raise Refused(
            f"a question is open: {prose.clean(session.question, 120)}",
            'next: loopkit answer "<text>"',
            code="question_open",
        )


def move(state: LoopState, to: str) -> Change:
    """The journal line that takes the loop from its stage to another."""
    return ("stage_moved", {"from": state.stage, "to": to})


def check_leave_intent(scores: dict | None, overruled: str | None) -> None:
    """Raises Refused unless spec and fit let the loop go on to shape (rule: the spec gate first,
    then fit alone)."""
    if scores is None:
        raise NotYet("not scored yet")
    if scores["spec"] < score.SPEC_MINIMUM and not overruled:
        raise Refused(
            f"spec {scores['spec']}/10 is under {score.SPEC_MINIMUM}",
            "clarify (skill hope:intent) and score again, or the person says: loopkit score "
            '--overrule "<why>"',
        )
    if scores["shape"] is None:
        raise Refused(
            f"fit {scores['fit']} is under {score.FIT_COLLEAGUE}: blocked, also when the spec was "
            "overruled",
            "clarify (skill hope:intent) and score again",
        )


def check_leave_decompose(state: LoopState, most: int) -> None:
    """Raises Refused unless the tasks may be worked on (rule: gate before work)."""
    if not state.tasks:
        raise NotYet("there are no tasks")
    if state.planned > most:
        raise Refused(
            f"{state.planned} tasks, at most {most}",
            "remove some, or start several loops",
            code="out_of_bounds",
        )
    for task in state.tasks.values():
        if not task.verify and task.id in state.open:
            raise Refused(
                f"{task.id} has no verification command",
                f'next: loopkit task set {task.id} --verify "<command>"',
            )
    if len(state.must_nots) < 2 or not state.criteria:
        raise Refused("the shape is not fixed", "next: loopkit shape --accept -")


def check_leave_executing(state: LoopState) -> None:
    """Raises Refused unless every task is completed and the last wave closed."""
    if state.wave is not None:
        raise NotYet(f"wave {state.wave.number} is open")
    if state.open:
        first = next(iter(state.open))
        raise NotYet(f"{len(state.open)} tasks are not completed, first {first}")


def asked_again(state: LoopState, changes: list[Change]) -> list[Change]:
    """The line that drops the person's yes to the tasks, and to the next wave, where these changes
    bring a check that it was not given to. Where nobody can be asked it stands, as the default that
    it is."""
    held = [what for what in ("tasks", wave_key(state)) if what in state.confirmed]
    if state.session.unattended or not held and not state.new_checks:
        return []
    found = []
    for kind, data in changes:
        if kind == "task_added" and data["task"].get("verify"):
            found.append(data["task"]["id"])
        elif kind == "task_changed" and data.get("verify"):
            task = state.tasks.get(data["id"])
            if task is not None and task.verify != data["verify"]:
                found.append(task.id)
        elif kind == "shape_saved":
            known = {name: one.command for name, one in state.criteria.items()}
            rows = [row for row in data["criteria"] if row.get("command")]
            found += [row["id"] for row in rows if known.get(row["id"]) != row["command"]]
        elif kind == "decision_recorded" and parts.command_of(data):
            found.append(f"D{data['number']}")
    return [("confirmation_dropped", {"what": held, "ids": found})] if found else []
