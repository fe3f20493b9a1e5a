"""loopkit demo: a whole loop to look at."""

import shlex
import textwrap
from typing import TYPE_CHECKING

import click

from ..core.steps import kinds
from ..engine import run
from ..ops import demo as ops
from ..render import printable_json
from . import app

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a line.
_WIDTH = 80
#: Lines that are shown of what a step of a kind records; of others the first.
_LINES = {kinds.SCORE: 5, kinds.THOROUGH_REVIEW: 4, kinds.COMPLETE: 0}


@app.command("demo", "loopkit demo")
@click.option("--folder", metavar="DIR", help="Where to make the project; else a temporary folder.")
@app.flag("--verbose", help="Everything that each step records.")
def demo(call: app.App, folder: str | None, verbose: bool) -> None:
    """Run a whole loop on a small project with failing tests: real edits, real checks, a failure, a
    panel, a blocker, the gate. Needs git; no model, no network, nothing outside its folder."""
    from rich.console import Console

    printer = Printer(Console(highlight=False, soft_wrap=True, stderr=call.as_json), verbose)
    for record in ops.play(folder, call.environment):
        printer.show(record)
    assert isinstance(record, ops.Completed)
    if call.as_json:
        click.echo(printable_json(record._asdict()))
        return
    loop = f".loop/{record.loop}"
    click.echo(
        f"{record.card.rstrip()}\n\n"
        "Look at it, and remove the folder when you have seen enough:\n"
        f"  cd {shlex.quote(record.folder)}\n"
        f"  evidence  {loop}/evidence/\n"
        f"  journal   {loop}/ledger.jsonl\n"
        "  progress  .loop/PROGRESS.md"
    )


class Printer:
    """Prints records while they come, each step with what was recorded for it."""

    def __init__(self, console: "Console", verbose: bool) -> None:
        self.console = console
        self.verbose = verbose
        self.step: kinds.Step | None = None  # the one that was named last

    def show(self, record: ops.Record) -> None:
        """Print one record, unless it says no more than those around it."""
        if isinstance(record, ops.Told):
            self._told(record)
        elif isinstance(record, run.Answered):
            self._answered(record)
        elif isinstance(record, run.Recorded):
            self._recorded(record)
        elif isinstance(record, run.Unusable):
            self._print("  ", f"asked again: {record.error}", "yellow")

    def _told(self, record: ops.Told) -> None:
        self.step = None
        style = {"": "bold", "▸ ": "bold cyan"}.get(record.mark, "yellow")
        self._print(record.mark, record.text, style, 2 if record.mark else 0)
        for line in record.quote.splitlines():
            self._print("  │ ", line, "yellow")

    def _answered(self, record: run.Answered) -> None:
        """What an agent did, or whom it asked."""
        self._name(record.step)
        reply = record.answer.reply or {}
        if "experts" in reply:
            names = [row["name"] if isinstance(row, dict) else row for row in reply["experts"]]
            self._print("  ", "experts: " + ", ".join(names), "green")
        elif kinds.KINDS[record.step.kind].who == kinds.AGENT:
            for line in record.answer.text.splitlines():
                self._print("  ", line, "green")

    def _recorded(self, record: run.Recorded) -> None:
        lines = record.text.splitlines()
        if not self.verbose:
            lines = _check(record) or lines[: _LINES.get(record.step.kind, 1)]
        if self.step != record.step and len(lines) == 1:
            self.step = record.step
            self._print("▸ ", f"{title(record.step)} → {lines[0]}", "bold cyan")
            return
        self._name(record.step)
        for line in lines:
            self._print("  ", line, "" if record.passed else "red")

    def _name(self, step: kinds.Step) -> None:
        if self.step != step:
            self._print("▸ ", title(step), "bold cyan")
        self.step = step

    def _print(self, indent: str, text: str, style: str = "", most: int = 2) -> None:
        """Print a text, in at most so many lines unless that is 0; a path stays whole."""
        if most:
            text = textwrap.fill(
                text.strip(),
                _WIDTH,
                initial_indent=indent,
                subsequent_indent=indent.replace("▸", " ") + "  ",
                max_lines=most,
                placeholder=" …",
                break_long_words=False,
                break_on_hyphens=False,
            )
        self.console.print(text, style=style, markup=False)


def _check(record: run.Recorded) -> list[str]:
    """What came of a check, where one was run."""
    if "log" not in record.data:
        return []
    if record.passed:
        return [f"the check passes: {record.data['log']}"]
    return [f"the check exits {record.data['exit']}: {record.data.get('why', '')}"]


def title(step: kinds.Step) -> str:
    """A step in words: `panel T-002`."""
    about = "" if step.subject is None else f" {step.subject}"
    return step.kind.replace("_", " ") + about
