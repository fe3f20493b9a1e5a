"""Events of decisions and anti-patterns; both count with one number."""

from __future__ import annotations

from ..journal.events import EventType, Fields
from ..journal.parts import command_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Count, Text, Whole
    from ..journal.state import LoopState


def next_number(state: LoopState) -> int:
    """The number of the next decision or anti-pattern."""
    return state.decision_log.highest + 1


class DecisionRecorded(EventType):
    number: Count
    title: Text
    supersedes: list[Count] = []
    also = {
        "Text": "context choice consequences depends_on invalidated_if source kind category",
        "list[Text]": "alternatives findings files",
    }

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.decisions.append({**self.data, "at": self.at})
        trail = state.decision_log
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
    category: Text = ""
    also = {"Text": "what why avoid source", "list[Text]": "files"}

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.decision_log.highest = max(state.decision_log.highest, self.number)
        row = {**self.data, "at": self.at, "line": state.lines}
        state.decision_log.anti_patterns.append(row)
        if self.category:
            state.decision_log.kinds.add(self.category)


class DecisionChecked(EventType):
    number: Count
    also = {"Whole": "exit", "Text": "log", "Amount": "seconds", "Text | None": "head"}

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.decision_log.checked[self.number] = state.lines


class Resolution(Fields):
    how: Text | None = None
    text: Text = ""


class FindingRow(Fields):
    """A Finding as it is written."""

    id: Text
    severity: Text | None = None
    issue: Text = ""
    guidance: Text = ""
    violates: list[Text] = []
    resolution: Resolution | None = None
    task: Text | None = None
    place: Text = ""
    reason: Text = ""
    breaks: list[Text] = []
    category: Text = "other"
    replaced: Text = ""
    reverses: Text | None = None
    files: list[Text] = []
    contradicts: list[Count] = []
    experts: list[Text] = []
    repeats: Text = ""
    also = {"Text": "verify"}


class DecisionInvalidated(EventType):
    number: Count
    exit: Whole = 0
    log: Text = ""
    findings: list[FindingRow] = []
    also = {"Amount": "seconds", "Text | None": "head"}

    def fold(self, state: LoopState) -> None:
        first = self.findings[0].id if self.findings else None
        row = {"exit": self.exit, "log": self.log, "finding": first}
        state.decision_log.invalidated[self.number] = row
