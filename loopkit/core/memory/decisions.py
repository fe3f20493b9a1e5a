"""Decisions and anti-patterns: recorded, superseded, invalidated, found. Deciders.

Both kinds count with one number; a decision is superseded, never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..evidence import command
from ..journal import prose, stage, verdict
from ..journal.errors import Refused
from ..journal.events import Change
from ..journal.state import LoopState
from .events import next_number

#: Characters of a title and of any other text, alternatives: a decision's file stays a short read.
LONGEST_TITLE, LONGEST, MOST_ALTERNATIVES = 120, 600, 10
#: The kind of a decision that was submitted; those of reviews are core/review/convergence's.
CHOICE = "choice"
SOURCES = ("review", "plan-review", "implement-fix", "rollback")


# -- looking


def find(state: LoopState, number: int) -> dict | None:
    """The decision of a number, or None."""
    return next((row for row in state.decisions if row.get("number") == number), None)


def live(state: LoopState) -> list[dict]:
    """Decisions that no later one supersedes, oldest first."""
    superseded = state.decision_log.superseded
    return [row for row in state.decisions if row.get("number") not in superseded]


def status(state: LoopState, number: int) -> str:
    """`DECISION`, or `SUPERSEDED by 004`."""
    newer = state.decision_log.superseded.get(number)
    return "DECISION" if newer is None else f"SUPERSEDED by {newer:03d}"


def touching(state: LoopState, files: Iterable[str]) -> list[dict]:
    """Live decisions, then anti-patterns, that are about one of these files: they name it, or a
    folder it lies in. What names no file comes last; where no file is given all may be touched."""
    paths = _paths(files)
    rows = [*live(state), *state.decision_log.anti_patterns]
    if not paths:
        return rows
    near = [row for row in rows if _near(row, paths)]
    return near + [row for row in rows if not row.get("files") and row not in near]


def in_view(state: LoopState, files: Iterable[str]) -> list[dict]:
    """All live decisions, those that touch these files first."""
    paths = _paths(files)
    return sorted(live(state), key=lambda row: not _near(row, paths))


def _paths(files: Iterable[str]) -> list[str]:
    return [path for path in map(_plain, files) if path]


def is_lesson(row: dict) -> bool:
    """Whether it is an anti-pattern."""
    return "choice" not in row and ("what" in row or "avoid" in row)


def line(row: dict, most: int = 200) -> str:
    """`decision 002: title: choice` or `anti-pattern 003: avoid: what; instead: …`."""
    if is_lesson(row):
        instead = f"; instead: {row['avoid']}" if row.get("avoid") else ""
        what = row.get("what") or row.get("title", "")
        text = f"anti-pattern {row['number']:03d}: avoid: {what}{instead}"
    else:
        choice = f": {row['choice']}" if row.get("choice") else ""
        text = f"decision {row['number']:03d}: {row.get('title', '')}{choice}"
    return prose.clean(prose.untagged(" ".join(text.split())), most)


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def _near(row: dict, paths: list[str]) -> bool:
    texts = [str(row.get(key, "")) for key in ("title", "context", "choice", "what", "avoid")]
    named = _paths(row.get("files", ()))
    return any(
        any((path + "/").startswith(name + "/") or name.startswith(path + "/") for name in named)
        or any(_names(text, path) for text in texts)
        for path in paths
    )


def _names(text: str, path: str) -> bool:
    """Whether a text names a path as a word of its own."""
    start = text.find(path)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(path) : start + len(path) + 1]
        inner = before.isalnum() or before in ("/", "_", "-", ".")
        if not inner and not (after.isalnum() or after in ("_", "-")):
            return True
        start = text.find(path, start + 1)
    return False


# -- recording


def recorded(state: LoopState, given: dict) -> list[Change]:
    """`decide`: a decision with the next number. Raises Refused where it names no live decision."""
    _open(state)
    depends = _numbers(state, given.get("depends_on", ()), "depends_on")
    old = _numbers(state, given.get("supersedes", ()), "supersedes")
    for number in old:
        if number in depends:
            raise Refused(f"it depends on decision {number:03d} and supersedes it", "name it once")
    data = {
        "number": next_number(state),
        **{name: given[name] for name in ("title", "context", "choice", "alternatives")},
        **{name: given.get(name, "") for name in ("consequences", "invalidated_if")},
        "depends_on": ", ".join(f"{number:03d}" for number in depends),
        "supersedes": old,
        "files": list(given.get("files", ())),
        "source": "decide",
        "kind": CHOICE,
    }
    return [("decision_recorded", data)]


def dependents(state: LoopState, numbers: Iterable[int]) -> list[int]:
    """Live decisions that depend on one of these: they may fall with it."""
    names = {f"{number:03d}" for number in numbers}
    depends = {row["number"]: str(row.get("depends_on", "")).split(", ") for row in live(state)}
    return [number for number, others in depends.items() if not names.isdisjoint(others)]


def avoided(state: LoopState, given: dict) -> list[Change]:
    """`decide --avoid`: an anti-pattern by hand."""
    _open(state)
    data = {
        "title": given.get("title") or prose.clean(given["what"], LONGEST_TITLE),
        **{name: given[name] for name in ("what", "why", "avoid")},
        "files": list(given.get("files", ())),
        "source": given.get("source") or SOURCES[2],
    }
    return [("anti_pattern_recorded", {"number": next_number(state), **data})]


def lessons(state: LoopState, rows: Iterable[dict], source: str, used: int = 0) -> list[Change]:
    """An anti-pattern for each new category of a blocking finding. rows: checked findings of a
    review; what a decision settled teaches nothing new. used: numbers that this step has given."""
    kinds = set(state.decision_log.kinds)
    changes: list[Change] = []
    for row in rows:
        kind = row.get("category") or "other"
        if row["severity"] != "BLOCKER" or kind in kinds or row.get("resolution"):
            continue
        kinds.add(kind)
        place = row.get("place", "").partition(":")[0]
        fields = {"what": "issue", "why": "reason", "avoid": "guidance"}
        texts = {key: " ".join(row.get(name, "").split()) for key, name in fields.items()}
        data = {
            "number": next_number(state) + used + len(changes),
            "title": prose.clean(f"{kind}: {texts['what']}", LONGEST_TITLE),
            **{key: prose.clean(text, LONGEST) for key, text in texts.items()},
            "source": source,
            "category": kind,
            "files": list(row.get("files") or ([place] if place else [])),
        }
        changes.append(("anti_pattern_recorded", data))
    return changes


# -- Invalidated If


def due(state: LoopState) -> list[tuple[int, str]]:
    """(number, command) of live decisions whose check has not run since the newest wave closed."""
    log, since = state.decision_log, state.wave_closed_line
    rows = [(number, line) for number, line in log.checks.items() if number not in log.invalidated]
    return [(number, line) for number, line in rows if log.checked.get(number, 0) < since]


def check_due(state: LoopState, word: str, given: list) -> tuple[int, str]:
    """(number, command) of the decision that `D1` names. Refused unless live and its command."""
    _open(state)
    number = int(word[1:10])
    name = f"decision {number:03d}"
    if find(state, number) is None:
        raise Refused(f"there is no {name}", _known(state))
    if number in state.decision_log.superseded:
        raise Refused(f"{name} is {status(state, number)}", "it needs no check any more")
    line = state.decision_log.checks.get(number)
    if line is None:
        todo = "its Invalidated If is in words: judge it yourself"
        raise Refused(f"{name} has no command", todo)
    if not command.same(line, given):
        todo = f"next: loopkit verify D{number} -- {line}"
        raise Refused(f"not the stored command of {name}", todo)
    stage.check_seen(state, f"D{number}")
    return number, line


def checked(state: LoopState, number: int, outcome: dict) -> list[Change]:
    """What follows a check that ran: exit 0 means that its `Invalidated If` has come true."""
    _open(state)
    data = {"number": number, **{key: outcome[key] for key in ("exit", "log", "seconds", "head")}}
    changes: list[Change] = [("decision_checked", data)]
    row = find(state, number)
    if not outcome["passed"] or row is None or number in state.decision_log.invalidated:
        return changes
    finding = {
        "id": f"F-{len(state.findings) + 1:03d}",
        "severity": "BLOCKER",
        "issue": prose.clean(f"decision {number:03d} no longer holds: {row['title']}", 300),
        "reason": prose.clean(f"`{state.decision_log.checks[number]}` exits 0", 300),
        "guidance": f"supersede it (supersedes: {number}), or fix what it was right about",
        "category": "structure",
        "contradicts": [number],
        "files": list(row.get("files", ())),
    }
    return [*changes, ("decision_invalidated", {**data, "findings": [finding]})]


# -- input


def check_contradicted(state: LoopState, numbers: list[int], severity: str, what: str) -> None:
    """Raises Refused where a finding contradicts what is no live decision, or does not block."""
    _numbers(state, numbers, f"contradicts of {what}")
    if numbers and severity != "BLOCKER":
        named = ", ".join(f"{number:03d}" for number in numbers)
        wrong = f"{what} contradicts decision {named}, as {severity}"
        raise Refused(wrong, "what contradicts a live decision is a BLOCKER")


def number_of(word: object) -> int | None:
    """2 for 2, `002`, `D2` and `decision 2`; None for anything else."""
    if isinstance(word, int) and not isinstance(word, bool):
        return word if 0 < word < 10**6 else None
    match = re.fullmatch(r"(?:decision)?\s*d?-?([0-9]{1,6})", str(word).strip().lower())
    return int(match[1]) if match else None


def _numbers(state: LoopState, numbers: Iterable[int], what: str) -> list[int]:
    """The numbers, each once. Raises Refused where one is not that of a live decision."""
    lessons = [row["number"] for row in state.decision_log.anti_patterns]
    for number in numbers:
        if find(state, number) is None:
            none, lesson = f"there is no decision {number:03d}", f"{number:03d} is an anti-pattern"
            raise Refused(f"{what}: {lesson if number in lessons else none}", _known(state))
        if number in state.decision_log.superseded:
            wrong = f"{what}: decision {number:03d} is {status(state, number)}"
            raise Refused(wrong, "name that one")
    return list(dict.fromkeys(numbers))


def listed(names: Iterable[str], most: int = 12) -> str:
    """The newest of some names on a line, and how many there are before."""
    rows = list(names)
    more = f" and {len(rows) - most} before" if len(rows) > most else ""
    return (", ".join(rows[-most:]) or "none") + more


def _known(state: LoopState) -> str:
    return "there are: " + listed(f"{row['number']:03d}" for row in live(state))


def _open(state: LoopState) -> None:
    """Reasons may be recorded while a loop waits or is paused, not once it is over."""
    if state.session.status in verdict.FINAL:
        over = f"loop {state.name} is over ({state.session.verdict})"
        raise Refused(over, "start another: /loop:start <task>")
