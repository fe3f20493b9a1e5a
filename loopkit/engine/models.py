"""The replies of the roles as models, one a kind; their fields bear the replies' own names."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ..core.evidence import command
from ..core.journal.errors import UsageFault
from ..core.memory import decisions
from ..core.plan import drafts

#: Characters of one text and entries of a list at the most.
LONGEST, MOST = 50_000, 200
#: The largest number of anything that can be counted.
LARGEST = 999_999


def _text(value: Any) -> Any:
    """Numbers that stand where words belong are words; nothing is an empty text."""
    if value is None:
        return ""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise PydanticCustomError(
                "unicode", "holds characters that cannot be written"
            ) from None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _said(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("empty", "says nothing")
    return value


def _nothing(value: Any) -> Any:
    """What does not apply stays empty."""
    return (
        None if isinstance(value, str) and value.strip().lower() in ("", "none", "n/a") else value
    )


def _whole(value: Any) -> Any:
    """82.0 is a whole number, also as the text that block YAML makes of it; 82.5 and "82" are
    none."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,10}\.0{1,10}", value):
        return int(float(value))
    return (
        int(value)
        if isinstance(value, float) and math.isfinite(value) and value == int(value)
        else value
    )


def _amount(value: Any) -> Any:
    """87.5, also where the reader of records left it as a text, with or without a percent sign;
    true is no amount."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,10})?\s*%?", value.strip()):
        return float(value.strip().rstrip("% "))
    return value


def _truth(value: Any) -> Any:
    """The reader of records knows no booleans."""
    if isinstance(value, str):
        return {"true": True, "yes": True, "false": False, "no": False}.get(
            value.strip().lower(), value
        )
    return value


def _word(value: Any) -> Any:
    return value.strip().lower().replace(" ", "_") if isinstance(value, str) else value


def _grade(value: Any) -> Any:
    return "major" if _nothing(value) is None else _word(value)


def _list(value: Any) -> Any:
    return [] if value is None or value == "" else value


def _reason(value: Any) -> Any:
    """An unquoted `name: why not` is a record of one entry."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, why),) = value.items()
        return f"{name}: {why}"
    return value


def _several(value: Any) -> Any:
    if value is None or isinstance(value, str) and value.strip().lower() in ("", "none"):
        return []
    return value if isinstance(value, list) else [value]


def _accepted(value: str) -> str:
    try:
        command.accept(value)
    except UsageFault as error:
        raise PydanticCustomError("command", "{why}", {"why": error.what}) from None
    return value.strip()


def _inside(value: str) -> str:
    try:
        drafts.paths([value], "it")
    except UsageFault:
        raise PydanticCustomError("path", "is no path inside the project") from None
    return value


Text = Annotated[str, BeforeValidator(_text), Field(max_length=LONGEST)]
Said = Annotated[Text, AfterValidator(_said)]
Texts = Annotated[
    list[Annotated[Text, BeforeValidator(_reason)]], BeforeValidator(_list), Field(max_length=MOST)
]
Paths = Annotated[
    list[Annotated[Text, AfterValidator(_inside)]], BeforeValidator(_list), Field(max_length=MOST)
]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=LARGEST, strict=True)]
Score = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=100, strict=True)]
Percent = Annotated[float, BeforeValidator(_amount), Field(ge=0, le=100, allow_inf_nan=False)]
Flag = Annotated[bool, BeforeValidator(_truth), Field(strict=True)]
Gist = Annotated[Said, Field(max_length=decisions.LONGEST)]
Reason = Annotated[Gist, BeforeValidator(_reason)]
Numbers = Annotated[list[Count], BeforeValidator(_several), Field(max_length=MOST)]
Verify = Annotated[Said, AfterValidator(_accepted)]


class Reply(BaseModel):
    """What all replies share: no field that nobody reads."""

    model_config = ConfigDict(extra="forbid")


class Decision(Reply):
    """A decision that a plan rests on, with the fields of `loopkit decide`."""

    title: Annotated[Said, Field(max_length=decisions.LONGEST_TITLE)]
    context: Gist
    choice: Gist
    alternatives: Annotated[
        list[Reason], Field(min_length=1, max_length=decisions.MOST_ALTERNATIVES)
    ]
    consequences: Annotated[Text, Field(max_length=decisions.LONGEST)] = ""
    depends_on: Numbers = []
    invalidated_if: Annotated[Text, Field(max_length=decisions.LONGEST)] = ""
    supersedes: Numbers = []
    files: Paths = []


class Piece(Reply):
    """A task of a plan, or a subtask of a replan."""

    description: Said
    complexity: Annotated[Literal["simple", "medium", "complex"], BeforeValidator(_word)]
    verify: Verify
    dependencies: Annotated[list[Count], BeforeValidator(_list), Field(max_length=MOST)] = []
    verificationCriteria: Texts = []
    subject: Text = ""
    files: Paths = []
    criteria: Texts = []
    scaffold: Flag = False
    group: Text = ""


