"""loopkit demo: a whole loop to look at."""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
import threading
from typing import TYPE_CHECKING

import click

from ..engine import demo
from . import app

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {"step": "bold cyan", "agent": "green", "hook": "yellow", "project": "bold"}
#: Columns of a line, and lines of an output that are shown: enough for what happened, short enough
#: to be read.
_WIDTH, _MOST = 80, 5


@app.command("demo", "loopkit demo")
@click.option("--folder", metavar="DIR", help="Where to make the project; else a temporary folder.")
@click.option("--verbose", is_flag=True, help="Everything that each step prints.")
def command(call: app.App, folder: str | None, verbose: bool) -> None:
    """Run a whole loop on a small project with failing tests: real edits, real checks, a failure, a
    panel, a blocker, the gate. Needs git; no model, no network, nothing outside its folder."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, stderr=call.as_json)
    teller = Teller(console, verbose)
    try:
        result = demo.run(folder, call.environment, teller)
    finally:
        teller.end()
    if call.as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    loop = f".loop/{result['loop']}"
    click.echo(result["card"].rstrip())
    click.echo(
        "\nLook at it, and remove the folder when you have seen enough:\n  cd "
        f"{shlex.quote(result['project'])}"
    )
    click.echo(
        f"  evidence  {loop}/evidence/\n  journal   {loop}/ledger.jsonl\n  progress  "
        ".loop/PROGRESS.md"
    )


class Teller:
    """Prints what happens while it happens; agents of a wave speak from several threads."""

    def __init__(self, console: Console, verbose: bool) -> None:
        self.console = console
        self.verbose = verbose
        self.lock = threading.Lock()
        self.step = ""  # the one whose line is not ended yet
        self.told: set[str] = set()

    def __call__(self, kind: str, text: str) -> None:
        """Tell one thing; `kind` is one of drive's and demo's: project, step, said, agent, hook."""
        with self.lock:
            if kind == "step":
                self.end()
                self._step(text)
            elif kind == "said":
                self._said(text)
            else:
                self.end()
                self._other(kind, text)

    def _step(self, text: str) -> None:
        text = re.split(r"\.? Run `loopkit ", text)[0]
        if text.startswith(
            "agent "
        ):  # what it writes is new, even where an earlier one wrote the same file
            self.told = {one for one in self.told if " writes " not in one}
        if text.startswith("agent loop:review") and not self.verbose:
            text = "agents loop:review, one for each expert"
            if "reviewers" in self.told:
                return
            self.told.add("reviewers")
        else:
            self.told.discard("reviewers")
        light = re.match(r"loopkit review --wave \d+", text)
        if light and not self.verbose and "light" in self.told:
            text = light[0]
        elif light:
            self.told.add("light")
        self.step = fitted("▸ ", "    ", text, 2 if text.startswith("/") else 1)
        self.console.print(self.step, style=_COLOURS["step"], markup=False, end="")

    def _said(self, text: str) -> None:
        lines = [] if "<loop-complete>" in text else told(text) if self.verbose else story(text)
        if (
            not self.verbose
            and lines
            and lines[0].startswith("experts to ask")
            and lines[0] in self.told
        ):
            lines = []
        self.told.update(lines)
        for said in (
            (lines[0], lines[0].split(", evidence")[0])
            if len(lines) == 1 and not self.verbose
            else ()
        ):
            if len(self.step) + 3 + len(said) <= _WIDTH and "\n" not in self.step:
                self.console.print(" → " + said, markup=False)
                self.step = ""
                return
        self.end()
        for line in lines:
            self._print("  ", "    ", line, None)

    def _other(self, kind: str, text: str) -> None:
        if kind == "project":
            self.console.print(
                f"A small project with failing tests:\n  {text}", style=_COLOURS[kind], markup=False
            )
        elif kind == "agent":
            said, *why = text.splitlines()
            if self.verbose or " writes " not in said or said not in self.told:
                self._print("    ", "      ", said, kind)
            self.told.add(said)
            for line in why:
                self._print("      ", "        ", line, None)
        elif "\n" in text:
            self._print("  ", "    ", "The session wants to stop. The Stop hook says:", kind)
            for line in text.splitlines():
                self._print("  │ ", "  │   ", re.sub(r" (--\S+ )?<.*", " …", line), kind, 1)
        else:
            self._print("  ", "    ", text, kind)

    def end(self) -> None:
        """End the line of a step that has said nothing."""
        if self.step:
            self.console.print()
        self.step = ""

    def _print(self, first: str, further: str, text: str, kind: str | None, most: int = 2) -> None:
        self.console.print(
            fitted(first, further, text, most), style=_COLOURS.get(kind or ""), markup=False
        )


def told(text: str) -> list[str]:
    """All lines of an output but the next steps."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("next: ")]


def story(text: str) -> list[str]:
    """The few lines of an output that tell what happened."""
    lines = told(text)
    asked = [found[1] for line in lines if (found := re.match(r"  ([a-z-]+) \(", line))]
    if not lines or lines[0].startswith("wave "):
        return lines[:1]
    if lines[0].startswith("the gate waits"):
        return [lines[0] + " " + "; ".join(lines[1:])]
    if asked:
        experts = "experts to ask: " + ", ".join(asked)
        return [experts] if lines[0].startswith("ask ") else [lines[0], experts]
    return [
        lines[0].split(", state in ")[0],
        *[line for line in lines[1:] if _TELLING.match(line)],
    ][:_MOST]


#: Lines after the first that belong to the story: added tasks, findings, a review's end.
_TELLING = re.compile(r"T-\d+ added|F-\d+ |passed$|blockers left")


def fitted(first: str, further: str, text: str, most: int) -> str:
    """A text in at most so many lines of a terminal, cut between words; a long word, such as a
    path, stays whole."""
    text = re.sub(r"\.loop/\S+/evidence/", "", text.replace(shlex.quote(sys.executable), "python"))
    return textwrap.fill(
        text.strip(),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        max_lines=most,
        placeholder=" …",
        break_long_words=False,
        break_on_hyphens=False,
    )
