"""Waves: which tasks go together, opening and closing them."""

from __future__ import annotations

from ..health import monitor, recovery
from ..journal import settings, stage
from ..journal import task as tasks
from ..journal.errors import NotYet
from ..journal.events import Change
from ..journal.parts import FAILED, PASSED, TASK_BLOCKED, Batch, Outcome
from ..journal.state import LoopState
from ..journal.task import Task
from ..plan import work
from ..review import panel
from . import attempts, context, kinds, policies, resumption


def choose(state: LoopState, most: int) -> list[Task]:
    """The tasks of the next wave: free ones in ledger order, at most `most`, none naming a file of
    another. While a scaffold task is free, only those are taken; by some policies while it is
    open."""
    tasks_open = [state.tasks[name] for name in state.open]
    scaffold = any(task.scaffold and state.is_free(task) for task in tasks_open)
    first = policies.of(state).scaffold(state)
    chosen: list[Task] = []
    taken: set[str] = set()
    for task in tasks_open:
        if len(chosen) == most:
            break
        if first and task.id not in first or scaffold and not task.scaffold:
            continue
        if attempts.startable(state, task) and not taken.intersection(task.files):
            chosen.append(task)
            taken.update(task.files)
    return chosen


def check_recovery(state: LoopState) -> None:
    """Raises NotYet where a recovery comes before the next wave."""
    play = policies.of(state).recovery(state)
    if play is not None:
        raise NotYet(f"{play.status}: {play.why} before the next wave")


def opened(
    state: LoopState, chosen: list[Task], sequential: bool, apart: bool = False
) -> list[Change]:
    """Open a wave with these tasks and start each. `apart`: each in a worktree of its own."""
    check_recovery(state)
    number = len(state.waves) + 1
    changes: list[Change] = []
    deciding = state.stage == stage.DECOMPOSE
    if deciding:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
        if not stage.planned(state):
            raise NotYet("the plan has not been reviewed")
    needs = stage.needs(state.shape)
    unconfirmed = deciding and "tasks" not in state.confirmed or bool(state.new_checks)
    if "tasks" in needs and unconfirmed:
        if not state.session.unattended:
            raise NotYet("the person has not confirmed the task list", "unconfirmed")
        changes.append(("confirmed", {"what": "tasks", "default": True}))
    if state.stage != stage.EXECUTING:
        changes.append(stage.move(state, stage.EXECUTING))
    if "wave" in needs and stage.wave_key(state) not in state.confirmed:
        raise NotYet(f"the person has not confirmed wave {number}", "unconfirmed")
    data = {"wave": number, "tasks": [task.id for task in chosen], "sequential": sequential}
    changes.append(("wave_opened", {**data, **({"worktrees": True} if apart else {})}))
    return changes + [("task_started", {"id": task.id, "wave": number}) for task in chosen]


def orphaned(state: LoopState) -> list[str]:
    """Tasks of the open wave whose agent is gone: the session has stopped, or changed, since they
    were dispatched. One that only waits for its review needs no agent any more."""
    working = policies.of(state).at_work(state)
    return [name for name in working if state.tasks[name].handed < state.idle_at]


