"""SHAPE.md: criteria, mustNot, verification. Strict: every fault is named with its line."""

from __future__ import annotations

import re

from ..evidence import changes, command
from ..evidence.proofs import EXECUTION, TYPES, UNSEEN
from ..journal import prose
from ..journal.errors import Refused, UsageFault
from . import aspects

LEAST_MUST_NOTS = 2
MOST_TEXT = 500
#: Characters of one fault.
LONGEST_REASON = 300
#: Faults that one line of an error holds; `--json` has them all.
SHOWN = 16

#: Stands in the column of types where the files are named that must not change.
PATHS = "paths"
#: What a shape's file is called.
FILE = "SHAPE.md"
FORM = """\
# Shape: <title>
aspects: <two to five>
criteria:
- C1: <what can be seen when it is done>
mustNot:
- M1: <what must not happen>
- M2: <another>
verification:
| criterion | type | command |
|---|---|---|
| C1 | execution output | <command> |
| M1 | paths | <files that must not change, like tests/test_api.py, src/db/**> |
"""
_SECTIONS = ("criteria", "mustNot", "verification")


class ShapeFaults(Refused):
    """A SHAPE.md that is not taken. `faults`: (line, reason) of each, in the order of the lines."""

    def __init__(self, faults: list[tuple[int, str]]) -> None:
        self.faults = faults
        rows = [f"line {number}: {reason}" for number, reason in faults]
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        todo = "fix it and submit it again; the form: loopkit shape"
        super().__init__("SHAPE.md: " + "; ".join(rows[:SHOWN]) + more, todo)

    def details(self) -> dict:
        """`faults`: {line, reason} of each."""
        return {"faults": [{"line": line, "reason": reason} for line, reason in self.faults]}


def parse(text: str) -> dict:
    """{"title", "aspects", "criteria": [{id, text, type, command, must_not, paths}]} of a SHAPE.md.
    Raises ShapeFaults with the line and the reason of every fault; nothing is guessed."""
    reader = _Reader()
    lines = text.lstrip("\ufeff").splitlines()
    for number, raw in enumerate(lines, 1):
        reader.take(number, raw.strip())
    return reader.finish(max(len(lines), 1))


