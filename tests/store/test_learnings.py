"""What loops taught: found by words, the fresh, sure and repeated first, at most five."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.core import clock
from loopkit.store import learnings

NOW = 1_800_000_000
DAY = 86400


def row(context: str, /, **fields: object) -> dict:
    text = {"discovery": context + "!"}
    return {"ts": clock.stamp(NOW - 100 * DAY), "kind": "discovery", "context": context, **text, **fields}


def titles(rows: list, request: str = "add rate limiting to the api") -> list:
    return [one.title for one in learnings.fitting(rows, request, NOW)]


def test_words_of_context_and_applies_to_are_matched() -> None:
    rows = [row("rate things"), row("other", applies_to="API work"), row("nothing of it")]
    assert set(titles(rows)) == {"rate things", "other"}


def test_short_words_do_not_count() -> None:
    assert titles([row("to be or not to be")], "to do") == []


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (2, 2), (5, 5), (6, 5), (40, 5)])
def test_the_best_five_are_shown(count: int, shown: int) -> None:
    assert len(titles([row(f"rate {number}") for number in range(count)])) == shown


@pytest.mark.parametrize(
    "better",
    [
        {"ts": clock.stamp(NOW - 29 * DAY)},
        {"confidence": 0.8},
        {"kind": "failure", "prevention": "x", "seen": 2},
        {"applies_to": "limiting"},
    ],
    ids=["fresh", "sure", "repeated", "more words"],
)
def test_what_comes_first(better: dict) -> None:
    rows = [row("rate good", **better), *[row(f"rate {number}") for number in range(9)]]
    assert titles(rows)[0] == "rate good"


@pytest.mark.parametrize("worse", [{"ts": clock.stamp(NOW - 30 * DAY)}, {"confidence": 0.79}, {"seen": 1}])
def test_just_below_each_bound_is_nothing_special(worse: dict) -> None:
    rows = [row("rate older", **worse), row("rate newer")]
    assert titles(rows)[0] == "rate newer"


def test_what_is_shown_of_each_kind() -> None:
    rows = [
        {"kind": "failure", "context": "rate", "prevention": "prevent"},
        {"kind": "discovery", "context": "rate", "discovery": "discover"},
        {"kind": "constraint", "context": "rate", "constraint": "constrain"},
        {"kind": "delegation", "context": "rate", "prevention": "delegate"},
    ]
    assert {one.text for one in learnings.fitting(rows, "rate", NOW)} == {
        "prevent",
        "discover",
        "constrain",
        "delegate",
    }


def test_a_file_with_anything_in_it(tmp_path: Path) -> None:
    good = json.dumps(row("rate"))
    (tmp_path / "learnings.jsonl").write_bytes(
        b"\xef\xbb\xbf" + good.encode() + b"\r\n\n{\nnull\n[]\n" + b'{"kind":"mood"}\n\xff\xff\n' + good.encode()
    )
    assert len(learnings.read(str(tmp_path))) == 2


@pytest.mark.parametrize(
    "strange", [{"ts": None}, {"confidence": "high"}, {"seen": []}, {"context": 7}, {"discovery": None}]
)
def test_strange_fields_do_no_harm(strange: dict) -> None:
    titles([row("rate", **strange), row("rate 2", applies_to=["api", "x"])])


def test_no_file_is_no_learning(tmp_path: Path) -> None:
    assert learnings.read(str(tmp_path)) == []


def test_sure_and_fresh_ones_come_before_those_that_share_more_words() -> None:
    now = 1_800_000_000
    old = {"ts": "2020-01-01T00:00:00Z", "kind": "discovery", "context": "rate limiting of the api", "confidence": 0.3}
    new = {"ts": clock.stamp(now - 86400), "kind": "discovery", "context": "limiting", "confidence": 0.9}
    found = learnings.fitting([old] * 5 + [new], "rate limiting of the api", now)
    assert found[0].title == "limiting" and len(found) == 5


def test_several_of_one_context_have_titles_of_their_own() -> None:
    rows = [{"kind": "constraint", "context": "limits", "constraint": f"rule {number}"} for number in range(5)]
    titles = [one.title for one in learnings.fitting(rows, "limits", 0)]
    assert len(set(titles)) == 5
