"""Structured replies of the roles: their schemas and forms, how one is read, what an unfit one
counts as."""

from __future__ import annotations

import os
import re

from pydantic import ValidationError

from ..core.journal.errors import UsageFault
from . import mending, models, reading
from .reading import Unfit

__all__ = ["Unfit", "fallback", "form", "parse", "schema"]

#: Faults that an error names at the most.
ERRORS = 3
#: Entries that a numbered list may have to be read as a plan.
MOST_LISTED = 15
_FORMS = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    "templates",
    "replies",
)


def _model(kind: str) -> type[models.Reply]:
    if kind not in models.MODELS:
        raise UsageFault(f"there is no reply {kind[:30]!r}", "use " + ", ".join(models.MODELS))
    return models.MODELS[kind]


def schema(kind: str) -> dict:
    """The JSON Schema of a reply kind. Raises UsageFault for an unknown one."""
    return _model(kind).model_json_schema()


def form(kind: str) -> str:
    """A reply of this kind as block YAML, filled in, with every field. Raises UsageFault for an
    unknown one."""
    _model(kind)
    path = os.path.join(_FORMS, f"{kind}.yaml")
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse(kind: str, text: str) -> dict:
    """A reply as a dict with its own names and a value for every field. Raises Unfit, whose `error`
    names the field.

    The record may stand in a fence or between prose, as YAML or JSON; more than one, or one that
    can only be guessed, is refused.
    """
    model = _model(kind)
    fields, texts = _names(kind)
    value = reading.record(
        text, list(model.model_fields), lambda one: mending.quoted(one, fields, texts)
    )
    try:
        return model.model_validate(value).model_dump(mode="json")
    except ValidationError as error:
        raise Unfit(_words(error)) from None


def _names(kind: str) -> tuple[set[str], set[str]]:
    """Every field of a reply, at whatever depth, and those that hold somebody's words."""
    whole = schema(kind)
    rows = [one["properties"] for one in (whole, *whole.get("$defs", {}).values())]
    words = {
        name
        for row in rows
        for name, one in row.items()
        if one.get("type") == "string" and "enum" not in one
    }
    return {name for row in rows for name in row}, words


# -- faults in words


def _words(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=True)
    said = []
    for fault in faults[:ERRORS]:
        where = ".".join(str(one) for one in fault["loc"])
        what = _fault(dict(fault))
        said.append(f"{where}: {what}" if where else what)
    more = len(faults) - len(said)
    return "; ".join(said) + (f"; {more} more" if more > 0 else "")


def _fault(fault: dict) -> str:
    kind, value, context = fault["type"], fault.get("input"), fault.get("ctx") or {}
    shown = repr(value if not isinstance(value, str) or len(value) <= 40 else value[:39] + "…")
    if len(shown) > 60:
        shown = (
            "a list"
            if isinstance(value, list)
            else "a record"
            if isinstance(value, dict)
            else shown[:60]
        )
    if kind == "missing" and fault["loc"]:
        return "is missing"
    if kind == "extra_forbidden":
        return "is no field of this reply"
    if kind == "literal_error":
        return f"{shown} is none of " + str(context.get("expected", "")).replace(
            " or ", ", "
        ).replace("'", "")
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"{shown} is " + (
            "below " + f"{context['ge']:g}" if "ge" in context else "above " + f"{context['le']:g}"
        )
    if kind.startswith(("int", "float")) or kind == "finite_number":
        what = "number" if kind.startswith("float") else "whole number"
        return f"{shown} is no {what}" + (
            ", written without quotes" if isinstance(value, str) else ""
        )
    if kind.startswith("bool"):
        return f"{shown} is neither true nor false"
    if kind == "string_type":
        return f"{shown} is no text"
    if kind == "list_type":
        return f"{shown} is no list; write [a, b]"
    if kind == "string_too_long" or kind == "too_long" and isinstance(value, str):
        return f"has more than {context.get('max_length', models.LONGEST):,} characters"
    if kind == "too_long":
        return f"has more than {context.get('max_length', models.MOST)} entries"
    if kind == "too_short":
        return "needs at least one entry"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{shown} is no record"
    return str(fault["msg"])


# -- what counts where a reply stays unfit

_ITEM = re.compile(r"^[ ]{0,3}(\d{1,3})[.)][ \t]+(\S.*)$")


def fallback(kind: str, text: str, test_command: str | None) -> dict | None:
    """A plan or replan read from a numbered list, or None: no such list, two of them, too long, no
    test command known.

    An entry is `description | complexity`; without a complexity that we know it is medium.
    """
    if kind not in ("plan", "replan") or not test_command:
        return None
    pieces: list[dict] = []
    for line in text[: reading.LARGEST].splitlines():
        found = _ITEM.match(line)
        if found:
            if int(found[1]) != len(pieces) + 1:
                return None
            words, _, grade = found[2].rpartition("|")
            grade = grade.strip(" *_.`").lower()
            if not words:
                words, grade = found[2], ""
            known = grade in ("simple", "medium", "complex")
            words = " ".join((words if known else found[2]).replace("**", "").split())
            pieces.append(
                {
                    "description": words,
                    "complexity": grade if known else "medium",
                    "verify": test_command,
                }
            )
        elif pieces and line[:2] in ("  ", "\t") and line.strip():
            pieces[-1]["description"] += "\n" + line.strip()
    if not pieces or len(pieces) > MOST_LISTED:
        return None
    row = (
        {"tasks": pieces}
        if kind == "plan"
        else {"analysis": "read from a numbered list", "subtasks": pieces}
    )
    try:
        return models.MODELS[kind].model_validate(row).model_dump(mode="json")
    except ValidationError:
        return None
