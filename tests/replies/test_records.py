"""Records that are submitted: block YAML, JSON as a part of it, texts that stay texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loopkit.core.journal.errors import UsageFault
from loopkit.replies import records


def parse(text: str, kind: type = dict) -> Any:
    return records.parse(text, "standard input", kind)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a: true", "true"),
        ("a: no", "no"),
        ("a: yes", "yes"),
        ("a: 7", 7),
        ("a: -7", -7),
        ("a: 007", "007"),
        ("a: 0x10", "0x10"),
        ("a: 1_000", "1_000"),
        ("a: 12:30:00", "12:30:00"),
        ("a: 2026-12-01", "2026-12-01"),
        ("a: 7.5", "7.5"),
        ("a: 12345678901", "12345678901"),
        ("a: null", None),
        ("a:", None),
        ("a: ~", "~"),
        ("a: test -f b.txt", "test -f b.txt"),
        ("a: 'it''s'", "it's"),
        ("a: [b, c d]", ["b", "c d"]),
        ("a: [1, T-001]", [1, "T-001"]),
        ("a: [Which one?, And when?, x?y]", ["Which one?", "And when?", "x?y"]),
        ("a: |\n  two\n  lines\n", "two\nlines\n"),
        ('a: "x: y # z"', "x: y # z"),
        ("a: ünï 🎉", "ünï 🎉"),
    ],
)
def test_scalars(line: str, value: object) -> None:
    assert parse(line) == {"a": value}


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    some.dictionaries(some.text(), JSON, max_size=4), some.booleans(), some.sampled_from([None, 1])
)
def test_json_is_read_as_json(value: dict, ascii_only: bool, indent: int | None) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@given(some.text(max_size=200))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        assert isinstance(parse(text), dict)
    except UsageFault as error:
        assert "standard input" in error.what and len(str(error)) < 700


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x b\nc: *x", "anchors are not used here"),
        ("c: *x", "aliases are not used here"),
        ("a: b\n c: d", "standard input line 2"),
        ("a: [b", "standard input line"),
        ("a: x: y", "line 1"),
        ("a: 'b", "standard input line"),
        ("", "is no record"),
        ("- a", "is no record"),
        ("text", "is no record"),
        ("a: !!python/object/apply:os.system [x]", "line 1"),
        ("a: b\x00", "standard input"),
        *(
            (f"x: 1\na: {words}", f"line 2: {said}, at 'a: {words}'")
            for words, said in {
                "see #3": "the text ends before ' #'",
                "ls # lists": "the text ends before ' #'",
                "two: words": "mapping values are not allowed here",
                "`a` is": "found character '`' that cannot start any token",
                "@a": "found character '@' that cannot start any token",
                "%s is": "found character '%' that cannot start any token",
                "> 80 % is": "expected a comment or a line break, but found '8'",
                "[T-001] is": "expected <block end>, but found '<scalar>'",
                "&c": "anchors are not used here",
                "!important": "tags are not used here",
            }.items()
        ),
        ("[" * 100_000, "standard input"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(UsageFault) as caught:
        parse(text)
    assert says in caught.value.what


def test_a_list_is_no_record_and_the_other_way_round() -> None:
    assert parse("- a: 1\n- a: 2\n", list) == [{"a": 1}, {"a": 2}]
    with pytest.raises(UsageFault, match="is no list"):
        parse("a: 1", list)


@pytest.mark.parametrize(
    "text",
    ["a: 1\nb: 2\na: 3\n", '{"a": 1,\n"b": 2,\n"a": 3}', "x:\n  - a: 1\n    a: 2\n"],
    ids=["yaml", "json", "deep"],
)
def test_a_key_that_stands_twice_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(UsageFault, match=r"line 3: a stands twice"):
        parse(text)
