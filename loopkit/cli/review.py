"""loopkit review, panel, gate: what experts found, and what is missing before completion."""

import click

from .. import replies
from ..core.journal.errors import UsageFault
from ..ops import batch
from ..ops import gate as gates
from ..ops import panel as panels
from ..ops import review as reviews
from ..ops.workspace import Result
from . import app


@app.command(
    "review",
    "loopkit review --wave 1 --score 8 --experts technical-writer,simplifier",
    cls=app.Group,
    invoke_without_command=True,
)
@click.option(
    "--wave",
    type=int,
    metavar="N",
    help="Of this wave: light, never blocks; with approval = review it decides.",
)
@app.flag("--thorough", help="The review before the gate; blocks.")
@app.flag("--plan", help="With approval = review: of the plan, before work begins.")
@app.flag("--scaffold", help="With approval = review: of the batch that all others build on.")
@click.option("--waive", metavar="WHY", help="With --plan: the person lets it pass as it is.")
@click.option("--prompt", metavar="EXPERT", help="What this expert has to know; changes nothing.")
@click.option("--score", type=int, help="0 to 10, for a light review without a file.")
@click.option("--issues", type=int, help="How many issues; as many as are told.")
@click.option("--blockers", type=int, help="How many blockers; as many as are told.")
@click.option(
    "--experts",
    metavar="A,B",
    help="Who looked, of those that were asked; all of them where none is named.",
)
@app.file("The review as block YAML")
def review(
    call: app.App,
    wave: int | None,
    thorough: bool,
    plan: bool,
    scaffold: bool,
    waive: str | None,
    prompt: str | None,
    source: str | None,
    **options: object,
) -> Result | None:
    """Record a review, or (without --file) show what to ask whom, and the form."""
    if click.get_current_context().invoked_subcommand:
        return None
    if sum((wave is not None, thorough, plan, scaffold)) != 1:
        what = "give one of --wave N, --thorough, --plan, --scaffold"
        raise UsageFault(what, "see loopkit review --help")
    if waive is not None and not plan:
        what = "--waive goes with --plan"
        raise UsageFault(what, "for a finding: loopkit review resolve F-001 --waive WHY")
    if plan:
        row = app.read_record(call, source, "plan_review") if source else None
        return batch.plan(call, row, waive)
    light = {name: value for name, value in options.items() if value is not None}
    if scaffold or wave is not None and batch.decides(call):
        return _of_batch(call, wave, scaffold, source, prompt, light)
    return _of_experts(call, wave, prompt, source, light)


def _of_batch(
    call: app.App,
    wave: int | None,
    scaffold: bool,
    source: str | None,
    prompt: str | None,
    light: dict,
) -> Result:
    """A review that decides; the options are those of a light one, which this is not."""
    if light:
        what = "a batch review decides, so it needs verdicts"
        raise UsageFault(what, "submit it with --file -; without it: its form")
    if prompt is not None:
        return batch.prompt(call, wave, scaffold)
    row = app.read_record(call, source, "review") if source else None
    return batch.batch(call, wave, scaffold, row)


def _of_experts(
    call: app.App, wave: int | None, prompt: str | None, source: str | None, light: dict
) -> Result:
    """A light review, or the thorough one where no wave is named."""
    if prompt is not None:
        return reviews.show(call, wave, prompt)
    if source is None and not light:
        return reviews.ask_thorough(call) if wave is None else reviews.ask_light(call, wave)
    name = "review" if wave is None else "wave_review"
    if "experts" in light:
        light["experts"] = [expert.strip() for expert in light["experts"].split(",")]
    row = app.read_record(call, source, name) if source else replies.check(name, light)
    return (
        reviews.record_thorough(call, row)
        if wave is None
        else reviews.record_light(call, wave, row)
    )


@review.add("resolve", 'loopkit review resolve F-003 --skip "covered by the next loop"')
@click.argument("findings", nargs=-1, required=True, metavar="FINDING…")
@click.option(
    "--approve",
    "how",
    flag_value="approve",
    help="Right as it is; the guidance is followed or not needed.",
)
@click.option("--task", "how", flag_value="task", help="A task fixes it; needs --verify.")
@click.option("--verify", default="", metavar="COMMAND", help="With --task: its check.")
@click.option("--discuss", metavar="TEXT", help="What was said about it.")
@click.option("--skip", metavar="TEXT", help="Why it is left.")
@click.option("--waive", metavar="WHY", help="The person lets a blocker pass.")
def resolve(
    call: app.App, findings: tuple[str, ...], how: str | None, verify: str, **texts: str | None
) -> Result:
    """Settle findings of the thorough review, several in the same way at once."""
    chosen = [name for name, text in texts.items() if text is not None] + ([how] if how else [])
    if len(chosen) != 1:
        what = "give exactly one of --approve, --task, --discuss, --skip, --waive"
        raise UsageFault(what, "see loopkit review resolve --help")
    return reviews.settle(call, list(findings), chosen[0], texts.get(chosen[0]) or "", verify)


@app.command("panel", "loopkit panel T-003 --file -")
@click.argument("task_id", required=False)
@click.option(
    "--clarify",
    metavar="DIMENSION",
    help="The readings of a dimension of the request that is unclear.",
)
@app.flag("--wave", help="How the next wave is worked: in parallel, or one task at a time.")
@app.file("What the panel found, as block YAML")
def panel(
    call: app.App, task_id: str | None, clarify: str | None, wave: bool, source: str | None
) -> Result:
    """Prompt a panel (whom to ask what, about what), or record what it found with --file."""
    if sum((task_id is not None, clarify is not None, wave)) != 1:
        raise UsageFault("give a task, --clarify DIMENSION or --wave", "see loopkit panel --help")
    row = app.read_record(call, source, "panel") if source else None
    if task_id is not None:
        return panels.on_task(call, task_id, row)
    return (
        panels.on_dimension(call, clarify, row)
        if clarify is not None
        else panels.on_wave(call, row)
    )


@app.command("gate", "loopkit gate --file -")
@app.file("The answers as block YAML")
def gate(call: app.App, source: str | None) -> Result:
    """Show what the gate still waits for, or answer for it. It needs every task completed with
    evidence that fits, the thorough review passed, every criterion seen, and four points answered
    for the kind of work."""
    return gates.record(call, app.read_record(call, source, "gate")) if source else gates.ask(call)
