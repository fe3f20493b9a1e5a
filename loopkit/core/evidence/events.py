"""What checks leave in a loop's state: evidence of criteria, baselines."""

from __future__ import annotations

from ..journal.events import EventType, Fields
from ..journal.task import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Amount, Flag, Text, Whole
    from ..journal.state import LoopState


class Check(Fields):
    """A check that ran. tier: of evidence/command, none in journals older than tiers."""

    passed: Flag = False
    exit: Whole = 1
    log: Text = ""
    seconds: Amount = 0.0
    head: Text | None = None
    files: dict[str, Text] = {}
    tier: Text | None = None

    def evidence(self, at: str, line: int) -> Evidence:
        """The same as a record of the state."""
        seen = {name: getattr(self, name) for name in Check.fields()}
        return Evidence(**{**seen, "at": at, "line": line, "tier": self.tier or ""})


class CriterionVerified(Check, EventType):
    id: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.criterion_evidence[self.id] = self.evidence(self.at, state.lines)


class BaselineRecorded(EventType):
    """How a check stood before the work; failures: names of what fails."""

    command: Text = ""
    exit: Whole = 0
    failures: list[Text] = []
    log: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        row = {"exit": self.exit, "failures": self.failures, "log": self.log, "at": self.at}
        state.baselines[self.command] = row
