"""What checks leave in a loop's state: evidence of criteria, trials of proofs, baselines."""

from __future__ import annotations

from ..journal.events import EventType
from ..journal.parts import Replaced, Trial
from ..journal.task import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Flag, Text, Whole
    from ..journal.state import LoopState


class CriterionVerified(Check, EventType):
    id: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.criterion_evidence[self.id] = self.evidence(self.at, state.lines)


class ProofTried(EventType):
    """A proof without the work. id: of a criterion, a mustNot or a task · when, result: as of
    journal/parts."""

    id: Text
    when: Text
    result: Text
    command: Text = ""
    why: Text = ""
    exit: Whole | None = None
    log: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        trial = Trial(self.command, self.result, self.why, self.exit, self.log, state.lines)
        state.trials.setdefault(self.id, {})[self.when] = trial


class ProofReplaced(EventType):
    """Another command of a criterion or mustNot, or the word that it keeps what holds already.
    failed: the old one had failed on the work."""

    id: Text
    command: Text
    keeps: Flag = False
    why: Text = ""
    failed: Flag = False

    def fold(self, state: LoopState) -> None:
        row = state.criteria.get(self.id)
        if row is None:
            return
        state.records += 1
        state.criteria[self.id] = row._replace(command=self.command, keeps=self.keeps)
        if row.command != self.command:
            replaced = Replaced(self.id, row.command or "", self.command, self.why, self.failed)
            state.replaced.append(replaced)
            state.criterion_evidence.pop(self.id, None)


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
