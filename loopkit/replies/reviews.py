"""What reviewers say: findings, in one form for every review; panels; the gate."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from ..core.review import batch_review, gate, panel, review, shown
from .fields import (
    MOST,
    Check,
    Decisions,
    Flag,
    Ids,
    Line,
    NeededLine,
    OneOf,
    OptionalCheck,
    OptionalCount,
    Paths,
    Reply,
    Score,
    Stripped,
    Text,
    Texts,
    amount,
    fault,
    needed,
    nothing,
    reason,
    several,
    whole,
)

_Said = Annotated[Stripped, AfterValidator(needed)]
_Summary = Annotated[Line, Field(max_length=2000)]


_SEVERITY = OneOf(*review.SEVERITIES, critical="BLOCKER", major="BLOCKER", minor="WARNING")


class Finding(Reply):
    """What a reviewer found, in whichever review."""

    severity: Annotated[str, _SEVERITY]
    issue: _Said = Field(description="what is wrong, as seen")
    expert: Line = Field("", description="<the view that sees it>")
    task: Line = Field("", description="<T-001 that it is about>")
    place: Line = Field("", description="<file:line>")
    reason: Stripped = Field("", description="why it matters")
    guidance: Stripped = Field("", description="what to do")
    breaks: Ids = Field([], description="<C1 or M1, where the work misses or breaks it>")
    verify: OptionalCheck = Field(
        "", description="command that fails now, exits 0 when it is fixed; a BLOCKER needs one"
    )
    files: Paths = Field([], description="<path>")
    category: Annotated[str, OneOf(*review.CATEGORIES)] | None = None
    contradicts: Decisions = Field(
        [], description="<number of a decision, where the work goes against it>"
    )
    violates: Ids | None = Field(None, description="[<M1, where the guidance would break it>]")
    alternative: Stripped = Field("", description="then: guidance that does not")
    reverses: Line = Field("", description="<F-001 that this takes back>")
    repeats: Line = Field("", description="<F-001 that this says again, or none>")

    @model_validator(mode="after")
    def _fits_together(self) -> Finding:
        if self.alternative and not self.violates:
            raise fault("violates must be given beside an alternative, like [M1]")
        return self


_Findings = Annotated[list[Finding], Field(max_length=MOST)]
_Result = Annotated[
    Annotated[str, OneOf(*batch_review.RESULTS, fail="failed")] | None,
    Field(description="<passed | failed | none>"),
]
_Ten = Annotated[int, Field(ge=0, le=10, strict=True), BeforeValidator(whole)]


def _answer(field: str) -> AfterValidator:
    """One of the answers that a field takes, as it is kept."""

    def kept(value: str) -> str:
        answer = shown.read(field, value)
        if not answer:
            raise fault(f"must be {shown.FIELDS[field][2]}")
        return answer

    return AfterValidator(kept)


def _answers(field: str) -> Any:
    """{id: one of them}."""
    words = Annotated[Line, BeforeValidator(reason), _answer(field)]
    return dict[Annotated[str, AfterValidator(str.upper)], words]


class Review(Reply):
    """A review of work: of a wave, of a batch, or of all of it."""

    experts: Annotated[list[NeededLine], BeforeValidator(several)] = Field([], description="<name>")
    build: _Result = None
    tests: _Result = None
    lint: _Result = None
    ui: _Result = None
    verdicts: dict[str, Annotated[str, OneOf(*batch_review.VERDICTS)]] = Field(
        {}, description="<T-001>: <approved | changes>"
    )
    score: Annotated[_Ten | None, BeforeValidator(nothing)] = None
    summary: _Summary = Field("", description="in a sentence or two")
    findings: _Findings
    proofs: _answers("proofs") = Field(  # type: ignore[valid-type]
        {}, description=f"<C1>: {shown.FIELDS['proofs'][2]}"
    )
    must_nots: _answers("must_nots") = Field(  # type: ignore[valid-type]
        {}, description=f"<M1>: {shown.FIELDS['must_nots'][2]}"
    )


class WaveReview(Review):
    """A light review of a wave."""

    score: _Ten
    findings: _Findings = []
    issues: OptionalCount = None
    blockers: OptionalCount = None


class PlanProof(Reply):
    """A proof that the plan's reviewer corrects."""

    id: Annotated[NeededLine, AfterValidator(str.upper)] = Field(description="C1 or M2")
    proof: Check = Field(description="command that fails before the work, and passes after it")
    why: NeededLine = Field(description="what is wrong with the old one")


