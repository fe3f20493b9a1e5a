"""What experts leave in a loop's state: reviews, findings, panels, the gate."""

from __future__ import annotations

from ..journal.events import EventType, Fields, on
from ..journal.parts import PARTLY, YES, Finding, Shown
from ..memory.events import DecisionInvalidated, DecisionRecorded, FindingRow
from ..plan.course import looked_at
from ..plan.events import REVIEWING, OfAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..journal.events import Count, Text
    from ..journal.state import LoopState


def _take(state: LoopState, rows: list[FindingRow], source: str, number: int = 1) -> None:
    """Take findings in; source: `wave_N`, `thorough` or `decision`."""
    for row in rows:
        found: dict = {name: getattr(row, name, None) for name in Finding._fields}
        found.update((name, tuple(found[name])) for name in _LISTS)
        found.update(source=source, round=number, resolution=row.data.get("resolution"))
        state.findings[row.id] = Finding(**found)


_LISTS = ("violates", "breaks", "files", "contradicts", "experts")


class ReviewLight(OfAgent, EventType):
    """Of a wave. mode, verdicts, checks, summary: where the policy is the review of batches."""

    wave: Count = 0
    score: Count | None = None
    issues: Count | None = None
    blockers: Count | None = None
    round: Count = 1
    findings: list[FindingRow] = []
    mode: Text = ""
    also = {"list[Text]": "experts", "dict[str, Text]": "verdicts checks", "Text": "summary"}

    def fold(self, state: LoopState) -> None:
        state.records += 1
        key = f"wave_{self.wave}"
        row = {"score": self.score, "issues": self.issues, "blockers": self.blockers}
        state.reviews[key] = {**row, **self.source()}
        _take(state, self.findings, key, self.round)
        state.supervision.settle(f"wave_review {self.wave}")
        if self.mode:
            for name in [one for one in state.supervision.out if one.split()[0] == REVIEWING]:
                state.supervision.settle(name)


class ReviewThorough(OfAgent, EventType):
    """size: bytes of SHAPE.md and the tasks' files · proofs, must_nots: {id: answer}, like
    `partly: what` (core/review/shown) · seen_by: {id: whose answer it is}."""

    experts: list[Text] = []
    round: Count = 1
    size: Count = 0
    score: Count | None = None
    findings: list[FindingRow] = []
    proofs: dict[str, Text] = {}
    must_nots: dict[str, Text] = {}
    seen_by: dict[str, Text] = {}

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.unlooked.clear()
        for name, text in {**self.proofs, **self.must_nots}.items():
            word, _, why = text.partition(": ")
            seen = Shown(word, why, self.seen_by.get(name, ""))
            if not _stays(state.shown.get(name), seen):
                state.shown[name] = seen
        before = (state.thorough or {}).get("panel", ())
        state.thorough = {
            "experts": self.experts,
            "panel": list(dict.fromkeys([*before, *self.experts])),
            "timestamp": self.at,
            "round": self.round,
            "line": state.lines,
            "wave": len(state.waves),
            **self.source(),
        }
        _take(state, self.findings, "thorough", self.round)
        for name in [one for one in state.supervision.out if one.startswith("thorough_review")]:
            state.supervision.settle(name)
        rows = [row for row in self.findings if row.severity != "SUGGESTION"]
        figures = {"round": self.round, "size": self.size, "score": self.score}
        goals = tuple((row.id, row.text) for row in state.criteria.values())
        categories = {row.data.get("category") for row in rows}
        state.review_rounds.append({**figures, "goals": goals, "categories": categories})


def _stays(before: Shown | None, now: Shown) -> bool:
    """What was missing in a proof is so until those who missed it say otherwise."""
    if before is None or (before.word, now.word) != (PARTLY, YES):
        return False
    return not set(before.by.split(", ")) <= {"", *now.by.split(", ")}


class ReviewAsked(EventType):
    """agents: how many share the experts' views among them."""

    experts: list[Text] = []
    agents: Count = 0

    def fold(self, state: LoopState) -> None:
        since = max((state.thorough or {}).get("line", 0), state.last_completion)
        if state.asked is None or state.asked["line"] < since:
            state.records += 1  # to ask the same again is no progress
        whom = {"experts": self.experts, "agents": self.agents or len(self.experts)}
        reported = len(state.session.subagents)
        state.asked = {**whom, "line": state.lines, "reported": reported}


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
    gone = state.decision_log.superseded.keys() if event.supersedes else set()
    how = {"how": "superseded", "text": f"decision {event.number:03d}"}
    for row in list(state.findings.values()):
        if row.contradicts and not row.breaks and gone >= set(row.contradicts):
            state.findings[row.id] = row._replace(resolution=how)


# -- panels and the gate


class ExpertRow(Fields):
    name: Text
    also = {"Text": "question diagnosis standing", "Amount": "confidence"}


class RecommendationRow(Fields):
    approach: Text
    also = {"Amount": "confidence", "Text": "by"}


class PanelRecorded(EventType):
    """call: stuck, clarify or wave, and what it is about; without a consensus nobody could read
    what it found."""

    task: Text | None = None
    attempt: Count | None = None
    also = {
        "Text": "call dimension error consensus fallback dissent",
        "Count | None": "wave",
        "Flag": "sequential",
        "list[ExpertRow]": "experts",
        "list[RecommendationRow]": "recommendations",
    }

    def fold(self, state: LoopState) -> None:
        state.records += 1
        if self.data.get("consensus"):
            state.panels.append(self.data)
        task = state.tasks.get(self.task or "")
        if task is not None:
            attempt = task.attempts if self.attempt is None else self.attempt
            state.put(task._replace(panel_for=attempt))
        looked_at(state, self.task)


class GateResult(EventType):
    """points, criteria: what was answered · failed: what is not so · tasks: those that fix it · the
    rest: of the completion card."""

    also = {
        "Flag": "passed",
        "Text": "kind card reversal alternative risk",
        "dict[str, Text]": "points criteria",
        "list[Text]": "failed tasks",
        "Count": "confidence size",
    }

    def fold(self, state: LoopState) -> None:
        state.records += 1
        state.gate = {**self.data, "line": state.lines}