def next_wave(state: LoopState, sequential: bool, apart: bool = False) -> list[Change]:
    """`wave next`. Where a wave is open already, its orphaned tasks are dispatched again. apart:
    each task of a new wave works in a worktree of its own. What loopkit does by itself (a
    completion that is missing, a recovery that is due) comes first, and is all then."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW, doing="opening a wave")
    if state.wave is not None:
        return _dispatched_again(state, state.wave.number)
    before = resumption.belated(state) or recovery.settled(state)
    if before:
        return before
    check_recovery(state)
    if state.stage == stage.DECOMPOSE:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
    if not state.open:
        raise NotYet("every task is completed")
    chosen = choose(state, settings.MOST_IN_WAVE)
    advice = [panel.advice(state, task.id) or {} for task in chosen]
    sequential = sequential or any(row.get("sequential") for row in advice)
    sequential = sequential or panel.strategy(state, len(state.waves) + 1)
    chosen = chosen[:1] if sequential else chosen
    if not chosen:
        raise NotYet(f"no task is ready ({len(state.open)} open)")
    return opened(state, chosen, sequential, apart)


def dispatched(state: LoopState, step: kinds.Step) -> list[Change]:
    """A step is given to its agent; a task that was cut off in the open wave is started with it."""
    changes: list[Change] = [context.asked(state, step)]
    if step.subject in state.interrupted and state.wave is not None:
        started = {"id": step.subject, "wave": state.wave.number}
        changes.insert(0, ("task_started", started))
    return changes


def _dispatched_again(state: LoopState, number: int) -> list[Change]:
    again = orphaned(state)
    back = [name for name in state.interrupted if attempts.startable(state, state.tasks[name])]
    for name in (*again, *back):
        stage.check_seen(state, name)
    changes: list[Change] = [("task_started", {"id": name, "wave": number}) for name in back]
    return [*changes, ("tasks_handed", {"ids": again})] if again else changes


def started(state: LoopState, task_id: str) -> list[Change]:
    """`task start`: within the open wave, or in a wave of its own where none is open."""
    stage.running(state)
    stage.require(state, stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW, doing="starting a task")
    task = work.find(state, task_id)
    if task.status == tasks.IN_PROGRESS:
        return []
    attempts.check_start(state, task)
    wave = state.wave
    if wave is None:
        return opened(state, [task], sequential=False)
    if len([name for name in wave.tasks if name in state.running]) >= settings.MOST_IN_WAVE:
        raise NotYet(f"wave {wave.number} is full")
    return [("task_started", {"id": task.id, "wave": wave.number})]


def closed(state: LoopState) -> list[Change]:
    """`wave close`: what has no passing evidence has failed; the last wave leads to review."""
    stage.running(state)
    wave = state.wave
    if wave is None:
        raise NotYet("no wave is open")
    work.check_settled(state)
    policy = policies.of(state)
    undecided = policy.undecided(state)
    if undecided:
        raise NotYet(f"nobody has judged {', '.join(undecided)}")
    changes: list[Change] = []
    done, failed, blocked = [], [], []
    struck = {**state.history.broken, **state.history.struck}
    for task in (state.tasks[name] for name in wave.tasks if name in state.tasks):
        running = task.status == tasks.IN_PROGRESS
        if task.status == tasks.COMPLETED or running and policy.completes(task):
            # running: the program died between the check and its completion
            changes += work.completed(state, task) if running else []
            done.append(task.id)
        elif running and task.evidence and task.evidence.told == tasks.NOT_STARTABLE:
            why = f"its check cannot start: exit {task.evidence.exit}, see {task.evidence.log}"
            changes.append(("task_blocked", {"id": task.id, "kind": "external", "text": why}))
            blocked.append(task.id)
        elif running:
            what = _unproven(task)
            failure = work.failure(state, task, "closed without passing evidence", what)
            changes += policy.on_failed(state, task, failure)
            failed.append(task.id)
            struck.setdefault(task.id, what)
        elif tasks.is_blocked_outside(task):
            blocked.append(task.id)
        elif task.id in state.history.failed:
            failed.append(task.id)
    broken = [name for name in state.history.broken if name in state.open]
    failed += [name for name in broken if name not in (*failed, *blocked)]
    data = {"wave": wave.number, "completed": done, "failed": failed}
    changes.append(("wave_closed", {**data, **_outcomes(state, done, failed, blocked, struck)}))
    finished = {data["id"] for kind, data in changes if kind == "task_completed"}
    over = any(kind == "loop_failed" for kind, _ in changes)
    to_review = not over and not state.open.keys() - finished
    return [*changes, stage.move(state, stage.REVIEW)] if to_review else changes


def _unproven(task: Task) -> str:
    """Why a task of a wave that is closed has failed."""
    if task.fix_cycles == 0:
        return "no verification ran"
    return f"verification exits {task.evidence.exit if task.evidence else 1}"


def _outcomes(state: LoopState, done: list, failed: list, blocked: list, struck: dict) -> dict:
    """What each task came to, and what the detectors say of it with the batches before; for the
    event of a closed wave. Tasks completed earlier and found broken in this wave count as failed in
    it (rule: Detectors)."""
    outcomes = {name: Outcome(PASSED) for name in done}
    for name in failed:
        history = state.tasks[name].history
        known = struck.get(name)
        if not known and history and history[-1]["error"] != attempts.NO_ERROR:
            from ..evidence import signature  # paid for only where something failed

            known = signature.of(str(history[-1]["error"]))
        outcomes[name] = Outcome(FAILED, known or f"{name.lower()} says nothing")
    outcomes.update((name, Outcome(TASK_BLOCKED)) for name in blocked)
    batches = [*state.history.window, Batch(len(state.waves), outcomes)] if outcomes else []
    pairs = {name: row._asdict().items() for name, row in outcomes.items()}
    rows = {name: {key: value for key, value in row if value} for name, row in pairs.items()}
    return {"outcomes": rows, **monitor.judge(batches, state.history.used)._asdict()}
