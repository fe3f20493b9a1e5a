"""Stems of English words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.memory.stem import stem


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("limit limits limited limiting limiter limiters limitation", "limit"),
        ("retry retries retried retrying", "retri"),
        ("cache caches cached caching", "cach"),
        ("cell cells", "cell"),
        ("stop stopped stopping", "stop"),
        ("agree agreed agreeing", "agre"),
        ("migrate migrates migration migrating", "migrat"),
        ("relational relation relate related", "relat"),
        ("generalization generalize general generally generality", "gener"),
        ("hopefulness hopeful hope hoped hoping", "hope"),
        ("adjustment adjustable adjust", "adjust"),
        ("controlling controller control", "control"),
        ("processes processing process", "process"),
        ("happy happily", "happi happili"),
        ("sky say string bring this", "sky sai string bring thi"),
        ("429 go 検索 поиск größen", "429 go 検索 поиск größen"),
        ("ies sses eed s", "i ss eed s"),
    ],
)
def test_stems(words: str, wanted: str) -> None:
    stems = [stem(word) for word in words.split()]
    assert stems == wanted.split() or set(stems) == {wanted}


def test_what_is_too_long_to_be_a_word_stays_as_it_is() -> None:
    assert stem("x" * 61 + "ings") == "x" * 61 + "ings" and stem("xa" * 30 + "ing") == "xa" * 30


@given(st.text(max_size=30))
def test_any_text_has_a_stem_that_is_not_longer(text: str) -> None:
    assert (stem(text) or not text) and len(stem(text)) <= len(text)
