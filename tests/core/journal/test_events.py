"""Journal lines: there and back, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal.events import Event, Table, encode

ANY = Table()  # a log of whatever comes
ANY_TEXT = some.text(some.characters())  # lone surrogates included
VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENTS = some.builds(
    Event, ANY_TEXT, some.dictionaries(ANY_TEXT, VALUES, max_size=4), ANY_TEXT, ANY_TEXT
)


@given(EVENTS)
def test_there_and_back(event: Event) -> None:
    line = encode(event)
    assert ANY.decode(line) == event
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    line.decode("utf-8")


@given(EVENTS)
def test_no_part_of_a_line_is_a_line(event: Event) -> None:
    whole = encode(event)[:-1]
    for end in range(len(whole)):
        assert ANY.decode(whole[:end]) is None


@given(some.binary(max_size=60))
def test_decode_never_raises(line: bytes) -> None:
    found = ANY.decode(line)
    assert found is None or isinstance(found, Event)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"type":"a","at":"b","by":"c"}',
        b'{"type":"a","at":"b","by":"c","data":[]}',
        b"\xff",
        b'{"type":1,"at":"b","by":"c","data":{}}',
        b'{"type":"a","at":null,"by":"c","data":{}}',
        b'{"type":"a","at":"b","by":["c"],"data":{}}',
        b'{"type":"a","at":"b","by":"c","data":{"x":NaN}}',
        b'{"type":"a","at":"b","by":"c","data":{"x":-Infinity}}',
    ],
)
def test_what_is_no_event(line: bytes) -> None:
    assert ANY.decode(line) is None


def test_deep_nesting_is_damage_not_a_crash() -> None:
    assert ANY.decode(b'{"data":' + b"[" * 200_000) is None


def test_the_documented_form() -> None:
    event = Event(
        "task_failed", {"id": "T-001", "error": 'é "x"'}, "2026-12-01T09:30:00Z", "session:3f2c"
    )
    record = json.loads(encode(event))
    assert list(record) == ["v", "at", "type", "by", "data"]
    assert record["v"] == 1
    assert "é" in encode(event).decode()
