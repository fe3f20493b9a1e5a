"""What the roles of a supervised loop answer: coder, tester, supervisor."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from .fields import (
    MOST,
    CamelReply,
    Count,
    Needed,
    OneOf,
    OptionalCount,
    OptionalFlag,
    Percent,
    Score,
    Text,
    Texts,
    fault,
    nothing,
)

_BLOCKED = "what is missing, where you are blocked"


class Implementation(CamelReply):
    """What a coder did for a task."""

    status: Annotated[str, OneOf("complete", "blocked", "needs_clarification", done="complete")]
    summary: Needed = Field(description="what was done and how, in a few sentences")
    files_modified: Texts = Field([], description="<path>")
    tests_added: Texts = Field([], description="<path>")
    commands: Texts = Field([], description="<what you ran>")
    block_reason: Text = Field("", description=_BLOCKED)


class Fix(CamelReply):
    """What a coder did about a failed test."""

    status: Annotated[str, OneOf("fixed", "still_failing", "blocked", not_fixed="still_failing")]
    summary: Needed = Field(description="the cause, and what was changed")
    files_modified: Texts = Field([], description="<path>")
    tests_run: OptionalCount = None
    tests_pass: OptionalFlag = None
    remaining_issues: Texts = Field([], description="what still fails")
    block_reason: Text = Field("", description=_BLOCKED)


_SEVERITY = OneOf("critical", "major", "minor", "suggestion", warning="minor", none="major")


class Failure(CamelReply):
    """One failed test."""

    test_name: Needed = Field(description="name of the test")
    error: Needed = Field(description="what it printed")
    file: Text = Field("", description="<file:line>")
    stack_trace: Text = Field("", description="the lines that matter")
    severity: Annotated[str, _SEVERITY] = "major"


class Test(CamelReply):
    """What a tester saw."""

    __test__ = False  # no test of ours, whatever a runner thinks of the name

    status: Annotated[str, OneOf("passed", "failed", "blocked", fail="failed")]
    tests_run: Count
    tests_passed: Count
    tests_failed: Count
    failures: Annotated[list[Failure], Field(max_length=MOST)] = []
    coverage: Annotated[Percent | None, BeforeValidator(nothing)] = None
    fix_plan: Text = Field("", description="what to do about it")
    block_reason: Text = Field("", description=_BLOCKED)

    @model_validator(mode="after")
    def _adds_up(self) -> Test:
        if self.status == "passed" and self.tests_failed:
            raise fault(f"status must not be passed where tests_failed is {self.tests_failed}")
        least = self.tests_passed + self.tests_failed
        if least > self.tests_run:
            what = f"must be at least {least}, what passed and failed, not {self.tests_run}"
            raise fault(f"tests_run {what}")
        return self


_Completeness = Annotated[str, OneOf("complete", "partial", "insufficient")]


class Verification(CamelReply):
    """A supervisor's judgement; the score decides."""

    ignored = ("approved", "recommendation")

    score: Score
    feedback: Needed = Field(description="which file, what is wrong, what is wanted")
    issues: Texts = Field([], description="one fault, with its place")
    missing_elements: Texts = Field([], description="what is not there")
    completeness: Annotated[_Completeness | None, BeforeValidator(nothing)] = None
    risks: Texts = Field([], description="what may go wrong")


class Diagnosis(CamelReply):
    """What a supervisor would do about a failed attempt; the rule decides."""

    decision: Annotated[str, OneOf("retry", "replan", "impossible")]
    reasoning: Needed = Field(description="the cause, and what no attempt has tried")
    blockers: Texts = Field([], description="what stands in the way")
