"""What comes out of a model: JSON Schema, form, example, the words for what does not fit."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from ..core.journal import prose
from ..core.plan.schema import shown
from . import Invalid
from .fields import Reply

#: Faults that a message names at the most.
FAULTS = 3
#: The key of a comment in a form.
_NOTE = "#"

One = TypeVar("One", bound=Reply)


def schema(model: type[Reply]) -> dict:
    """The JSON Schema of a model; of one that is submitted as a bare list that list's."""
    return _without(accepted(model), ("also", "instead"))


def accepted(model: type[Reply]) -> dict:
    """The same with other names and words that are taken, for core/plan/schema.py."""
    whole = model.model_json_schema()
    return {**whole["properties"][model.bare], "$defs": whole["$defs"]} if model.bare else whole


def _without(schema: Any, words: tuple) -> Any:
    """A schema without these keywords of ours; a field may well bear such a name."""
    if isinstance(schema, list):
        return [_without(one, words) for one in schema]
    if not isinstance(schema, dict):
        return schema
    own = words if "enum" in schema or "properties" in schema else ()
    return {name: _without(one, words) for name, one in schema.items() if name not in own}


def names(model: type[Reply]) -> tuple[set[str], set[str]]:
    """Every field's name at any depth, in each accepted spelling; those that hold words."""
    whole = model.model_json_schema()
    fields, words = {*model.also, *model.ignored}, set()
    for row in (whole, *whole.get("$defs", {}).values()):
        for name, field in row.get("properties", {}).items():
            spelled = {name, to_camel(name)}
            fields |= spelled
            if field.get("type") == "string" and "enum" not in field:
                words |= spelled
    return fields, words


# -- forms


def form(model: type[Reply]) -> str:
    """The form of a model as block YAML: required fields first, allowed words, hints."""
    whole = schema(model)
    defs = whole.get("$defs", {})
    lines = _entries(_leaf(whole, defs)) if model.bare else _lines(_record(whole, defs))
    return "\n".join(lines) + "\n"


def _record(schema: dict, defs: dict) -> dict:
    tree = {name: _leaf(field, defs) for name, field in schema["properties"].items()}
    first = {name: tree[name] for name in tree if name in schema.get("required", ())}
    note = {_NOTE: "may be left out:"} if first and len(first) < len(tree) else {}
    return {**first, **note, **{name: tree[name] for name in tree if name not in first}}


def _leaf(field: dict, defs: dict) -> Any:
    """What stands for a field: a record, a list of records, or the text of its value."""
    hint = field.get("description", "")
    if "anyOf" in field:
        field = next(choice for choice in field["anyOf"] if choice.get("type") != "null")
    if "$ref" in field:
        return _record(defs[field["$ref"].rpartition("/")[2]], defs)
    kind = field.get("type")
    if kind == "array":
        return _list(field["items"], hint, defs)
    if kind == "object":
        key, _, words = hint.partition(": ")
        return {key: _words(words)}
    return _value(field, hint)


def _list(items: dict, hint: str, defs: dict) -> Any:
    rows = [_leaf(item, defs) for item in items.get("oneOf", (items,))]
    if isinstance(rows[0], dict):
        return rows
    return hint if hint.startswith("[") else f"[{_words(hint)}]"


def _words(hint: str) -> str:
    return hint if hint.startswith("<") else f'"<{hint}>"' if hint else '"…"'


def _value(field: dict, hint: str) -> str:
    if hint.startswith("<"):
        return hint
    if "const" in field:
        return str(field["const"])
    if "enum" in field:
        return f"<{' | '.join(map(str, field['enum']))}>"
    if field.get("type") == "boolean":
        return "<true | false>"
    if field.get("type") in ("integer", "number"):
        least, most = field.get("minimum", 0), field.get("maximum", "")
        return f"<{least:g} to {most:g}>" if most != "" and most < 1000 else "<number>"
    return _words(hint)


def asked(model: type[Reply]) -> str:
    """The form of a model as JSON; numbers and truths stand without quotes."""
    whole = model.model_json_schema()
    return _json(_record(whole, whole.get("$defs", {})), "") + "\n"


