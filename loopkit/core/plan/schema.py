"""An agent's answer held against its JSON Schema: which object is meant, and what does not fit, in
the words of `replies`. No more than its writers use of JSON Schema.

Beside the keywords of JSON Schema a record may say under `also` which other names it is read by
({name: field, "" for what is not looked at}) and under `instead` what a missing field follows from
({field: names}); a closed list of words under `also` what else they are called.
"""

from __future__ import annotations

import json
import re

#: Faults that a message names at the most, its characters, objects that are looked for in a text.
FAULTS, LONGEST, TRIES = 3, 400, 200
_NOTHING = ("", "none", "n/a", "-")
_TRUTH = ("true", "yes", "false", "no")


def found(text: str, schema: dict) -> dict | None:
    """The JSON object in a text, whatever stands around it: the last one with a field of this
    schema, else the last one; None where there is none."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_number)
    objects, place = [], 0
    for _ in range(TRIES):
        place = text.find("{", place)
        if place < 0:
            break
        try:
            value, place = decoder.raw_decode(text, place)
            objects.append(value)
        except (ValueError, RecursionError):
            place += 1
    known = [one for one in objects if any(_field(key, schema) for key in one)]
    return (known or objects or [None])[-1]


def unfit(text: str, schema: dict) -> str:
    """What is wrong with an answer, on one line; "" where it fits."""
    value = found(text, schema)
    if value is None:
        return f"there is no JSON object in it{_syntax(text)}"
    if value and not any(_field(key, schema) for key in value):
        return f"it has none of the fields {', '.join(schema.get('properties', {}))}{_syntax(text)}"
    faults = list(dict.fromkeys(_faults(value, schema, schema.get("$defs", {}), "")))
    more = f"; {len(faults) - FAULTS} more" if len(faults) > FAULTS else ""
    line = " ".join(("; ".join(faults[:FAULTS]) + more).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _syntax(text: str) -> str:
    """Where the first object of a text cannot be read."""
    start = text.find("{")
    if start < 0:
        return ""
    try:
        json.JSONDecoder(strict=False, parse_constant=_no_number).raw_decode(text, start)
    except json.JSONDecodeError as error:
        near = " ".join(text[error.pos : error.pos + 30].split())
        return f": {error.msg} in line {error.lineno}" + (f", at {near!r}" if near else "")
    except (ValueError, RecursionError) as error:
        return f": {error}"
    return ""


# -- names


def _field(key: str, schema: dict) -> str | None:
    """The field that a key means, "" for one that is not looked at; None where there is none."""
    fields = schema.get("properties", {})
    if key in fields:
        return key
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", key).lower()
    return plain if plain in fields else schema.get("also", {}).get(plain)


# -- values: each function gives the faults, every one with its path


def _faults(value: object, schema: dict, defs: dict, path: str) -> list:
    name = schema.get("$ref")
    if name:
        return _faults(value, defs.get(name.rpartition("/")[2], {}), defs, path)
    if "enum" in schema or "const" in schema:
        return _word(value, schema, path)
    for kind in ("anyOf", "oneOf"):
        if kind in schema and "properties" not in schema:
            return _union(value, schema[kind], defs, path)
    check = _KINDS.get(schema.get("type", ""))
    return check(value, schema, defs, path) if check else []


def _said(path: str, must: str, value: object = None) -> list:
    given = "" if value is None else f", not {shown(value)}"
    return [f"{path}: must {must}{given}" if path else f"it must {must}{given}"]


def shown(value: object) -> str:
    """A value in the words of a fault."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a record"
    return repr(value if not isinstance(value, str) or len(value) <= 40 else value[:39] + "…")[:60]


def plain(value: object) -> str:
    """A word without its spelling: `Needs-clarification` is `needs_clarification`."""
    return re.sub(r"[\s_-]+", "_", str(value).strip().lower())


def _word(value: object, schema: dict, path: str) -> list:
    words = schema.get("enum") or [schema["const"]]
    known = {plain(one) for one in (*words, *schema.get("also", ()))}
    if not isinstance(value, (bool, float)) and plain(value) in known:
        return []
    return _said(path, "be one of " + ", ".join(map(str, words)), value)


def _union(value: object, kinds: list, defs: dict, path: str) -> list:
    """It fits one of them. `null` is any word for nothing."""
    if {"type": "null"} in kinds and (isinstance(value, str) and plain(value) in _NOTHING):
        return []
    told = [_faults(value, one, defs, path) for one in kinds if one.get("type") != "null"]
    named = [one for one in kinds if _same_kind(value, one, defs)]
    if named:
        told = [_faults(value, named[0], defs, path)]
    return min(told, key=len) if told else []


