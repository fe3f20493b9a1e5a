"""What is remembered: decisions, lessons, what a loop taught."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ..core.journal.parts import COMMAND
from ..core.memory import decisions
from .fields import (
    Decisions,
    Flag,
    Gist,
    Line,
    NeededGist,
    OneOf,
    OptionalCount,
    Paths,
    Reason,
    Reply,
    Stripped,
    accepted,
    needed,
)

_Title = Annotated[Line, Field(max_length=decisions.LONGEST_TITLE)]
_NeededTitle = Annotated[_Title, AfterValidator(needed)]


def _condition(value: str) -> str:
    """In words, or a command behind `$ `."""
    if not value.startswith(COMMAND.strip()):
        return value
    return COMMAND + accepted(value.removeprefix(COMMAND.strip()).strip())


class Decision(Reply):
    """What was decided, why, and what was rejected."""

    title: _NeededTitle = Field(description="what is decided, in a few words")
    context: NeededGist = Field(description="what it depends on, why it came up")
    choice: NeededGist = Field(description="what is done")
    alternatives: list[Reason] = Field(
        min_length=1, max_length=decisions.MOST_ALTERNATIVES, description="another way: why not"
    )
    consequences: Gist = Field("", description="what follows from it")
    depends_on: Decisions = Field([], description="<number of a decision>")
    invalidated_if: Annotated[Gist, AfterValidator(_condition)] = Field(
        "", description="in words, or `$ command` that exits 0 once it no longer holds"
    )
    supersedes: Decisions = Field([], description="<number of an older decision>")
    files: Paths = Field([], description="<path>")


class Lesson(Reply):
    """What was done, why it failed, what to do instead."""

    also = {"avoid": "do_instead"}

    what: NeededGist = Field(description="what was done")
    why: NeededGist = Field(description="what came of it")
    do_instead: NeededGist = Field(
        serialization_alias="avoid", description="what to do in its place"
    )
    title: _Title = Field("", description="in a few words")
    source: Annotated[str, OneOf(*decisions.SOURCES)] = "implement-fix"
    files: Paths = Field([], description="<path>")


_Short = Annotated[Stripped, Field(max_length=500)]
_Long = Annotated[Stripped, AfterValidator(needed), Field(max_length=1000)]


class _Entry(Reply):
    kind: str
    context: Annotated[_Short, AfterValidator(needed)] = Field(
        description="what was done, in words a later request would use"
    )


class _Failure(_Entry):
    kind: Literal["failure"]
    failure: _Long = Field(description="what went wrong")
    prevention: _Long = Field(description="what to do instead")
    root_cause: Annotated[Stripped, Field(max_length=1000)] = Field("", description="why")
    seen: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="<how often>")


class _Discovery(_Entry):
    kind: Literal["discovery"]
    discovery: _Long = Field(description="what was found to be so")
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    applies_to: _Short = Field("", description="where else it holds")


class _Constraint(_Entry):
    kind: Literal["constraint"]
    constraint: _Long = Field(description="what must hold")
    source: _Short = Field("", description="who or what says so")
    permanent: Flag = False


class _Delegation(_Entry):
    kind: Literal["delegation"]
    outcome: _Long = Field(description="how it went")
    spec_score: Annotated[OptionalCount, Field(le=10)] = None
    fit_score: Annotated[OptionalCount, Field(le=75)] = None
    shape_chosen: _Short = ""
    verification_type: _Short = ""
    failure_pattern: _Short = ""
    root_cause: _Short = ""
    prevention: _Short = Field("", description="what to do differently")


_Kinds = _Failure | _Discovery | _Constraint | _Delegation
_Learning = Annotated[_Kinds, Field(discriminator="kind")]


class Learnings(Reply):
    """What is kept for later loops."""

    bare = "learnings"

    learnings: list[_Learning] = Field(min_length=1)

    def to_row(self) -> dict:
        return self.model_dump(mode="json", exclude_none=True)
