"""loopkit wave: open the next wave, close the open one."""

from __future__ import annotations

import click

from ..core.health import recovery
from ..core.journal import prose, stage, verdict
from ..core.journal.course import PROGRESSING
from ..core.plan import outline
from ..core.steps import briefing, due, kinds, nextstep, policies, resumption, waves
from ..ops import checkpoint, experts, recovering, worktree
from ..render import loopstate
from ..store import native
from ..store.loop import Loop
from . import app, handout


@click.group("wave", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Waves: the tasks that wait for nothing, worked on in parallel.

    Example: loopkit wave next
    """


NO_TASK_TOOLS = (
    "tell the person once: Claude Code's own task panel stays empty, since this client offers no "
    "task tools here; "
    "CLAUDE_CODE_ENABLE_TODO_TOOLS=1 brings them back; .loop/PROGRESS.md shows the same"
)


def _next(call: app.App, sequential: bool, apart: bool) -> int:
    """Open the next wave and hand out its tasks; while one is open, show who still has to report.

    Under a supervisor it hands out whatever is due to any role: plan, plan review, coding, test,
    judgement, diagnosis.
    """
    loop = call.own_loop()
    stage.running(loop.state)
    if resumption.belated(loop.state):
        return _belated(call, loop)
    settled = recovering.settle(call, loop)
    if settled.done:
        call.answer(loop, "\n".join(settled.lines), {"question": settled.question})
        return int(settled.exit)
    waves.check_recovery(loop.state)
    policy = policies.of(loop.state)
    if apart:
        policy.check_worktrees()
    if due.briefed(loop.state):
        return _hand_out(call, loop)
    changes = worktree.opener(call, loop, sequential, apart)
    wave = loop.state.waves[-1]
    handed = [change[1]["id"] for change in changes if change[0] == "task_started"]
    handed += [one for change in changes if change[0] == "tasks_handed" for one in change[1]["ids"]]
    left = policy.at_work(loop.state)
    if not handed and left:
        waiting = (
            f"wave {wave.number} is open: {', '.join(left)} still to report; wait for that, end "
            "the turn if need be"
        )
        call.answer(loop, waiting, {"wave": wave.number, "running": left}, [])
        return 0
    if not handed:
        call.answer(loop, f"wave {wave.number} is open: all have reported")
        return 0
    again = not any(change[0] == "wave_opened" for change in changes)
    phase = f" ({outline.phase(loop.state)})" if policy.reviews_batches else ""
    said = f"wave {wave.number} {'goes on' if again else 'opened'}{phase}: {', '.join(handed)}"
    if not again:
        said = "\n".join(filter(None, (said, checkpoint.make(call, loop))))
    said = "\n".join(filter(None, (said, worktree.note(call, loop, changes))))
    if not again and _tell_about_tools(call, loop):
        said += "\n" + NO_TASK_TOOLS
    if due.briefed(loop.state):
        return _hand_out(call, loop, said, {"wave": wave.number, "tasks": handed})
    steps = nextstep.hand_out(loop.state, handed, handout.shown(call, loop.folder))
    call.answer(loop, said, {"wave": wave.number, "tasks": handed}, steps)
    return 0


def _belated(call: app.App, loop: Loop) -> int:
    """Record what a crash has cut off; it is all then."""
    changes = call.change(loop, resumption.belated)
    lines = []
    for kind, what in (
        ("task_completed", "completed, since all subtasks are"),
        ("task_reopened", "pending again"),
    ):
        named = [row["id"] for name, row in changes if name == kind]
        lines += [f"{', '.join(named)} {what}"] if named else []
    call.answer(loop, "\n".join(lines))
    return int(loop.state.session.status == verdict.FAILED)


def _hand_out(call: app.App, loop: Loop, said: str = "", data: dict | None = None) -> int:
    """The agent lines of all that is due, then a line for each reply; where all is out, the replies
    that are."""
    waiting, out = due.undispatched(loop.state), due.outstanding(loop.state)
    steps = handout.hand_out(call, loop, waiting)
    if not steps:  # all is out, or another command has handed it out just now
        call.change(
            loop, lambda state: []
        )  # what is derived follows, should whoever handed it out have died
        out = due.outstanding(loop.state)
        text = (
            f"{prose.count(len(out), 'reply is', 'replies are')} still out; wait, end the turn if "
            "need be"
        )
        call.answer(loop, text, {"out": _rows(out)}, [briefing.reply(one) for one in out])
        return 0
    head, *rest = (said or f"{prose.count(len(waiting), 'step')} handed out").split("\n")
    if len(waiting) > 1:
        head += ", to be done side by side"
    if out:
        head += f"; still out: {', '.join(kinds.key(one) for one in out)}"
    call.answer(
        loop,
        "\n".join([head, *rest]),
        {**(data or {}), "handed": _rows(waiting), "out": _rows(out)},
        steps,
    )
    return 0


def _rows(steps: list) -> list[dict]:
    return [briefing.shown(one) for one in steps]


def _tell_about_tools(call: app.App, loop: Loop) -> bool:
    """Once per loop, when the first wave opens and nothing speaks for a native task list."""
    session = loop.state.session
    if "no_task_tools" in session.notices or native.has_task_tools(
        call.environment, session.native_seen
    ):
        return False
    if native.folder(call.environment, session.owner):
        return False
    call.change(loop, lambda state: [("notice_given", {"name": "no_task_tools"})])
    return True


def _merge(call: app.App, task_id: str | None, base: str | None) -> int:
    """Bring the result of a task that worked in a worktree into the project's own tree, one after
    the other.

    Its check has passed in the worktree; it runs again in the project's own tree before the task
    counts as completed.
    """
    return call.show(worktree.merge(call, task_id, base))


def _close(call: app.App) -> int:
    """Close the wave: tasks without passing evidence have failed; with the last task the loop goes
    on to review."""
    loop = call.own_loop()
    changes = call.change(loop, waves.closed)
    data = next(change[1] for change in changes if change[0] == "wave_closed")
    counts = f"{len(data['completed'])} completed, {len(data['failed'])} failed"
    said = [f"wave {data['wave']} closed: {counts}"]
    said += filter(None, [checkpoint.make(call, loop), worktree.tidy(call, loop)])
    if data["status"] != PROGRESSING:
        said.append(loopstate.line(loop.state))
        said += [f"  {recovery.trouble(loop.state, one)}" for one in recovery.held_up(loop.state)]
    settled = recovering.settle(call, loop)
    policy = policies.of(loop.state)
    said += settled.lines
    if (
        settled.question is None
        and policy.offers_review(loop.state)
        and policy.recovery(loop.state) is None
    ):
        said.append(
            "light review, half a minute, never blocks; "
            + "\n".join(experts.lines(loop.state, experts.LIGHT))
        )
    call.answer(loop, "\n".join(said), {**data, "question": settled.question})
    return int(settled.exit or loop.state.session.status == verdict.FAILED)


command.add_command(
    app.command("next", "loopkit wave next")(
        click.option("--sequential", is_flag=True, help="One task only, as a panel may advise.")(
            click.option(
                "--worktrees", "apart", is_flag=True, help="Each task in a git worktree of its own."
            )(_next)
        )
    )
)
command.add_command(
    app.command("merge", "loopkit wave merge T-003")(
        click.argument("task_id", required=False)(
            click.option(
                "--base", metavar="COMMIT", help="The commit that its worker says it began with."
            )(_merge)
        )
    )
)
command.add_command(app.command("close", "loopkit wave close")(_close))
