"""loopkit review: expert reviews, light after a wave, thorough before the gate."""

from __future__ import annotations

import click

from ..core import announce, nextstep, review
from ..core.errors import UsageFault
from ..store.loop import Loop
from . import app, experts

FORM = """\
experts: [<name>, <name>, <name>]
findings:
- severity: <BLOCKER | WARNING | SUGGESTION>
  issue: "…"
  guidance: "…"
  verify: "<command>"
  files: [<path>]
  violates: [<M1, if the guidance would break it>]"""


@click.group("review", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--wave", type=int, metavar="N", help="Light review of this wave; never blocks.")
@click.option("--thorough", is_flag=True, help="The review before the gate; blocks.")
@click.option("--score", type=int, help="0 to 10, for a light review without a file.")
@click.option("--issues", type=int, help="How many issues.")
@click.option("--blockers", type=int, help="How many blockers, handed on to the thorough review.")
@click.option("--experts", metavar="A,B", help="Who looked.")
@click.option("--file", "source", metavar="FILE", help="The review as block YAML; - for standard input.")
@click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")
@click.pass_context
def command(
    context: click.Context, /, wave: int | None, thorough: bool, source: str | None, as_json: bool, **given: object
) -> None:
    """Record a review, or (without --file) show what to ask whom, and the form.

    Example: loopkit review --wave 1 --score 8 --issues 2 --blockers 0 --experts testing,simplicity
    """
    if context.invoked_subcommand:
        return
    if thorough == (wave is not None):
        raise UsageFault("give --wave N or --thorough", "see loopkit review --help")
    call = app.App(as_json)
    loop = call.own_loop()
    row = app.read_record(source, dict) if source else _options(given)
    if not row:
        _brief(call, loop, wave)
        return
    changes = call.change(loop, review.thorough, row) if thorough else call.change(loop, review.light, wave, row)
    data = next(change[1] for change in changes if change[0].startswith("review_"))
    call.answer(loop, _said(loop, data, thorough), {"findings": data["findings"]})


def _options(given: dict) -> dict:
    row = {name: value for name, value in given.items() if value is not None}
    if "experts" in row:
        row["experts"] = [one.strip() for one in str(row["experts"]).split(",")]
    return row


def _said(loop: Loop, data: dict, thorough: bool) -> str:
    if not thorough:
        counts = f"{announce.count(data['issues'], 'issue')}, {announce.count(data['blockers'], 'blocker')}"
        return f"review of wave {data['wave']} recorded: {data['score']}/10, {counts}"
    lines = [f"thorough review {data['round']} recorded: {announce.count(len(data['findings']), 'finding')}"]
    for row in data["findings"]:
        task = f" → {row['task']}" if row.get("task") else ""
        lines.append(f"{row['id']} {row['severity']}{task}: {announce.clean(row['issue'], 120)}")
    lines.append("passed" if review.passed(loop.state) else f"blockers left: {review.blockers_left(loop.state)}")
    return "\n".join(lines)


def _brief(call: app.App, loop: Loop, wave: int | None) -> None:
    """Whom to ask what; the form to hand in."""
    state = loop.state
    lines = experts.lines(state, experts.THOROUGH if wave is None else experts.LIGHT)
    if wave is None:
        lines += [f"  must not be broken by any guidance: {one.id} {one.text}" for one in state.must_nots]
        lines += [
            f"  open from wave reviews: {one.issue[:100]}"
            for one in state.findings.values()
            if one.severity == "BLOCKER" and one.source != "thorough" and not one.resolution
        ]
        lines.append(
            "hand in as block YAML; nothing found: findings: []; a blocker's verify exits 0 when it is mended:\n" + FORM
        )
    step = "loopkit review --thorough --file -" if wave is None else nextstep.light_review(wave)
    call.answer(loop, "\n".join(lines), None, [step])


@command.command("resolve")
@click.argument("finding")
@click.option("--approve", "how", flag_value="approve", help="Right as it is; the guidance is followed or not needed.")
@click.option("--task", "how", flag_value="task", help="A task mends it; needs --verify.")
@click.option("--verify", default="", metavar="COMMAND", help="With --task: its check.")
@click.option("--discuss", metavar="TEXT", help="What was said about it.")
@click.option("--skip", metavar="TEXT", help="Why it is left.")
@click.option("--waive", metavar="WHY", help="The person lets a blocker pass.")
@click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object.")
def resolve(finding: str, how: str | None, verify: str, as_json: bool, **texts: str | None) -> None:
    """Settle a finding of the thorough review.

    Example: loopkit review resolve F-003 --skip "covered by the next loop"
    """
    chosen = [name for name, text in texts.items() if text is not None] + ([how] if how else [])
    if len(chosen) != 1:
        raise UsageFault(
            "give exactly one of --approve, --task, --discuss, --skip, --waive", "see loopkit review resolve --help"
        )
    call = app.App(as_json)
    loop = call.own_loop()
    call.change(loop, review.resolved, finding, chosen[0], texts.get(chosen[0]) or "", verify)
    left = sum(nextstep.unsettled(one, loop.state) for one in loop.state.findings.values())
    call.answer(loop, f"{finding.upper()} settled ({chosen[0]}), {left} left")
