"""Waves: the next one is opened, what agents have to do is dispatched, the open one is closed."""

import os

from ..core.health import recovery
from ..core.journal import stage, verdict
from ..core.journal.parts import PROGRESSING
from ..core.plan import outline
from ..core.steps import due, policies, resumption, waves
from ..render import files
from ..store import native, place
from ..store.loop import Loop
from . import changes as measured
from . import checkpoint, dispatch, proof, worktree
from .workspace import Result, Workspace, data_of

#: In the data folder: this was told.
TOLD = os.path.join("told", "no-task-tools")
NO_TASK_TOOLS = (
    "tell the person once: Claude Code's own task panel stays empty, since this client offers no "
    "task tools here; "
    "CLAUDE_CODE_ENABLE_TODO_TOOLS=1 brings them back; .loop/PROGRESS.md shows the same"
)


def next_wave(
    workspace: Workspace, sequential: bool = False, apart: bool = False, asks: bool = True
) -> Result:
    """Open the next wave and dispatch its tasks; while one is open, show who still has to report.
    asks: write the prompts of roles; else whoever runs the steps does.

    Under a supervisor it dispatches whatever is due to any role: plan, plan review, coding, test,
    judgement, diagnosis.
    """
    loop = workspace.own_loop()
    stage.running(loop.state)
    dispatch.check_limits(workspace, loop)
    if resumption.belated(loop.state):
        return _belated(workspace, loop)
    settled = checkpoint.settle(workspace, loop)
    if settled.done:  # what loopkit does by itself is all then
        text, data = "\n".join(settled.lines), {"question": settled.question}
        return Result(loop, text, data, code=settled.exit)
    waves.check_recovery(loop.state)
    if apart:
        policies.of(loop.state).check_worktrees()
    if due.prompted(loop.state):
        return dispatch.dispatch(workspace, loop)
    tried = proof.before_wave(workspace, loop)
    if tried.code:
        return tried
    changes = worktree.opener(workspace, loop, sequential, apart)
    tasks = [row["id"] for kind, row in changes if kind == "task_started"]
    tasks += [name for kind, row in changes if kind == "tasks_handed" for name in row["ids"]]
    if not tasks:
        return _open(loop)
    text = "\n".join(filter(None, (tried.text, _dispatched(workspace, loop, changes, tasks))))
    data = {"wave": loop.state.waves[-1].number, "tasks": tasks}
    if asks and due.prompted(loop.state):
        return dispatch.dispatch(workspace, loop, text, data)
    folder = dispatch.shown(workspace, loop.folder)
    return Result(loop, text, data, due.dispatch_lines(loop.state, tasks, folder))


def _belated(workspace: Workspace, loop: Loop) -> Result:
    """Record what a crash has cut off; it is all then."""
    changes = workspace.change(loop, resumption.belated)
    lines = []
    for kind, what in (
        ("task_completed", "completed, since all subtasks are"),
        ("task_reopened", "pending again"),
    ):
        tasks = [row["id"] for name, row in changes if name == kind]
        lines += [f"{', '.join(tasks)} {what}"] if tasks else []
    return Result(loop, "\n".join(lines), code=int(loop.state.session.status == verdict.FAILED))


def _open(loop: Loop) -> Result:
    """A wave in which there is nothing to dispatch."""
    number, left = loop.state.waves[-1].number, policies.of(loop.state).at_work(loop.state)
    if not left:
        return Result(loop, f"wave {number} is open: all have reported")
    text = (
        f"wave {number} is open: {', '.join(left)} still to report; wait for that, end the turn if "
        "need be"
    )
    return Result(loop, text, {"wave": number, "running": left}, [])


def _dispatched(workspace: Workspace, loop: Loop, changes: list, tasks: list[str]) -> str:
    opened = data_of(changes, "wave_opened") is not None
    phase = f" ({outline.phase(loop.state)})" if policies.of(loop.state).reviews_batches else ""
    how = "opened" if opened else "goes on"
    lines = [f"wave {loop.state.waves[-1].number} {how}{phase}: {', '.join(tasks)}"]
    if opened:
        lines.append(begun(workspace, loop))
    lines.append(worktree.note(workspace, loop, changes))
    if opened and _lacks_tools(workspace, loop):
        lines.append(NO_TASK_TOOLS)
    return "\n".join(filter(None, lines))


def begun(workspace: Workspace, loop: Loop) -> str:
    """A wave is open and nobody has worked in it yet: what was there is kept, unless it is; a line
    to print. Whoever opened it may have died before that."""
    line = checkpoint.make(workspace, loop)
    measured.begun(workspace, loop)
    return line


def caught_up(workspace: Workspace, loop: Loop) -> list[str]:
    """Whoever closed the newest wave may have died before its checkpoint was made and what it
    changed was measured; lines to print."""
    state = loop.state
    if not state.waves or state.wave is not None or state.session.status != verdict.RUNNING:
        return []
    number = state.waves[-1].number
    if number in state.changes.waves:
        return []
    return [checkpoint.make(workspace, loop), *measured.of_wave(workspace, loop, number)]


def _lacks_tools(workspace: Workspace, loop: Loop) -> bool:
    """Once on a machine, where somebody is there to be told and nothing speaks for a native task
    list."""
    session, environment = loop.state.session, workspace.environment
    if (
        workspace.unattended
        or session.unattended
        or native.has_task_tools(environment, session.native_seen)
        or native.folder(environment, session.owner)
    ):
        return False
    mark = os.path.join(place.data_dir(environment), TOLD)
    try:
        os.makedirs(os.path.dirname(mark), exist_ok=True)
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:  # told already, or it cannot be noted
        return False
    return True


def close(workspace: Workspace) -> Result:
    """Close the wave: tasks without passing evidence have failed; with the last task the loop goes
    on to review."""
    loop = workspace.own_loop()
    data = data_of(workspace.change(loop, waves.closed), "wave_closed") or {}
    counts = f"{len(data['completed'])} completed, {len(data['failed'])} failed"
    lines = [f"wave {data['wave']} closed: {counts}"]
    lines += filter(None, [checkpoint.make(workspace, loop), worktree.clean_up(workspace, loop)])
    lines += measured.of_wave(workspace, loop, data["wave"])
    if data["status"] != PROGRESSING:
        lines.append(files.batches_line(loop.state))
        blocked = recovery.blocked(loop.state)
        lines += [f"  {recovery.trouble(loop.state, name)}" for name in blocked]
    state = loop.state
    if state.session.question is not None or state.session.status == verdict.PAUSED:
        question, unanswered = state.session.question, 0  # what must not change did
    else:
        settled = checkpoint.settle(workspace, loop)
        question, unanswered = settled.question, settled.exit
        lines += settled.lines
    code = int(unanswered or state.session.status == verdict.FAILED)
    return Result(loop, "\n".join(lines), {**data, "question": question}, code=code)
