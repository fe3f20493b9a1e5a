"""What checks leave in a loop's state: evidence, trials of proofs, baselines, changes."""

from __future__ import annotations

from ..journal.events import EventType, Fields
from ..journal.parts import MINE, UNDO, Changed, Replaced, Touched, Trial
from ..journal.task import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Count, Flag, Text, Whole
    from ..journal.state import LoopState


class CriterionVerified(Check, EventType):
    id: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.criterion_evidence[self.id] = self.evidence(self.at, state.lines)


class ProofTried(EventType):
    """A proof put to the trial. id: whose it is · when, result: as of journal/parts."""

    id: Text
    when: Text
    result: Text
    command: Text = ""
    why: Text = ""
    exit: Whole | None = None
    log: Text = ""
    program: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        seen = (self.exit, self.log, state.lines, self.program)
        trial = Trial(self.command, self.result, self.why, *seen)
        state.trials.setdefault(self.id, {})[self.when] = trial


class ProofReplaced(EventType):
    """Another command of a criterion or mustNot, or the word that it keeps what holds already.
    failed: the old one had failed on the work · word: as of journal/parts."""

    id: Text
    command: Text
    keeps: Flag = False
    why: Text = ""
    failed: Flag = False
    word: Text = ""

    def fold(self, state: LoopState) -> None:
        row = state.criteria.get(self.id)
        if row is None:
            return
        state.records += 1
        state.criteria[self.id] = row._replace(command=self.command, keeps=self.keeps)
        if row.command != self.command:
            seen = (self.why, self.failed, self.word)
            state.replaced.append(Replaced(self.id, row.command or "", self.command, *seen))
            state.proof_replaced(self.id)


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


class ChangeRow(Fields):
    path: Text
    status: Text = "M"
    added: Count | None = None
    removed: Count | None = None
    was: Text = ""


class ChangesMeasured(EventType):
    """wave: against the checkpoint before it; None: all since the start · checkpoint: the one that
    was measured · left_out: files that are not named here · the rest: as of journal/parts."""

    wave: Count | None = None
    files: list[ChangeRow] = []
    ignored: list[Text] = []
    left_out: Count = 0
    checkpoint: Count | None = None
    tests: list[Text] = []
    settings: list[Text] = []
    session: list[Text] = []
    unanswered: list[Text] = []
    early: list[Text] = []
    unfit: list[Text] = []
    outside: list[Text] = []
    above: list[Text] = []
    unmoved: list[Text] = []

    def fold(self, state: LoopState) -> None:
        known = state.changes
        rows = [Changed(*(getattr(row, name) for name in Changed._fields)) for row in self.files]
        for row in rows:
            for path in filter(None, (row.path, row.was)):
                known.first.setdefault(path, state.lines)
        if self.wave is None:
            known.whole, known.ignored, known.left_out = rows, self.ignored, self.left_out
            known.tests, known.settings = self.tests, self.settings
            known.session, known.unanswered = self.session, self.unanswered
            known.early, known.unfit, known.outside = self.early, self.unfit, self.outside
            known.unmoved, known.above = self.unmoved, self.above
        else:
            known.waves[self.wave] = rows
            known.base, known.at = self.checkpoint or known.base, self.at


class TouchedRow(Fields):
    criterion: Text
    path: Text
    by: Text = ""
    mark: Text = ""


class WatchedChanged(EventType):
    """Files that must not change, and did. ask: the person is asked about them."""

    wave: Count | None = None
    files: list[TouchedRow] = []
    ask: Flag = False

    def fold(self, state: LoopState) -> None:
        for row in self.files:
            state.changes.touched.append(Touched(row.criterion, row.path, row.by, row.mark))
        state.changes.asked = len(self.files) if self.ask else 0


class WatchedSettled(EventType):
    """What the person said of them: MINE, or UNDO."""

    how: Text = ""

    def fold(self, state: LoopState) -> None:
        known = state.changes
        if self.how in (MINE, UNDO):
            for number in range(len(known.touched) - known.asked, len(known.touched)):
                known.touched[number] = known.touched[number]._replace(how=self.how)
        known.asked = 0
