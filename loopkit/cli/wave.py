"""loopkit wave: open the next wave, close the open one."""

from __future__ import annotations

import click

from ..core import nextstep, waves
from ..store import native
from ..store.loop import Loop
from . import app, experts


@click.group("wave", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Waves: the tasks that wait for nothing, worked on in parallel.

    Example: loopkit wave next
    """


NO_TASK_TOOLS = (
    "tell the person once: Claude Code's own task panel stays empty, since this client offers no task tools here; "
    "CLAUDE_CODE_ENABLE_TODO_TOOLS=1 brings them back; .loop/PROGRESS.md shows the same"
)


def _next(call: app.App, sequential: bool) -> None:
    """Open the next wave and hand out its tasks; while one is open, show who still has to report."""
    loop = call.own_loop()
    changes = call.change(loop, waves.next_wave, sequential)
    wave = loop.state.waves[-1]
    handed = [change[1]["id"] for change in changes if change[0] == "task_started"]
    handed += [one for change in changes if change[0] == "tasks_handed" for one in change[1]["ids"]]
    left = [one for one in wave.tasks if one in loop.state.running]
    if not handed and left:
        waiting = (
            f"wave {wave.number} is open: {', '.join(left)} still to report; wait for that, end the turn if need be"
        )
        call.answer(loop, waiting, {"wave": wave.number, "running": left}, [])
        return
    if not handed:
        call.answer(loop, f"wave {wave.number} is open: all have reported")
        return
    again = not any(change[0] == "wave_opened" for change in changes)
    said = f"wave {wave.number} {'goes on' if again else 'opened'}: {', '.join(handed)}"
    if not again and _tell_about_tools(call, loop):
        said += "\n" + NO_TASK_TOOLS
    call.answer(loop, said, {"wave": wave.number, "tasks": handed}, nextstep.hand_out(loop.state, handed))


def _tell_about_tools(call: app.App, loop: Loop) -> bool:
    """Once per loop, when the first wave opens and nothing speaks for a native task list."""
    session = loop.state.session
    if "no_task_tools" in session.notices or native.has_task_tools(call.environment, session.native_seen):
        return False
    if native.folder(call.environment, session.owner):
        return False
    call.change(loop, lambda state: [("notice_given", {"name": "no_task_tools"})])
    return True


def _close(call: app.App) -> None:
    """Close the wave: tasks without passing evidence have failed; with the last task the loop goes on to review."""
    loop = call.own_loop()
    changes = call.change(loop, waves.closed)
    data = next(change[1] for change in changes if change[0] == "wave_closed")
    counts = f"{len(data['completed'])} completed, {len(data['failed'])} failed"
    said = f"wave {data['wave']} closed: {counts}"
    if nextstep.unreviewed(loop.state):
        said += "\nlight review, half a minute, never blocks; " + "\n".join(experts.lines(loop.state, experts.LIGHT))
    call.answer(loop, said, data)


command.add_command(
    app.command("next", "loopkit wave next")(
        click.option("--sequential", is_flag=True, help="One task only, as a panel may advise.")(_next)
    )
)
command.add_command(app.command("close", "loopkit wave close")(_close))
