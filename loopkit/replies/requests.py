"""A clear request in one form; what makes a vague one clear."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..core.evidence import changes, proofs
from ..core.journal import stage
from ..core.request import clarify, shape
from .fields import (
    MOST,
    Flag,
    Line,
    NeededLine,
    OneOf,
    OptionalCheck,
    Reply,
    Texts,
    fault,
    nothing,
    several,
    whole,
)
from .tasks import TaskList

_ByDimension = dict[str, NeededLine]


def _sentence(value: str) -> str:
    if re.search(r"\w{3}[.!?]\s+[A-Z]|[。！？]\s*\S", value):
        raise fault("must be a single sentence")
    return value


class Order(Reply):
    """The full order of a request that is nearly explicit."""

    objective: NeededLine = Field(description="what is to be reached")
    non_goals: list[NeededLine] = Field(
        min_length=3, max_length=5, description="what is not done, 3 to 5"
    )
    constraints: list[NeededLine] = Field(min_length=1, description="what must be kept to")
    acceptance: list[NeededLine] = Field(
        min_length=7, max_length=12, description="what will be seen, 7 to 12"
    )
    must_nots: list[NeededLine] = Field(
        min_length=2, description="what must not happen, 2 at least"
    )
    stop_conditions: list[NeededLine] = Field(
        min_length=3, max_length=5, description="when to stop and ask, 3 to 5"
    )


class Clarification(Reply):
    """What was answered, and what is assumed, about a vague request."""

    echo: Annotated[NeededLine, Field(max_length=clarify.MOST_ECHO), AfterValidator(_sentence)] = (
        Field(description="the whole request in one sentence")
    )
    task: NeededLine = Field(description="what is to be done")
    context: NeededLine = Field(description="where, and with what")
    done: NeededLine = Field(description="what can be seen at the end")
    approved: Flag = Field(False, description="<yes once the person has agreed to what is assumed>")
    stakes: Line = Field("", description="what it costs if it is wrong")
    reviewers: Line = Field("", description="who has to like it")
    answers: _ByDimension = Field({}, description="<dimension>: what the person chose")
    assumptions: _ByDimension = Field({}, description="<dimension>: what you assume")
    must_nots: list[NeededLine] = Field([], description="what must not happen")
    order: Order | None = None

    @model_validator(mode="after")
    def _names_dimensions(self) -> Clarification:
        for field in ("answers", "assumptions"):
            for name in getattr(self, field):
                if name not in stage.DIMENSIONS:
                    known = ", ".join(stage.DIMENSIONS)
                    raise fault(f"{field} must name dimensions ({known}), not {name[:40]!r}")
        both = sorted(set(self.answers) & set(self.assumptions))
        if both:
            raise fault(f"{both[0]} must be answered or assumed, not both")
        return self

    def to_row(self) -> dict:
        return self.model_dump(mode="json", exclude_none=True)


# -- the one form of a clear request

_Points = Annotated[
    Annotated[int, Field(ge=0, le=2, strict=True), BeforeValidator(whole)] | None,
    BeforeValidator(nothing),
]
_Fact = Annotated[NeededLine, Field(max_length=shape.MOST_TEXT)]


def _pattern(value: str) -> str:
    if why := changes.pattern_fault(value):
        raise fault(why)
    return value.removeprefix("./")


_Pattern = Annotated[NeededLine, AfterValidator(_pattern)]


class Scores(Reply):
    """What the request says, from 0 to 2 each."""

    outcome: _Points = None
    scope: _Points = None
    constraints: _Points = None
    success: _Points = None
    done: _Points = None


class Criterion(Reply):
    """What can be seen when it is done, and the command that shows it."""

    text: _Fact = Field(description="one fact that can be seen when it is done")
    proof: OptionalCheck = Field("", description="command that exits 0 once it holds, fails before")
    type: Annotated[str, OneOf(*proofs.SEEN)] = proofs.EXECUTION
    keeps: Flag = Field(False, description="<true where it holds already and has to stay so>")


class MustNot(Reply):
    """What must not happen, and the command that shows that it has not."""

    text: _Fact = Field(description="what must not happen")
    proof: OptionalCheck = Field("", description="command that exits 0 while it has not happened")
    paths: Annotated[list[_Pattern], BeforeValidator(several), Field(max_length=MOST)] = Field(
        [], description="<files that must not change, like src/db/**>"
    )


class Proof(Reply):
    """Another proof, or the word that it keeps what holds already."""

    id: Annotated[NeededLine, AfterValidator(str.upper)] = Field(description="C1, M2 or T-003")
    proof: OptionalCheck = Field("", description="command that fails before the work")
    keeps: Flag = Field(False, description="<true where it holds already and has to stay so>")
    why: Line = Field("", description="what it shows")


class Proofs(Reply):
    """Other proofs in place of those that prove nothing."""

    bare = "proofs"

    proofs: Annotated[list[Proof], Field(min_length=1, max_length=MOST)]


class Request(Reply):
    """A request that is clear enough to be worked on: how clear, what shows that it is done, the
    tasks. Fields that the loop has already are left out."""

    scores: Scores | None = None
    kind: Annotated[str, OneOf(*stage.KINDS)] | None = None
    topics: Annotated[Texts, BeforeValidator(several)] = Field([], description="<main one first>")
    learnings: Annotated[list[int], BeforeValidator(several), Field(max_length=MOST)] = Field(
        [], description="<numbers of those that apply>"
    )
    title: Line = Field("", description="the work in a few words")
    criteria: Annotated[list[Criterion], Field(max_length=MOST)] = []
    must_nots: Annotated[list[MustNot], Field(max_length=MOST)] = []
    tasks: TaskList = []
