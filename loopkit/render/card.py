"""The completion card."""

from __future__ import annotations

import unicodedata

from ..core.journal import clock, prose
from ..core.journal.state import LoopState
from ..core.memory import decisions
from ..core.review import gate, result
from ..core.steps import supervision
from . import first, text

#: Columns inside the box, and those of a line.
WIDTH, LINE = 76, 80
#: Most criteria, open points, doubts and files that are listed each, characters of one.
LISTED, LONGEST = 25, 300
#: Where a continued line begins.
_INDENT = "    "


def render(state: LoopState) -> str:
    """`<loop-complete>`: what was asked, how each criterion is known, what is open, the box, what
    it took; under 80 columns."""
    card = gate.card(state)
    undo = f"{gate.REVERSALS.get(card['reversal'], 'not known')} (type {card['reversal']})"
    back = ": loopkit rollback start" if state.checkpoints.rows else ""
    points = prose.count(card["size"] or 0, "point")
    facts = (f"Verified: {card['verified']}", f"Sure: ~{card['confidence']} %", f"Size: {points}")
    rows = [
        *folded(" · ".join(facts)),
        *folded(f"Undo: {undo}{back}"),
        *folded(f"↳ Instead: {prose.clean(str(card['alternative']), LONGEST)}"),
        *folded(f"↳ Risk: {prose.clean(str(card['risk']), LONGEST)}"),
    ]
    head = columns(f"─ {card['mark']} {card['name']} ")
    return text(
        "complete.txt",
        head=_head(state),
        lines=_lines(state),
        card=card,
        rule="─" * (WIDTH + 2 - head),
        rows=[row + " " * (WIDTH - columns(row)) for row in rows],
        bottom="─" * (WIDTH + 2),
        foot="\n".join(_wrapped(_foot(state), _INDENT)),
    )


def _head(state: LoopState) -> str:
    counted = result.counted(state)
    asked = prose.clean((state.clarified or {}).get("echo") or state.text, LONGEST)
    return "\n".join(_wrapped(f"{clipped(asked, LINE)}: {counted}", ""))


def _lines(state: LoopState) -> list[str]:
    """Criteria, then what is not as it should be, then what changed."""
    lines: list[str] = []
    for mark, name, words, how in _first(result.rows(state)):
        lines += _paired(f"{mark} {name} {prose.clean(words, LONGEST)}", prose.clean(how, LONGEST))
    for sign, found in (
        ("! open: ", result.open_rows(state)),
        ("! ", [*result.doubts(state), *supervision.warnings(state)]),
        ("~ ", [*result.replaced(state), *result.notes(state), *_decided(state)]),
    ):
        for words in first(found, LISTED):
            lines += _wrapped(sign + prose.clean(words, LONGEST), _INDENT)
    files = ", ".join(first(result.changed(state), LISTED))
    return lines + (_wrapped(f"changed: {prose.clean(files, 2000)}", _INDENT) if files else [])


def _first(rows: list[result.Row]) -> list[tuple]:
    """Those that are listed; of a long list first what is not shown."""
    if len(rows) <= LISTED:
        return [tuple(row) for row in rows]
    chosen = sorted(rows, key=lambda row: row.mark == result.FULL)[:LISTED]
    return [tuple(row) for row in rows if row in chosen] + [
        (result.PART, f"and {len(rows) - LISTED} more", "in the report", "")
    ]


def _paired(left: str, right: str) -> list[str]:
    """A text and how it is known: on one line where both fit."""
    if right and columns(left) + 2 + columns(right) <= LINE:
        return [f"{left}  {right}"]
    return [*_wrapped(left, _INDENT), *_wrapped(_INDENT + right, _INDENT + "  ")]


def _wrapped(words: str, indent: str) -> list[str]:
    return folded(words, LINE, indent)


def _foot(state: LoopState) -> str:
    """`2 waves · 14 min · $1.20 of $25 · .loop/001-limiter/report.md`."""
    session = state.session
    usd, tokens, unpriced = session.cost()
    money = f"{tokens} tokens" if unpriced else f"${usd:.2f}"
    limit = f" of ${session.limit_usd:g}" if session.limit_usd and not unpriced else ""
    took = clock.human(session.spent_seconds)
    waves = prose.count(len(state.waves), "wave")
    return f"{waves} · {took} · {money}{limit} · .loop/{state.name}/report.md"


def _decided(state: LoopState) -> list[str]:
    """What was decided on the way, without asking the person."""
    chosen = [row for row in state.decisions if row.get("kind") == decisions.CHOICE]
    rows = [
        f"decided: {row.get('number', 0):03d} {row.get('title', '')}"
        for row in state.decisions
        if row not in chosen
    ]
    if chosen:
        count = prose.count(len(chosen), "decision")
        rows.append(f"{count} with reasons: the report says which were kept")
    return rows


def columns(line: str) -> int:
    """Terminal columns that a line takes."""
    return sum(map(_columns, line))


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):  # accents, joiners, variation selectors
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(line: str, most: int) -> str:
    """The beginning of a line that fits into so many columns."""
    return line if columns(line) <= most else _beginning(line, most - 1).rstrip() + "…"


def folded(line: str, width: int = WIDTH, indent: str = "  ") -> list[str]:
    """A text in rows of the box's width, broken at blanks; too long a word is cut. indent: of all
    rows but the first."""
    rows = [line[: len(line) - len(line.lstrip())]]
    for word in line.split():
        while True:
            gap = " " if rows[-1].strip() else ""
            room = width - columns(rows[-1] + gap)
            if columns(word) <= room:
                rows[-1] += gap + word
                break
            # only what fits into no row at all is cut
            if gap and columns(word) <= width - len(indent):
                rows.append(indent)
                continue
            part = _beginning(word, room)
            rows[-1] += gap + part if part else ""
            word = word[len(part) :]
            rows.append(indent)
    return [row for row in rows if row.strip()]


def _beginning(word: str, room: int) -> str:
    for at, letter in enumerate(word):
        room -= _columns(letter)
        if room < 0:
            return word[:at]
    return word