class PlanReview(Reply):
    """A review of a plan, whether its score or its blockers decide. One that is written as a
    supervisor's judgement is taken too: its issues block where it does not approve."""

    model_config = {"json_schema_extra": {"required": ["score", "summary", "findings"]}}
    also = {"feedback": "summary", "missing_elements": "missing"}
    ignored = ("issues", "approved", "recommendation", "completeness", "risks")
    instead = {"findings": ("issues", "approved", "recommendation")}

    summary: _Summary = Field("", description="in a sentence or two")
    findings: _Findings
    missing: Texts = Field([], description="what the plan lacks")
    proofs: Annotated[list[PlanProof], Field(max_length=MOST)] = []
    score: Annotated[Score | None, BeforeValidator(nothing)] = None
    status: SkipJsonSchema[Annotated[str, OneOf(*batch_review.STATUSES)] | None] = None

    @classmethod
    def completed(cls, row: dict) -> dict:
        issues = row.get("issues")
        judged = isinstance(issues, list) or {"approved", "recommendation"} & row.keys()
        if judged and "findings" not in row:
            refused = str(row.get("recommendation", "")).strip().lower() in ("revise", "reject")
            refused = refused or str(row.get("approved", "")).strip().lower() in ("false", "no")
            severity = review.BLOCKER if refused else review.WARNING
            issues = issues or ([row.get("summary")] if refused else [])
            row["findings"] = [{"severity": severity, "issue": text} for text in issues]
        return row

    def to_row(self) -> dict:
        row = super().to_row()
        issues = [_told(finding) for finding in row["findings"] if finding["issue"] != self.summary]
        texts = {"feedback": self.summary, "issues": issues, "missingElements": self.missing}
        return {**row, **texts}


def _told(finding: dict) -> str:
    """`T-002 app/x.py:3: the key is a header; do: …`."""
    about = " ".join(filter(None, (finding["task"], finding["place"])))
    do = f"; do: {finding['guidance']}" if finding["guidance"] else ""
    return (f"{about}: " if about else "") + finding["issue"] + do


# -- panels


class _Expert(Reply):
    name: _Said = Field(description="<name>")
    question: _Said = Field(description="what this role asks, and no other")
    diagnosis: _Said = Field(description="what it sees")


class _Recommendation(Reply):
    approach: _Said = Field(description="what to do differently")
    confidence: Annotated[int | float, Field(ge=0, le=9), BeforeValidator(amount)] = 0
    by: Stripped = Field("", description="<name of the expert>")


class Panel(Reply):
    """What a panel of experts found."""

    experts: Annotated[list[_Expert], Field(min_length=panel.LEAST, max_length=panel.MOST)]
    recommendations: Annotated[list[_Recommendation], Field(min_length=1, max_length=MOST)]
    consensus: _Said = Field(description="one approach that the next agent can follow")
    fallback: _Said = Field(description="what to do if that fails too")
    dissent: Stripped = Field("", description="who sees it otherwise, and why")
    sequential: Flag = Field(False, description="<true to work a wave one task at a time>")

    @model_validator(mode="after")
    def _fits_together(self) -> Panel:
        for field in ("question", "name"):
            if len({panel.plain(getattr(row, field)) for row in self.experts}) < len(self.experts):
                raise fault(f"experts must each have a {field} of their own")
        names = [expert.name for expert in self.experts]
        for number, row in enumerate(self.recommendations, 1):
            if row.by and row.by not in names:
                known = ", ".join(names)
                raise fault(f"recommendations.{number}.by must be one of {known}, or left out")
        return self


# -- the gate


def _size(value: Any) -> Any:
    """A size between two of the scale counts as the larger one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return next((size for size in gate.SIZES if 0 < value <= size), value)
    return value


def _reversal(value: Any) -> Any:
    """`2A` of `2A undone in under a minute`."""
    return value.split()[0] if isinstance(value, str) and value.split() else value


_REVERSALS = tuple(gate.REVERSALS.items())


class Gate(Reply):
    """The answers for the gate. Which points and criteria it wants depends on the loop."""

    kind: Annotated[str, OneOf(*gate.POINTS)]
    points: dict[str, Text] = Field(description="<point>: PASS how you know | FAIL what is wrong")
    confidence: Score
    reversal: Annotated[str, OneOf(*gate.REVERSALS), BeforeValidator(_reversal)] = Field(
        description=f"<{' | '.join(f'{key} undone in {how}' for key, how in _REVERSALS)}>"
    )
    size: Annotated[int, OneOf(*gate.SIZES), BeforeValidator(_size)] = Field(
        description=f"<{' | '.join(map(str, gate.SIZES))} points of work, 1 for a few lines>"
    )
    alternative: NeededLine = Field(description="the best other way")
    risk: NeededLine = Field(description="what could still go wrong")
    criteria: dict[str, Text] = Field(
        {}, description="<C2>: PASS what was seen | FAIL what is wrong"
    )
    verify: dict[str, Check] = Field(
        {}, description="<what fails>: command that exits 0 once it is fixed"
    )
