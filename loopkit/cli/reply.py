"""loopkit reply, report: what agents hand over, checked and recorded, or kept in a file."""

import click

from ..core.plan import events
from ..ops import reply as ops
from ..ops.workspace import Result
from . import app


@app.command("reply", "loopkit reply test T-001 --file -")
@click.argument("kind", metavar="KIND", type=click.Choice(events.KINDS))
@click.argument("target", required=False)
@app.file("The reply, unchanged", required=True)
def reply(call: app.App, kind: str, target: str | None, source: str) -> Result:
    """Submit the reply of an agent: plan, replan, implementation, fix, test, verification or
    diagnosis.

    It is block YAML or JSON in the form that the agent's prompt shows. TARGET is a task; of a
    verification also `plan` or `goal`; a plan has none. A reply that does not fit is asked for once
    more.
    """
    return ops.reply(call, kind, target, app.read_input(call, source))


@app.command("report", "loopkit report security-reviewer --file -")
@click.argument("name")
@app.file("The report", required=True)
def report(call: app.App, name: str, source: str) -> Result:
    """Keep a long report in a file of the loop and print its path; an agent answers with the path
    and few lines. What looks like a credential is left out of it.

    One called `gather` also gives the relevant patterns of context.md: its first lines.
    """
    return ops.keep_report(call, name, *app.read_copied(call, source))
