"""What experts leave in a loop's state: reviews, findings and what becomes of them, panels, the
gate."""

from __future__ import annotations

from ..health.events import looked_at
from ..journal.events import EventType, Fields, on
from ..journal.parts import Finding
from ..journal.rows import FindingRow
from ..memory.events import DecisionInvalidated, DecisionRecorded
from ..plan.roles import REVIEWING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.kinds import Amount, Count, Flag, Text
    from ..journal.state import LoopState


def _take(state: LoopState, rows: list[FindingRow], source: str, number: int = 1) -> None:
    """Take findings in; source: `wave_N`, `thorough` or `decision`."""
    for row in rows:
        state.findings[row.id] = Finding(
            row.id,
            row.severity,
            row.issue,
            row.guidance,
            tuple(row.violates),
            source,
            number,
            row.data.get("resolution"),
            row.task,
            row.place,
            row.reason,
            tuple(row.breaks),
            row.category,
            row.replaced,
            row.reverses,
            tuple(row.files),
            tuple(row.contradicts),
        )


class ReviewLight(EventType):
    """Of a wave. mode, verdicts, checks, summary: where the loop's policy is the review of
    batches."""

    wave: Count = 0
    score: Count | None = None
    issues: Count | None = None
    blockers: Count | None = None
    round: Count = 1
    experts: list[Text] = []
    findings: list[FindingRow] = []
    mode: Text = ""
    verdicts: dict[str, Text] = {}
    checks: dict[str, Text] = {}
    summary: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        key = f"wave_{self.wave}"
        row = {"score": self.score, "issues": self.issues, "blockers": self.blockers}
        state.reviews[key] = row
        _take(state, self.findings, key, self.round)
        if self.mode:
            state.supervised.settle(REVIEWING)


class ReviewThorough(EventType):
    """size: bytes of SHAPE.md and the tasks' files."""

    experts: list[Text] = []
    round: Count = 1
    size: Count = 0
    score: Count | None = None
    findings: list[FindingRow] = []

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.thorough = {
            "experts": self.experts,
            "timestamp": self.at,
            "round": self.round,
            "line": state.lines,
            "wave": len(state.waves),
        }
        _take(state, self.findings, "thorough", self.round)
        rows = [row for row in self.findings if row.severity != "SUGGESTION"]
        state.review_rounds.append(
            {
                "round": self.round,
                "size": self.size,
                "score": self.score,
                "goals": tuple((one.id, one.text) for one in state.criteria.values()),
                "categories": {row.data.get("category") for row in rows},
            }
        )


class ReviewAsked(EventType):
    experts: list[Text] = []

    def fold(self, state: LoopState) -> None:
        since = max((state.thorough or {}).get("line", 0), state.last_completion)
        if state.asked is None or state.asked["line"] < since:
            state.records += 1  # to ask the same again is no progress
        reported = len(state.session.subagents)
        state.asked = {"experts": self.experts, "line": state.lines, "reported": reported}


class FindingResolved(EventType):
    """task: the one that fixes it."""

    id: Text = ""
    how: Text | None = None
    text: Text = ""
    task: Text | None = None

    def fold(self, state: LoopState) -> None:
        finding = state.findings.get(self.id)
        if finding is not None:
            state.records += 1
            state.findings[self.id] = finding._replace(
                resolution={"how": self.how, "text": self.text},
                task=self.data.get("task", finding.task),
            )


@on(DecisionInvalidated)
def _invalidated(event: DecisionInvalidated, state: LoopState) -> None:
    _take(state, event.findings, "decision")


@on(DecisionRecorded)
def _superseded(event: DecisionRecorded, state: LoopState) -> None:
    """Findings that only contradict what no longer stands are settled."""
    if not event.supersedes:
        return
    how = {"how": "superseded", "text": f"decision {event.number:03d}"}
    for one in list(state.findings.values()):
        if one.contradicts and not one.breaks:
            if all(name in state.trail.superseded for name in one.contradicts):
                state.findings[one.id] = one._replace(resolution=how)


# -- panels and the gate


class ExpertRow(Fields):
    name: Text
    question: Text = ""
    diagnosis: Text = ""
    confidence: Amount = 0


class RecommendationRow(Fields):
    approach: Text
    confidence: Amount = 0


class PanelRecorded(EventType):
    """call: stuck, clarify or wave, and what it is about."""

    call: Text = ""
    task: Text | None = None
    attempt: Count | None = None
    wave: Count | None = None
    dimension: Text = ""
    error: Text = ""
    experts: list[ExpertRow] = []
    recommendations: list[RecommendationRow] = []
    consensus: Text = ""
    fallback: Text = ""
    dissent: Text = ""
    sequential: Flag = False

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.panels.append(self.data)
        task = state.tasks.get(self.task or "")
        if task is not None:
            attempt = task.attempts if self.attempt is None else self.attempt
            state.put(task._replace(panel_for=attempt))
        looked_at(state, self.task)


class GateResult(EventType):
    """points, criteria: what was answered · failed: what is not so · tasks: those that fix it · the
    rest: of the completion card."""

    passed: Flag = False
    kind: Text = ""
    points: dict[str, Text] = {}
    criteria: dict[str, Text] = {}
    failed: list[Text] = []
    tasks: list[Text] = []
    card: Text = ""
    confidence: Count = 0
    reversal: Text = ""
    size: Count = 0
    alternative: Text = ""
    risk: Text = ""

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.gate = {**self.data, "line": state.lines}
