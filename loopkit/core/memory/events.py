"""Decisions and anti-patterns of a loop: the events that record them and what becomes of them. Both
count with one number."""

from __future__ import annotations

from ..journal.events import EventType
from ..journal.parts import command_of
from ..journal.rows import FindingRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.kinds import Amount, Count, Text, Whole
    from ..journal.state import LoopState


def next_number(state: LoopState) -> int:
    """The number of the next decision or anti-pattern."""
    return state.trail.highest + 1


class DecisionRecorded(EventType):
    number: Count
    title: Text
    context: Text = ""
    choice: Text = ""
    alternatives: list[Text] = []
    consequences: Text = ""
    depends_on: Text = ""
    invalidated_if: Text = ""
    source: Text = ""
    kind: Text = ""
    category: Text = ""
    findings: list[Text] = []
    supersedes: list[Count] = []
    files: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.decisions.append({**self.data, "at": self.at})
        trail = state.trail
        trail.highest = max(trail.highest, self.number)
        command = command_of(self.data)
        if command:
            trail.checks[self.number] = command
        for old in self.supersedes:
            trail.superseded[old] = self.number
            trail.checks.pop(old, None)


class AntiPatternRecorded(EventType):
    number: Count
    title: Text
    what: Text = ""
    why: Text = ""
    avoid: Text = ""
    source: Text = ""
    category: Text = ""
    files: list[Text] = []

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.trail.highest = max(state.trail.highest, self.number)
        state.trail.anti_patterns.append({**self.data, "at": self.at})
        if self.category:
            state.trail.kinds.add(self.category)


class DecisionChecked(EventType):
    number: Count
    exit: Whole = 0
    log: Text = ""
    seconds: Amount = 0.0
    head: Text | None = None

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.trail.checked[self.number] = state.lines


class DecisionInvalidated(EventType):
    number: Count
    exit: Whole = 0
    log: Text = ""
    seconds: Amount = 0.0
    head: Text | None = None
    findings: list[FindingRow] = []

    def fold(self, state: LoopState) -> None:
        first = self.findings[0].id if self.findings else None
        row = {"exit": self.exit, "log": self.log, "finding": first}
        state.trail.invalidated[self.number] = row
