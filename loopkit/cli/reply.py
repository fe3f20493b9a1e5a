"""loopkit reply: what a role answers, checked and recorded."""

from __future__ import annotations

import click

from ..core.plan import roles
from ..ops import reply
from . import app


@app.command("reply", "loopkit reply test T-001 --file -")
@click.argument("kind", metavar="KIND", type=click.Choice(roles.KINDS))
@click.argument("target", required=False)
@click.option(
    "--file",
    "source",
    required=True,
    metavar="FILE",
    help="The reply, unchanged; - for standard input.",
)
def command(call: app.App, kind: str, target: str | None, source: str) -> app.Result:
    """Submit the reply of an agent: plan, replan, implementation, fix, test, verification or
    diagnosis.

    It is block YAML or JSON in the form that the agent's brief shows. TARGET is a task; of a
    verification also `plan` or `goal`; a plan has none. A reply that does not fit is asked for once
    more.
    """
    return reply.reply(call, kind, target, app.read_input(call, source))
