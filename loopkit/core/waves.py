"""Waves: which tasks go together, opening and closing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import approval, intake, panel, score, settings, stage
from . import task as tasks
from .errors import Refused
from .intake import Change

if TYPE_CHECKING:
    from .state import LoopState
    from .task import Task


def choose(state: LoopState, most: int) -> list[Task]:
    """The tasks of the next wave: free ones in ledger order, at most `most`, none naming a file of another.

    While a scaffold task is free, only those are taken.
    """
    chosen: list[Task] = []
    taken: set[str] = set()
    scaffold = any(state.tasks[one].scaffold and state.is_free(state.tasks[one]) for one in state.open)
    for task_id in state.open:
        task = state.tasks[task_id]
        if len(chosen) == most:
            break
        if scaffold and not task.scaffold:
            continue
        if not state.is_free(task) or task.panel_due or not task.verify or taken.intersection(task.files):
            continue
        chosen.append(task)
        taken.update(task.files)
    return chosen


def opened(state: LoopState, chosen: list[Task], sequential: bool) -> list[Change]:
    """Lines that open a wave with these tasks and start each; the stage follows."""
    number = len(state.waves) + 1
    changes: list[Change] = []
    if state.stage == stage.DECOMPOSE:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
        if "tasks" in score.needs(state.shape) and "tasks" not in state.confirmed:
            if not state.session.unattended:
                raise Refused("the person has not confirmed the task list", "next: loopkit confirm tasks")
            changes.append(("confirmed", {"what": "tasks", "default": True}))
    if state.stage != stage.EXECUTING:
        changes.append(intake.move(state, stage.EXECUTING))
    if "wave" in score.needs(state.shape) and stage.wave_key(state) not in state.confirmed:
        raise Refused(f"the person has not confirmed wave {number}", "next: loopkit confirm wave")
    data = {"wave": number, "tasks": [task.id for task in chosen], "sequential": sequential}
    changes.append(("wave_opened", data))
    changes += [("task_started", {"id": task.id, "wave": number}) for task in chosen]
    return changes


def lost(state: LoopState) -> list[str]:
    """Tasks of the open wave whose agent is gone: the session has stopped, or changed, since they were handed out."""
    if state.wave is None:
        return []
    return [one for one in state.wave.tasks if one in state.running and state.tasks[one].handed < state.idle_at]


def next_wave(state: LoopState, sequential: bool) -> list[Change]:
    """`wave next`. Where a wave is open already, its lost tasks are handed out again; no line where none is."""
    intake.running(state)
    stage.require(state, stage.DECOMPOSE, stage.EXECUTING, stage.REVIEW, doing="opening a wave")
    if state.wave is not None:
        again = lost(state)
        return [("tasks_handed", {"ids": again})] if again else []
    if state.stage == stage.DECOMPOSE:
        stage.check_leave_decompose(state, settings.MOST_TASKS)
    if not state.open:
        raise Refused("every task is completed", "next: loopkit review --thorough")
    chosen = choose(state, settings.MOST_IN_WAVE)
    sequential = sequential or any((panel.advice(state, task.id) or {}).get("sequential") for task in chosen)
    sequential = sequential or panel.strategy(state, len(state.waves) + 1)
    chosen = chosen[:1] if sequential else chosen
    if not chosen:
        from .nextstep import command

        raise Refused(f"no task is ready ({len(state.open)} open)", f"next: {command(state)}")
    return opened(state, chosen, sequential)


def closed(state: LoopState) -> list[Change]:
    """`wave close`: a failure for every task of the wave that has no passing evidence; the last one leads to review."""
    from . import work

    intake.running(state)
    wave = state.wave
    if wave is None:
        raise Refused("no wave is open", "next: loopkit wave next")
    waiting = approval.undecided(state)
    if waiting:
        raise Refused(f"nobody has judged {', '.join(waiting)}", "next: loopkit wave next")
    changes: list[Change] = []
    failed, done = [], []
    for task_id in wave.tasks:
        task = state.tasks.get(task_id)
        if task is None:
            continue
        if task.status == tasks.COMPLETED:
            done.append(task_id)
        elif task.status == tasks.IN_PROGRESS and task.evidence is not None and task.evidence.passed:
            changes += work.completed(state, task)  # the program died between the check and its completion
            done.append(task_id)
        elif task.status == tasks.IN_PROGRESS:
            evidence = task.evidence
            what = (
                "no verification ran"
                if task.fix_cycles == 0
                else f"verification exits {evidence.exit if evidence else 1}"
            )
            changes += work.failure(state, task, "closed without passing evidence", what)
            failed.append(task_id)
        elif task.wave == wave.number and task.attempts:
            failed.append(task_id)
    over = any(change[0] == "loop_failed" for change in changes)
    changes.append(("wave_closed", {"wave": wave.number, "completed": done, "failed": failed}))
    finished = {data["id"] for kind, data in changes if kind == "task_completed"}
    if not state.open.keys() - finished and not failed and not over:
        changes.append(intake.move(state, stage.REVIEW))
    return changes
