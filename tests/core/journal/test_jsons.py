"""JSON without the package of that name: the same values, the same text, the same faults."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.journal import jsons

ROOT = Path(__file__).resolve().parents[3]
TEXT = st.text(st.characters(exclude_categories=()))
SIMPLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
VALUES = st.recursive(SIMPLE, lambda one: st.lists(one) | st.dictionaries(TEXT, one))


@given(VALUES, st.booleans(), st.booleans(), st.booleans(), st.sampled_from([None, 0, 2]))
def test_it_writes_and_reads_as_the_package_does(
    value: object, ascii: bool, compact: bool, sort: bool, indent: int | None
) -> None:
    text = jsons.dumps(value, ascii, compact, sort, indent)
    signs = (",", ":") if compact and indent is None else None
    known = json.dumps(value, ensure_ascii=ascii, separators=signs, sort_keys=sort, indent=indent)
    assert text == known
    assert jsons.loads(f"\n {text}\t") == value


@given(VALUES.map(json.dumps), st.integers(0), st.sampled_from(["", ",", "}", "NaN", '"', "\0"]))
def test_a_fault_is_the_package_s(text: str, place: int, more: str) -> None:
    at = place % (len(text) + 1)
    text = text[:at] + more + text[at + 1 :]
    try:
        known, fault = json.loads(text), ""
    except ValueError as error:
        known, fault = None, str(error)
    try:
        assert repr(jsons.loads(text)) == repr(known) and not fault
    except ValueError as error:
        assert str(error) == fault


def test_words_that_are_no_numbers() -> None:
    assert jsons.loads("[Infinity, -Infinity]") == [math.inf, -math.inf]

    def refuse(word: str) -> float:
        raise ValueError(f"no {word}")

    with pytest.raises(ValueError, match="no NaN"):
        jsons.reader(refuse)("[NaN]")


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(TypeError):
        jsons.dumps({"a": object()})


def test_without_the_c_functions_the_package_does_it(tmp_path: Path) -> None:
    (tmp_path / "_json.py").write_text("raise ImportError")
    code = """
import sys
sys.path[:0] = sys.argv[1:]
from loopkit.core.journal import jsons
assert jsons.loads('{"a": [1, "x"]} ') == {"a": [1, "x"]}
assert jsons.dumps({"b": "é"}, compact=True, ascii=False) == '{"b":"é"}'
assert "json" in sys.modules
"""
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)


def test_so_it_does_where_they_ask_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("_json.make_scanner", lambda rules: rules.more)
    assert jsons.reader()("[1]") == [1]
