"""What a loop waits for now: the one answer for next lines, status, refusals and drivers.

Each rule imports what only it needs: a check that passes waits for none of the others.
"""

from __future__ import annotations

from collections.abc import Callable

from ..journal import parts, prose, stage, verdict
from ..journal import task as tasks
from ..journal.state import LoopState
from ..plan import events, work
from . import attempts, kinds, policies
from .kinds import Step, step
from .policies import Policy


def due(state: LoopState) -> list[Step]:
    """All steps that can be worked side by side now, those already dispatched included; nothing
    where the loop is over. The first rule that waits for anything counts."""
    if state.session.status in verdict.FINAL:
        return []
    policy = policies.of(state)
    for rule in _RULES:
        steps = rule(state, policy)
        if steps:
            first = _proofs(state, steps)
            return [*first, *policy.beside(state)] if rule in _TOGETHER else first
    return [step(kinds.LOOK)]


def prompted(state: LoopState) -> list[Step]:
    """The steps whose agents have a prompt of their own, dispatched or not, later ones included."""
    session = state.session
    if session.status != verdict.RUNNING or session.question is not None:
        return []
    return [] if stage.confirmation(state) else policies.of(state).prompted(state)


def is_out(state: LoopState, one: Step) -> bool:
    """It was dispatched, is not orphaned, and has no reply yet."""
    return events.is_out(state, kinds.key(one))


def awaited(state: LoopState) -> list[Step]:
    """The steps whose agents' answers are taken now."""
    steps = prompted(state)
    agents = [each for each in due(state) if kinds.KINDS[each.kind].who == kinds.AGENT]
    return [*steps, *(each for each in agents if each not in steps)]


def undispatched(state: LoopState) -> list[Step]:
    """What can be dispatched now."""
    return [each for each in prompted(state) if not is_out(state, each)]


def outstanding(state: LoopState) -> list[Step]:
    """What was dispatched and has no reply yet."""
    return [each for each in prompted(state) if is_out(state, each)]


# -- the rules, in the order of precedence


def _person(state: LoopState, policy: Policy) -> list[Step]:
    if state.session.status == verdict.PAUSED:
        return [step(kinds.RESUME)]
    if state.session.question is not None:
        return [step(kinds.ANSWER)]
    confirm = stage.confirmation(state)
    return [step(kinds.CONFIRM, confirm)] if confirm else []


def _request(state: LoopState, policy: Policy) -> list[Step]:
    if state.stage == stage.INTENT:
        from ..request import clarify

        return [step(kinds.CLARIFY if clarify.due(state) else kinds.SCORE)]
    return [step(kinds.SHAPE)] if state.stage == stage.SHAPE else []


def _wave(state: LoopState, policy: Policy) -> list[Step]:
    """The open wave: results are brought together once nobody works any more; whose attempt was cut
    short can be started again, or waits for another by now."""
    if state.wave is None:
        return []
    if work.in_worktrees(state) and not policy.at_work(state):
        checks = [step(kinds.CHECK, name) for name in work.unchecked(state)]
        left = checks or [step(kinds.MERGE, name) for name in work.unmerged(state)]
        if left:
            return left
    interrupted = [state.tasks[name] for name in state.interrupted]
    again = [policy.work(task) for task in interrupted if attempts.startable(state, task)]
    return policy.in_wave(state) + again or [policy.closing(state)]


def _brought_back(state: LoopState, policy: Policy) -> list[Step]:
    """Work that the undoing of a rollback has brought back needs its check alone."""
    opened = [state.tasks[name] for name in state.open]
    return [step(kinds.CHECK, task.id) for task in opened if task.back and task.verify]


def _recovery(state: LoopState, policy: Policy) -> list[Step]:
    play = policy.recovery(state) if state.open else None
    if play is None:
        return []
    return [step(_PLAYS[play.kind], play.subject) if play.kind in _PLAYS else step(kinds.RECOVER)]


#: Plays that somebody else does than loopkit itself.
_PLAYS = {parts.ROLLBACK: kinds.ROLLBACK, parts.SPLIT: kinds.SPLIT, parts.PANEL: kinds.PANEL}


