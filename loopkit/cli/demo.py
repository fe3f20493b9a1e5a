"""loopkit demo: a whole loop to look at."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import threading
from typing import TYPE_CHECKING

import click

from ..engine import demo
from . import app

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {"step": "bold cyan", "agent": "green", "hook": "yellow", "project": "bold"}


@app.command("demo", "loopkit demo")
@click.option("--folder", metavar="DIR", help="Where to make the project; else a temporary folder.")
@click.option("--verbose", is_flag=True, help="Everything that each step prints.")
def command(call: app.App, folder: str | None, verbose: bool) -> None:
    """Run a whole loop on a small project with failing tests: real edits, real checks, a failure, a panel, a blocker, the
    gate. Needs git; no model, no network, nothing outside its folder."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, stderr=call.as_json)
    result = demo.run(folder, call.environment, Teller(console, verbose))
    if call.as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    project, loop = result["project"], os.path.join(result["project"], ".loop", result["loop"])
    click.echo(result["card"].rstrip())
    click.echo(f"\nLook at it:\n  project   {project}\n  evidence  {loop}/evidence/\n  journal   {loop}/ledger.jsonl")
    click.echo(f"  progress  {project}/.loop/PROGRESS.md\nRemove it when you have seen enough: rm -r {project}")


class Teller:
    """Prints what happens while it happens; agents of a wave speak from several threads."""

    def __init__(self, console: Console, verbose: bool) -> None:
        self.console = console
        self.verbose = verbose
        self.lock = threading.Lock()

    def __call__(self, kind: str, text: str) -> None:
        with self.lock:
            if kind == "project":
                self._print("A small project with failing tests:", kind)
                self._print("  " + text, None)
            elif kind == "step":
                self._print("▸ " + _short(text), kind)
            elif kind == "agent":
                self._print("    " + _short(text), kind)
            elif kind == "hook":
                self._print("  The session wants to stop. The Stop hook says:" if "\n" in text else "  " + text, kind)
                if "\n" in text:
                    for line in text.splitlines():
                        self._print("  │ " + _short(line), kind)
            else:
                self._said(text)

    def _said(self, text: str) -> None:
        lines = [line for line in text.splitlines() if not line.startswith("next: ")]
        if "<loop-complete>" in text:
            return
        most = len(lines) if self.verbose else 2 if text.startswith("the gate waits") else 1
        for line in lines[:most]:
            self._print("  " + _short(line), None)

    def _print(self, text: str, kind: str | None) -> None:
        self.console.print(text, style=_COLOURS.get(kind or ""), markup=False)


def _short(text: str) -> str:
    line = re.sub(r"\.loop/\S+/evidence/", "", text.replace("\n", " ").replace(shlex.quote(sys.executable), "python"))
    return line if len(line) <= 76 else line[:75] + "…"
