"""Members put into a JSON object's text, and taken out again to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from loopkit.store import splice

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
TEXTS = some.builds(
    lambda value, indent, ascii_only, ends: ends.join(
        json.dumps(value, indent=indent, ensure_ascii=ascii_only).split("\n")
    ),
    some.dictionaries(some.text(max_size=6).filter(lambda name: name != "own"), VALUES, max_size=4),
    some.sampled_from([None, 0, 2, 4, "\t"]),
    some.booleans(),
    some.sampled_from(["\n", "\r\n"]),
)


@settings(deadline=None)
@given(TEXTS, VALUES, some.sampled_from(["", "\n", " \r\n"]))
def test_what_was_put_in_is_taken_out_to_the_byte(text: str, value: object, end: str) -> None:
    text = end + text + end
    more = splice.added(text, "own", value)
    assert json.loads(more) == {**json.loads(text), "own": value}
    assert splice.without(more, "own") == text


@settings(deadline=None)
@given(TEXTS.filter(lambda text: json.loads(text) != {}), some.integers(0, 3))
def test_any_member_may_be_taken_out_of_any_text(text: str, number: int) -> None:
    value = json.loads(text)
    name = list(value)[number % len(value)]
    left = splice.without(text, name)
    assert json.loads(left) == {key: value[key] for key in value if key != name}


@pytest.mark.parametrize("text", ["", "[]", "1", "{", '{"a": 1,}', '{"a": 1, "a": 2}', "\ufeff{}"])
def test_what_is_no_object_or_says_two_things(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        splice.members(text)
