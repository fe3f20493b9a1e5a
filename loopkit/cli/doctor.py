"""loopkit doctor: what is wrong, and how to put it right."""

from __future__ import annotations

import json
import sys

import click

from ..core.evidence import permissions as permission_rules
from ..engine import doctor
from . import app


@app.command("doctor", "loopkit doctor --fix")
@click.option(
    "--fix", is_flag=True, help="Rebuild derived files: snapshot, PROGRESS.md, ignore file."
)
@click.option(
    "--permissions", is_flag=True, help="Print permission rules that a person may want to add."
)
def command(call: app.App, fix: bool, permissions: bool) -> int:
    """Check programs, hooks, ownership, the task list and the files of the loop. Exit 0: a loop
    would work; 1: it would not, or not as wished; 3: damaged files."""
    if permissions:
        _print_rules(call.as_json)
        return 0
    case = doctor.Case(
        call.environment, call.folder, call.session, call.root, call.follow, sys.platform
    )
    report = doctor.examine(case, fix)
    if call.as_json:
        click.echo(
            json.dumps(
                {"exit": report.exit, "findings": [list(row) for row in report.rows]},
                ensure_ascii=False,
            )
        )
    else:
        for level, text in report.rows:
            click.echo(app.printable(app.wrapped(f"{level:>8}  {text}", " " * 10)))
        click.echo(
            "a loop would work" if not report.exit else "see the lines marked fault or damaged"
        )
    return report.exit


def _print_rules(as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"permissions": {"allow": doctor.rules()}}))
        return
    click.echo(
        "Rules for permissions.allow in your Claude Code settings; add those you agree with."
    )
    click.echo(
        "Checks are not among them: Claude Code asks you for each; answer Yes, and do not choose "
        '"don\'t ask again".'
    )
    click.echo(
        "For a time away allow single checks of the plan, each in its exact words: "
        f"{permission_rules.EXACT}"
    )
    click.echo(json.dumps({"permissions": {"allow": doctor.rules()}}, indent=2))
