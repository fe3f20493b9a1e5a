"""loopkit runs: the runs of this project."""

from __future__ import annotations

import click

from ..ops.runs import manage
from ..ops.workspace import Result
from ..render import printable
from . import app


class _Group(app.Group):
    """Without a command: the list."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        rest = [word for word in args if not word.startswith("-") or word in ("-h", "--help")]
        return super().parse_args(context, args if rest else ["list", *args])


runs = _Group(
    "runs",
    help="Runs of stages and pipelines in this project: list, show, stop, pause, logs, clean.\n\n"
    "Example: loopkit runs show auth",
)
SESSION = click.argument("session")

runs.add("list", "loopkit runs")(manage.listing)
runs.add("show", "loopkit runs show auth", SESSION)(manage.show)
runs.add("stop", "loopkit runs stop auth", SESSION)(manage.stop)
runs.add("pause", "loopkit runs pause auth", SESSION)(manage.pause)


@runs.add(
    "logs",
    "loopkit runs logs auth --iteration 3",
    SESSION,
    click.option("--iteration", type=click.IntRange(1), help="Of which iteration; the newest."),
    click.option("--stage", default="", metavar="NAME", help="Of which stage; the current one."),
    app.flag("--follow", help="Print what happens until the run ends."),
)
def logs(
    call: app.App, session: str, iteration: int | None, stage: str, follow: bool
) -> Result | int:
    """What the agent of an iteration printed, its last part."""
    if not follow:
        return manage.logs(call, session, iteration, stage)
    for line in manage.follow(call, session):
        click.echo(printable(line))
    return 0


@app.command("watch", "loopkit watch auth", SESSION)
def watch(call: app.App, session: str) -> int:
    """Print what happens in a run until it ends, what has happened first."""
    for line in manage.follow(call, session):
        click.echo(printable(line))
    return 0


@runs.add(
    "clean",
    "loopkit runs clean",
    click.argument("names", nargs=-1, metavar="[SESSION]..."),
    click.option(
        "--days", default=manage.OLD_DAYS, type=click.FloatRange(0), help="Older than that."
    ),
)
def clean(call: app.App, names: tuple[str, ...], days: float) -> Result:
    """Put runs away in .loop/archive: those named, else all that ended days ago. One that is at
    work stays, exit 1."""
    return manage.clean(call, list(names), days)