def _same_kind(value: object, schema: dict, defs: dict) -> bool:
    """Whether a record says by its constants that it is of this schema."""
    if "$ref" in schema:
        schema = defs.get(schema["$ref"].rpartition("/")[2], {})
    fields = schema.get("properties", {})
    fixed = {key: one["const"] for key, one in fields.items() if "const" in one}
    known = value if isinstance(value, dict) and fixed else {}
    return bool(known) and all(known.get(key) == fixed[key] for key in fixed)


def _text(value: object, schema: dict, defs: dict, path: str) -> list:
    if isinstance(value, (bool, list)) or isinstance(value, dict) and len(value) != 1:
        return _said(path, "be a text", value)
    most = schema.get("maxLength")
    if most is not None and isinstance(value, str) and len(value) > most:
        return _said(path, f"have at most {most:,} characters")
    pattern = schema.get("pattern")
    if pattern and not re.match(pattern, value.strip() if isinstance(value, str) else "", re.I):
        return _said(path, f"be {schema.get('description', pattern)}", value)
    return []


def _number(value: object, schema: dict, defs: dict, path: str) -> list:
    whole = schema["type"] == "integer"
    pattern = r"-?[0-9]{1,10}\.0{1,10}" if whole else r"\s*[0-9]{1,3}(\.[0-9]{1,10})?\s*%?\s*"
    if isinstance(value, str) and re.fullmatch(pattern, value):
        value = float(value.strip().rstrip("% "))
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    what = "a whole number" if whole else "a number"
    if not number or whole and value != value // 1:  # type: ignore[operator]
        quotes = isinstance(value, str) and value.strip().isdigit()
        return [_said(path, f"be {what}", value)[0] + (", without quotes" if quotes else "")]
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        return _said(path, f"be {what} from {least:g} on", value)
    if most is not None and value > most:
        return _said(path, f"be at most {most:g}", value)
    return []


def _flag(value: object, schema: dict, defs: dict, path: str) -> list:
    if isinstance(value, bool) or isinstance(value, str) and plain(value) in _TRUTH:
        return []
    return _said(path, "be true or false", value)


def _list(value: object, schema: dict, defs: dict, path: str) -> list:
    if not isinstance(value, list):
        return _said(path, "be a list, like [a, b]", value)
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        return _said(path, "have at least " + ("1 entry" if least == 1 else f"{least} entries"))
    if most is not None and len(value) > most:
        return _said(path, f"have at most {most:,} entries")
    kind, faults = schema.get("items", {}), []
    for place, one in enumerate(value, 1):
        if kind.get("type") == "integer" and isinstance(one, str):
            continue  # numbers of decisions, which have more than one spelling
        faults += _faults(one, kind, defs, f"{path}.{place}" if path else str(place))
    return faults


def _record(value: object, schema: dict, defs: dict, path: str) -> list:
    if not isinstance(value, dict):
        return _said(path, "be a record", value)
    fields, needed = schema.get("properties", {}), schema.get("required", ())
    begin, faults, given = f"{path}." if path else "", [], set()
    for key, one in value.items():
        name = _field(key, schema) if fields else None
        given.add(name or plain(key))
        if one is None or one == "" and name not in needed:
            given.discard(name or plain(key))  # what does not apply is left out
        elif name and name in fields:
            blank = name in needed and isinstance(one, str) and not one.strip()
            at = begin + name
            faults += _said(at, "say something") if blank else _faults(one, fields[name], defs, at)
        elif name is None:
            faults += _beyond(one, schema, defs, begin + str(key))
    follows = schema.get("instead", {})
    missing = [one for one in needed if one not in given and given.isdisjoint(follows.get(one, ()))]
    return [f"{begin}{one}: must be given" for one in missing] + _either(given, schema) + faults


def _beyond(value: object, schema: dict, defs: dict, path: str) -> list:
    """A field that has no name of its own."""
    others = schema.get("additionalProperties", True)
    if others is False:
        return [f"{path[:60]}: must be left out, there is no such field"]
    return _faults(value, others, defs, path) if isinstance(others, dict) else []


def _either(given: set, schema: dict) -> list:
    """One of several groups of fields has to be there."""
    groups = [one.get("required", []) for one in schema.get("anyOf", ())]
    if not groups or any(given.issuperset(one) for one in groups):
        return []
    return [f"{' and '.join(groups[0])} must be given, or {', '.join(sum(groups[1:], []))}"]


_KINDS = {"string": _text, "integer": _number, "number": _number, "boolean": _flag}
_KINDS.update(array=_list, object=_record)