def _places(pieces: list[Piece], field: str) -> None:
    """Raises a fault where a dependency names no other entry of the list."""
    for place, piece in enumerate(pieces):
        for one in piece.dependencies:
            if one >= len(pieces) or one == place:
                why = (
                    f"{field}.{place}.dependencies: {one} is no other place in the list, which is "
                    "counted from 0"
                )
                raise PydanticCustomError("place", "{why}", {"why": why})


class Plan(Reply):
    """Tasks in order, or the questions that keep the planner from naming them."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["tasks"]}, {"required": ["questions"]}]}
    )

    tasks: Annotated[list[Piece], BeforeValidator(_list), Field(max_length=MOST)] = []
    risks: Texts = []
    assumptions: Texts = []
    decisions: Annotated[list[Decision], BeforeValidator(_list), Field(max_length=MOST)] = []
    questions: Texts = []

    @model_validator(mode="after")
    def _whole_plan(self) -> Plan:
        if not self.tasks and "tasks" not in self.model_fields_set and not self.questions:
            raise PydanticCustomError("missing", "tasks: is missing")
        _places(self.tasks, "tasks")
        return self


class Replan(Reply):
    """A failed or complex task cut into smaller ones."""

    analysis: Said
    subtasks: Annotated[list[Piece], BeforeValidator(_list), Field(max_length=MOST)]
    blockerResolution: Text = ""

    @model_validator(mode="after")
    def _whole_plan(self) -> Replan:
        _places(self.subtasks, "subtasks")
        return self


class Implementation(Reply):
    """What a coder did for a task."""

    status: Annotated[Literal["complete", "blocked", "needs_clarification"], BeforeValidator(_word)]
    summary: Said
    filesModified: Texts = []
    testsAdded: Texts = []
    commands: Texts = []
    blockReason: Text = ""


class Fix(Reply):
    """What a coder did about a failed test."""

    status: Annotated[Literal["fixed", "still_failing", "blocked"], BeforeValidator(_word)]
    summary: Said
    filesModified: Texts = []
    testsRun: Annotated[Count | None, BeforeValidator(_nothing)] = None
    testsPass: Annotated[Flag | None, BeforeValidator(_nothing)] = None
    remainingIssues: Texts = []
    blockReason: Text = ""


class Failure(Reply):
    """One failed test."""

    testName: Said
    error: Said
    file: Text = ""
    stackTrace: Text = ""
    severity: Annotated[
        Literal["critical", "major", "minor", "suggestion"], BeforeValidator(_grade)
    ] = "major"


class Test(Reply):
    """What a tester saw."""

    __test__ = False  # no test of ours, whatever a runner thinks of the name

    status: Annotated[Literal["passed", "failed", "blocked"], BeforeValidator(_word)]
    testsRun: Count
    testsPassed: Count
    testsFailed: Count
    failures: Annotated[list[Failure], BeforeValidator(_list), Field(max_length=MOST)] = []
    coverage: Annotated[Percent | None, BeforeValidator(_nothing)] = None
    fixPlan: Text = ""
    blockReason: Text = ""

    @model_validator(mode="after")
    def _adds_up(self) -> Test:
        if self.status == "passed" and self.testsFailed:
            why = f"status: passed, but testsFailed is {self.testsFailed}"
        elif self.testsPassed + self.testsFailed > self.testsRun:
            why = (
                f"testsRun: {self.testsRun}, but {self.testsPassed} passed and {self.testsFailed} "
                "failed"
            )
        else:
            return self
        raise PydanticCustomError("sum", "{why}", {"why": why})


class Verification(Reply):
    """A supervisor's judgement. `approved` and `recommendation` are read and ignored: the score
    decides."""

    score: Score
    approved: Flag
    recommendation: Annotated[Literal["approve", "revise", "reject"], BeforeValidator(_word)]
    feedback: Said
    completeness: Annotated[
        Literal["complete", "partial", "insufficient"] | None,
        BeforeValidator(_nothing),
        BeforeValidator(_word),
    ] = None
    issues: Texts = []
    missingElements: Texts = []
    risks: Texts = []


class Diagnosis(Reply):
    """What a supervisor would do about a failed attempt; the rule decides."""

    decision: Annotated[Literal["retry", "replan", "impossible"], BeforeValidator(_word)]
    reasoning: Said
    blockers: Texts = []


MODELS: dict[str, type[Reply]] = {
    "plan": Plan,
    "replan": Replan,
    "implementation": Implementation,
    "fix": Fix,
    "test": Test,
    "verification": Verification,
    "diagnosis": Diagnosis,
}
