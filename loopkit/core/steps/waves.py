"""Waves: which tasks go together, opening and closing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..health import monitor, recovery
from ..journal import score, settings, stage, stages
from ..journal import task as tasks
from ..journal.errors import NotYet
from ..journal.events import Change
from ..journal.parts import FAILED, PASSED, TASK_BLOCKED, Batch, Outcome
from ..plan import work, worktrees
from ..review import panel
from . import attempts, policies, resumption

if TYPE_CHECKING:
    from ..journal.state import LoopState
    from ..journal.task import Task


def choose(state: LoopState, most: int) -> list[Task]:
    """The tasks of the next wave: free ones in ledger order, at most `most`, none naming a file of
    another.

    While a scaffold task is free, only those are taken; by some policies while one is open.
    """
    chosen: list[Task] = []
    taken: set[str] = set()
    scaffold = any(
        state.tasks[one].scaffold and state.is_free(state.tasks[one]) for one in state.open
    )
    first = policies.of(state).scaffold(state)
    for task_id in state.open:
        task = state.tasks[task_id]
        if len(chosen) == most:
            break
        if first and task_id not in first or scaffold and not task.scaffold:
            continue
        if not attempts.startable(state, task) or taken.intersection(task.files):
            continue
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
    """Lines that open a wave with these tasks and start each; the stage follows. `apart`: each in a
    worktree."""
    check_recovery(state)
    number = len(state.waves) + 1
    changes: list[Change] = []
    if state.stage == stages.DECOMPOSE:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
        if not stage.planned(state):
            raise NotYet("the plan has not been reviewed")
    unconfirmed = (
        state.stage == stages.DECOMPOSE and "tasks" not in state.confirmed or bool(state.new_checks)
    )
    if "tasks" in score.needs(state.shape) and unconfirmed:
        if not state.session.unattended:
            raise NotYet("the person has not confirmed the task list", "unconfirmed")
        changes.append(("confirmed", {"what": "tasks", "default": True}))
    if state.stage != stages.EXECUTING:
        changes.append(stage.move(state, stages.EXECUTING))
    if "wave" in score.needs(state.shape) and stage.wave_key(state) not in state.confirmed:
        raise NotYet(f"the person has not confirmed wave {number}", "unconfirmed")
    data = {"wave": number, "tasks": [task.id for task in chosen], "sequential": sequential}
    data.update({"worktrees": True} if apart else {})
    changes.append(("wave_opened", data))
    changes += [("task_started", {"id": task.id, "wave": number}) for task in chosen]
    return changes


def lost(state: LoopState) -> list[str]:
    """Tasks of the open wave whose agent is gone: the session has stopped, or changed, since they
    were dispatched.

    One that only waits for its review needs no agent any more.
    """
    working = policies.of(state).at_work(state)
    return [one for one in working if state.tasks[one].handed < state.idle_at]


def next_wave(state: LoopState, sequential: bool, apart: bool = False) -> list[Change]:
    """`wave next`. Where a wave is open already, its lost tasks are dispatched again; no line where
    none is.

    apart: each task of a new wave works in a worktree of its own. What loopkit does by itself (a
    completion that is missing, a recovery that is due) comes first, and is all then.
    """
    stage.running(state)
    stage.require(state, stages.DECOMPOSE, stages.EXECUTING, stages.REVIEW, doing="opening a wave")
    if state.wave is not None:
        again, back = (
            lost(state),
            [one for one in state.interrupted if attempts.startable(state, state.tasks[one])],
        )
        for one in (*again, *back):
            stage.check_seen(state, one)
        changes: list[Change] = [
            ("task_started", {"id": one, "wave": state.wave.number}) for one in back
        ]
        return [*changes, ("tasks_handed", {"ids": again})] if again else changes
    before = resumption.belated(state) or recovery.settled(state)
    if before:
        return before
    check_recovery(state)
    if state.stage == stages.DECOMPOSE:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
    if not state.open:
        raise NotYet("every task is completed")
    chosen = choose(state, settings.MOST_IN_WAVE)
    sequential = sequential or any(
        (panel.advice(state, task.id) or {}).get("sequential") for task in chosen
    )
    sequential = sequential or panel.strategy(state, len(state.waves) + 1)
    chosen = chosen[:1] if sequential else chosen
    if not chosen:
        raise NotYet(f"no task is ready ({len(state.open)} open)")
    return opened(state, chosen, sequential, apart)


def started(state: LoopState, task_id: str) -> list[Change]:
    """`task start`: within the open wave, or in a wave of its own where none is open."""
    stage.running(state)
    stage.require(state, stages.DECOMPOSE, stages.EXECUTING, stages.REVIEW, doing="starting a task")
    task = work.find(state, task_id)
    if task.status == tasks.IN_PROGRESS:
        return []
    attempts.check_start(state, task)
    wave = state.wave
    if wave is None:
        return opened(state, [task], sequential=False)
    if len([one for one in wave.tasks if one in state.running]) >= settings.MOST_IN_WAVE:
        raise NotYet(f"wave {wave.number} is full")
    return [("task_started", {"id": task.id, "wave": wave.number})]


def closed(state: LoopState) -> list[Change]:
    """`wave close`: a failure for every task of the wave that has no passing evidence; the last one
    leads to review."""
    stage.running(state)
    wave = state.wave
    if wave is None:
        raise NotYet("no wave is open")
    worktrees.check_settled(state)
    policy = policies.of(state)
    undecided = policy.undecided(state)
    if undecided:
        raise NotYet(f"nobody has judged {', '.join(undecided)}")
    changes: list[Change] = []
    done, failed, blocked = [], [], []
    struck = {**state.history.broken, **state.history.struck}
    for task in (state.tasks[one] for one in wave.tasks if one in state.tasks):
        running = task.status == tasks.IN_PROGRESS
        if task.status == tasks.COMPLETED or running and policy.completes(task):
            # running: the program died between the check and its completion
            changes += work.completed(state, task) if running else []
            done.append(task.id)
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
    broken = [one for one in state.history.broken if one in state.open]
    failed += [one for one in broken if one not in (*failed, *blocked)]
    data = {"wave": wave.number, "completed": done, "failed": failed}
    changes.append(("wave_closed", {**data, **_outcomes(state, done, failed, blocked, struck)}))
    return changes + _to_review(state, changes)


def _unproven(task: Task) -> str:
    """Why a task of a wave that is closed has failed."""
    if task.fix_cycles == 0:
        return "no verification ran"
    return f"verification exits {task.evidence.exit if task.evidence else 1}"


def _to_review(state: LoopState, changes: list[Change]) -> list[Change]:
    """The move to review where a wave leaves nothing open, and the loop goes on."""
    finished = {data["id"] for kind, data in changes if kind == "task_completed"}
    over = any(kind == "loop_failed" for kind, _ in changes)
    return [] if state.open.keys() - finished or over else [stage.move(state, stages.REVIEW)]


def _outcomes(state: LoopState, done: list, failed: list, blocked: list, struck: dict) -> dict:
    """What each task came to, and what the detectors say of it with the batches before; for the
    line of a closed wave.

    Tasks completed earlier and found broken in this wave count as failed in it (rule: Detectors).
    """
    outcomes = {one: Outcome(PASSED) for one in done}
    for one in failed:
        history = state.tasks[one].history
        known = struck.get(one)
        if not known and history and history[-1]["error"] != attempts.NO_ERROR:
            from ..evidence import (
                signature,
            )  # its patterns are only paid for where something failed

            known = signature.of(str(history[-1]["error"]))
        outcomes[one] = Outcome(FAILED, known or f"{one.lower()} says nothing")
    outcomes.update((one, Outcome(TASK_BLOCKED)) for one in blocked)
    batches = [*state.history.window, Batch(len(state.waves), outcomes)] if outcomes else []
    said = monitor.judge(batches, state.history.used)
    rows = {
        one: {key: value for key, value in row._asdict().items() if value}
        for one, row in outcomes.items()
    }
    named = ("status", "confidence", "trend", "recommendation")
    return {"outcomes": rows, **{name: getattr(said, name) for name in named}}
