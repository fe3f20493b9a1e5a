"""loopkit decide: why something is so, and what is not done again."""

from __future__ import annotations

import click

from ..core.journal import prose
from ..core.memory import decisions
from ..store import decisions as files
from ..store.loop import Loop
from . import app

#: Decisions and anti-patterns that a list shows at the most; --json gives all.
MOST_LISTED = 38
FORM = """\
title: "<what is decided, in a few words>"
context: "<what it depends on, why it came up>"
choice: "<what is done>"
alternatives:
- "<another way: why not>"
consequences: "<what follows from it>"
depends_on: [<numbers of decisions, or none>]
invalidated_if: "<in words, or `$ command` that exits 0 once it no longer holds>"
supersedes: <number of an older decision, or none>
files: [<path>]"""
LESSON = """\
title: "<in a few words>"
what: "<what was done>"
why: "<what came of it>"
avoid: "<what to do instead>"
source: <{sources}>
files: [<path>]"""


@app.command("decide", "loopkit decide --file -")
@click.option(
    "--file", "source", metavar="FILE", help="The decision as block YAML; - for standard input."
)
@click.option(
    "--avoid",
    is_flag=True,
    help="An anti-pattern instead: what was done, why it failed, what to do.",
)
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="All decisions and anti-patterns, with what became of them.",
)
def command(call: app.App, source: str | None, avoid: bool, listed: bool) -> None:
    """Record a decision with its reasons and the ways that were rejected; without --file: print the
    form.

    An `invalidated_if` that begins with `$ ` is a command; after each wave `loopkit verify D1 --
    <command>` is offered, and exit 0 says that the decision no longer holds. What changed your mind
    supersedes: nothing is rewritten.
    """
    if listed:
        _list(call)
        return
    if source is None:
        form = LESSON.format(sources=" | ".join(decisions.SOURCES)) if avoid else FORM
        loop = call.loop()
        words = "loopkit decide --avoid --file -" if avoid else "loopkit decide --file -"
        call.answer(
            loop, f"hand in as block YAML, what does not apply left out:\n{form}", None, [words]
        )
        return
    given = app.read_record(call, source, dict)
    loop = call.own_loop()
    ((_, data),) = call.change(loop, decisions.avoided if avoid else decisions.recorded, given)
    said = [f"{decisions.line(data)}", shown(loop, data)]
    if not avoid:
        said += _followed(loop, data)
    # agents record theirs while others are still at work: nothing follows from it then
    call.answer(
        loop,
        "\n".join(said),
        {"number": data["number"], "file": said[1]},
        [] if loop.state.running else None,
    )


def shown(loop: Loop, row: dict) -> str:
    """The path of a decision's or anti-pattern's file, as it is printed."""
    return "/".join((".loop", loop.name, files.FOLDER, files.name(row)))


def _followed(loop: Loop, data: dict) -> list[str]:
    """What a decision has changed: older ones, what hangs on them, findings that it settles."""
    state = loop.state
    if not data["supersedes"]:
        return []
    names = ", ".join(f"{one:03d}" for one in data["supersedes"])
    lines = [f"superseded: {names}"]
    hanging = decisions.dependents(state, data["supersedes"])
    if hanging:
        lines.append(
            f"still stands and depends on it: {', '.join(f'{one:03d}' for one in hanging)}; do "
            "they hold?"
        )
    for one in state.findings.values():
        if (one.resolution or {}).get("text") == f"decision {data['number']:03d}":
            task = state.tasks.get(one.task or "")
            left = (
                f"; loopkit task remove {one.task}, if nothing needs it"
                if task and task.id in state.open
                else ""
            )
            lines.append(f"{one.id} is settled by it{left}")
    return lines


def _list(call: app.App) -> None:
    loop = call.loop()
    state = loop.state
    rows = sorted(
        [*state.decisions, *state.trail.anti_patterns], key=lambda one: one.get("number", 0)
    )
    if not rows:
        call.answer(loop, "no decision yet", {"decisions": []}, ["loopkit decide --file -"])
        return
    lines, shapes = [], []
    for one in rows:
        number = one.get("number", 0)
        lesson = decisions.is_lesson(one)
        status = "ANTI-PATTERN" if lesson else decisions.status(state, number)
        gone = (
            " (no longer holds)"
            if number in state.trail.invalidated and status == "DECISION"
            else ""
        )
        title = prose.clean(str(one.get("title", "")), decisions.LONGEST_TITLE)
        lines.append(f"{number:03d} {status}{gone}: {title}")
        shapes.append(
            {**{key: value for key, value in one.items() if key != "at"}, "status": status}
        )
    if len(lines) > MOST_LISTED:
        lines = [
            f"{prose.count(len(lines) - MOST_LISTED, 'earlier one')}: see "
            f".loop/{loop.name}/learnings/",
            *lines[-MOST_LISTED:],
        ]
    call.answer(loop, "\n".join(lines), {"decisions": shapes}, [])
