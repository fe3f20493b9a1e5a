"""The words of a text, and the order of what they find."""

from __future__ import annotations

import pytest

from loopkit.core.memory import learned, recall
from loopkit.core.memory.learned import Learning
from loopkit.core.memory.recall import FRESH, Match

NOW = 1_800_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Add rate-limiting to the API's rate_limit 429",
            ["rate", "limiting", "api", "rate", "limit", "429"],
        ),
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


@pytest.mark.parametrize(
    "forms",
    [
        "limit limits limited limiting limiter limiters limitation",
        "retry retries retried retrying",
        "cache caches cached caching",
        "stop stopped stopping",
        "migrate migrates migration migrating",
        "relational relation relate related",
        "adjustment adjustable adjust",
        "class classes",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len(set(map(recall.stem, forms.split()))) == 1


@pytest.mark.parametrize("word", ["429", "go", "検索", "поиск", "größen", "sing", "s", ""])
def test_what_has_no_such_ending_stays_as_it_is(word: str) -> None:
    assert recall.stem(word) == word


def learning(context: str, applies_to: str = "", body: str = "", at: float = 0) -> Learning:
    return Learning(
        learned.DISCOVERY,
        context,
        body,
        context,
        applies_to,
        body,
        at,
        False,
        0,
        context,
        "project",
    )


def found(rows: list[Learning], request: str) -> list[int]:
    return [match.place for match in recall.relevant(rows, request)]


def test_a_word_counts_most_in_context_then_in_applies_to_then_in_the_rest() -> None:
    rows = [
        learning("x1 x2", body="rate"),
        learning("x1", "rate"),
        learning("rate x1"),
        learning("nothing of it"),
    ]
    assert found(rows, "rate") == [2, 1, 0]


def test_rare_words_count_more_than_frequent_ones_and_short_learnings_more_than_long_ones() -> None:
    rows = [
        learning("api limit"),
        learning("api page"),
        learning("api sort"),
        learning("api worker"),
        learning("x"),
    ]
    assert found(rows, "limit of the api")[0] == 0
    assert found(
        [learning("limit of many other words too"), learning("limit"), learning("x")], "limit"
    ) == [1, 0]


def test_a_word_that_comes_again_counts_for_more_but_less_each_time() -> None:
    fill = [learning(f"x{number}") for number in range(9)]
    once, twice, often, both = (
        match.relevance
        for text in ("rate x x2 x3", "rate rate x2 x3", "rate rate rate x3", "rate page x2 x3")
        for match in recall.relevant([learning(text), *fill], "rate page")
    )
    assert once < twice < often < both and often - twice < twice - once


def test_figures_of_a_few_rows() -> None:
    """Those that SQLite's FTS5 gives with a stemmer and these weights."""
    rows = [
        learning("rate limiting of the search api", "api", "limits are counted in each worker"),
        learning("paging", "the search", "a limiter was asked for by every worker of the api"),
        learning("login form", "", "cookies"),
        learning("report of rates", "", ""),
        learning("upload of large files", "queue", "limit"),
    ]
    said = {
        match.place: round(match.relevance, 4)
        for match in recall.relevant(rows, "limit the rate of the search api")
    }
    assert said == {0: 1.4696, 1: 0.6245, 3: 0.6043, 4: 0.0}


def test_of_two_alike_the_later_one_comes_first() -> None:
    rows = [learning("rate") for _ in range(9)]
    assert found(rows, "rate") == list(range(8, -1, -1))
    assert found([], "rate") == found(rows, "") == found([learning("")], "rate") == []


def match(
    relevance: float, *, days: int = 90, sure: bool = False, again: bool = False, place: int = 0
) -> Match:
    return Match(relevance, NOW - days * 86400, sure, again, place, None)


def test_boosts_count_among_those_that_are_close_to_the_best() -> None:
    best, close = match(8), match(2, days=1, sure=True)
    far = match(1.9, days=1, sure=True, again=True)
    assert recall.ordered([far, best, close], NOW) == [close, best, far]


def test_then_relevance_then_the_newest_then_the_last() -> None:
    rows = [match(4), match(5), match(4, days=80), match(4, place=7)]
    assert recall.ordered(rows, NOW) == [rows[1], rows[2], rows[3], rows[0]]


def test_the_bound_of_fresh() -> None:
    just, over = (
        Match(1, NOW - FRESH + 1, False, False, 0, None),
        Match(2, NOW - FRESH, False, False, 0, None),
    )
    assert recall.ordered([over, just], NOW) == [just, over]
    assert recall.ordered([], NOW) == []
