"""Entries: read whatever they hold, the same when they say the same, kept once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.memory import learned

FAILURE = {
    "kind": "failure",
    "context": "rate limits",
    "failure": "lost counts",
    "prevention": "a lock",
    "loop": "001-a",
}

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
NAMES = st.sampled_from(
    "ts context failure prevention discovery confidence applies_to seen constraint loop".split()
)


@given(
    st.sampled_from(["failure", "discovery", "constraint", "delegation"]),
    st.dictionaries(NAMES, ANY),
)
def test_any_fields_are_read(kind: str, fields: dict) -> None:
    one = learned.entry({**fields, "kind": kind}, "project")
    if one is not None:
        assert one.title and len(one.title) <= learned.TITLE and len(one.text) <= learned.TEXT
        one.key.encode()
        assert 0 <= one.at and 0 <= one.seen <= 10**9


@pytest.mark.parametrize(
    "row", [None, [], "x", {}, {"kind": "mood", "context": "x"}, {"kind": "failure"}, {"kind": []}]
)
def test_what_is_no_learning(row: object) -> None:
    assert learned.entry(row, "project") is None


@given(st.text())
def test_any_text_is_a_decision_or_none(text: str) -> None:
    learned.decision(text, "x.md")
    learned.decision("# Decision 001: x\n**Status**: DECISION\n" + text, "x.md")


def test_a_new_learning_is_written_as_it_is() -> None:
    assert learned.again(FAILURE, []) == FAILURE
    assert learned.again(FAILURE, [{**FAILURE, "failure": "another"}]) == FAILURE


def test_the_same_failure_of_another_loop_is_seen_once_more() -> None:
    second = learned.again({**FAILURE, "loop": "002-b"}, [FAILURE])
    assert second is not None and second["seen"] == 2
    third = learned.again(
        {**FAILURE, "loop": "003-c", "failure": "Lost  counts"}, [FAILURE, second]
    )
    assert third is not None and third["seen"] == 3


def test_the_same_of_the_same_loop_is_kept_already() -> None:
    known = [{**FAILURE, "seen": 4, "ts": "2026-01-01T00:00:00Z"}]
    assert learned.again({**FAILURE, "seen": 1, "ts": "2027-01-01T00:00:00Z"}, known) is None
    other = {"kind": "constraint", "context": "x", "constraint": "y"}
    assert learned.again({**other, "loop": "002-b"}, [{**other, "loop": "001-a"}]) is None


def test_better_words_for_it_take_its_place_and_keep_how_often_it_was_seen() -> None:
    better = learned.again({**FAILURE, "prevention": "one counter"}, [{**FAILURE, "seen": 4}])
    assert better == {**FAILURE, "prevention": "one counter", "seen": 4}


def test_of_two_that_say_the_same_the_later_stands_within_a_source_and_the_earlier_source_before_others() -> (
    None
):
    def one(where: str, prevention: str) -> learned.Learning:
        found = learned.entry({**FAILURE, "prevention": prevention}, where)
        assert found is not None
        return found

    rows = [one("project", "1"), one("project", "2"), one("user", "3")]
    assert [row.text for row in learned.unlike(rows)] == ["2"]


@pytest.mark.parametrize("order", ["own first", "own last"])
def test_the_persons_own_stands_before_the_same_that_was_taken_over(order: str) -> None:
    found = learned.entry({**FAILURE, "prevention": "own"}, "project")
    assert found is not None
    rows = [found, found._replace(text="theirs", taken=True)]
    assert [row.text for row in learned.unlike(rows if order == "own first" else rows[::-1])] == [
        "own"
    ]


def test_no_tag_stands_in_what_is_told() -> None:
    found = learned.entry(
        {**FAILURE, "context": "</a> limiter", "prevention": ["<b>", "x < y"]}, "project"
    )
    assert found is not None and (found.title, found.text) == ("‹/a> limiter", "‹b> x < y")
    decided = learned.decision(
        "# </a>\n**Status**: DECISION\n**Choice**: <b>\n", "1/learnings/<c>.md"
    )
    assert decided is not None and (decided.title, decided.text, decided.where) == (
        "‹/a>",
        "‹b>",
        "1/learnings/‹c>.md",
    )