def _json(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        inner = indent + " "
        rows = [f"{inner}// {one}\n" if name == _NOTE else
                f"{inner}{json.dumps(name, ensure_ascii=False)}: {_json(one, inner)},\n"
                for name, one in value.items()]  # fmt: skip
        return "{\n" + "".join(rows).removesuffix(",\n") + f"\n{indent}}}"
    if isinstance(value, list):
        return f"[{', '.join(_json(one, indent) for one in value)}]"
    if value[:1] == "[":
        return f"[{_json(value[1:-1], indent)}]"
    if re.fullmatch(r"<(number|true \| false|[\d.]+ to [\d.]+)>", value):
        return value
    return json.dumps(value.strip('"'), ensure_ascii=False)


def _lines(tree: dict) -> list[str]:
    """A tree of values that are written already as block YAML."""
    lines = []
    for name, value in tree.items():
        if name == _NOTE:
            lines.append(f"# {value}")
        elif isinstance(value, dict):
            lines += [f"{name}:", *("  " + line for line in _lines(value))]
        elif isinstance(value, list):
            lines += [f"{name}:", *_entries(value)]
        else:
            lines.append(f"{name}: {value}")
    return lines


def _entries(rows: list) -> list[str]:
    """The entries of a list: records, or values that are written already."""
    lines = []
    for row in rows:
        first, *rest = _lines(row) if isinstance(row, dict) else [row]
        lines += [f"- {first}", *("  " + line for line in rest)]
    return lines


# -- what does not fit


def validated(model: type[One], value: object) -> One:
    """The value as its model. Raises Invalid with a line that names what must be otherwise."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [dict(row) for row in error.errors(include_url=False)]
        texts = [_fault(fault) for fault in faults[:FAULTS]]
        texts += [f"{len(faults) - FAULTS} more"] if len(faults) > FAULTS else []
        raise Invalid("; ".join(texts), _way_out(model, faults[0])) from None


def _path(where: tuple) -> list:
    """The fields on the way to a fault; entries of lists count from 1, kinds are left out."""
    path: list = []
    for before, part in zip((None, *where), where, strict=False):
        if isinstance(part, int):
            path.append(part + 1)
        elif not (isinstance(before, int) and part in _KINDS):
            path.append(part)
    return path


_KINDS = ("failure", "discovery", "constraint", "delegation")


def _fault(fault: dict) -> str:
    where = ".".join(map(str, _path(fault["loc"])))
    what = _must(fault)
    return f"{where}: {what}" if where else what


def _must(fault: dict) -> str:
    """What a field must be."""
    kind, value, context = fault["type"], fault.get("input"), fault.get("ctx") or {}
    said = shown(value)
    instead = f", not {said}"
    if kind in ("literal_error", "union_tag_invalid", "union_tag_not_found"):
        expected = context.get("expected") or context.get("expected_tags") or ", ".join(_KINDS)
        given = context.get("tag", said) if kind == "union_tag_invalid" else said
        field = "kind " if kind.startswith("union") else ""
        allowed = str(expected).replace(" or ", ", ").replace("'", "")
        return f"{field}must be one of {allowed}, not {given}"
    number = "a whole number" if isinstance(value, int) else "a number"
    record = f"must be a record of `name: value` lines{instead}"
    least, most = context.get("min_length", 0), context.get("max_length", 0)
    unit = "characters" if isinstance(value, str) else "entries"
    texts = {
        "missing": "must be given",
        "extra_forbidden": "must be left out, there is no such field",
        "greater_than_equal": f"must be {number} from {context.get('ge', 0):g} on{instead}",
        "less_than_equal": f"must be at most {context.get('le', 0):g}{instead}",
        "string_type": f"must be a text{instead}",
        "list_type": f"must be a list, like [a, b]{instead}",
        **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), record),
        "string_too_long": f"must have at most {most:,} characters",
        "too_long": f"must have at most {most:,} {unit}",
        "too_short": f"must have at least {prose.count(least, 'entry', 'entries')}",
    }
    if kind in texts:
        return texts[kind]
    if kind.startswith("bool"):
        return f"must be true or false{instead}"
    if kind.startswith(("int", "float", "finite")):
        number = "a whole number" if kind.startswith("int") else "a number"
        digits = isinstance(value, str) and value.strip().isdigit()
        return f"must be {number}{instead}{', without quotes' if digits else ''}"
    return str(fault["msg"])


def _way_out(model: type[Reply], fault: dict) -> str:
    """The line of the form for the faulty field; the known fields, where there is none such."""
    record = model.model_json_schema()
    defs = record.get("$defs", {})
    *above, name = [part for part in fault["loc"] if isinstance(part, str)] or [""]
    for part in above:
        field = record.get("properties", {}).get(part, {})
        record = defs.get(str(field.get("items", field).get("$ref")).rpartition("/")[2], {})
    fields = record.get("properties", {})
    if fault["type"] == "extra_forbidden":
        return f"known: {', '.join(fields)}" if fields else ""
    if fault["type"] in ("own", "literal_error") or name not in fields:
        return ""
    leaf = _leaf(fields[name], defs)
    return f"write {name}: {leaf}" if isinstance(leaf, str) else ""