class _Reader:
    """Takes a SHAPE.md line by line; collects rows and faults."""

    def __init__(self) -> None:
        self.faults: list[tuple[int, str]] = []
        self.title: str | None = None
        self.aspects: list[str] | None = None
        self.section = ""
        self.heads: dict[str, int] = {}
        self.rows: dict[str, dict] = {}
        self.lines: dict[str, int] = {}
        self.verified: dict[str, tuple] = {}
        self.watched: dict[str, tuple[int, list[str]]] = {}

    def fault(self, number: int, reason: str) -> None:
        self.faults.append((number, prose.clean(reason, LONGEST_REASON)))

    def take(self, number: int, line: str) -> None:
        if not line or line.startswith("<!--") and line.endswith("-->"):
            return
        head = re.fullmatch(r"(?:##\s*)?(\w+)\s*:?", line)
        if line.startswith("# "):
            self._take_title(number, line)
        elif re.match(r"aspects\s*:", line):
            self._take_aspects(number, line.partition(":")[2])
        elif head and head[1] in _SECTIONS:
            self.section = head[1]
            if head[1] in self.heads:
                self.fault(number, f"{head[1]} stands twice, first in line {self.heads[head[1]]}")
            self.heads.setdefault(head[1], number)
        elif line.startswith("##") or head and line.endswith(":"):
            self.fault(number, f"unknown section {line[:40]!r}; there are {', '.join(_SECTIONS)}")
            self.section = ""
        elif self.section == "verification":
            self._take_verification(number, line)
        elif self.section:
            self._take_row(number, line)
        else:
            self.fault(number, f"text outside {', '.join(_SECTIONS)}: {line[:40]!r}")

    def _take_title(self, number: int, line: str) -> None:
        if self.title is not None:
            self.fault(number, "a second title")
            return
        self.title = re.sub(r"^Shape:\s*", "", line[2:].strip())
        if not self.title:
            self.fault(number, "the title is empty: `# Shape: …`")

    def _take_aspects(self, number: int, text: str) -> None:
        if self.aspects is not None:
            self.fault(number, "aspects stands twice")
            return
        self.aspects = [one.strip().lower() for one in text.split(",") if one.strip()]
        for reason in aspects.faults(self.aspects):
            self.fault(number, reason)

    def _take_row(self, number: int, line: str) -> None:
        letter = "C" if self.section == "criteria" else "M"
        keeps = r"(\s*\(keeps\))?" if letter == "C" else "()"
        found = re.fullmatch(rf"[-*]\s*({letter}[0-9]{{1,4}}){keeps}\s*:\s*(.+)", line)
        if not found:
            self.fault(number, f"not `- {letter}1: …`: {line[:40]!r}")
        elif found[1] in self.rows:
            self.fault(number, f"{found[1]} stands twice, first in line {self.lines[found[1]]}")
        elif len(found[3]) > MOST_TEXT:
            size = f"{len(found[3])} characters, at most {MOST_TEXT}"
            self.fault(number, f"{found[1]} has {size}: one fact each")
        else:
            row = {"id": found[1], "text": found[3].strip(), "type": None, "command": None}
            row |= {"must_not": letter == "M", "keeps": bool(found[2]), "paths": []}
            self.rows[found[1]] = row
            self.lines[found[1]] = number

    def _take_verification(self, number: int, line: str) -> None:
        if len(line) < 2 or not (line.startswith("|") and line.endswith("|")):
            self.fault(number, f"not a table row: {line[:40]!r}")
            return
        # a pipe inside a command is written \| as everywhere in Markdown
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line[1:-1])]
        if cells[0].lower() == "criterion" or not line.strip("|-: "):
            return
        if len(cells) not in (2, 3):
            self.fault(number, f"{len(cells)} columns instead of criterion, type, command")
            return
        self._take_proof(number, cells[0], cells[1], "".join(cells[2:]).strip("`").strip())

    def _take_proof(self, number: int, name: str, given: str, text: str) -> None:
        kind = given.lower()
        if kind == PATHS:
            self._take_paths(number, name, text)
            return
        text = "" if text in ("-", "–", "—") else text
        if kind not in TYPES:
            self.fault(number, f"unknown type {given[:40]!r}; one of {', '.join(TYPES)}")
            return
        if kind == EXECUTION and not text:
            self.fault(number, "execution output needs a command")
            return
        if text:
            try:
                command.accept(text)
            except UsageFault as error:
                self.fault(number, error.what)
                return
        if name in self.verified:
            first = self.verified[name][0]
            self.fault(number, f"{name} stands twice in the table, first in line {first}")
        else:
            self.verified[name] = (number, kind, text or None)

    def _take_paths(self, number: int, name: str, text: str) -> None:
        if not name.startswith("M"):
            self.fault(number, f"{name[:40]} has paths: only a mustNot names what must not change")
            return
        patterns = split_paths(text)
        for pattern in patterns or [""]:
            if why := changes.pattern_fault(pattern):
                self.fault(number, f"paths of {name}: {pattern[:60]!r}: {why}")
        if name in self.watched:
            self.fault(number, f"{name} has paths twice, first in line {self.watched[name][0]}")
        self.watched.setdefault(name, (number, patterns))

    def finish(self, last: int) -> dict:
        """The parsed shape. Raises ShapeFaults; `last` is the number of the last line."""
        for name, (number, *_) in (*self.verified.items(), *self.watched.items()):
            if name not in self.rows:
                self.fault(number, f"{name[:40]} is no criterion and no mustNot")
        for name, row in self.rows.items():
            row["paths"] = self.watched[name][1] if name in self.watched else []
            found = self.verified.get(name)
            if found:
                row["type"], row["command"] = found[1], found[2]
            elif not row["must_not"]:
                self.fault(self.lines[name], f"{name} has no row in the verification table")
        if self.title is None:
            self.fault(1, "no title: `# Shape: …`")
        count = sum(row["must_not"] for row in self.rows.values())
        if count == len(self.rows):
            what = "no criterion: at least one `- C1: …` under criteria:"
            self.fault(self.heads.get("criteria", last), what)
        if count < LEAST_MUST_NOTS:
            what = f"{count} mustNot, at least {LEAST_MUST_NOTS}: `- M1: …` under mustNot:"
            self.fault(self.heads.get("mustNot", last), what)
        if self.faults:
            raise ShapeFaults(sorted(self.faults, key=lambda one: one[0]))
        criteria = list(self.rows.values())
        return {"title": self.title, "aspects": self.aspects or [], "criteria": criteria}


