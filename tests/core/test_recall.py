"""The words of a text, and the order of what they find."""

from __future__ import annotations

import pytest

from loopkit.core import recall
from loopkit.core.recall import FRESH, Match

NOW = 1_800_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Add rate-limiting to the API's rate_limit 429", ["rate", "limiting", "api", "rate", "limit", "429"]),
        ("Ajoute une véritable GRÖSSE", ["ajoute", "une", "veritable", "grosse"]),
        ("Straße", ["strasse"]),
        ("日本語 の API", ["日本", "本語", "の", "api"]),
        ("API制限x", ["api", "制限"]),
        ("검색을", ["검색", "색을"]),
        ("हिन्दी खोज।", ["हिन्दी", "खोज"]),
        ("ＡＰＩ", ["api"]),
        ("a é 1 — ?!", []),
        ("", []),
    ],
)
def test_words(text: str, words: list) -> None:
    assert recall.words(text) == words


def test_the_most_frequent_words_of_a_long_text_are_wanted() -> None:
    text = " ".join(f"word{number}" for number in range(1000)) + " limits limits"
    assert recall.wanted(text)[0] == "limits" and len(recall.wanted(text)) == 4 * recall.MOST_WORDS


def test_the_rarest_words_are_looked_for_and_those_in_another_form() -> None:
    known = {"api": 9000, "request": 3000, "search": 800, "limit": 2}
    assert recall.chosen(["api", "request", "search", "limiter", "検索", "limit"], known) == [
        "limit",
        "search",
        "request",
        "limiter",
    ]
    assert recall.chosen(["api"], known) == ["api"], "the only one is looked for however common it is"


def match(relevance: float, *, days: int = 90, sure: bool = False, again: bool = False, place: int = 0) -> Match:
    return Match(relevance, NOW - days * 86400, sure, again, place, None)


def test_boosts_count_among_those_that_are_close_to_the_best() -> None:
    best, close = match(8), match(2, days=1, sure=True)
    far = match(1.9, days=1, sure=True, again=True)
    assert recall.ordered([far, best, close], NOW) == [close, best, far]


def test_then_relevance_then_the_newest_then_the_last() -> None:
    rows = [match(4), match(5), match(4, days=80), match(4, place=7)]
    assert recall.ordered(rows, NOW) == [rows[1], rows[2], rows[3], rows[0]]


def test_the_bound_of_fresh() -> None:
    just, over = Match(1, NOW - FRESH + 1, False, False, 0, None), Match(2, NOW - FRESH, False, False, 0, None)
    assert recall.ordered([over, just], NOW) == [just, over]
    assert recall.ordered([], NOW) == []
