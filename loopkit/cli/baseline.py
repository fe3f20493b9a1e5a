"""loopkit baseline: how a check stood before the work, and whether it is worse now."""

from __future__ import annotations

import os

import click

from ..core.evidence import baseline
from ..core.evidence import command as commands
from ..core.journal import prose, settings
from ..core.journal.errors import Damaged
from ..engine import process
from ..engine import verify as runner
from ..store import inside, tables
from ..store.loop import Loop
from . import app

#: Names that an answer lists at the most; --json gives all.
LISTED = 20


@app.command(
    "baseline", "loopkit baseline -- pytest -q", context_settings={"ignore_unknown_options": True}
)
@click.option(
    "--check",
    is_flag=True,
    help="Compare with what was recorded: exit 1 and what is new, or exit 0.",
)
@click.option("--replace", is_flag=True, help="Record it anew.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True)
def command(call: app.App, check: bool, replace: bool, words: tuple) -> int:
    """Record how a check stands before the work: its exit code and the names that fail.

    With --check it may stand as a task's own verification command: it passes as long as nothing new
    fails.
    """
    line = commands.quote(list(words))
    return _check(call, line) if check else _record(call, line, replace)


def _record(call: app.App, line: str, replace: bool) -> int:
    loop = call.own_loop()
    baseline.check_new(loop.state, line, replace)
    outcome, failing = _run(call, loop, "baseline", line)
    call.change(loop, baseline.recorded, line, outcome, failing, replace)
    said = (
        f"baseline of `{prose.clean(line, 200)}`: exit {outcome['exit']}, {_failing(failing)}, "
        f"{_log(loop, outcome)}"
    )
    done = loop.state.counts["completed"]
    if done:
        said += (
            f"\n{prose.count(done, 'task')} completed before it: what they broke counts as standing"
        )
    call.answer(
        loop,
        said,
        {"command": line, "exit": outcome["exit"], "failures": failing, "log": outcome["log"]},
    )
    return 0


def _check(call: app.App, line: str) -> int:
    loop = call.loop()
    before = baseline.known(loop.state, line)
    outcome, failing = _run(call, loop, "check", line)
    result = baseline.compare(before, outcome["exit"], failing)
    said = result.said
    if len(result.new) > LISTED:
        shown = ", ".join(result.new[:LISTED])
        said = f"{said.split(': ')[0]}: {shown}, and {len(result.new) - LISTED} more"
    note = f" ({outcome['note']})" if outcome["note"] else ""
    row = {
        "regression": result.regression,
        "new": result.new,
        "exit": outcome["exit"],
        "log": outcome["log"],
    }
    call.answer(loop, f"{said}{note}\n{_log(loop, outcome)}", row, [])
    return 1 if result.regression else 0


def _failing(names: list[str]) -> str:
    if not names:
        return "no failing name"
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{len(names)} failing: " + prose.clean(", ".join(names[:LISTED]), 2000) + more


def _log(loop: Loop, outcome: dict) -> str:
    return "evidence " + os.path.relpath(
        os.path.join(loop.folder, outcome["log"]), os.path.dirname(loop.root)
    )


def _run(call: app.App, loop: Loop, name: str, line: str) -> tuple[dict, list[str]]:
    """(outcome as of a verification, failing names), run where we stand: a task's own worktree,
    too."""
    seconds = settings.of(loop.state, "verify_seconds")
    work = call.work_folder(loop.state, call.here)
    outcome = runner.run(call.here, work, loop.folder, name, line, [], seconds, call.environment)
    try:
        with inside.opened(
            os.path.join(loop.folder, outcome["log"]), process.MOST_OUTPUT * 2
        ) as file:
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        raise Damaged(
            f"cannot read {error.filename}: {error.strerror}", "give read access"
        ) from None
    for top in dict.fromkeys(
        (os.path.realpath(call.here), call.here)
    ):  # a task's own worktree has another
        text = text.replace(top + os.sep, "")
    return outcome, baseline.names(text.partition("\n")[2], tables.runners())
