"""Everything that is submitted: one model each, out of which come its form, JSON Schema, error text
and example; `to_row` gives the record that core decides on."""

from __future__ import annotations

import importlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

from ..core.journal.errors import UsageFault

if TYPE_CHECKING:
    from .fields import Reply

#: Characters of an agent's answer at the most.
LARGEST = 100_000
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_TEMPLATES = os.path.join(_ROOT, "templates")

#: {name: (module and class, what it is)}. pydantic is imported with the first of them.
REGISTRY = {
    "request": ("requests.Request", "a clear request: scores, criteria, mustNots, tasks"),
    "proofs": ("requests.Proofs", "other proofs in place of those that prove nothing"),
    "tasks": ("tasks.Tasks", "tasks of a loop, or what a task is split into"),
    "plan": ("tasks.Plan", "a planner's tasks, or its questions"),
    "replan": ("tasks.Replan", "subtasks in place of a failed or complex task"),
    "implementation": ("roles.Implementation", "what a coder did for a task"),
    "fix": ("roles.Fix", "what a coder did about a failed test"),
    "test": ("roles.Test", "what a tester saw"),
    "verification": ("roles.Verification", "a supervisor's judgement of a task or the goal"),
    "diagnosis": ("roles.Diagnosis", "what a supervisor would do about a failed attempt"),
    "plan_review": ("reviews.PlanReview", "a review of a plan, under every policy"),
    "wave_review": ("reviews.WaveReview", "a light review of a wave"),
    "review": ("reviews.Review", "a thorough review, or one of a batch"),
    "panel": ("reviews.Panel", "what a panel of experts found"),
    "gate": ("reviews.Gate", "the answers that the gate asks for"),
    "decision": ("memory.Decision", "a decision with its reasons"),
    "lesson": ("memory.Lesson", "an anti-pattern: what is not done again"),
    "learnings": ("memory.Learnings", "what a loop taught and the person keeps"),
    "clarification": ("requests.Clarification", "what was answered or assumed about a request"),
}


class Invalid(UsageFault):
    """What was submitted is invalid: the path of each field, from 1, and what it must be."""

    def __init__(self, what: str, todo: str = "") -> None:
        line = " ".join(what.split())
        super().__init__(line if len(line) <= 400 else line[:399] + "…", todo)


def _check_name(name: str) -> None:
    if name not in REGISTRY:
        raise UsageFault(f"there is no schema {name[:30]!r}", "use " + ", ".join(REGISTRY))


def model(name: str) -> type[Reply]:
    """The model of a name. Raises UsageFault for an unknown one."""
    _check_name(name)
    module, _, kind = REGISTRY[name][0].partition(".")
    return getattr(importlib.import_module(f".{module}", __name__), kind)


def schema(name: str) -> dict:
    """The JSON Schema of what is submitted under a name. Raises UsageFault for an unknown one."""
    from . import texts

    return texts.schema(model(name))


def accepted(name: str, **needed: dict[str, dict]) -> dict:
    """The same with the other names and words that are taken, as hooks check answers by it. Like a
    form it was written out of the model by script/forms, for what agents answer alone. needed:
    {field: {key: schema of its value}} of fields that must hold these keys."""
    whole = json.loads(_text("schemas", name, "json"))
    for field, rows in needed.items():
        whole["properties"][field] |= {"properties": rows, "required": list(rows)}
        whole["required"] = [*whole.get("required", ()), field]
    return whole


def form(name: str, *fields: str, **filled: Any) -> str:
    """What to fill in, as block YAML: required fields first, allowed words and hints as values. It
    is text that script/forms has written, which costs no model.

    fields: these alone, in this order; all where none is named · filled: {field: {key: hint}} or
    {field: value} of those of them that are known already.
    """
    text = _text("forms", name).rstrip("\n")
    blocks = {**_blocks(text), **{field: _filled(field, hints) for field, hints in filled.items()}}
    return "\n".join(blocks[field].rstrip("\n") for field in fields) if fields else text


def asked(name: str, *fields: str, **filled: dict) -> str:
    """The form as JSON, in which agents answer. fields, filled: as above."""
    text = _text("forms", name, "json").rstrip("\n")
    if not fields:
        return text
    blocks = {
        block.split('"')[1]: block for block in re.findall(r'^ ".*\n(?:(?: [ }]).*\n)*', text, re.M)
    }
    for field, hints in filled.items():
        rows = ",\n".join(f'  "{key}": "{hint}"' for key, hint in hints.items())
        blocks[field] = f' "{field}": {{\n{rows}\n }}'
    return "{\n" + ",\n".join(blocks[field].rstrip(",\n") for field in fields) + "\n}"


def without(form: str, *fields: str) -> str:
    """The JSON form without these fields of its entries."""
    named = "|".join(fields)
    return re.sub(rf',?(\n +"(?:{named})": .*)+(?=\n)', _last, form)


def _last(match: re.Match) -> str:
    return "," if match[0].endswith(",") else ""


def _filled(field: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{field}: {value}"
    quoted = {key: hint if hint.startswith("<") else f'"<{hint}>"' for key, hint in value.items()}
    return "\n".join([f"{field}:", *(f"  {key}: {hint}" for key, hint in quoted.items())])


def example(name: str, *fields: str) -> str:
    """One that is filled in, as block YAML; with these fields alone, where some are named."""
    text = _text("replies", name)
    blocks = _blocks(text)
    return "".join(blocks[field] for field in fields) if fields else text


def _text(folder: str, name: str, ending: str = "yaml") -> str:
    _check_name(name)
    with open(os.path.join(_TEMPLATES, folder, f"{name}.{ending}"), encoding="utf-8") as file:
        return file.read()


def _blocks(text: str) -> dict[str, str]:
    """{field: its lines} of a record as block YAML."""
    blocks = re.findall(r"^((\w+):.*\n?(?:[ -].*\n?)*)", text, re.M)
    return {field: block for block, field in blocks}


def check(name: str, value: object) -> Any:
    """The row (for tasks and learnings: the rows) that core gets of a record. Raises Invalid."""
    from . import texts

    kind = model(name)
    if kind.bare and isinstance(value, list):
        value = {kind.bare: value}
    row = texts.validated(kind, value).to_row()
    return row[kind.bare] if kind.bare else row


def read(name: str, text: str, source: str) -> Any:
    """The same of block YAML or JSON, which a message calls `source`. Raises UsageFault."""
    from . import records

    bare = model(name).bare
    kind = dict if not bare or text.lstrip().startswith(f"{bare}:") else list
    return check(name, records.parse(text, source, kind))


def parse(name: str, text: str) -> Any:
    """The same of an agent's answer: a JSON object, whatever stands around it, as the hook takes it
    (core/plan/schema.py), else a record in block YAML and nothing beside it. Raises Invalid."""
    from ..core.plan import schema as rules
    from . import records

    if len(text) > LARGEST:
        size = f"{len(text):,} characters, at most {LARGEST:,}"
        raise Invalid(f"the reply has {size}; put long output into a file")
    wanted = accepted(name)
    value, kind = rules.found(text, wanted), model(name)
    try:
        if not any(kind.name_of(key) in kind.model_fields for key in value or ()):
            value = records.parse(text, "the reply", dict)
    except UsageFault as fault:
        raise Invalid(rules.unfit(text, wanted) if "{" in text else fault.what) from None
    return check(name, value)