def _tasks(state: LoopState, policy: Policy) -> list[Step]:
    """Open tasks: what one of them needs first, then the next wave, then what they wait for."""
    if not state.open and state.stage != stage.DECOMPOSE:
        return []
    opened = [state.tasks[name] for name in state.open]
    first = (
        [_after_failure(task) for task in opened if task.status == tasks.FAILED]
        or [step(kinds.SPLIT, name) for name in state.narrow]
        or [step(kinds.SET_CHECK, name) for name in state.bare]
        or [step(kinds.PANEL, name) for name in state.due]
    )
    if first:
        return first
    if state.ready or state.counts[tasks.IN_PROGRESS]:
        return [step(kinds.OPEN_WAVE, len(state.waves) + 1)]
    outside = [step(kinds.UNBLOCK, task.id) for task in opened if tasks.is_blocked_outside(task)]
    if outside:
        return outside
    from . import resumption

    return [step(kinds.BELATED if resumption.belated(state) else kinds.LOOK)]


def _after_failure(task: tasks.Task) -> Step:
    """The loop's end or the way back, where the line that says so is missing; else a split."""
    from ..plan import escalation

    belated = task.action == escalation.IMPOSSIBLE or not task.attempts
    return step(kinds.BELATED if belated else kinds.SPLIT, task.id)


def _end(state: LoopState, policy: Policy) -> list[Step]:
    from ..review import review

    again = state.thorough is None or review.needs_new_round(state)
    if state.stage == stage.EXECUTING or again:
        return [step(kinds.THOROUGH_REVIEW)]
    left = [row.id for row in state.findings.values() if review.unsettled(row, state)]
    if left:
        return [step(kinds.RESOLVE, name) for name in left]
    gate = state.gate
    if gate is None or not gate.get("passed") or gate["line"] < state.last_completion:
        return [step(kinds.GATE)]
    # RESEARCH does not complete: more has to be found out, then the gate is answered anew
    return [step(kinds.GATE_AGAIN if gate.get("card") == verdict.RESEARCH else kinds.COMPLETE)]


def _proofs(state: LoopState, steps: list[Step]) -> list[Step]:
    """What comes before a wave, or the judgement of the whole: proofs that are still to be tried,
    then others for those that prove nothing."""
    ahead = steps[0].kind
    if ahead not in (*JUDGING, kinds.OPEN_WAVE) and not _asks_for_proofs(state, steps):
        return steps
    from ..evidence import trials

    untried = [step(kinds.RED_FIRST, name) for name in trials.untried(state)]
    if untried or state.waves and ahead == kinds.OPEN_WAVE:
        return untried or steps
    return [step(kinds.PROOFS)] if trials.vain(state) else steps


#: Kinds by which the whole is judged.
JUDGING = (kinds.THOROUGH_REVIEW, kinds.GATE, kinds.GATE_AGAIN)


def _asks_for_proofs(state: LoopState, steps: list[Step]) -> bool:
    """A finding that waits to be settled says that a proof does not show its criterion."""
    names = [step.subject for step in steps if step.kind == kinds.RESOLVE]
    return any(state.findings[name].category == parts.PROOF for name in names)


def _between(state: LoopState, policy: Policy) -> list[Step]:
    return policy.between_waves(state)


_RULES: tuple[Callable[[LoopState, Policy], list[Step]], ...] = (
    _person,
    _request,
    lambda state, policy: policy.planning(state) if state.stage == stage.DECOMPOSE else [],
    _wave,
    _brought_back,
    _recovery,
    _between,
    _tasks,
    _end,
)
#: Rules whose steps have others beside them.
_TOGETHER = (_wave, _brought_back, _between, _tasks)


# -- steps as runnable lines: every command ends with them, hold and announcement quote the first

#: Goes on as far as no judgement is needed.
NEXT = "loopkit next"


def command(state: LoopState) -> str | None:
    """The one command that comes next, or None when the loop is over. A loop that `loopkit next`
    has driven goes on by it, whatever was done by hand."""
    if state.session.dispatches:
        return onward(state)
    steps = due(state)
    return line(state, steps[0]) if steps else None