def split_paths(text: str) -> list[str]:
    """The patterns in a cell; a comma within one is written `\\,`."""
    parts = (part.strip().strip("`") for part in re.split(r"(?<!\\),", text))
    return [part.replace("\\,", ",") for part in parts if part]


def written(title: str, criteria: list[dict], must_nots: list[dict]) -> str:
    """The SHAPE.md of rows of {text, proof, type, paths}; a bare mustNot has no row."""
    rows = {"C": criteria, "M": must_nots}
    named = {letter: [f"{letter}{n}" for n in range(1, len(rows[letter]) + 1)] for letter in rows}
    lines = [f"# Shape: {title or 'the request'}"]
    for letter, head in (("C", "criteria:"), ("M", "mustNot:")):
        lines.append(head)
        for name, row in zip(named[letter], rows[letter], strict=True):
            kept = " (keeps)" if row.get("keeps") else ""
            lines.append(f"- {name}{kept}: {' '.join(row['text'].split())}")
    lines += ["verification:", "| criterion | type | command |", "|---|---|---|"]
    for name, row in zip((*named["C"], *named["M"]), (*criteria, *must_nots), strict=True):
        if name[0] == "C" or row["proof"]:
            proof = row["proof"].replace("|", "\\|")
            lines.append(f"| {name} | {row.get('type') or EXECUTION} | {proof or '-'} |")
        if row.get("paths"):
            cell = ", ".join(re.sub(r"([,|])", r"\\\1", path) for path in row["paths"])
            lines.append(f"| {name} | {PATHS} | {cell} |")
    return "\n".join(lines) + "\n"


def stronger(known: dict, rows: list[dict]) -> list[str]:
    """Ids whose proof a later SHAPE.md strengthens: an unseen type becomes a seen one, a mustNot
    gets a command or more paths. known: {id: Criterion}. Raises Refused for any other change."""
    given = {row["id"]: row for row in rows}
    found = []
    for name in dict.fromkeys([*known, *given]):
        old, new = known.get(name), given.get(name)
        if old is None or new is None or _fact(old._asdict()) != _fact(new):
            what = f"{name} is {'new' if old is None else 'gone' if new is None else 'another'}"
            todo = "once there are tasks only a proof may grow stronger"
            raise Refused(what, f"{todo}; start fresh to change the shape")
        watched = list(new["paths"])
        if not set(old.paths) <= set(watched):
            raise Refused(f"{name} names fewer paths", "what must not change stays as it is")
        if (old.type, old.command) == (new["type"], new["command"]):
            found += [name] if set(watched) > set(old.paths) else []
            continue
        seen = new["type"] is not None and new["type"] not in UNSEEN
        if not (seen and (old.type is None or old.type in UNSEEN)):
            was = f"it was {old.type}: {old.command or 'no command'}"
            todo = f"{was}; only what rests on {' or '.join(UNSEEN)} may change"
            raise Refused(f"the proof of {name} is another, not a stronger one", todo)
        found.append(name)
    if not found:
        raise Refused("nothing is stronger than before", "the shape stands; see loopkit status")
    return found


def _fact(row: dict) -> tuple:
    return row["text"], row["must_not"], row["keeps"]
