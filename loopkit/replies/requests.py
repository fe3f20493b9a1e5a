"""What makes a vague request clear."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from ..core.journal import score
from ..core.request import clarify
from .fields import Flag, Line, Reply, fault, needed

_Needed = Annotated[Line, AfterValidator(needed)]
_ByDimension = dict[str, _Needed]


def _sentence(value: str) -> str:
    if re.search(r"\w{3}[.!?]\s+[A-Z]|[。！？]\s*\S", value):
        raise fault("must be a single sentence")
    return value


class Order(Reply):
    """The full order of a request that is nearly explicit."""

    objective: _Needed = Field(description="what is to be reached")
    non_goals: list[_Needed] = Field(min_length=3, max_length=5, description="what is not done")
    constraints: list[_Needed] = Field(min_length=1, description="what must be kept to")
    acceptance: list[_Needed] = Field(min_length=7, max_length=12, description="what will be seen")
    must_nots: list[_Needed] = Field(min_length=2, description="what must not happen")
    stop_conditions: list[_Needed] = Field(
        min_length=3, max_length=5, description="when to stop and ask"
    )


class Clarification(Reply):
    """What was answered, and what is assumed, about a vague request."""

    echo: Annotated[_Needed, Field(max_length=clarify.MOST_ECHO), AfterValidator(_sentence)] = (
        Field(description="the whole request in one sentence")
    )
    task: _Needed = Field(description="what is to be done")
    context: _Needed = Field(description="where, and with what")
    done: _Needed = Field(description="what can be seen at the end")
    approved: Flag = Field(False, description="<yes | no>")
    stakes: Line = Field("", description="what it costs if it is wrong")
    reviewers: Line = Field("", description="who has to like it")
    answers: _ByDimension = Field({}, description="<dimension>: what the person chose")
    assumptions: _ByDimension = Field({}, description="<dimension>: what you assume")
    must_nots: list[_Needed] = Field([], description="what must not happen")
    order: Order | None = None

    @model_validator(mode="after")
    def _names_dimensions(self) -> Clarification:
        for field in ("answers", "assumptions"):
            for name in getattr(self, field):
                if name not in score.DIMENSIONS:
                    known = ", ".join(score.DIMENSIONS)
                    raise fault(f"{field} must name dimensions ({known}), not {name[:40]!r}")
        both = sorted(set(self.answers) & set(self.assumptions))
        if both:
            raise fault(f"{both[0]} must be answered or assumed, not both")
        return self

    def to_row(self) -> dict:
        return self.model_dump(mode="json", exclude_none=True)
