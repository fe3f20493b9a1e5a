"""The completion card."""

from __future__ import annotations

import unicodedata

from ..core import announce, gate
from ..core.state import LoopState
from . import text

WIDTH = 58


def render(state: LoopState) -> str:
    """`<loop-complete>` with the list of tasks and the box (rule: Gate and completion); under 80 columns."""
    card = gate.card(state)
    rows = [
        f"Verified: {card['verified']}",
        f"Tasks: {card['done']}/{card['total']} complete",
        f"Subjective: ~{card['confidence']}% · Type {card['reversal']} · {card['size']}pt",
        *_wrapped(f"↳ Alt: {card['alternative']}"),
        *_wrapped(f"↳ Risk: {card['risk']}"),
    ]
    tasks = [{"id": one.id, "subject": announce.clean(one.subject, 66)} for one in state.tasks.values()]
    width = max(WIDTH, *map(columns, rows))
    head = columns(f"─ {card['mark']} {card['name']} ")
    return text(
        "complete.txt",
        tasks=tasks,
        card=card,
        rule="─" * (width + 2 - head),
        rows=[row + " " * (width - columns(row)) for row in rows],
        bottom="─" * (width + 2),
    )


def columns(line: str) -> int:
    """Terminal columns that a line takes."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in line
    )


def _wrapped(line: str) -> list[str]:
    import textwrap

    return textwrap.wrap(announce.clean(line, 300), WIDTH, subsequent_indent="  ")
