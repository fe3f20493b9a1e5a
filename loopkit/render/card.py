"""The completion card."""

from __future__ import annotations

import unicodedata

from ..core.journal import prose
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.review import gate
from ..core.steps import supervision
from . import text

#: Columns inside the box, and those that a task's subject may take.
WIDTH, SUBJECT = 58, 66
#: Most tasks that are listed.
LISTED = 25


def render(state: LoopState) -> str:
    """`<loop-complete>` with the list of tasks and the box; under 80 columns."""
    card = gate.card(state)
    rows = [
        *folded(f"Verified: {card['verified']}"),
        f"Tasks: {card['done']}/{card['total']} complete",
        f"Subjective: ~{card['confidence']}% · Type {card['reversal']} · {card['size']}pt",
        *folded(f"↳ Alt: {card['alternative']}"),
        *folded(f"↳ Risk: {card['risk']}"),
    ]
    tasks = [
        {"id": task.id, "subject": clipped(prose.clean(task.subject, 300))}
        for task in list(state.tasks.values())[:LISTED]
    ]
    head = columns(f"─ {card['mark']} {card['name']} ")
    return text(
        "complete.txt",
        tasks=tasks,
        more=len(state.tasks) - len(tasks),
        card=card,
        rule="─" * (WIDTH + 2 - head),
        rows=[row + " " * (WIDTH - columns(row)) for row in rows],
        bottom="─" * (WIDTH + 2),
    )


def notes(state: LoopState) -> list[str]:
    """What the person should know beside the card: warnings that nobody answered, what reviews
    decided by themselves, and where to read what was decided on purpose."""
    rows = [prose.clean(warning, 300) for warning in supervision.warnings(state)]
    rows += gate.by_hand(state)
    for finding in state.findings.values():
        if (finding.resolution or {}).get("how") == "unattended":
            issue = prose.clean(finding.issue, 300)
            rows.append(f"{finding.id} nobody could be asked about: {issue}")
    chosen = [row for row in state.decisions if row.get("kind") == decisions.CHOICE]
    if chosen:
        count = prose.count(len(chosen), "decision")
        rows.append(f"{count} with reasons: .loop/{state.name}/report.md says which were kept")
    for row in state.decisions:
        if row not in chosen:
            title = prose.clean(str(row.get("title", "")), 300)
            rows.append(f"decision {row.get('number', 0):03d}: {title}")
    return rows


def columns(line: str) -> int:
    """Terminal columns that a line takes."""
    return sum(map(_columns, line))


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):  # accents, joiners, variation selectors
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(line: str, most: int = SUBJECT) -> str:
    """The beginning of a line that fits into so many columns."""
    return line if columns(line) <= most else _beginning(line, most - 1).rstrip() + "…"


def folded(line: str) -> list[str]:
    """A text in rows of the box's width, broken at blanks; too long a word is cut."""
    rows = [""]
    for word in prose.clean(line, 300).split():
        while True:
            gap = " " if rows[-1].strip() else ""
            room = WIDTH - columns(rows[-1] + gap)
            if columns(word) <= room:
                rows[-1] += gap + word
                break
            # only what fits into no row at all is cut
            if gap and columns(word) <= WIDTH - 2:
                rows.append("  ")
                continue
            part = _beginning(word, room)
            rows[-1] += gap + part if part else ""
            word = word[len(part) :]
            rows.append("  ")
    return [row for row in rows if row.strip()]


def _beginning(word: str, room: int) -> str:
    for at, letter in enumerate(word):
        room -= _columns(letter)
        if room < 0:
            return word[:at]
    return word
