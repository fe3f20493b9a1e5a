"""Tasks: a list of them, a planner's plan, what a task is split into. One model for all of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from ..core.journal import task
from ..core.plan import drafts
from .fields import (
    MOST,
    CamelReply,
    Check,
    Flag,
    Ids,
    Line,
    Needed,
    OneOf,
    Reply,
    TaskPaths,
    Text,
    Texts,
    fault,
    needed,
    several,
    text,
)
from .memory import Decision

#: Characters of a subject that is made from a description.
_SUBJECT = 120


def _is_place(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _blocker(value: Any) -> str:
    """A number, also one in quotes as the form has it, is a place in the same list, counted from
    1."""
    word = value.strip() if isinstance(value, str) else ""
    if _is_place(value) or word.isdecimal():
        return f"#{int(word or value)}"
    if word:
        return word
    raise fault("must be a place in this list, counted from 1, or the id of a task")


_Blocker = Annotated[str, BeforeValidator(_blocker), WithJsonSchema({})]
_Subject = Annotated[Line, AfterValidator(needed), Field(max_length=drafts.LONGEST_SUBJECT)]
_Description = Annotated[str, Field(max_length=drafts.LONGEST_TEXT), BeforeValidator(text)]


class Task(CamelReply):
    """A task, whoever submits it."""

    ignored = ("dependencies",)
    instead = {"subject": ("description",)}

    subject: _Subject = Field(description="what it does, in one sentence")
    verify: Check = Field(description="command that exits 0 when it is done; runs without a shell")
    description: _Description = Field("", description="what the one who does it has to know")
    verification_criteria: Texts = Field([], description="what can be seen when it is done")
    files: TaskPaths = Field([], description="<path>")
    blocked_by: Annotated[list[_Blocker], BeforeValidator(several), Field(max_length=MOST)] = Field(
        [], description="<1: the first of this list, or T-001>"
    )
    criteria: Ids = Field([], description="<C1>")
    complexity: Annotated[str, OneOf(*task.COMPLEXITIES)] = "medium"
    active_form: Line = Field("", description="what the task list shows while it runs")
    scaffold: Flag = Field(False, description="<true where all others build on it>")
    group: Line = Field("", description="heading that it belongs to")

    @classmethod
    def completed(cls, row: dict) -> dict:
        if not row.get("subject") and isinstance(row.get("description"), str):
            first = " ".join(row["description"].strip().partition("\n")[0].split())
            row["subject"] = first if len(first) <= _SUBJECT else first[: _SUBJECT - 1] + "…"
        if "dependencies" in row:  # places in this list, counted from 0
            places = several(row.pop("dependencies"))
            if "blocked_by" in row or not all(
                _is_place(number) and number >= 0 for number in places
            ):
                raise fault("blocked_by must be given, with places counted from 1")
            row["blocked_by"] = [number + 1 for number in places]
        return row

    @model_serializer(mode="wrap")
    def _row(self, whole: SerializerFunctionWrapHandler) -> dict:
        row = whole(self)
        done = [" ".join(text.split()) for text in row.pop("verificationCriteria") if text.strip()]
        if done:
            lines = [row["description"].strip(), "Done when:", *[f"- {text}" for text in done]]
            row["description"] = "\n".join(lines).strip()
        return {**row, "group": row["group"] or None}


TaskList = Annotated[list[Task], Field(max_length=MOST)]


class Tasks(Reply):
    """Tasks, each proven by one command; as they stand in a plan they are taken too."""

    bare = "tasks"
    ignored = ("risks", "assumptions", "questions")

    tasks: Annotated[TaskList, Field(min_length=1)]


class Plan(Reply):
    """Tasks in order, or the questions that keep the planner from naming them."""

    model_config = {
        "json_schema_extra": {"anyOf": [{"required": ["tasks"]}, {"required": ["questions"]}]}
    }

    tasks: TaskList = []
    risks: Texts = Field([], description="what may go wrong")
    assumptions: Texts = Field([], description="what you take for granted")
    decisions: Annotated[list[Decision], Field(max_length=MOST)] = []
    questions: Texts = Field([], description="what only the person can answer, in place of tasks")

    @model_validator(mode="after")
    def _says_something(self) -> Plan:
        if "tasks" not in self.model_fields_set and not self.questions:
            raise fault("tasks must be given, or questions")
        return self


class Replan(CamelReply):
    """What a failed or complex task is split into."""

    also = {"tasks": "subtasks"}

    analysis: Needed = Field(description="why it failed, or why it is too large")
    subtasks: TaskList
    blocker_resolution: Text = Field("", description="how the blocker is got out of the way")
