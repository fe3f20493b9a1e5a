"""What checks leave in a loop's state: evidence of criteria, baselines."""

from __future__ import annotations

from ..journal.events import EventType
from ..journal.task import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Text, Whole
    from ..journal.state import LoopState


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
