"""SHAPE.md: criteria, mustNot, verification. Strict: every fault is named with its line."""

from __future__ import annotations

import re

from . import command
from .errors import Refused, UsageFault

EXECUTION, OBSERVATION, MEASUREMENT = "execution output", "observation", "measurement"
REASONED, REVIEWED, ASSUMED = "reasoned inference", "code review", "assumption"
#: Verification types, strongest first (rule: Shape).
TYPES = (EXECUTION, OBSERVATION, MEASUREMENT, REASONED, REVIEWED, ASSUMED)
#: Types on which a criterion cannot pass the gate: nobody has seen anything (rule: Gate and completion).
UNSEEN = (REASONED, ASSUMED)
LEAST_MUST_NOTS = 2

FORM = """\
# Shape: <title>
criteria:
- C1: <what can be seen when it is done>
mustNot:
- M1: <what must not happen>
- M2: <another>
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | <command> |
"""


def parse(text: str) -> dict:
    """{"title", "criteria": [{id, text, type, command, must_not}]} of a SHAPE.md.

    Raises Refused with every fault as `line N: reason`; nothing is guessed.
    """
    faults: list[str] = []
    title, section = "", ""
    rows: dict[str, dict] = {}
    verified: dict[str, tuple] = {}
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        line = raw.strip()
        if not line:
            continue
        head = re.fullmatch(r"(?:##\s*)?(criteria|mustNot|verification):?", line)
        if line.startswith("# "):
            title = re.sub(r"^Shape:\s*", "", line[2:].strip())
        elif head:
            section = head[1]
        elif section in ("criteria", "mustNot"):
            _take_row(section, line, number, rows, faults)
        elif section == "verification":
            _take_verification(line, number, verified, faults)
        elif not line.startswith("<!--"):
            faults.append(f"line {number}: text outside criteria, mustNot and verification: {line[:40]!r}")
    for name, (number, _, _) in verified.items():
        if name not in rows:
            faults.append(f"line {number}: {name} is no criterion and no mustNot")
    for name, row in rows.items():
        found = verified.get(name)
        if found:
            row["type"], row["command"] = found[1], found[2]
        elif not row["must_not"]:
            faults.append(f"{name} has no row in the verification table")
    if not any(not row["must_not"] for row in rows.values()):
        faults.append("no criterion: at least one `- C1: …` under criteria:")
    count = sum(row["must_not"] for row in rows.values())
    if count < LEAST_MUST_NOTS:
        faults.append(f"{count} mustNot, at least {LEAST_MUST_NOTS}: `- M1: …` under mustNot:")
    if faults:
        raise Refused("SHAPE.md: " + "; ".join(faults[:8]), "mend it and hand it in again; the form: loopkit shape")
    return {"title": title, "criteria": list(rows.values())}


def _take_row(section: str, line: str, number: int, rows: dict, faults: list) -> None:
    letter = "C" if section == "criteria" else "M"
    found = re.fullmatch(rf"[-*]\s*({letter}\d+)\s*:\s*(.+)", line)
    if not found:
        faults.append(f"line {number}: not `- {letter}1: …`: {line[:40]!r}")
    elif found[1] in rows:
        faults.append(f"line {number}: {found[1]} stands twice")
    else:
        rows[found[1]] = {
            "id": found[1],
            "text": found[2].strip(),
            "type": None,
            "command": None,
            "must_not": letter == "M",
        }


def _take_verification(line: str, number: int, verified: dict, faults: list) -> None:
    if not (line.startswith("|") and line.endswith("|")):
        faults.append(f"line {number}: not a table row: {line[:40]!r}")
        return
    # a pipe inside a command is written \| as everywhere in Markdown
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line[1:-1])]
    if cells[0].lower() == "criterion" or not line.strip("|-: "):
        return
    if len(cells) not in (2, 3):
        faults.append(f"line {number}: {len(cells)} columns instead of criterion, type, command")
        return
    name, kind, text = cells[0], cells[1].lower(), (cells[2] if len(cells) == 3 else "").strip("`").strip()
    if kind not in TYPES:
        faults.append(f"line {number}: unknown type {cells[1]!r}; one of {', '.join(TYPES)}")
        return
    if kind == EXECUTION and not text:
        faults.append(f"line {number}: execution output needs a command")
        return
    if text in ("-", "–", "—"):
        text = ""
    if text:
        try:
            command.split(text)
        except UsageFault as error:
            faults.append(f"line {number}: {error.what}")
            return
    if name in verified:
        faults.append(f"line {number}: {name} stands twice in the table")
    else:
        verified[name] = (number, kind, text or None)
