"""Briefs: what a role reads before its step. Somebody's words are quoted."""

from __future__ import annotations

from typing import Any

from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.steps import context, kinds
from ..core.steps.kinds import Step
from . import text

#: Most bytes of a prompt.
LARGEST = 24_000
#: Characters up to which a request stands in a prompt; those quoted of one in a file.
LONGEST_REQUEST, BEGINNING = 4000, 600
#: That file, in the loop's folder.
REQUEST = "request.md"
#: (characters of a quoted text, entries of a list), tried until a prompt is small enough.
_ROOM = ((8000, 200), (3000, 100), (1500, 60), (800, 40), (400, 30), (200, 20), (100, 10), (60, 5))


def render(state: LoopState, step: Step, folder: str, **extra: Any) -> str:
    """The prompt of a step, at most LARGEST bytes. folder: the loop's folder as it is shown ·
    extra: `form` (of the answer, "" for none), `reply` (the line that submits it), `cut` (an agent
    before was interrupted) and whatever else its template knows."""
    extra = {"folder": folder, "form": "", "reply": "", "cut": False, **extra}
    return filled(kinds.KINDS[step.kind].prompt, context.values(state, step, **extra))


def filled(template: str, values: dict) -> str:
    """A template of prompts with its values, at most LARGEST bytes."""
    prompt = ""
    for room in _ROOM:
        helpers = _Quotes(*room, str(values["folder"])).helpers()
        prompt = _squeezed(text(f"prompts/{template}", **values, **helpers))
        if len(prompt.encode("utf-8", "replace")) <= LARGEST:
            return prompt
    return prompt.encode("utf-8", "replace")[:LARGEST].decode("utf-8", "ignore")


def whole(request: str, folder: str) -> str:
    """A request behind `> ` without a cut; where it is long, the file in this folder."""
    if len(request) <= LONGEST_REQUEST:
        return _quoted(request, LONGEST_REQUEST)
    return (
        f"Read all of it first, {len(request):,} characters: `{folder}/{REQUEST}`. It begins:\n\n"
        f"{_quoted(request, BEGINNING)}"
    )


def _quoted(text: str, most: int) -> str:
    kept = [prose.clean(row.rstrip(), most) for row in text[:most].splitlines()]
    if len(text) > most:
        kept.append(f"… ({len(text) - most:,} more characters left out)")
    return "\n".join(f"> {row}".rstrip() for row in kept) or "> (nothing)"


class _Quotes:
    """How templates show somebody's words. most: characters of one text · entries: of one list."""

    def __init__(self, most: int, entries: int, folder: str) -> None:
        self.most, self.entries, self.folder = most, entries, folder
        self.dropped = 0

    def helpers(self) -> dict:
        """The functions by the names that templates call them by."""
        helpers = (self.quote, self.whole, self.line, self.entry, self.rows, self.last, self.note)
        return {helper.__name__: helper for helper in helpers}

    def whole(self, request: str) -> str:
        """A request behind `> ` without a cut; the file that holds it where it is long."""
        return whole(request, self.folder)

    def quote(self, words: object) -> str:
        """Every line behind `> `."""
        return _quoted(str(words).strip(), self.most)

    def line(self, words: object, most: int) -> str:
        """On one line, of at most `most` characters."""
        return prose.clean(" ".join(str(words)[: most * 2].split()), min(most, self.most))

    def entry(self, label: str, words: object) -> str:
        """`- label: words`, on one line; blanks before the label move the whole to the right."""
        indent = " " * (len(label) - len(label.lstrip(" ")))
        return f"{indent}- {label.strip()}: {self.line(words, 2000) or '(nothing)'}"

    def rows(self, entries: Any) -> list:
        """The first entries of a list."""
        return self._counted(entries)[: self.entries]

    def last(self, entries: Any) -> list:
        """The newest entries of a list."""
        return self._counted(entries)[-self.entries :]

    def _counted(self, entries: Any) -> list:
        found = list(entries)
        self.dropped += max(0, len(found) - self.entries)
        return found

    def note(self) -> str:
        """What the lists so far leave out."""
        count = prose.count(self.dropped, "entry", "entries")
        return f"The lists above leave out {count}." if self.dropped else ""


def _squeezed(prompt: str) -> str:
    """No more than one empty line in a row."""
    rows: list[str] = []
    for row in prompt.splitlines():
        if row.strip() or (rows and rows[-1]):
            rows.append(row.rstrip())
    return "\n".join(rows).strip("\n") + "\n"