def onward(state: LoopState) -> str | None:
    """The line that a session goes on with, whatever is due: the person's part is named, the rest
    is found out by `loopkit next`. None when the loop is over."""
    steps = due(state)
    if not steps:
        return None
    person = kinds.KINDS[steps[0].kind].who == kinds.PERSON
    if state.session.unattended and steps[0].kind in _WAITS:
        person = steps[0].kind == kinds.RESUME  # the rest has a default, or is put off, by NEXT
    return line(state, steps[0]) if person else NEXT


def waits(state: LoopState) -> str | None:
    """What the loop waits for that is the person's to decide, apart from a pause and an open
    question, which the session tells; None where it does not."""
    steps = due(state)
    if not steps or steps[0].kind not in _WAITS or not _WAITS[steps[0].kind]:
        return None
    if steps[0].kind == kinds.RESOLVE and state.session.unattended:
        return None
    subjects = [str(one.subject) for one in steps]
    return _WAITS[steps[0].kind].format(subject=prose.few(subjects, 5))


#: Kinds of steps that are the person's decision and no work, with the words for them.
_WAITS = {
    kinds.RESUME: "",
    kinds.ANSWER: "",
    kinds.CONFIRM: "to be confirmed: {subject}",
    kinds.UNBLOCK: "blocked: {subject}",
    kinds.RESOLVE: "to be decided: {subject}",
}


def line(state: LoopState, step: Step) -> str:
    """The command that does a step, or asks for it."""
    if step.kind in _LINES:
        return _LINES[step.kind](state, step)
    return kinds.KINDS[step.kind].command.format(subject=step.subject)


def _resume(state: LoopState, step: Step) -> str:
    session = state.session
    if session.verdict not in verdict.LIMITS:
        return "loopkit resume"
    from ..journal import limits

    return f"loopkit resume {limits.raising(*session.spent, session.most)}".rstrip()


def check(state: LoopState, name: str) -> str:
    """The line that verifies one of these."""
    return f"loopkit verify {name} -- {state.check_of(name)}"


def _batch(state: LoopState, step: Step) -> str:
    from ..review import batch_review

    return batch_review.line(state)


def _resolve(state: LoopState, step: Step) -> str:
    finding = state.findings[step.subject]
    ways = "<--approve | --task --verify COMMAND | --discuss TEXT | --skip TEXT>"
    if state.session.unattended:  # nobody can waive it
        ways = '--task --verify "<command>"'
    elif finding.severity == "BLOCKER":
        ways = '--waive "<why>"' if finding.task else "<--task --verify COMMAND | --waive WHY>"
    return f"loopkit review resolve {finding.id} {ways}"


_LINES: dict[str, Callable[[LoopState, Step], str]] = {
    kinds.RESUME: _resume,
    kinds.RED_FIRST: lambda state, step: NEXT if state.waves else kinds.WAVE_NEXT,
    kinds.CHECK: lambda state, step: check(state, step.subject),
    kinds.BATCH_REVIEW: _batch,
    kinds.RESOLVE: _resolve,
}


def dispatch_lines(state: LoopState, ids: list[str], folder: str = "") -> list[str]:
    """The lines that give these tasks to agents, and what follows when all have reported. folder:
    the loop's, as agents are told it."""
    policy = policies.of(state)
    lines = []
    for task in (state.tasks[name] for name in ids):
        row, role = work.isolated(state, task.id), policy.work(task).agent
        path = f"{folder or f'.loop/{state.name}'}/{row.path}" if row else ""
        where = f" in `{path}`, a worktree of its own" if path else ""
        what = f"Do {task.id} ({prose.subject(task.subject, 100)}){where}"
        lines.append(f"agent loop:{role}: {what}. Run `loopkit task show {task.id}` first.")
    after = work.MERGE if work.in_worktrees(state) else line(state, policy.closing(state))
    return [*lines, after]


def reviewers(state: LoopState, asked: list[tuple[str, str]]) -> list[str]:
    """The lines that give the thorough review to agents, [(expert, question)]; what follows."""
    head = f"agent loop:review: Review loop {state.name}, "
    head += f"round {1 + (state.thorough or {}).get('round', 0)}, as"
    prompt = "loopkit review --thorough --prompt"
    lines = [f"{head} {name}: {question} Run `{prompt} {name}` first." for name, question in asked]
    return [*lines, "loopkit review --thorough --file -"]
