"""Decisions and anti-patterns: recorded, superseded, found to be invalid, found again by the files
they are about.

Deciders: (state, input) → journal lines. Both kinds count with one number; a decision is
superseded, never rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..evidence import command
from ..journal import prose, stage, verdict
from ..journal.errors import Refused
from .events import next_number

if TYPE_CHECKING:
    from ..journal.events import Change
    from ..journal.state import LoopState

#: Characters of a title and of any other text, alternatives of a decision, at most: its file stays
#: a short read.
LONGEST_TITLE, LONGEST, MOST_ALTERNATIVES = 120, 600, 10
#: How a decision that was submitted is marked; those that reviews make have other kinds
#: (core/review/convergence).
CHOICE = "choice"
SOURCES = ("review", "plan-review", "implement-fix", "rollback")


# -- looking


def find(state: LoopState, number: int) -> dict | None:
    """The decision of a number, or None."""
    return next((one for one in state.decisions if one.get("number") == number), None)


def live(state: LoopState) -> list[dict]:
    """Decisions that no later one supersedes, oldest first."""
    return [
        one for one in state.decisions if one.get("number") not in state.decision_log.superseded
    ]


def status(state: LoopState, number: int) -> str:
    """`DECISION`, or `SUPERSEDED by 004`."""
    newer = state.decision_log.superseded.get(number)
    return "DECISION" if newer is None else f"SUPERSEDED by {newer:03d}"


def touching(state: LoopState, files: Iterable[str]) -> list[dict]:
    """Live decisions, then anti-patterns, that are about one of these files: they name it, or a
    folder it lies in.

    What names no file is about all of them, and comes last; where no file is given everything may
    be touched.
    """
    paths = [one for one in map(_plain, files) if one]
    rows = [*live(state), *state.decision_log.anti_patterns]
    if not paths:
        return rows
    near = [one for one in rows if _near(one, paths)]
    return near + [one for one in rows if not one.get("files") and one not in near]


def in_view(state: LoopState, files: Iterable[str]) -> list[dict]:
    """All live decisions, those that touch these files first."""
    paths = [one for one in map(_plain, files) if one]
    return sorted(live(state), key=lambda one: not _near(one, paths))


def is_lesson(row: dict) -> bool:
    """Whether it is an anti-pattern."""
    return "choice" not in row and ("what" in row or "avoid" in row)


def line(row: dict, most: int = 200) -> str:
    """`decision 002: title: choice` or `anti-pattern 003: avoid: what; instead: …`, on one line
    of at most so many characters."""
    if is_lesson(row):
        words = row.get("what") or row.get("title", "")
        text = f"anti-pattern {row['number']:03d}: avoid: {words}" + (
            f"; instead: {row['avoid']}" if row.get("avoid") else ""
        )
    else:
        title, choice = row.get("title", ""), row.get("choice", "")
        text = f"decision {row['number']:03d}: {title}" + (f": {choice}" if choice else "")
    return prose.clean(prose.untagged(" ".join(text.split())), most)


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def _near(row: dict, paths: list[str]) -> bool:
    return any(_about(row, path) for path in paths)


def _about(row: dict, path: str) -> bool:
    for one in row.get("files", ()):
        named = _plain(one)
        if named and (
            path == named or path.startswith(named + "/") or named.startswith(path + "/")
        ):
            return True
    return any(
        _names(str(row.get(key, "")), path)
        for key in ("title", "context", "choice", "what", "avoid")
    )


def _names(text: str, path: str) -> bool:
    """Whether a text names a path as a word of its own."""
    place = text.find(path)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(path) : place + len(path) + 1]
        if not (before.isalnum() or before in ("/", "_", "-", ".")) and not (
            after.isalnum() or after in ("_", "-")
        ):
            return True
        place = text.find(path, place + 1)
    return False


# -- recording


def recorded(state: LoopState, given: dict) -> list[Change]:
    """`decide`: one decision with the next number. Raises Refused for a number that names no live
    decision."""
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
        "depends_on": ", ".join(f"{one:03d}" for one in depends),
        "supersedes": old,
        "files": list(given.get("files", ())),
        "source": "decide",
        "kind": CHOICE,
    }
    return [("decision_recorded", data)]


def dependents(state: LoopState, numbers: Iterable[int]) -> list[int]:
    """Live decisions that depend on one of these: they may fall with it."""
    names = {f"{one:03d}" for one in numbers}
    return [
        one["number"]
        for one in live(state)
        if names.intersection(str(one.get("depends_on", "")).split(", "))
    ]


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
    """An anti-pattern for each new category of a blocking finding. `used`: numbers that this step
    has given already.

    rows: checked findings of a review; what a decision settled teaches nothing new.
    """
    kinds = set(state.decision_log.kinds)
    changes: list[Change] = []
    for row in rows:
        kind = row.get("category") or "other"
        if row["severity"] != "BLOCKER" or kind in kinds or row.get("resolution"):
            continue
        kinds.add(kind)
        place = row.get("place", "").partition(":")[0]
        data = {
            "number": next_number(state) + used + len(changes),
            "title": prose.clean(f"{kind}: {' '.join(row['issue'].split())}", LONGEST_TITLE),
            "what": prose.clean(" ".join(row["issue"].split()), LONGEST),
            "why": prose.clean(" ".join(row.get("reason", "").split()), LONGEST),
            "avoid": prose.clean(" ".join(row.get("guidance", "").split()), LONGEST),
            "source": source,
            "category": kind,
            "files": list(row.get("files") or ([place] if place else [])),
        }
        changes.append(("anti_pattern_recorded", data))
    return changes


# -- Invalidated If


def due(state: LoopState) -> list[tuple[int, str]]:
    """(number, command) of live decisions whose check has not run since the newest wave closed."""
    trail = state.decision_log
    return [
        (number, line)
        for number, line in trail.checks.items()
        if number not in trail.invalidated and trail.checked.get(number, 0) < state.wave_closed_line
    ]


def check_due(state: LoopState, word: str, given: list) -> tuple[int, str]:
    """(number, command) of the decision that `D1` names. Raises Refused unless it is live and this
    is its command."""
    _open(state)
    number = int(word[1:10])
    row = find(state, number)
    if row is None:
        raise Refused(f"there is no decision {number:03d}", f"there are: {_listed(state)}")
    if number in state.decision_log.superseded:
        raise Refused(
            f"decision {number:03d} is {status(state, number)}", "it needs no check any more"
        )
    line = state.decision_log.checks.get(number)
    if line is None:
        raise Refused(
            f"decision {number:03d} has no command",
            "its Invalidated If is in words: judge it yourself",
        )
    if not command.same(line, given):
        raise Refused(
            f"not the stored command of decision {number:03d}",
            f"next: loopkit verify D{number} -- {line}",
        )
    stage.check_seen(state, f"D{number}")
    return number, line


def checked(state: LoopState, number: int, outcome: dict) -> list[Change]:
    """What follows a check that ran: exit 0 means that its `Invalidated If` has come true, and
    gives a finding."""
    _open(state)
    data = {"number": number, **{key: outcome[key] for key in ("exit", "log", "seconds", "head")}}
    changes: list[Change] = [("decision_checked", data)]
    row = find(state, number)
    if not outcome["passed"] or row is None or number in state.decision_log.invalidated:
        return changes
    found = {
        "id": f"F-{len(state.findings) + 1:03d}",
        "severity": "BLOCKER",
        "issue": prose.clean(f"decision {number:03d} no longer holds: {row['title']}", 300),
        "reason": prose.clean(f"`{state.decision_log.checks[number]}` exits 0", 300),
        "guidance": f"supersede it (supersedes: {number}), or fix what it was right about",
        "category": "structure",
        "contradicts": [number],
        "files": list(row.get("files", ())),
    }
    return [*changes, ("decision_invalidated", {**data, "findings": [found]})]


# -- input


def check_contradicted(state: LoopState, numbers: list[int], severity: str, what: str) -> None:
    """Raises Refused where a finding contradicts what is no live decision, or does not block."""
    _numbers(state, numbers, f"contradicts of {what}")
    if numbers and severity != "BLOCKER":
        named = ", ".join(f"{one:03d}" for one in numbers)
        raise Refused(
            f"{what} contradicts decision {named}, as {severity}",
            "what contradicts a live decision is a BLOCKER",
        )


def number_of(word: object) -> int | None:
    """2 for 2, `002`, `D2` and `decision 2`; None for anything else."""
    if isinstance(word, int) and not isinstance(word, bool):
        return word if 0 < word < 10**6 else None
    text = (
        str(word)
        .strip()
        .lower()
        .removeprefix("decision")
        .strip()
        .removeprefix("d")
        .removeprefix("-")
    )
    return int(text) if text.isdigit() and text.isascii() and len(text) <= 6 else None


def _numbers(state: LoopState, numbers: Iterable[int], what: str) -> list[int]:
    """The numbers, each once. Raises Refused where one is not that of a live decision."""
    for number in numbers:
        if find(state, number) is None:
            lesson = any(one["number"] == number for one in state.decision_log.anti_patterns)
            raise Refused(
                f"{what}: {number:03d} is an anti-pattern"
                if lesson
                else f"{what}: there is no decision {number:03d}",
                f"there are: {_listed(state)}",
            )
        if number in state.decision_log.superseded:
            raise Refused(
                f"{what}: decision {number:03d} is {status(state, number)}", "name that one"
            )
    return list(dict.fromkeys(numbers))


def _listed(state: LoopState, most: int = 12) -> str:
    rows = [f"{one['number']:03d}" for one in live(state)]
    return (", ".join(rows[-most:]) or "none") + (
        f" and {len(rows) - most} before" if len(rows) > most else ""
    )


def _open(state: LoopState) -> None:
    """Reasons may be recorded while a loop waits or is paused, not once it is over."""
    if state.session.status in verdict.FINAL:
        raise Refused(
            f"loop {state.name} is over ({state.session.verdict})",
            "start another: /loop:start <task>",
        )
